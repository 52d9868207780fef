#include "tests/sim/scenario/player.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "gossip/base/check.h"
#include "tests/sim/checkers.h"
#include "tests/sim/scenario/parser.h"
#include "tests/sim/scenario/sets.h"
#include "tests/sim/scenario/verbs.h"

namespace muster::sim::scenario {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;

/// A fleet that is not whole by then has a fault of its own.
constexpr Duration kBootMax = std::chrono::minutes(2);
/// Between the boot and the first act: observer lists come to rest.
constexpr Duration kRest = std::chrono::seconds(10);
constexpr Duration kForGood = std::chrono::hours(24);
constexpr std::uint32_t kInvariantStride = 16;
/// More than real voters keep before they compact is never reached in a scenario.
constexpr std::uint64_t kCompactEntries = 4096;

/// Writes down what hosts tell from the beginning on, with names that both worlds share.
class Recorder : public Checker {
 public:
  std::string name() const override { return "recorder"; }

  void begin(World& world) {
    began_ = world.now();
    for (std::uint32_t host = 0; host < world.size(); ++host) {
      names_[world.id(host).short_hex()] = host_name(host);
    }
    is_on_ = true;
    for (std::uint32_t host = 0; host < world.size(); ++host) {
      tell(world, "up", {{"host", host_name(host)}});
    }
    tell(world, "whole", {});
  }
  void tell(World& world, std::string name, std::map<std::string, std::string> fields) {
    timeline_.push_back(
        {world.now() - began_, Told::kDriver, std::move(name), std::move(fields), false});
  }
  void on_event(World& world, std::uint32_t host, const Event& event) override {
    if (!is_on_ || event.severity == Severity::kDebug) {
      return;
    }
    Told told{world.now() - began_,
              static_cast<std::int32_t>(host),
              std::string(event.name),
              {},
              event.severity >= Severity::kWarn};
    for (const auto& [key, value] : event.fields) {
      told.fields.emplace(std::string(key), key == "host"  ? name_of_host(value)
                                            : key == "job" ? name_of_job(world, host, value)
                                                           : value);
    }
    timeline_.push_back(std::move(told));
  }
  JobId job(const std::string& name) const {
    const auto found = jobs_.find(name);
    return found == jobs_.end() ? JobId() : found->second;
  }
  Timeline take() { return std::move(timeline_); }

 private:
  std::string name_of_host(const std::string& id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? id : found->second;
  }
  std::string name_of_job(World& world, std::uint32_t host, const std::string& number) {
    const JobId id(sim::number(number));
    const scheduler::Job* job =
        world.is_running(host) ? world.node(host).seat().state().job(id) : nullptr;
    if (job != nullptr) {
      jobs_.emplace(job->spec.name, id);
      job_names_.emplace(number, job->spec.name);
    }
    const auto found = job_names_.find(number);
    return found == job_names_.end() ? number : found->second;
  }

  bool is_on_ = false;
  Instant began_;
  std::map<std::string, std::string> names_;
  std::map<std::string, std::string> job_names_;
  std::map<std::string, JobId> jobs_;
  Timeline timeline_;
};

class Player {
 public:
  Player(const Scenario& scenario, const PlayOptions& options)
      : scenario_(scenario), world_(world_options(scenario, options)) {
    submits_ = add_checkers(world_).submits;
    auto recorder = std::make_unique<Recorder>();
    recorder_ = recorder.get();
    world_.add_checker(std::move(recorder));
    for (const Act& act : scenario.acts) {
      for (const std::uint32_t host : act.verb == Verb::kClockRate ? resolve(act.who, scenario)
                                                                   : std::vector<std::uint32_t>()) {
        world_.set_drift_ppm(host, act.number);
      }
    }
  }

  Played play() {
    const bool is_whole = world_.run_until_true([this] { return is_cluster_whole(); }, kBootMax);
    if (!is_whole) {
      world_.violation("boot", "the cluster was not whole within two minutes");
    }
    world_.run_for(kRest);
    recorder_->begin(world_);
    const Instant began = world_.now();
    for (const Act& act : scenario_.acts) {
      world_.at(began + act.at, [this, &act] { perform(act); });
    }
    world_.run_until(began + scenario_.length);
    return {recorder_->take(), world_.violations(), world_.hash(), world_.network().stats};
  }

 private:
  static WorldOptions world_options(const Scenario& scenario, const PlayOptions& options) {
    WorldOptions world;
    world.hosts = scenario.hosts;
    world.seed = options.seed;
    world.ids = options.ids;
    world.gpus_per_host = scenario.gpus;
    world.racks = scenario.racks;
    world.bootstrap_expect = scenario.hosts >= 3 ? 3 : 1;
    world.compact_entries = kCompactEntries;
    world.invariant_stride = kInvariantStride;
    world.trace = options.trace;
    world.tcp_links = true;
    world.user_timeout = options.user_timeout;
    return world;
  }

