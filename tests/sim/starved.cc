#include "tests/sim/starved.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr Duration kStarvedSpread = 500ms;
constexpr std::uint64_t kStarvedStride = 4096;
constexpr std::uint32_t kStarvedRacks = 8;
/// Faults begin behind this, and a boot that takes longer is told as never over.
constexpr Duration kFormMax = 30s;
constexpr Duration kFaultsMin = 60s;
constexpr Duration kFoundMax = 60s;
constexpr Duration kFoundRest = 10s;
/// Until so long after a host was off, or cut off, a word about it is no violation.
constexpr Duration kNewsTakes = 10s;
constexpr std::uint32_t kDeathsMax = 3;
constexpr std::uint32_t kBurdenMin = 500;  ///< Thousandths of the machine.
constexpr std::uint32_t kBurdenMax = 950;

/// The hosts that were off or cut off, and when that was over.
struct Troubles {
  std::vector<Instant> well_since;   ///< By host.
  std::vector<std::uint32_t> sides;  ///< By host: of the cut.
  Instant whole_since{};             ///< kNever while the cut lasts.

  bool excuse(Instant now, std::uint32_t one, std::uint32_t other) const {
    const bool was_cut =
        sides[one] != sides[other] && (whole_since == kNever || now < whole_since + kNewsTakes);
    return was_cut || well_since[other] == kNever || now < well_since[other] + kNewsTakes;
  }
};

/// No host says of another that runs and can be reached that it is gone.
class NoVerdictAboutTheLiving final : public Checker {
 public:
  NoVerdictAboutTheLiving(const Troubles& troubles, StarvedResult& result)
      : troubles_(troubles), result_(result) {}
  std::string name() const override { return "no_verdict_about_the_living"; }

  void on_event(World& world, std::uint32_t host, const Event& event) override {
    if (event.name == "leader_elected") {
      ++result_.elections;
    }
    if (event.name != "unreachable") {
      return;
    }
    const auto about = std::find_if(event.fields.begin(), event.fields.end(),
                                    [](const auto& field) { return field.first == "host"; });
    for (std::uint32_t other = 0; other < world.size() && about != event.fields.end(); ++other) {
      const bool is_it = world.id(other).short_hex() == about->second;
      if (is_it && !troubles_.excuse(world.now(), host, other)) {
        ++result_.verdicts;
        if (result_.verdicts == 1) {
          world.violation(name(), "host " + std::to_string(host) + " says that host " +
                                      std::to_string(other) + " is gone");
        }
      }
    }
  }

 private:
  const Troubles& troubles_;
  StarvedResult& result_;
};

class StarvedRun {
 public:
  explicit StarvedRun(const StarvedOptions& options)
      : options_(options), rng_(options.seed ^ 0x57a7U), world_(world_options(options)) {
    options_.length = std::max(options_.length, kFormMax + kFaultsMin);
    troubles_.well_since.assign(options.hosts, kNever);
    troubles_.sides.assign(options.hosts, 0);
    world_.add_checker(std::make_unique<NoVerdictAboutTheLiving>(troubles_, result_));
  }

  StarvedResult run() {
    found();
    const Instant began = world_.now();
    for (std::uint32_t host = 0; host < options_.hosts; ++host) {
      world_.at(began + rng_.between(Duration(0), kStarvedSpread), [this, host] {
        world_.start_agent(host);
        troubles_.well_since[host] = Instant();
      });
    }
    if (world_.run_until_true([this] { return is_whole(); }, kFormMax)) {
      result_.formed = world_.now() - began;
      result_.form_cpu = world_.work_spent();
    } else {
      world_.violation("starved",
                       "not all knew all within " + std::to_string(to_ms(kFormMax) / 1000) + " s");
    }
    world_.run_until(began + kFormMax);
    result_.rest_cpu = world_.work_spent();
    plan_halves();
    plan_deaths();
    plan_burners();
    world_.run_until(began + options_.length);
    result_.elections -= std::min<std::uint64_t>(result_.elections, 1);  // A boot has one.
    result_.violations = world_.violations();
    result_.hash = world_.hash();
    return std::move(result_);
  }

