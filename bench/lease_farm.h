#pragma once
// A farm of ten thousand hosts with a grant each, in one process and one thread. Each host has the
// agent's own machine for grants (GangAgent: hello, fences, READY, renewals), an address of its own
// in 127.0.0.0/8, keys of its own, and speaks through the real codec over CURVE. The rest is
// simulated: its disk and its supervisors answer at once, its ranks run for ever, and of gossip it
// only answers probes. The first host came in by a ticket and hands in the rows of all hosts; the
// farm signs their records of the roll with the authority's secret that came with that ticket. News
// of a leader spreads among the hosts within `flood`, from the first that a real agent told.
// Messages of hosts to their relay stay inside the process; the relay's own messages do not.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/edge/disk/host_key.h"
#include "agent/edge/join/membership_record.h"
#include "agent/gang/gang_agent.h"
#include "agent/gang/relay/renewal_relay.h"
#include "bench/farm_host.h"
#include "bench/zmtp_link.h"
#include "crdt/rows/codec.h"
#include "gossip/base/rng.h"
#include "gossip/wire/message.h"

namespace muster::bench {

/// A real agent, as the hosts know it.
struct RealAgent {
  HostId host;
  gossip::Endpoint control;
  std::string name;
  std::string link_key{};
};

struct FarmOptions {
  std::size_t hosts = 10'000;
  std::size_t gpus = 8;
  std::size_t rack_hosts = 40;
  std::uint16_t port = 0;
  Duration flood{0};
  bool relays = true;  ///< The first host of a rack carries the renewals of the others.
  ClusterId cluster;
  std::vector<RealAgent> agents;
  /// Of the first host, which may vote by it: it contains the authority's secret.
  agent::MembershipRecord membership;
};

class LeaseFarm {
 public:
  struct Counts {
    std::uint64_t sent = 0;  ///< Messages to real agents, and their bytes.
    std::uint64_t sent_bytes = 0;
    std::uint64_t heard = 0;
    std::uint64_t heard_bytes = 0;
    std::uint64_t acks = 0;     ///< Renewals acknowledged.
    std::uint64_t dials = 0;    ///< By hosts to agents.
    std::uint64_t dialled = 0;  ///< By agents to hosts.
    std::uint64_t lost_links = 0;
    std::map<gossip::MessageType, std::uint64_t> sent_types;
    std::map<gossip::MessageType, std::uint64_t> heard_types;
  };

  LeaseFarm(FarmOptions options, Instant now);
  ~LeaseFarm();

  /// False if the port is taken.
  bool listen();
  /// Sends the rows of all hosts to every real agent, a few at a time.
  void introduce();
  /// Tells the next `count` hosts without a leader of this one.
  void tell_leader(Instant now, std::size_t count, HostId leader, Term term);
  void run_until(Instant until);

  std::size_t hosts() const { return hosts_.size(); }
  std::size_t told() const { return told_; }
  std::size_t registered() const;
  std::size_t running() const;
  std::size_t ended() const { return ended_; }
  HostId leader() const { return leader_; }
  const Counts& counts() const { return counts_; }
  /// For each host that runs: the time from its Ready to its Start.
  std::vector<Duration> start_times() const;

  /// Measures from here on the longest time between two acknowledgements at one host, and from the
  /// send that a hold counts from to the next acknowledgement.
  void watch_gaps(Instant now);
  struct Gaps {
    std::vector<Duration> between;  ///< For each host, its longest; still open ones counted to now.
    std::vector<Duration> from_send;
    std::size_t never = 0;  ///< Hosts without an acknowledgement since.
  };
  Gaps gaps(Instant now) const;

 private:
  struct Host : FarmHost {
    std::unique_ptr<agent::GangAgent> agent;
    std::optional<agent::RenewalRelay> relay;
    std::map<HostId, int> links;  ///< Links that it dialled.
    Instant due = kNever;
    bool runs = false;
    Instant ready_at{};
    Duration start_time{0};
    Instant acked_at{};
    Instant acked_sent{};
    Duration gap{0};
    Duration gap_from_send{0};
    std::uint64_t acks = 0;
  };
  struct Link {
    Link(int fd, CurveSession session, std::size_t of, HostId to)
        : zmtp(fd, std::move(session)), host(of), peer(to) {}
    ZmtpLink zmtp;
    std::size_t host;
    HostId peer;  ///< Zero: the peer dialled.
    bool watched_for_write = true;
  };

  void make_host(std::size_t index, Instant now);
  crdt::RowOf row_of(std::size_t index) const;
  std::vector<HostId> observers_of(std::size_t index) const;
  void accept_all();
  void add_link(int fd, std::size_t host, HostId peer);
  void drop_link(int fd);
  void flush(Link& link);
  void on_ready(int fd, std::uint32_t events);
  void on_message(int fd, std::string bytes);
  void on_rows(std::size_t host, int fd, const gossip::Message& message);
  void hear_quorum(Instant now, const crdt::QuorumView& view);
  void reply(int fd, std::size_t host, gossip::MessageType type, Nonce nonce,
             const std::string& body);
  void send(std::size_t host, HostId to, gossip::MessageType type, Nonce nonce,
            const std::string& body);
  const RealAgent* agent_of(HostId host) const;
  int dial(std::size_t host, HostId to);
  std::string envelope(std::size_t host, gossip::MessageType type, Nonce nonce,
                       const std::string& body) const;
  void give(Instant now, std::size_t host, agent::GangAgentInput input);
  void drain(Instant now, std::size_t host);
  void drain_relay(Instant now, std::size_t host);
  void hear(Instant now, std::size_t host, agent::LeaderMessage said);
  void hear_leader(Instant now, std::size_t host);
  void carry_out(Instant now, std::size_t host, const agent::SupervisorCommand& command,
                 std::vector<agent::GangAgentInput>& facts);
  void note_ack(Instant now, Host& host, const agent::RenewHold& renewed);
  void schedule(std::size_t host);
  void run_timers(Instant now);

  FarmOptions options_;
  agent::HostKey authority_;
  Rng rng_;
  std::vector<Host> hosts_;
  std::map<gossip::Endpoint, std::size_t> by_address_;
  std::map<HostId, std::size_t> by_id_;
  std::vector<std::unique_ptr<Link>> links_;  ///< By descriptor.
  std::set<std::pair<Instant, std::size_t>> timers_;
  std::multimap<Instant, std::size_t> news_;  ///< When each host hears of `leader_`.
  HostId leader_;
  Term term_;
  std::size_t told_ = 0;
  std::size_t ended_ = 0;
  int epoll_ = -1;
  int listener_ = -1;
  Counts counts_;
};

}  // namespace muster::bench