  bool is_cluster_whole() const {
    const std::uint32_t leading = roles().leader;
    if (leading == world_.size() ||
        world_.node(leading).seat().state().hosts().size() != world_.size()) {
      return false;
    }
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (!world_.is_running(host)) {
        return false;
      }
      const auto& members = world_.node(host).membership().members();
      const bool is_all = members.size() == world_.size() &&
                          std::all_of(members.begin(), members.end(), [](const auto& each) {
                            return each.second.state == membership::MemberState::kAlive;
                          });
      if (!is_all) {
        return false;
      }
    }
    return true;
  }

  std::map<std::string, std::vector<std::uint32_t>> gangs(const scheduler::State& state) const {
    std::map<std::string, std::vector<std::uint32_t>> gangs;
    for (const Token& token : state.live()) {
      const scheduler::Attempt* attempt = state.attempt(token);
      if (attempt->state != scheduler::AttemptState::kStarted) {
        continue;
      }
      std::vector<std::uint32_t>& hosts = gangs[state.job(attempt->job)->spec.name];
      for (const scheduler::MemberRecord& record : attempt->members) {
        hosts.push_back(*world_.find(record.member.host));
      }
      std::sort(hosts.begin(), hosts.end());
    }
    return gangs;
  }

  Roles roles() const {
    Roles roles;
    roles.leader = world_.size();
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (!world_.is_running(host) || !world_.node(host).seat().leads()) {
        continue;
      }
      roles.leader = host;
      for (const HostId& voter : world_.node(host).seat().known_quorum().voters) {
        if (const auto found = world_.find(voter); found.has_value()) {
          roles.voters.push_back(*found);
        }
      }
      roles.gangs = gangs(world_.node(host).seat().state());
    }
    return roles;
  }

  void perform(const Act& act) {
    recorder_->tell(
        world_, "act",
        {{"line", std::to_string(act.line)}, {"verb", std::string(row_of(act.verb).words)}});
    const Roles now = roles();
    const std::vector<std::uint32_t> who = resolve(act.who, scenario_, now);
    const std::vector<std::uint32_t> other = resolve(act.other, scenario_, now, who);
    const auto each = [&who](const auto& does) { std::for_each(who.begin(), who.end(), does); };
    switch (act.verb) {
      case Verb::kStart:
        return each([this](std::uint32_t host) { start(host); });
      case Verb::kKill:
        return each([this](std::uint32_t host) { kill(host); });
      case Verb::kRestart:
        return each([this](std::uint32_t host) {
          kill(host);
          start(host);
        });
      case Verb::kFreeze:
        return each([this](std::uint32_t host) { world_.freeze(host, kForGood); });
      case Verb::kThaw:
        return each([this](std::uint32_t host) { world_.thaw(host); });
      case Verb::kPowerOff:
        return each([this](std::uint32_t host) { power_off(host); });
      case Verb::kPowerOn:
        return each([this](std::uint32_t host) { power_on(host); });
      case Verb::kCut:
        return cut(who, other, act.is_one_way, act.loss);
      case Verb::kRing:
        return ring(who);
      case Verb::kFlap:
        return flap(act, who, other);
      case Verb::kHeal:
        return heal(act.length);
      case Verb::kDelay:
        return delay(who, other, act.time);
      case Verb::kSlowDisk:
        return each([this, &act](std::uint32_t host) { slow_disk(host, act.time); });
      case Verb::kSubmit:
        return submit(act, now);
      case Verb::kCancel:
        return cancel(act.name, now);
      case Verb::kLead:
        return each([this](std::uint32_t host) { lead(host); });
      case Verb::kClockRate:  // Since before the boot.
      case Verb::kFillDisk:   // Not simulated, as the next ones.
      case Verb::kFreeDisk:
        return;
      case Verb::kClockJump:
        return each([this, &act](std::uint32_t host) { world_.jump_wall_clock(host, act.time); });
    }
  }

  void power_off(std::uint32_t host) {
    world_.power_off(host);
    recorder_->tell(world_, "down", {{"host", host_name(host)}});
  }

  void power_on(std::uint32_t host) {
    recorder_->tell(world_, "up", {{"host", host_name(host)}});
    world_.power_on(host);
  }

  void slow_disk(std::uint32_t host, Duration time) {
    const bool is_slow = time > Duration(0);
    world_.set_fsync(host, is_slow ? time : WorldOptions().fsync_min,
                     is_slow ? time : WorldOptions().fsync_max);
  }

  void start(std::uint32_t host) {
    if (!world_.is_running(host)) {
      recorder_->tell(world_, "up", {{"host", host_name(host)}});
      world_.start_agent(host);
    }
  }

  void kill(std::uint32_t host) {
    world_.kill_agent(host);
    recorder_->tell(world_, "down", {{"host", host_name(host)}});
  }

  // Cables.

  void cut(std::uint32_t from, std::uint32_t to, std::uint32_t loss) {
    if (loss == 100) {
      world_.network().cut(from, to);
    } else {
      world_.network().lose(from, to, loss * 10'000);
    }
    harmed_.insert({from, to});
  }

  void cut(const std::vector<std::uint32_t>& who, const std::vector<std::uint32_t>& other,
           bool is_one_way, std::uint32_t loss) {
    for (const std::uint32_t from : who) {
      for (const std::uint32_t to : other) {
        if (from != to) {
          cut(from, to, loss);
        }
        if (from != to && !is_one_way) {
          cut(to, from, loss);
        }
      }
    }
  }

  void ring(const std::vector<std::uint32_t>& who) {
    for (std::size_t a = 0; a < who.size(); ++a) {
      for (std::size_t b = 0; b < who.size(); ++b) {
        const std::size_t apart = a > b ? a - b : b - a;
        if (apart > 1 && apart + 1 < who.size()) {
          cut(who[a], who[b], 100);
        }
      }
    }
  }

  void heal(const Pair& pair) {
    world_.network().heal(pair.first, pair.second);
    world_.network().lose(pair.first, pair.second, 0);
  }

  void heal(Duration over) {
    const std::set<Pair> pairs = std::exchange(harmed_, {});
    std::set<std::uint32_t> hosts;
    for (const Pair& pair : pairs) {
      hosts.insert(std::max(pair.first, pair.second));
    }
    std::int64_t turn = 0;
    for (const std::uint32_t host : hosts) {
      const Duration wait = over * turn++ / static_cast<std::int64_t>(hosts.size());
      for (const Pair& pair : pairs) {
        if (std::max(pair.first, pair.second) == host) {
          world_.at(world_.now() + wait, [this, pair] { heal(pair); });
        }
      }
    }
  }

  void flap(const Act& act, const std::vector<std::uint32_t>& who,
            const std::vector<std::uint32_t>& other) {
    for (Duration at{0}; at < act.length; at += 2 * act.time) {
      world_.at(world_.now() + at, [this, who, other] { cut(who, other, false, 100); });
      world_.at(world_.now() + at + act.time, [this] { heal(Duration(0)); });
    }
  }

  void delay(const std::vector<std::uint32_t>& who, const std::vector<std::uint32_t>& other,
             Duration more) {
    for (const std::uint32_t from : who) {
      for (const std::uint32_t to : other) {
        world_.network().detour(from, to, more);
        world_.network().detour(to, from, more);
      }
    }
  }

  // Words to the cluster: through the leader if there is one, else through any node.

  std::uint32_t door(const Roles& now) const {
    std::uint32_t host = now.leader;
    for (std::uint32_t each = 0; host == world_.size() && each < world_.size(); ++each) {
      host = world_.is_running(each) ? each : host;
    }
    return host;
  }

  void submit(const Act& act, const Roles& now) {
    scheduler::JobSpec spec;
    spec.name = act.name;
    spec.request.gpus = static_cast<std::uint32_t>(act.number);
    spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(act.time))};
    if (act.length > Duration(0)) {
      spec.limits.hold = act.length;
    }
    submits_->submit(world_, door(now), spec);
  }

  void cancel(const std::string& name, const Roles& now) {
    agent::Request request;
    request.verb = agent::Verb::kCancel;
    request.arguments = agent::encode_payload(agent::JobRef{recorder_->job(name)});
    world_.ask(door(now), std::move(request));
  }

  void lead(std::uint32_t host) {
    agent::Request request;
    request.verb = agent::Verb::kChangeQuorum;
    request.arguments =
        agent::encode_payload(agent::QuorumWish{agent::QuorumAction::kTransfer, world_.id(host)});
    world_.ask(door(roles()), std::move(request));
  }

  const Scenario& scenario_;
  World world_;
  SubmitsKept* submits_ = nullptr;
  Recorder* recorder_ = nullptr;
  std::set<Pair> harmed_;  ///< Directions that are cut, or lose.
};

}  // namespace

Played play(const Scenario& scenario, const PlayOptions& options) {
  return Player(scenario, options).play();
}

}  // namespace muster::sim::scenario
