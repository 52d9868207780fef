#pragma once
// How renewals travel where there are many hosts: the hosts of a rack hand theirs to one
// of them, the relay, and it brings them to the leader together, once a second. Ten thousand hosts
// are a few hundred links to the leader then, not ten thousand. A part of Node, with the manner of
// a machine; the same class is both ends of the way.
//
// A renewal keeps its host's nonce on the whole way, and its host counts from its own send: a relay
// can lose or delay it, never lengthen a hold. What is not answered by way of the relay within
// kRelayPatience goes to the leader directly, under the same nonce.

#include <map>
#include <utility>
#include <vector>

#include "agent/gang/words.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// How long a relay waits for further hosts of its rack. Raised: fewer messages to the leader, at a
/// later ack; it must stay below kRelayPatience by more than a round of the quorum.
inline constexpr Duration kRelayDelay = std::chrono::seconds(1);
/// The same after the leader changed: then all hosts renew at once, and wait for it.
inline constexpr Duration kRelayDelayAnew = std::chrono::milliseconds(100);
/// What the leader has not answered by then is brought to it once more: its link was ended, or it
/// was not yet ready to lead.
inline constexpr Duration kRelayAgain = std::chrono::seconds(1);
/// From a host's send by way of the relay to its own, direct one.
inline constexpr Duration kRelayPatience = std::chrono::milliseconds(2500);
/// Renewals of others in the hands of one relay; later ones are dropped, their hosts go directly.
inline constexpr std::size_t kRelayHostsMax = 1024;
inline constexpr Duration kBroughtMax = std::chrono::seconds(10);  ///< Two renewals.

class RenewalRelay {
 public:
  RenewalRelay(HostId self, Instant now) : self_(self), anew_until_(now) {}

  /// Who leads; zero = nobody known. Own renewals to the last one are forgotten: they are made
  /// anew. What was brought to the last one and not answered is brought to this one: mates that
  /// heard of it first may have renewed already. Not what is older than kBroughtMax: its host may
  /// be gone since.
  void leader_changed(Instant now, HostId leader);
  /// A renewal of this host: by way of `relay`, or directly when that is zero or who leads.
  /// Precondition: somebody else is known to lead.
  void carry_own(Instant now, HostId relay, Nonce nonce, scheduler::Renew renew);
  /// A renewal that another host of the rack gave us, for a leader elsewhere.
  void carry(Instant now, HostId from, Nonce nonce, scheduler::Renew renew);
  /// What the leader said to those that we brought.
  void acked(scheduler::RelayedAcks acks);
  /// The own renewal of this nonce is answered.
  void own_acked(Nonce nonce);
  void tick(Instant now);
  Instant next_deadline() const;
  /// Renewals and acks, each for a host or the leader; acks to this host itself are among them.
  std::vector<AgentSend> take_messages() { return std::exchange(messages_, {}); }

 private:
  struct Own {
    Instant direct_at;
    scheduler::Renew renew;
  };
  struct Brought {
    Instant at;
    scheduler::RelayedRenew renewal;
    bool is_again = false;  ///< It was brought twice.
  };
  void add(Instant now, HostId host, Nonce nonce, scheduler::Renew renew);
  void bring(Instant now);
  void bring_again(Instant now);
  void say(const std::vector<scheduler::RelayedRenew>& renewals);

  HostId self_;
  HostId leader_;
  Instant anew_until_;  ///< Until then the short delay holds.
  std::vector<scheduler::RelayedRenew> gathered_;
  Instant bring_at_ = kNever;
  std::map<HostId, Brought> brought_;  ///< The last of each host, unanswered.
  Instant again_at_ = kNever;          ///< When one of those was brought kRelayAgain ago, and once.
  std::map<Nonce, Own> own_;           ///< On their way through a relay.
  std::vector<AgentSend> messages_;
};

}  // namespace muster::agent
