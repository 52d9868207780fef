#include "tests/sim/herd.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/api/enrolment.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/sim/checkers.h"
#include "tests/sim/swarm.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr Duration kHerdSettleMax = std::chrono::minutes(1);
constexpr Duration kHerdMax = std::chrono::minutes(5);
constexpr Duration kHearBackMax = std::chrono::seconds(30);
constexpr Duration kSpread = std::chrono::seconds(1);  ///< Of their starts.
constexpr Duration kHerdLook = std::chrono::milliseconds(1);
constexpr std::uint32_t kRackHosts = 20;
constexpr std::uint32_t kHerdInvariantStride = 1024;
constexpr std::uint64_t kHerdCompactEntries = 4096;
constexpr std::uint64_t kTicketMs = 3'600'000;
// As agent/edge/join/joiner.h says, which the simulator, knowing no edge, cannot include.
constexpr Duration kJoinTimeout = std::chrono::seconds(10);
constexpr Duration kJoinAskAgain = std::chrono::milliseconds(250);
constexpr Duration kJoinAskAgainMax = std::chrono::milliseconds(1500);

/// One host with a ticket, until it is let in.
class Newcomer {
 public:
  Newcomer(std::uint32_t host, Instant starts) : host_(host), ask_at_(starts) {}

  bool is_in() const { return is_in_; }
  std::uint64_t said() const { return said_; }

  /// Asks at its time; true when it was let in by an answer just now.
  bool turn(World& world, const std::string& ticket, const std::vector<std::uint32_t>& doors) {
    for (const std::uint64_t client : clients_) {
      const ClientReply* reply = world.reply_to(client);
      if (reply != nullptr && take(world, reply->response)) {
        return true;
      }
    }
    if (world.now() >= ask_at_) {
      ask(world, ticket, doors);
    }
    return false;
  }

 private:
  bool take(World& world, const agent::Response& response) {
    if (response.status == agent::ResponseStatus::kOk) {
      const auto info = agent::decode_payload<agent::JoinInfo>(response.payload);
      CHECK(info.has_value());
      world.enter(host_, *info);
      is_in_ = true;
    } else if (response.status != agent::ResponseStatus::kNoQuorum &&
               response.status != agent::ResponseStatus::kUnknown) {
      world.violation("herd", where(host_) + " was refused: " + response.text);
      is_in_ = true;
    }
    return is_in_;
  }

  void ask(World& world, const std::string& ticket, const std::vector<std::uint32_t>& doors) {
    const bool begins_again = said_ == 0 || world.now() >= gives_up_at_;
    if (begins_again) {
      gives_up_at_ = world.now() + kJoinTimeout;
      again_ = kJoinAskAgain;
      clients_.clear();
    }
    agent::Request request;
    request.verb = agent::Verb::kJoin;
    request.arguments = agent::encode_payload(world.introduction(host_, ticket));
    for (std::size_t i = 0; i < (begins_again ? 1 : doors.size()); ++i) {
      const std::uint32_t door = doors[(host_ + i) % doors.size()];
      clients_.push_back(world.ask_with_ticket(host_, door, ticket, Nonce(host_ + 1U), request));
      ++said_;
    }
    ask_at_ = world.now() + again_;
    again_ = std::min(2 * again_, kJoinAskAgainMax);
  }

  std::uint32_t host_;
  Instant ask_at_;
  Instant gives_up_at_{};
  Duration again_{0};
  std::vector<std::uint64_t> clients_;  ///< Of this conversation.
  std::uint64_t said_ = 0;
  bool is_in_ = false;
};

class HerdRun {
 public:
  explicit HerdRun(const HerdOptions& options)
      : options_(options), rng_(options.seed), world_(world_options(options)) {
    add_checkers(world_);
  }

  HerdResult run() {
    if (!world_.run_until_true([this] { return founders_see(kVoters) && has_users(); },
                               kHerdSettleMax) ||
        !change_keys() || !make_ticket()) {
      world_.violation("herd", "there is no cluster to join");
    } else {
      let_run();
    }
    result_.violations = world_.violations();
    result_.hash = world_.hash();
    return std::move(result_);
  }

 private:
  static WorldOptions world_options(const HerdOptions& options) {
    WorldOptions world;
    world.hosts = kVoters + options.newcomers;
    world.newcomers = options.newcomers;
    world.seed = options.seed;
    world.trace = options.trace;
    world.racks = world.hosts / kRackHosts + 1;
    world.invariant_stride = kHerdInvariantStride;
    world.compact_entries = kHerdCompactEntries;
    world.tcp_links = true;
    world.handshake = options.handshake;
    world.measure_cpu = true;
    return world;
  }

  std::uint32_t leader() const { return world_.leader(); }

  /// The leader takes requests of people.
  bool has_users() const { return world_.node(leader()).seat().state().directory().is_founded(); }

