#pragma once
// VirtualCluster: a small deterministic cluster of real Membership and HostStore machines over a
// virtual network that behaves like TCP: links are dialled, a killed process refuses and resets, a
// cut path stalls with a doubling retransmission timer, a frozen host answers late. All messages
// travel through the real codecs. The same seed gives the same run.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "crdt/store/host_store.h"
#include "gossip/base/rng.h"
#include "membership/membership.h"

namespace muster::membership {

class VirtualCluster {
 public:
  struct Said {
    Instant at;
    std::size_t by = 0;
    Event event;
  };

  /// The last `absent` hosts have not lived yet: restart() begins their first life.
  VirtualCluster(std::size_t hosts, std::uint64_t seed, std::size_t absent = 0);

  void run_for(Duration duration);
  /// Runs until every running host knows the others and all rows agree. False if that takes longer
  /// than `limit`.
  bool settle(Duration limit);

  // Faults, all at the current instant.
  void power_off(std::size_t host);   ///< It is silent for ever.
  void kill_agent(std::size_t host);  ///< The kernel lives: resets and refusals.
  void restart(std::size_t host);     ///< A higher generation, from its disk.
  void freeze(std::size_t host);
  void thaw(std::size_t host);
  void leave(std::size_t host);  ///< Says so, then its agent ends 200 ms later.
  /// Cuts both directions between every host of `side` and every other.
  void cut(const std::set<std::size_t>& side);
  void heal() { cut_.clear(); }
  /// Drops each message between hosts with this probability, instead of TCP's stalls.
  void lose(std::uint32_t per_million) { loss_per_million_ = per_million; }
  /// The same on every link of one host only.
  void lose_at(std::size_t host, std::uint32_t per_million) {
    lossy_host_ = host;
    lossy_per_million_ = per_million;
  }

  Instant now() const { return now_; }
  HostId id(std::size_t host) const;
  MemberState state(std::size_t by, std::size_t about) const;
  const Membership& membership(std::size_t host) const { return *hosts_[host].membership; }
  const crdt::HostStore& store(std::size_t host) const { return *hosts_[host].store; }
  crdt::Records disk(std::size_t host) const { return hosts_[host].disk; }
  bool is_running(std::size_t host) const { return hosts_[host].life == Life::kRunning; }
  const std::vector<Said>& said() const { return said_; }
  std::uint64_t messages() const { return messages_; }

  /// When the first and the last running host said `event` about `host` after `from`.
  std::optional<Duration> first(std::string_view event, std::size_t host, Instant from) const;
  std::optional<Duration> all(std::string_view event, std::size_t host, Instant from) const;
  std::size_t count(std::string_view event, Instant from) const;
  bool all_alive() const;
  /// All events, one line each: two runs of one seed must have the same.
  std::string story() const;

 private:
  enum class Life { kOff, kRunning, kFrozen, kKilled };
  enum class LinkState { kNone, kDialling, kUp };
  struct Link {
    LinkState state = LinkState::kNone;
    std::uint64_t epoch = 0;           ///< Raised by every drop: older deliveries are void.
    std::vector<std::string> stalled;  ///< Waiting for the dial or for a retransmission.
    Duration retry{0};
    bool is_retrying = false;
  };
  struct Host {
    Life life = Life::kOff;
    Generation generation;
    std::unique_ptr<Membership> membership;
    std::unique_ptr<crdt::HostStore> store;
    crdt::Records disk;
    std::vector<std::function<void()>> waiting;  ///< Deliveries that arrive while it is frozen.
    Instant frozen_at;
    std::vector<HostId> neighbours;
  };
  struct Task {
    Instant at;
    std::uint64_t order = 0;
    std::function<void()> run;
    bool operator>(const Task& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  std::size_t index(HostId id) const { return indexes_.at(id); }
  void boot(std::size_t host);
  void after(Duration delay, std::function<void()> run);
  void deliver_event(std::size_t host, std::function<void()> run);
  Duration delay() { return rng_.between(kDelayMin, kDelayMax); }
  bool is_open(std::size_t from, std::size_t to) const;
  bool is_lost(std::size_t from, std::size_t to);
  void send(std::size_t from, std::size_t to, std::string bytes);
  void send_rows(std::size_t from, HostId to, const std::string& body);
  void transmit(std::size_t from, std::size_t to, std::string bytes);
  void reply(std::size_t from, std::size_t to, std::string bytes);
  void dial(std::size_t from, std::size_t to);
  void stall(std::size_t from, std::size_t to, Duration retry);
  void retransmit(std::size_t from, std::size_t to, std::uint64_t epoch);
  void drop_link(std::size_t from, std::size_t to);
  void link_lost(std::size_t at, std::size_t peer, gossip::LinkLoss loss);
  void receive(std::size_t host, std::size_t from, const std::string& bytes);
  void publish_identity(std::size_t host, bool left);
  void pump(std::size_t host);
  bool pump_membership(std::size_t host);
  bool pump_store(std::size_t host);
  void feed(std::size_t host, const std::vector<crdt::FieldChange>& changes);
  void choose_links(std::size_t host);
  void tick_due();

  static constexpr Duration kDelayMin = std::chrono::microseconds(100);
  static constexpr Duration kDelayMax = std::chrono::microseconds(500);

  Rng rng_;
  Instant now_{std::chrono::seconds(100)};
  std::vector<Host> hosts_;
  std::map<HostId, std::size_t> indexes_;
  std::map<std::pair<std::size_t, std::size_t>, Link> links_;
  std::set<std::pair<std::size_t, std::size_t>> cut_;
  std::uint32_t loss_per_million_ = 0;
  std::size_t lossy_host_ = SIZE_MAX;
  std::uint32_t lossy_per_million_ = 0;
  std::priority_queue<Task, std::vector<Task>, std::greater<>> tasks_;
  std::uint64_t order_ = 0;
  std::uint64_t messages_ = 0;
  std::vector<Said> said_;
};

}  // namespace muster::membership
