#pragma once
// A host of the World, for the files that make the World up.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "membership/reflex.h"
#include "tests/sim/gpu_farm.h"
#include "tests/sim/world.h"

namespace muster::sim {

inline constexpr std::uint16_t kControlPort = 7450;
inline constexpr std::uint16_t kBulkPort = 7451;
/// As agent/edge/run/event_loop.cc has it.
inline constexpr Duration kPauseNoticed = std::chrono::milliseconds(500);
inline constexpr std::int64_t kMillion = 1'000'000;
/// Of the route that a traitor's words come in on: nothing goes back there.
inline constexpr std::uint64_t kStrangerRoute = std::uint64_t{1} << 62;
/// Of the routes that clients' requests come in on.
inline constexpr std::uint64_t kClientRoute = std::uint64_t{1} << 63;

inline gossip::Endpoint endpoint_of(std::uint32_t host, std::uint16_t port) {
  return gossip::Endpoint::ipv4(10, 0, static_cast<std::uint8_t>(host >> 8),
                                static_cast<std::uint8_t>(host & 255), port);
}

/// The sender that the link of this host proves.
inline gossip::Sender member(HostId host) {
  return {gossip::Sender::Kind::kHost, host};
}

/// The name of the agent of a host.
inline std::string name_of(std::uint32_t host) {
  return "h" + std::to_string(host);
}

/// Adds the CPU that this process spends while it lives; to null: looks at no clock.
class Stopwatch {
 public:
  explicit Stopwatch(Duration* spent);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Duration* spent_;
  Duration began_{0};
};

struct World::Host {
  Host(HostId host_id, Rng rng, gossip::testing::SignedWords* said)
      : id(host_id),
        key_maker(std::make_shared<gossip::testing::StandInKeyMaker>(host_id, said)),
        base_link_key(host_id.bytes()),
        link_key(base_link_key),
        farm(rng),
        gpus(rng.fork()) {}
  HostId id;
  std::uint32_t address = 0;  ///< endpoint_of() it is where it listens.
  std::shared_ptr<const gossip::KeyMaker> key_maker;
  std::string base_link_key;  ///< Of the day it joined.
  std::string link_key;       ///< Of its links now, as its agent said.
  std::string previous_link_key{};
  std::map<gossip::Endpoint, std::string> expected{};  ///< Link keys, as its agent said.
  std::set<gossip::Endpoint> dials_with_previous{};
  Disk disk;
  RankFarm farm;
  GpuFarm gpus;  ///< With WorldOptions::are_gpus_watched.
  std::unique_ptr<agent::Node> node;
  std::optional<membership::Reflex> reflex{};
  std::uint32_t life = 0;            ///< Starts of the agent: inputs of an earlier one are dropped.
  std::uint32_t listening_life = 0;  ///< Of its sockets: connections to earlier ones are dead.
  std::uint64_t boots = 1;
  bool is_powered = true;
  bool is_frozen = false;
  Instant frozen_at;
  Instant thawed_at{};
  std::optional<Disk> image;
  std::map<std::string, HostId> admitted;           ///< By link key, as its agent said.
  std::set<std::string> tickets{};                  ///< Their holders are let in to say Join.
  std::map<std::uint32_t, Instant> ticket_links{};  ///< Of a newcomer: to whom, since when.
  std::optional<agent::Credentials> papers{};       ///< Of one that came in later.
  std::vector<gossip::Expect> seeds{};              ///< The same: its contacts and their link keys.
  HostCost cost{};
  Instant hands_free{};       ///< When its thread for handshakes has no more to do.
  std::set<HostId> shut_out;  ///< Let in once; not dialled any more, either.
  std::unique_ptr<crdt::RowChecker> rows_checker{};
  bool is_put_back = false;
  std::vector<agent::Node::Input> backlog;
  // Where work has its price: the work that waits for its threads.
  /// In the order in which they came, or were said.
  std::deque<std::variant<gossip::TransportOutput, agent::Node::Input>> at_reflex{};
  std::deque<agent::Node::Input> vital{};  ///< Goes first in a batch, as in the loop of an agent.
  std::deque<agent::Node::Input> inbox{};
  bool tick_waits = false;
  std::optional<Instant> waits_since{};  ///< It had nothing to do before.
  std::deque<crdt::RowsToCheck> to_check{};
  std::set<std::uint64_t> checked{};  ///< Signatures that were looked at, by hash.
  bool has_work() const { return tick_waits || !vital.empty() || !inbox.empty(); }
  Instant wake_at = kNever;
  Instant farm_wake_at = kNever;
  std::int64_t rate = kMillion;
  Duration clock_offset{0};
  Duration wall_offset{0};  ///< Of the clock that people read, beside the other.
  Duration fsync_min{0};
  Duration fsync_max{0};
  Instant disk_free{};
  std::uint32_t steps = 0;
  std::uint32_t spins = 0;
  Instant spin_began{};
};

}  // namespace muster::sim