 private:
  static WorldOptions world_options(const StarvedOptions& options) {
    WorldOptions world;
    world.hosts = options.hosts;
    world.seed = options.seed;
    world.trace = options.trace;
    world.racks = kStarvedRacks;
    world.start_spread = kStarvedSpread;
    world.invariant_stride = kStarvedStride;
    world.tcp_links = true;
    world.prices = usual_prices(options.cores, options.slowness);
    return world;
  }

  /// A cluster there is, and nobody remembers more of it than its own name and cluster, as hosts do
  /// that join: that takes no time here, for a real one is founded by three hosts alone.
  void found() {
    world_.let_work_be_free(true);
    if (!world_.run_until_true([this] { return is_whole(); }, kFoundMax)) {
      world_.violation("starved", "there is no cluster to begin with");
    }
    world_.run_for(kFoundRest);
    for (std::uint32_t host = 0; host < options_.hosts; ++host) {
      world_.lose_state(host);
    }
    world_.run_for(kFoundRest);
    world_.let_work_be_free(false);
    result_.elections = 0;
  }

  Instant some_time(Duration before_end) {
    return world_.now() + rng_.between(Duration(0), options_.length - kFormMax - before_end);
  }

  /// Each host lists all alive, with their rows.
  bool is_whole() const {
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (!world_.is_running(host)) {
        return false;
      }
      const agent::Node& node = world_.node(host);
      const auto& members = node.membership().members();
      const auto seen = std::count_if(members.begin(), members.end(), [&](const auto& each) {
        return each.second.state == membership::MemberState::kAlive &&
               node.addresses().identity(each.first) != nullptr;
      });
      if (static_cast<std::uint32_t>(seen) < world_.size()) {
        return false;
      }
    }
    return true;
  }

  void plan_halves() {
    std::vector<std::uint32_t> hosts(options_.hosts);
    std::iota(hosts.begin(), hosts.end(), 0U);
    for (std::size_t i = hosts.size(); i > 1; --i) {
      std::swap(hosts[i - 1], hosts[rng_.below(i)]);
    }
    const Instant begins = some_time(kFaultsMin);
    world_.at(begins, [this, hosts] {
      troubles_.whole_since = kNever;
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        troubles_.sides[hosts[i]] = i < hosts.size() / 2 ? 1 : 0;
      }
      for (std::size_t i = 0; i < hosts.size() / 2; ++i) {
        for (std::size_t j = hosts.size() / 2; j < hosts.size(); ++j) {
          world_.network().cut(hosts[i], hosts[j]);
          world_.network().cut(hosts[j], hosts[i]);
        }
      }
    });
    world_.at(begins + rng_.between(5s, 40s), [this] {
      world_.network().heal_all();
      troubles_.whole_since = world_.now();
    });
  }

  void plan_deaths() {
    for (std::uint64_t left = rng_.below(kDeathsMax + 1); left > 0; --left) {
      const auto host = static_cast<std::uint32_t>(rng_.below(options_.hosts));
      const Instant dies = some_time(20s);
      world_.at(dies, [this, host] {
        world_.kill_agent(host);
        troubles_.well_since[host] = kNever;
      });
      world_.at(dies + rng_.between(1s, 15s), [this, host] {
        world_.start_agent(host);
        troubles_.well_since[host] = world_.now();
      });
    }
  }

  void plan_burners() {
    const auto share =
        static_cast<std::uint32_t>(kBurdenMin + rng_.below(kBurdenMax - kBurdenMin + 1));
    const Instant begins = some_time(30s);
    world_.at(begins, [this, share] { world_.burden(share); });
    world_.at(begins + rng_.between(10s, 30s), [this] { world_.burden(0); });
  }

  StarvedOptions options_;
  Rng rng_;
  World world_;
  Troubles troubles_;
  StarvedResult result_;
};

}  // namespace

PriceList usual_prices(std::uint32_t cores, std::uint32_t slowness) {
  PriceList prices;
  prices.cores = cores;
  prices.word_in = slowness * 60us;
  prices.word_out = slowness * 25us;
  prices.carry_in = slowness * 40us;
  prices.carry_out = slowness * 25us;
  prices.row_in = slowness * 20us;
  prices.handshake = slowness * 550us;
  prices.sign = slowness * 30us;
  prices.check = slowness * 50us;
  prices.commit = slowness * 30us;
  prices.tick = slowness * 60us;
  return prices;
}

StarvedResult run_starved(const StarvedOptions& options) {
  return StarvedRun(options).run();
}

}  // namespace muster::sim