  /// Each founder lists so many of all hosts alive, with their rows.
  bool founders_see(std::uint32_t hosts) const {
    return leader() < world_.size() && first_see(kVoters, hosts);
  }
  /// The first `lookers` of all hosts do.
  bool first_see(std::uint32_t lookers, std::uint32_t hosts) const {
    for (std::uint32_t looker = 0; looker < lookers; ++looker) {
      if (!world_.is_running(looker)) {
        return false;
      }
      const agent::Node& node = world_.node(looker);
      std::uint32_t seen = 0;
      for (const auto& [id, member] : node.membership().members()) {
        seen += member.state == membership::MemberState::kAlive &&
                        node.addresses().identity(id) != nullptr
                    ? 1U
                    : 0U;
      }
      if (seen < hosts) {
        return false;
      }
    }
    return true;
  }

  /// At each founder the link keys of all founders are those of that round.
  bool are_keys_of(std::uint64_t round) const {
    for (std::uint32_t founder = 0; founder < kVoters; ++founder) {
      for (std::uint32_t other = 0; other < kVoters; ++other) {
        const crdt::LinkCert link = world_.node(founder).roll().link(world_.id(other));
        if (link.serial != round || !link.next.empty()) {
          return false;
        }
      }
    }
    return founders_see(kVoters);
  }

  bool change_keys() {
    for (std::uint64_t round = 1; round <= options_.key_rounds; ++round) {
      agent::Request request;
      request.verb = agent::Verb::kRotateKeys;
      request.arguments = agent::encode_payload(agent::RotateArgs());
      world_.ask(leader(), std::move(request));
      if (!world_.run_until_true([&] { return are_keys_of(round); }, kHerdSettleMax)) {
        return false;
      }
    }
    return true;
  }

  bool make_ticket() {
    ticket_ = std::string(gossip::kLinkKeyBytes, 't');
    agent::Request request;
    request.verb = agent::Verb::kMakeTicket;
    request.arguments = agent::encode_payload(
        agent::TicketArgs{ticket_, options_.newcomers, kTicketMs, false, false, ""});
    const std::uint64_t client = world_.ask(leader(), std::move(request));
    if (!world_.run_until_true([&] { return world_.reply_to(client) != nullptr; }, 10s)) {
      return false;
    }
    const auto made =
        agent::decode_payload<agent::TicketMade>(world_.reply_to(client)->response.payload);
    for (const agent::Contact& contact :
         made.has_value() ? made->contacts : std::vector<agent::Contact>()) {
      const auto door = world_.find(contact.host);
      if (door.has_value() && doors_.size() < kDoorsMax) {
        doors_.push_back(*door);
      }
    }
    world_.run_for(1s);  // Each door's log holds it.
    return !doors_.empty();
  }

  void let_run() {
    const Instant began = world_.now();
    Instant first = kNever;
    for (std::uint32_t host = kVoters; host < world_.size(); ++host) {
      const Instant starts = began + rng_.between(Duration(0), kSpread);
      first = std::min(first, starts);
      herd_.emplace_back(host, starts);
    }
    world_.run_until(first);
    const std::uint32_t leading = leader();
    const HostCost before = world_.cost(leading);
    bool led_all_along = true;
    while (!result_.is_whole && world_.now() - first < kHerdMax && world_.violations().empty()) {
      for (Newcomer& each : herd_) {
        if (!each.is_in() && each.turn(world_, ticket_, doors_)) {
          result_.joined_last = world_.now() - first;
        }
      }
      world_.run_for(kHerdLook);
      led_all_along = led_all_along && leader() == leading;
      result_.is_whole = founders_see(world_.size());
    }
    result_.took = world_.now() - first;
    const HostCost after = world_.cost(leading);
    result_.leader = {after.handshakes - before.handshakes, after.cpu - before.cpu,
                      after.fields_checked - before.fields_checked};
    for (const Newcomer& each : herd_) {
      result_.joins_said += each.said();
    }
    if (!result_.is_whole || !led_all_along) {
      world_.violation("herd", led_all_along ? "not all came in" : "the leader changed");
    }
    hear_back();
  }

  /// A founder lists a newcomer that greets it, even if its own words do not reach the newcomer.
  void hear_back() {
    const Instant end = world_.now() + kHearBackMax;
    while (!first_see(world_.size(), world_.size()) && world_.now() < end) {
      world_.run_for(1s);
    }
    if (!first_see(world_.size(), world_.size())) {
      world_.violation("herd", "not all hosts see all others alive");
    }
  }

  static constexpr std::size_t kDoorsMax = 3;  ///< Of a ticket's line.

  HerdOptions options_;
  Rng rng_;
  World world_;
  std::string ticket_;
  std::vector<std::uint32_t> doors_;
  std::vector<Newcomer> herd_;
  HerdResult result_;
};

}  // namespace

HerdResult run_herd(const HerdOptions& options) {
  return HerdRun(options).run();
}

}  // namespace muster::sim
