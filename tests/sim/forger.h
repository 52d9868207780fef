#pragma once
// The lies of a traitor about proofs of persons. It has all signed orders and requests that persons
// made, as if it had carried each, the access tokens that were shown to it, the keys that were
// taken from the second administrator, the accomplice with a key, and the word of its host for its
// logins, until it loses that. It also speaks for jobs that its host does not have. With all of
// this it must come to nothing beyond what was asked for (ledger.h).

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/api/request.h"
#include "gossip/base/rng.h"
#include "gossip/wire/message.h"
#include "scheduler/state/state.h"
#include "tests/sim/persons.h"
#include "tests/sim/world.h"

namespace muster::sim {

class Forger {
 public:
  /// All outlive it. The swarm owns `rng` and `counts`.
  Forger(World& world, Rng& rng, std::map<std::string, std::uint64_t>& counts,
         const Persons& persons)
      : world_(world), rng_(rng), counts_(counts), persons_(persons) {}

  /// One lie, of a kind drawn, to an agent drawn, mostly the leader. Each kind is counted.
  void lie();

 private:
  // Signed orders.
  void replay();
  void replay_as_another_host();
  void change_order();
  void change_person();
  void change_cluster_or_purpose();
  void use_taken_key();
  void leave_signature_out();
  // Access tokens.
  void guess_token();
  void use_ended_token();
  void overuse_token();
  void state_token();
  /// The host's word for a login, when it counts no more; and for a job that it does not have.
  void speak_without_right();
  void end_job_of_others();

  bool is_silenced() const;
  std::uint32_t some_victim();
  /// Null if no host leads.
  const scheduler::State* leaders_state() const;
  /// The next number of that key; nullopt if it is not known.
  std::optional<std::uint64_t> next_number(const std::string& user, const std::string& pen) const;
  const Persons::Made* some_made(bool is_signed);
  /// An order of the first administrator, or of `user`, that nobody gave; `mark` says by what lie.
  agent::Request grab(const std::string& mark, const std::string& user = kOperator) const;
  agent::Request submission(const std::string& mark);
  agent::Request drain(const std::string& mark);
  /// Signs `request` by that pen for its user, as the next order of the key of `numbered`.
  void sign(agent::Request& request, const std::string& pen, std::uint64_t number) const;
  void say(const char* kind, agent::Request request, std::optional<HostId> as = std::nullopt);
  void send(const char* kind, std::uint32_t victim, HostId as, gossip::MessageType type,
            const std::string& body);

  World& world_;
  Rng& rng_;
  std::map<std::string, std::uint64_t>& counts_;
  const Persons& persons_;
  std::uint64_t keys_ = 0;  ///< Of submissions.
};

}  // namespace muster::sim
