#include "tests/sim/races.h"

#include <algorithm>
#include <memory>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/sim/checkers.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::JobState;

constexpr std::uint32_t kHosts = 5;
constexpr std::uint32_t kGpus = 16;  ///< Two hosts.
/// Between the launch and the first of the two.
constexpr Duration kLead = 3s;
/// Of a job that ends by itself after both.
constexpr Duration kLong = 12s;
constexpr Duration kHostOff = 30s;
/// By then what was ordered has come to its end.
constexpr Duration kAftermath = 60s;
constexpr Duration kDrain = 5min;
/// Some messages take so long, when the ranks end at about the same time.
constexpr Duration kSlowWay = 300ms;
constexpr Duration kGaps[] = {0ms, 3ms, 30ms, 400ms, 4s};

bool is_word(RaceAct act) {
  return act <= RaceAct::kRequeue;
}
/// The moment is in the job's program.
bool is_timed(RaceAct act) {
  return act == RaceAct::kRankFailure || act == RaceAct::kCompletion;
}

/// When the ranks of the first job that counts were launched.
class Launch : public Checker {
 public:
  std::string name() const override { return "launch"; }
  void on_fact(World& world, std::uint32_t, const FarmFact& fact) override {
    if (fact.kind == FarmFact::Kind::kLaunched && !at.has_value()) {
      at = world.now();
    }
  }
  std::optional<Instant> at;
};

class RaceRun {
 public:
  RaceRun(const Race& race, std::uint64_t seed, bool trace)
      : race_(race), world_(options(seed, trace)) {
    auto launch = std::make_unique<Launch>();
    launch_ = launch.get();
    world_.add_checker(std::move(launch));
    submits_ = add_checkers(world_).submits;
  }

  RaceResult run() {
    RaceResult result;
    result.was_missed = !reach();
    if (!result.was_missed) {
      race();
      world_.run_for(kAftermath);
      judge_answers();
    }
    heal();
    if (!world_.run_until_true([this] { return drains(); }, kDrain)) {
      world_.violation("races", "the job never ends");
    }
    world_.finish();
    if (job() != nullptr) {
      result.end = job()->life.state;
    }
    for (std::uint32_t host = 0; host < kVoters; ++host) {
      if (world_.is_running(host)) {
        result.steps.merge(world_.node(host).seat().state().job_steps());
      }
    }
    result.violations = world_.violations();
    result.hash = world_.hash();
    return result;
  }

 private:
  static WorldOptions options(std::uint64_t seed, bool trace) {
    WorldOptions world;
    world.hosts = kHosts;
    world.seed = seed;
    world.trace = trace;
    return world;
  }

  std::uint32_t leader() const { return world_.leader(); }
  const scheduler::State* state() const {
    return leader() < world_.size() ? &world_.node(leader()).seat().state() : nullptr;
  }
  const scheduler::Job* job() const {
    return state() == nullptr ? nullptr : state()->job(JobId(submits_->size()));
  }
  bool is(JobState wanted) const { return job() != nullptr && job()->life.state == wanted; }
  bool reaches(JobState wanted) {
    return world_.run_until_true([this, wanted] { return is(wanted); }, 20s);
  }

  void submit(std::uint32_t gpus, Duration run, const std::vector<std::string>& more = {},
              Duration time_limit = 0s) {
    submits_->submit(world_, leader(), spec_of(gpus, run, more, time_limit));
  }

  /// Two jobs that the raced one finds queued and suspended, and whose deadlines pass there.
  void submit_late_ones() {
    for (const bool is_held : {false, true}) {
      scheduler::JobSpec spec = spec_of(kGpus, 2s, {}, 0s);
      spec.eligibility.deadline = 4s;
      spec.is_held = is_held;
      submits_->submit(world_, leader(), spec);
      world_.run_for(200ms);
    }
  }

