#pragma once
// The ledger of a swarm with a traitor: the users, keys, access tokens and rights of hosts that
// honest persons asked for, and from which entry of the log on they are gone again. And the
// property that no lie may break: the state of every voter shows no other ones. Everything that the
// traitor asks for in the name of others carries a mark, or is among what is gone.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "gossip/base/ids.h"
#include "scheduler/protocol/users.h"
#include "scheduler/state/state.h"
#include "tests/sim/world.h"

namespace muster::sim {

/// The names of users, jobs and tokens, and the reasons of drains, that no honest person asks for
/// begin so.
inline constexpr std::string_view kForgedMark = "forged";

/// The exit code of ranks that their own host did not report. No simulated rank exits by it.
inline constexpr std::int32_t kForgedExit = 77;

/// No state is beyond it: what was asked for is not known to be gone.
inline constexpr LogIndex kNotGone{UINT64_MAX};

struct Ledger {
  struct AskedUser {
    scheduler::UserRole role{};
    std::set<std::string> pens;     ///< The keys that it was given, by their points.
    LogIndex gone_from = kNotGone;  ///< No state that applied this entry has the user.
  };
  struct AskedToken {
    std::string user;
    LogIndex gone_from = kNotGone;
  };
  std::map<std::string, AskedUser> users;
  std::map<scheduler::AccessTokenId, AskedToken> tokens;
  LogIndex silenced_from = kNotGone;  ///< The traitor's host may not vouch from here on.
};

/// The property. Each effect is told once. Looked at once a virtual second, and at the end.
class NoProofIsForged final : public Checker {
 public:
  static constexpr char kName[] = "no_proof_is_forged";

  explicit NoProofIsForged(std::shared_ptr<const Ledger> ledger) : ledger_(std::move(ledger)) {}
  std::string name() const override { return kName; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void at_end(World& world) override;

 private:
  void look(World& world, const scheduler::State& state);
  void look_at_users(World& world, const scheduler::State& state);
  void look_at_tokens(World& world, const scheduler::State& state);
  void look_at_work(World& world, const scheduler::State& state);
  void tell(World& world, const std::string& effect);

  std::shared_ptr<const Ledger> ledger_;
  std::set<std::string> told_;
  Instant look_at_{};
};

}  // namespace muster::sim
