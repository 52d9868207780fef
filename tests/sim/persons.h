#pragma once
// The honest persons of a swarm with a traitor. The first administrator gets a key, and by signed
// orders adds a second administrator, an accomplice of the traitor who is a plain user, and guests;
// takes keys and users away again; and takes the traitor's host its word for its logins. Persons
// make access tokens, use and revoke them. They ask any host, the traitor's among them, which keeps
// all that it carries and holds some of it back. All of it stands in the ledger.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/api/request.h"
#include "gossip/base/rng.h"
#include "tests/sim/ledger.h"
#include "tests/sim/world.h"

namespace muster::sim {

/// The second administrator, and a user with a key who helps the traitor.
inline constexpr char kSecond[] = "ann";
inline constexpr char kAccomplice[] = "mallory";

class Persons {
 public:
  /// A request as a person made it, with the signature. Its user was proven to the host.
  struct Made {
    agent::Request request;
    std::uint32_t host = 0;  ///< The one that was asked.
  };
  struct HeldToken {
    scheduler::AccessTokenId id;
    std::string line;
    std::string user;
    LogIndex there_at{};      ///< A voter that had applied this entry showed it; 0 = none did.
    bool is_revoked = false;  ///< The order to revoke it was done.
    bool is_leaving = false;
    bool is_shown = false;  ///< To the traitor's host.
  };

  /// All outlive it. The swarm owns `rng` and `counts`.
  Persons(World& world, Rng& rng, std::map<std::string, std::uint64_t>& counts);

  /// One act, of a kind drawn.
  void act();
  /// An order of the first administrator, which is signed if it has to be, through `host`.
  void order(std::uint32_t host, agent::Verb verb, std::string arguments);

  const std::shared_ptr<Ledger>& ledger() const { return ledger_; }
  /// Signed orders, and orders to make tokens; at most kMadeMax.
  const std::vector<Made>& made() const { return made_; }
  const std::vector<HeldToken>& tokens() const { return tokens_; }
  /// Keys of the second administrator that were taken away.
  const std::vector<std::string>& pens_taken() const { return pens_taken_; }
  /// The first administrator has a key: orders need signatures.
  bool has_staff() const { return has_staff_; }

 private:
  /// For an answer, or for a state: of kBetweenLooksAtAnswers (persons.cc) each.
  static constexpr int kLooksMax = 60;
  /// Null if no answer came.
  using Then = std::function<void(const agent::Response* response)>;
  using IsSo = std::function<bool(const scheduler::State& state)>;
  struct Guest {
    std::string name;
    LogIndex there_at{};  ///< As that of a token.
    bool is_leaving = false;
  };
  enum class Stage : std::uint8_t { kNone, kThere, kChanging };
  /// The second administrator, each time it is added.
  struct SecondAdmin {
    Stage stage = Stage::kNone;
    std::uint64_t life = 0;
    LogIndex there_at{};
  };

  void take_key();
  void add_staff();
  void add_guest();
  void remove_guest();
  void make_token();
  void end_token();
  void use_token();
  void change_second();
  void add_second();
  void change_key_of_second();
  void remove_second();
  void silence();

  std::uint32_t some_host();
  void change_users(const std::string& user, std::uint32_t host,
                    std::vector<scheduler::UserChange> users, Then then);
  void ask(const std::string& user, std::uint32_t host, const agent::Request& request,
           const Then& then);
  /// Asks, and signs by the pen of the user if the leader wants a signature.
  void ask_to_sign(const std::string& user, std::uint32_t host, const agent::Request& request,
                   const Then& then);
  void await(std::uint64_t client, int looks, const Then& then);
  /// Tells the index of a state above `above` for which it is so, if there is one in time.
  void when(LogIndex above, const IsSo& is_so, const std::function<void(LogIndex)>& then,
            int looks = kLooksMax);
  void remember(const agent::Request& request, std::uint32_t host);

  World& world_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
  std::map<std::string, std::string> pens_;  ///< Of each person, the key in use.
  std::vector<Made> made_;
  std::vector<HeldToken> tokens_;
  std::vector<Guest> guests_;
  std::vector<std::string> pens_taken_;
  SecondAdmin second_;
  std::uint64_t numbers_ = 0;  ///< Of names and pens.
  bool is_busy_ = false;       ///< With the first two acts.
  bool has_key_ = false;
  bool has_staff_ = false;
};

}  // namespace muster::sim