  static scheduler::JobSpec spec_of(std::uint32_t gpus, Duration run,
                                    const std::vector<std::string>& more, Duration time_limit) {
    scheduler::JobSpec spec;
    spec.name = "race";
    spec.request.gpus = gpus;
    spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(run))};
    spec.command.argv.insert(spec.command.argv.end(), more.begin(), more.end());
    spec.limits.hold = 15s;
    spec.limits.grace = 2s;
    spec.limits.patience = 1s;
    spec.limits.time_limit = time_limit;
    return spec;
  }

  std::uint64_t say(RaceAct act, std::uint32_t host) {
    static constexpr agent::Verb kVerbs[] = {agent::Verb::kCancel, agent::Verb::kSuspend,
                                             agent::Verb::kResume, agent::Verb::kRequeue};
    const JobId id(submits_->size());
    agent::Request request;
    request.verb = kVerbs[static_cast<std::size_t>(act)];
    request.arguments = act == RaceAct::kRequeue ? agent::encode_payload(agent::RequeueArgs{id, 0})
                                                 : agent::encode_payload(agent::JobRef{id});
    return world_.ask(host, std::move(request));
  }

  /// Leads to the race's state.
  bool reach() {
    const bool is_up = world_.run_until_true(
        [this] { return state() != nullptr && state()->hosts().size() == kHosts; }, 60s);
    if (!is_up) {
      return false;
    }
    world_.run_for(2s);
    // Once the log holds a word, none is refused for a voter that is off and has not said what it
    // can apply.
    say(RaceAct::kSuspend, leader());
    world_.run_for(500ms);
    if (state() == nullptr ||
        state()->level_met() < scheduler::level_needed(scheduler::EntryKind::kSuspend)) {
      return false;
    }
    switch (race_.state) {
      case JobState::kQueued:
        submit(kHosts * 8, 10s);
        if (!reaches(JobState::kRunning)) {
          return false;
        }
        if (race_.gap == kGaps[0]) {
          submit_late_ones();
        }
        submit(kGpus, 2s);
        return reaches(JobState::kQueued);
      case JobState::kScheduled:
        slow_disks(60ms);
        submit(kGpus, 4s);
        return reaches(JobState::kScheduled);
      case JobState::kStopping:
        submit(kGpus, kLong, {"ignore_term=1"}, 2s);
        return reaches(JobState::kStopping);
      case JobState::kSuspended:
        submit(kGpus, 4s);
        if (!reaches(JobState::kRunning)) {
          return false;
        }
        say(RaceAct::kSuspend, leader());
        return reaches(JobState::kSuspended);
      case JobState::kRunning: {
        const bool fails =
            race_.first == RaceAct::kRankFailure || race_.second == RaceAct::kRankFailure;
        submit(kGpus, is_timed(race_.first) || is_timed(race_.second) ? kLead : kLong,
               fails ? std::vector<std::string>{"fail_rank=3"} : std::vector<std::string>());
        return reaches(JobState::kRunning) &&
               world_.run_until_true([this] { return launch_->at.has_value(); }, 5s);
      }
      case JobState::kCompleted:
      case JobState::kFailed:
      case JobState::kCancelled:
        break;
    }
    return false;
  }

  void slow_disks(Duration time) {
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      world_.set_fsync(host, time, time);
    }
  }

  /// Both at their instants; the first through another host than the leader.
  void race() {
    const Instant base =
        race_.state == JobState::kRunning ? *launch_->at + kLead : world_.now() + 1ms;
    const bool waits_for_program = is_timed(race_.second) && !is_timed(race_.first);
    const Instant begin = waits_for_program ? base - race_.gap : base;
    const auto at = [this](Instant when, RaceAct act, bool is_first) {
      world_.at(std::max(when, world_.now()), [this, act, is_first] { play(act, is_first); });
    };
    if (is_timed(race_.first) || is_timed(race_.second)) {
      // Ranks end while a Stop is on its way to them.
      world_.at(std::max(begin - kSlowWay, world_.now()), [this] {
        world_.network().faults.late = 400'000;
        world_.network().faults.late_max = kSlowWay;
      });
      world_.at(begin + race_.gap + 1s, [this] { world_.network().faults = NetworkFaults(); });
    }
    at(begin, race_.first, true);
    at(begin + race_.gap, race_.second, false);
  }

  void play(RaceAct act, bool is_first) {
    const std::uint32_t leads = std::min(leader(), kVoters - 1);
    if (is_word(act)) {
      said_.push_back({act, say(act, is_first ? (leads + 1) % kVoters : leads)});
    } else if (act == RaceAct::kLeaderChange) {
      world_.kill_agent(leads);
      world_.at(world_.now() + 3s, [this, leads] { world_.start_agent(leads); });
    } else if (!is_timed(act)) {
      const std::uint32_t host = victim();
      if (act == RaceAct::kHostLost) {
        world_.power_off(host);
        world_.at(world_.now() + kHostOff, [this, host] { world_.power_on(host); });
      } else {
        world_.kill_agent(host);
        world_.at(world_.now() + 200ms, [this, host] { world_.start_agent(host); });
      }
    }
  }

  /// A member of the gang that does not lead.
  std::uint32_t victim() const {
    const scheduler::Job* known = job();
    const scheduler::Attempt* attempt = known == nullptr || known->life.attempt_tokens.empty()
                                            ? nullptr
                                            : state()->attempt(known->life.attempt_tokens.back());
    if (attempt != nullptr) {
      for (const scheduler::MemberRecord& record : attempt->members) {
        const auto host = world_.find(record.member.host);
        if (host.has_value() && *host != leader()) {
          return *host;
        }
      }
    }
    return kHosts - 1;
  }

  /// An order that was answered with yes came true, unless the other one changed it.
  void judge_answers() {
    const bool is_lone = said_.size() == 1;
    for (const auto& [act, client] : said_) {
      const ClientReply* reply = world_.reply_to(client);
      if (reply == nullptr || reply->response.status != agent::ResponseStatus::kOk ||
          job() == nullptr) {
        continue;
      }
      const JobState end = job()->life.state;
      const bool is_completed = end == JobState::kCompleted;
      const bool is_cancelled = end == JobState::kCancelled;
      if (act == RaceAct::kCancel && !is_completed && !is_cancelled) {
        world_.violation("races", "cancelled with yes and " + std::string(text_of(end)));
      }
      if (act == RaceAct::kSuspend && is_lone && !is_completed && end != JobState::kSuspended) {
        world_.violation("races", "suspended with yes and " + std::string(text_of(end)));
      }
      if (act != RaceAct::kSuspend && is_lone && end == JobState::kSuspended) {
        world_.violation("races", std::string(text_of(act)) + " with yes and suspended");
      }
    }
  }

  void heal() {
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      world_.set_fsync(host, 1ms, 1ms);
      world_.power_on(host);
      world_.start_agent(host);
    }
  }

  /// Nobody else ends a suspended job.
  bool drains() {
    if (world_.now() >= resume_at_ && is(JobState::kSuspended)) {
      say(RaceAct::kResume, leader());
      resume_at_ = world_.now() + 3s;
    }
    return submits_->drained(world_);
  }

  Race race_;
  World world_;
  SubmitsKept* submits_ = nullptr;
  Launch* launch_ = nullptr;
  std::vector<std::pair<RaceAct, std::uint64_t>> said_;
  Instant resume_at_{};
};

