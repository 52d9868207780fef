#pragma once
// RenewalRelay brings the renewals of a rack to the leader in large clusters. The hosts of a rack
// send theirs to one of them, the relay, which sends them on together once a second. Ten thousand
// hosts then have a few hundred links to the leader, not ten thousand. The class serves both the
// relay and its hosts. Owned by LeaderContact.
//
// A renewal keeps its host's nonce on the whole way, and its host counts from its own send. A relay
// can lose or delay a renewal and can never lengthen a hold. If no answer comes by way of the relay
// within kRelayPatience, the host sends the renewal to the leader directly, under the same nonce.

#include <map>
#include <utility>
#include <vector>

#include "agent/gang/gang_interface.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

/// The time for which a relay waits for further hosts of its rack. Higher: fewer messages to the
/// leader, and later acks. It must stay below kRelayPatience by more than a round of the quorum.
inline constexpr Duration kRelayDelay = std::chrono::seconds(1);
/// The same after a change of the leader: then all hosts renew at once and wait for the ack.
inline constexpr Duration kRelayDelayFirst = std::chrono::milliseconds(100);
/// The relay sends a renewal once more that the leader has not answered by then: its link ended, or
/// the leader was not yet ready.
inline constexpr Duration kRelayAgain = std::chrono::seconds(1);
/// Time from a host's send by way of the relay to its own, direct one.
inline constexpr Duration kRelayPatience = std::chrono::milliseconds(2500);
/// Renewals that one relay gathers. It drops later ones; their hosts renew directly.
inline constexpr std::size_t kRelayHostsMax = 1024;
/// The longest time for which a relay keeps a renewal without an answer.
inline constexpr Duration kBroughtMax = std::chrono::seconds(10);  ///< Two renewals.

class RenewalRelay {
 public:
  RenewalRelay(HostId self, Instant now) : self_(self), first_until_(now) {}

  /// `leader` leads; zero = no leader is known. The relay forgets own renewals to the last leader:
  /// the host makes new ones. It brings unanswered renewals of other hosts to the new leader, for
  /// hosts that heard of it first may have renewed already. It leaves out renewals older than
  /// kBroughtMax: their hosts may be gone.
  void leader_changed(Instant now, HostId leader);
  /// Sends a renewal of this host by way of `relay`, or directly if that is zero or the leader.
  /// Precondition: another host is known to lead.
  void carry_own(Instant now, HostId relay, Nonce nonce, scheduler::Renew renew);
  /// Takes a renewal of another host of the rack, for a leader that is another host.
  void carry(Instant now, HostId from, Nonce nonce, scheduler::Renew renew);
  /// Passes on the leader's answers to the renewals that this relay brought.
  void acked(scheduler::RelayedAcks acks);
  /// The own renewal of this nonce is answered.
  void own_acked(Nonce nonce);
  void tick(Instant now);
  Instant next_deadline() const;
  /// Renewals and acks, each for a host or the leader; also acks to this host itself.
  std::vector<AgentSend> take_messages() { return std::exchange(messages_, {}); }

 private:
  struct Own {
    Instant direct_at;
    scheduler::Renew renew;
  };
  struct Brought {
    Instant at;
    scheduler::RelayedRenew renewal;
    bool is_again = false;  ///< It was sent twice.
  };
  void add(Instant now, HostId host, Nonce nonce, scheduler::Renew renew);
  void bring(Instant now);
  void bring_again(Instant now);
  void say(const std::vector<scheduler::RelayedRenew>& renewals);

  HostId self_;
  HostId leader_;
  Instant first_until_;  ///< Until then the short delay holds.
  std::vector<scheduler::RelayedRenew> gathered_;
  Instant bring_at_ = kNever;
  std::map<HostId, Brought> brought_;  ///< The last unanswered renewal of each host.
  Instant again_at_ = kNever;          ///< Time to send one of those a second time.
  std::map<Nonce, Own> own_;           ///< Own renewals on their way through a relay.
  std::vector<AgentSend> messages_;
};

}  // namespace muster::agent
