#pragma once
// AgentDesk: hears agents: hellos, Ready and Refuse, Finish, and renewals, alone or through a
// relay. Owned by Leader. A message becomes an entry, or is answered from applied state. An answer
// that grants an agent time (HelloReply, RenewAck) waits for a majority round, so that a leader
// that was replaced grants none. The desk drops and counts a message that does not fit the log:
// agents repeat.
//
// Invariants: a hello waits here only while a Register of its host is on its way or was lost; acks
// for relays are said in the step in which they were made.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/time.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/leader/proposals.h"
#include "scheduler/leader/resends.h"
#include "scheduler/leader/rounds.h"
#include "scheduler/leader/step_context.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

inline constexpr std::size_t kRefusedHellosMax = 1024;  ///< Above it, events repeat more often.
inline constexpr Duration kRefusalToldAgain = std::chrono::minutes(1);
/// The reason of a Refuse that quarantines the GPUs it is about: ranks that could not be killed sit
/// on them.
inline constexpr std::string_view kReasonStuck = "stuck";

class AgentDesk {
 public:
  /// `last_round`: the last context that this voter used for a round.
  explicit AgentDesk(std::uint64_t last_round) : rounds_(last_round) {}

  void on_message(const StepContext& step, Proposals& proposals, Resends& resends,
                  input::AgentMessageReceived& fact);
  /// A round that no longer counts is dropped.
  void on_majority_round(const StepContext& step, Proposals& proposals, Resends& resends,
                         std::uint64_t context);
  /// A hello that waited for its Register goes on; a Finish is acknowledged.
  void on_applied(const StepContext& step, const Entry& entry);
  void tick(const StepContext& step) { rounds_.tick(step); }
  Instant next_deadline(const SchedulerConfig& config) const {
    return rounds_.next_deadline(config);
  }

  /// When a renewal of this host was last confirmed by a round, under its registered pair.
  std::optional<Instant> renewed_at(const HostId& host) const;
  std::uint64_t last_round() const { return rounds_.last_context(); }
  std::uint64_t dropped_count() const { return dropped_; }
  void check_invariants() const;

 private:
  struct RefusedHello {
    std::string why;
    Instant again_at;
  };

  void hear_hello(const StepContext& step, Proposals& proposals, const Caller& caller,
                  Hello& hello);
  void hear_ready(const StepContext& step, Proposals& proposals, const HostId& from,
                  const Ready& ready);
  void hear_refuse(const StepContext& step, Proposals& proposals, const HostId& from,
                   const Refuse& refuse);
  void hear_finish(const StepContext& step, Proposals& proposals, Resends& resends,
                   const Caller& caller, const Finish& finish);
  void hear_unknown_finish(const StepContext& step, const Caller& caller, const Finish& finish);
  void hear_renewals(const StepContext& step, Proposals& proposals, Resends& resends,
                     std::vector<Waiter> renewals);
  void wait_for_round(Waiter waiter);
  void answer_hello(const StepContext& step, Proposals& proposals, Resends& resends,
                    const Caller& caller, const Hello& hello);
  void answer_renewal(const StepContext& step, Proposals& proposals, Resends& resends,
                      const Caller& caller, const Renew& renew);
  void refuse_pair(const StepContext& step, const Caller& caller, const Hello& hello,
                   Generation raise_to);
  void acknowledge(const StepContext& step, const entry::Finish& finish);
  void say_relayed_acks(SchedulerOutput& output);

  Rounds rounds_;
  std::map<HostId, Waiter> hellos_;                ///< Waiting for their Register.
  std::map<HostId, RefusedHello> refused_hellos_;  ///< As the last event said.
  /// Finish on its way, last or early -> nonce of the message, which its FinishAck echoes.
  std::map<std::pair<MemberKey, bool>, Nonce> finish_nonces_;
  std::map<HostId, Instant> renewed_at_;                    ///< See renewed_at().
  std::map<HostId, std::vector<RelayedAck>> relayed_acks_;  ///< By relay, within one step.
  std::uint64_t dropped_ = 0;
};

}  // namespace muster::scheduler