/// Pairs of which none is a word are the swarm's matter.
bool is_race(JobState state, RaceAct first, RaceAct second) {
  const bool has_word = is_word(first) || is_word(second);
  const bool is_everywhere = first <= RaceAct::kLeaderChange && second <= RaceAct::kLeaderChange;
  return state == JobState::kRunning || (has_word && is_everywhere);
}

}  // namespace

std::string_view text_of(RaceAct act) {
  static constexpr std::string_view kNames[kRaceActCount] = {
      "cancel",       "suspend",    "resume",    "requeue",      "leader_change",
      "rank_failure", "completion", "host_lost", "agent_restart"};
  return kNames[static_cast<std::size_t>(act)];
}

std::string Race::text() const {
  return std::string(text_of(state)) + ": " + std::string(text_of(first)) + ", " +
         std::to_string(to_ms(gap)) + " ms, " + std::string(text_of(second));
}

std::vector<Race> all_races() {
  std::vector<Race> races;
  for (const JobState state : {JobState::kQueued, JobState::kScheduled, JobState::kRunning,
                               JobState::kStopping, JobState::kSuspended}) {
    for (std::size_t first = 0; first < kRaceActCount; ++first) {
      for (std::size_t second = 0; second < kRaceActCount; ++second) {
        for (const Duration gap : kGaps) {
          const Race race{state, static_cast<RaceAct>(first), static_cast<RaceAct>(second), gap};
          if (is_race(state, race.first, race.second)) {
            races.push_back(race);
          }
        }
      }
    }
  }
  return races;
}

RaceResult run_race(const Race& race, std::uint64_t seed, bool trace) {
  return RaceRun(race, seed, trace).run();
}

}  // namespace muster::sim
