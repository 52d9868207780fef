#include "tests/sim/swarm.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "tests/sim/checkers.h"
#include "tests/sim/disk_faults.h"
#include "tests/sim/lost_quorum.h"
#include "tests/sim/mixed_requests.h"
#include "tests/sim/operators.h"
#include "tests/sim/order_checkers.h"
#include "tests/sim/swarm_jobs.h"

namespace muster::sim {
namespace {

constexpr Duration kSettle = std::chrono::seconds(15);
/// A traitor's words about others, and two different rows of its own, are over so long after.
constexpr Duration kLiesLast = std::chrono::minutes(1);
/// Of a quorum that is probably gone for good.
constexpr Duration kDrainOfLost = std::chrono::seconds(60);
constexpr Duration kBetweenJobsMin = std::chrono::seconds(1);
constexpr Duration kResumeEvery = std::chrono::seconds(5);
constexpr Duration kWordsClose = std::chrono::milliseconds(20);
constexpr Duration kWordsApart = std::chrono::seconds(6);
constexpr Duration kNewJobsStart = std::chrono::milliseconds(600);
constexpr Duration kRenewalPeriod = std::chrono::seconds(6);
/// From an operator's word to the end of what it does, through any network.
constexpr Duration kRemovalTakes = std::chrono::seconds(15);

/// One run: draws faults and jobs until the quiet part begins.
class Swarm {
 public:
  explicit Swarm(const SwarmOptions& options)
      : options_(options),
        rng_(options.seed ^ 0x5eedU),
        requests_(options.seed ^ 0xa5cU),
        world_(world_options(options)) {
    const Checkers checkers =
        LostQuorum::is_in(profile_) ? LostQuorum::add_checkers(world_) : add_checkers(world_);
    submits_ = checkers.submits == nullptr ? &submits_tried_ : checkers.submits;
    gpus_ = checkers.gpus;
    if (Operators::flood(profile_)) {
      add_order_checkers(world_);
    }
    if (options_.faults && LostQuorum::is_in(profile_)) {
      lost_quorum_.listen();
    }
    if (options_.faults && DiskFaults::may_forget(profile_)) {
      auto marks = std::make_unique<DiskMarks>();
      marks_ = marks.get();
      disks_.tell(marks_);
      world_.add_checker(std::move(marks));
    }
  }

  SwarmResult run() {
    const Instant quiet_at = Instant() + length_ - options_.quiet;
    plan_jobs(quiet_at);
    operators_.plan(quiet_at, *submits_);
    if (options_.faults) {
      plan_faults(quiet_at);
      disks_.plan_images(quiet_at);
    }
    world_.at(quiet_at, [this] { stop_faults(); });
    world_.run_until(Instant() + length_);
    const bool is_lost = marks_ != nullptr && marks_->losses().all_bets_are_off();
    const Duration bound = Operators::flood(profile_) ? StartsInTime::bound(world_) : Duration(0);
    const Duration drain_max = is_lost ? kDrainOfLost : std::max(profile_.drain_max, bound);
    // A host that stands still goes on in its time; one that gave its seat up has much to hear.
    const auto is_quiet = [this] { return world_.are_all_awake() && is_drained(); };
    world_.run_until_true(is_quiet, drain_max);
    const std::uint64_t starts = world_.all_starts();
    world_.run_for(kSettle);
    // A host that came back without its log within that time gets a new seat only later.
    world_.run_until_true(is_quiet, drain_max);
    if (world_.all_starts() != starts) {
      world_.run_for(kSettle);  // A host that left as late as that has only just come back.
    }
    if (profile_.weights.has(Fault::kForged)) {
      const auto agree = [this] { return RowsConverge::amiss(world_).empty(); };
      world_.run_until_true(agree, kLiesLast);
    }
    if (!options_.stop_at_violation || world_.violations().empty()) {
      world_.finish();
    }
    return result();
  }

 private:
  static WorldOptions world_options(const SwarmOptions& options) {
    WorldOptions world;
    world.hosts = options.hosts;
    world.seed = options.seed;
    world.drift_ppm_max = options.faults ? options.drift_ppm_max : 0;
    world.trace = options.trace;
    world.check_messages = options.faults && DiskFaults::may_forget(options.profile);
    world.stop_at_violation = options.stop_at_violation;
    world.fsync_min = options.profile.fsync_min;
    world.fsync_max = options.profile.fsync_max;
    world.invariant_stride = options.invariant_stride;
    world.are_gpus_watched = options.profile.are_gpus_watched;
    world.racks = options.hosts >= 20 ? 8 : 0;
    world.relays_from_hosts = 20;
    Traitor::take_rights(options.profile, options.seed, world);
    return world;
  }

  bool is_drained() {
    return LostQuorum::is_in(profile_) ? submits_->acknowledged() == submits_->size() &&
                                             LostQuorum::what_is_amiss(world_).empty()
                                       : submits_->drained(world_);
  }

  std::uint32_t some_host() { return static_cast<std::uint32_t>(rng_.below(options_.hosts)); }
  std::uint32_t some_voter() { return static_cast<std::uint32_t>(rng_.below(kVoters)); }
  Duration seconds(std::int64_t low, std::int64_t high) {
    return rng_.between(std::chrono::seconds(low), std::chrono::seconds(high));
  }

  void plan_jobs(Instant end) {
    for (Instant when = Instant() + std::chrono::seconds(5); when < end;
         when += rng_.between(kBetweenJobsMin, profile_.between_jobs_max)) {
      world_.at(when, [this] {
        submits_->submit(world_, some_host(), some_job());
        if (options_.faults && rng_.chance(profile_.cancel_at_once)) {
          cancel_newest();
        }
        if (options_.faults && rng_.chance(profile_.order_at_once)) {
          order_newest();
        }
        if (options_.faults && rng_.chance(profile_.repeat)) {
          submits_->repeat(world_, some_host(), rng_.below(submits_->size()));
        }
      });
    }
  }

  scheduler::JobSpec some_job() {
    scheduler::JobSpec spec = sim::some_job(profile_, options_.hosts, rng_, requests_);
    ask_to_wait(spec, requests_, profile_.waits, [this] { return submits_->some_job(requests_); });
    return spec;
  }

  void plan_faults(Instant end) {
    for (Instant when = Instant() + profile_.first_fault; when < end;
         when += rng_.between(profile_.between_faults_min, profile_.between_faults_max)) {
      world_.at(when, [this] { some_fault(); });
    }
  }

  void count(const std::string& fault) { ++counts_[fault]; }

  void some_fault() {
    const std::uint32_t host = rng_.chance(300'000) ? some_voter() : some_host();
    switch (const Fault kind = some_kind()) {
      case Fault::kAgentKilled:
      case Fault::kPowerLost:
        return kind == Fault::kPowerLost ? power_loss(host) : kill_agent(host);
      case Fault::kFrozen:
        return freeze(host);
      case Fault::kSplit:
      case Fault::kOneWay:
        return kind == Fault::kSplit ? split() : one_way(host);
      case Fault::kBadNetwork:
        return bad_network();
      case Fault::kSlowDisk:
        return slow_disk(host);
      case Fault::kSupervisorKilled:
        count("supervisor_killed");
        return world_.kill_supervisor(host);
      case Fault::kCancelled:
        return cancel_some();
      case Fault::kLeaderKilled:
        return kill_leader();
      case Fault::kIsolated:
        return isolate(host);
      case Fault::kLeaderZombie:
        return leader_zombie();
      case Fault::kLeft:
        return leave();
      case Fault::kSuspended:
      case Fault::kResumed:
      case Fault::kRequeued:
        return order_some(word_of(kind));
      case Fault::kVoterLostRaft:
        return disks_.lose_raft(removal_over_at_);
      case Fault::kVoterRemoved:
        return remove_voter(host);
      case Fault::kVoterAdded:
        return change_quorum(agent::QuorumAction::kAdd, host);
      case Fault::kTransferred:
        return change_quorum(agent::QuorumAction::kTransfer, host);
      case Fault::kStopAsked:
        return ask_to_stop(host);
      case Fault::kBridge:
      case Fault::kRing:
        return kind == Fault::kRing ? ring() : bridge(host);
      case Fault::kWordsOvertaken:
        return overtake_words();
      case Fault::kDiskPutBack:
      case Fault::kDiskLied:
      case Fault::kVoterPutBack:
      case Fault::kDiskFull:
      case Fault::kMoved:
      case Fault::kVotersLost:
        return disks_.act(kind, host);
      case Fault::kQuorumLost:
        return lost_quorum_.lose_majority();
      case Fault::kDeciderKilled:
        submits_->submit(world_, some_host(), some_job());
        return after(rng_.between(Duration(0), kNewJobsStart), [this] { kill_leader(); });
      case Fault::kDrained:
      case Fault::kReordered:
      case Fault::kWordWrong:
      case Fault::kHostRemoved:
      case Fault::kForged:
      case Fault::kProofForged:
      case Fault::kFlooded:
      case Fault::kEdited:
        return operators_.act(kind, host, some_host_without_vote(), *submits_);
    }
  }

  Fault some_kind() {
    const auto& weights = profile_.weights.all();
    std::uint64_t drawn = rng_.below(std::accumulate(weights.begin(), weights.end(), 0U));
    std::size_t kind = 0;
    while (drawn >= weights[kind]) {
      drawn -= weights[kind++];
    }
    return static_cast<Fault>(kind);
  }

  std::uint32_t some_host_without_vote() {
    return static_cast<std::uint32_t>(kVoters + rng_.below(options_.hosts - kVoters));
  }

  void after(Duration delay, std::function<void()> action) {
    world_.at(world_.now() + delay, std::move(action));
  }

  void kill_agent(std::uint32_t host) {
    count("agent_killed");
    world_.kill_agent(host);
    after(seconds(0, 40), [this, host] { world_.start_agent(host); });
  }

  /// world_.size() if no host leads.
  std::uint32_t leader() const { return world_.leader(); }

  void kill_leader() {
    const std::uint32_t host = leader();
    if (host < world_.size()) {
      count("leader_killed");
      world_.kill_agent(host);
      after(seconds(0, 20), [this, host] { world_.start_agent(host); });
    }
  }

  void power_loss(std::uint32_t host) {
    count("power_lost");
    world_.power_off(host);
    after(seconds(1, 60), [this, host] { world_.power_on(host); });
  }

  void freeze(std::uint32_t host) {
    count("frozen");
    world_.freeze(host, rng_.between(std::chrono::milliseconds(100), std::chrono::seconds(90)));
  }

  void split() {
    count("split");
    std::set<std::uint32_t> side;
    const std::uint64_t size = 1 + rng_.below(options_.hosts - 1);
    while (side.size() < size) {
      side.insert(some_host());
    }
    for (std::uint32_t a = 0; a < options_.hosts; ++a) {
      for (const std::uint32_t b : side) {
        if (!side.contains(a)) {
          world_.network().cut(a, b);
          world_.network().cut(b, a);
        }
      }
    }
    after(seconds(2, 60), [this] { world_.network().heal_all(); });
  }

  void one_way(std::uint32_t host) {
    count("one_way");
    const bool deaf = rng_.chance(500'000);
    for (std::uint32_t other = 0; other < options_.hosts; ++other) {
      world_.network().cut(deaf ? other : host, deaf ? host : other);
    }
    after(seconds(2, 40), [this] { world_.network().heal_all(); });
  }

  void isolate(std::uint32_t host) {
    count("isolated");
    for (std::uint32_t other = 0; other < options_.hosts; ++other) {
      world_.network().cut(other, host);
      world_.network().cut(host, other);
    }
    after(rng_.between(profile_.isolated_min, profile_.isolated_max),
          [this] { world_.network().heal_all(); });
  }

  /// Cuts `host` off from all but `friend_of_it`.
  void cut_but_for(std::uint32_t host, std::uint32_t friend_of_it) {
    for (std::uint32_t other = 0; other < options_.hosts; ++other) {
      if (other != host && other != friend_of_it) {
        world_.network().cut(other, host);
        world_.network().cut(host, other);
      }
    }
  }

  /// The leader stands still, cut off with one host that hears of no other leader, and wakes with
  /// its renewals to answer as if nothing had been. Two hosts lost at once look like a partition,
  /// so the others evict that one only a minute later: this takes long holds.
  void leader_zombie() {
    const std::uint32_t host = leader();
    const std::uint32_t companion = some_host_without_vote();
    if (host == world_.size() || host == companion) {
      return;
    }
    count("leader_zombie");
    cut_but_for(host, companion);
    cut_but_for(companion, host);
    world_.freeze(host, seconds(85, 105));
    after(seconds(200, 240), [this] { world_.network().heal_all(); });
  }

  /// Some hundred milliseconds into the life of a new job: its Start may be on its way.
  void overtake_words() {
    count("words_overtaken");
    submits_->submit(world_, some_host(), some_job());
    after(rng_.between(Duration(0), kNewJobsStart), [this] {
      const std::uint32_t from = leader();
      const std::uint32_t to = from < world_.size() ? some_member(from) : from;
      if (to == from) {
        return;
      }
      world_.network().detour(from, to, rng_.between(profile_.detour_min, profile_.detour_max));
      after(rng_.between(Duration(0), kRenewalPeriod), [this, from, to] {
        world_.network().detour(from, to, Duration(0));
        isolate(to);
      });
    });
  }

  /// Of the newest attempt there; the leader itself when there is no other.
  std::uint32_t some_member(std::uint32_t led_by) const {
    const auto& attempts = world_.node(led_by).seat().state().attempts();
    if (!attempts.empty()) {
      for (const scheduler::MemberRecord& record : attempts.rbegin()->second.members) {
        if (record.member.host != world_.id(led_by)) {
          return *world_.find(record.member.host);
        }
      }
    }
    return led_by;
  }

  void leave() {
    const std::uint32_t host = some_host_without_vote();
    if (world_.is_running(host)) {
      count("left");
      agent::Request request;
      request.verb = agent::Verb::kLeave;
      world_.ask(host, std::move(request));
      after(seconds(2, 60), [this, host] { world_.start_agent(host); });
    }
  }

  void remove_voter(std::uint32_t host) {
    // Two voters of which one is gone are a majority lost, however the third was removed.
    if (disks_.is_quorum_whole()) {
      removal_over_at_ = world_.now() + kRemovalTakes;
      change_quorum(agent::QuorumAction::kRemove, host);
    }
  }

  void change_quorum(agent::QuorumAction action, std::uint32_t host) {
    count(action == agent::QuorumAction::kAdd      ? "voter_added"
          : action == agent::QuorumAction::kRemove ? "voter_removed"
                                                   : "transferred");
    agent::Request request;
    request.verb = agent::Verb::kChangeQuorum;
    request.arguments = agent::encode_payload(agent::QuorumWish{action, world_.id(host)});
    world_.ask(some_host(), std::move(request));
  }

  void ask_to_stop(std::uint32_t host) {
    if (world_.is_running(host) && !world_.is_frozen(host)) {
      count("stop_asked");
      world_.ask_to_stop(host);
      start_once_stopped(host, world_.starts(host));
    }
  }

  /// It may have been frozen before it was done: then it ends when it is thawed.
  void start_once_stopped(std::uint32_t host, std::uint32_t start) {
    after(seconds(2, 20), [this, host, start] {
      if (world_.is_running(host) && world_.starts(host) == start) {
        return start_once_stopped(host, start);
      }
      world_.start_agent(host);
    });
  }

  void bridge(std::uint32_t middle) {
    count("bridge");
    for (std::uint32_t a = 0; a < options_.hosts; ++a) {
      for (std::uint32_t b = 0; b < options_.hosts; ++b) {
        if (a != middle && b != middle && a % 2 != b % 2) {
          world_.network().cut(a, b);
        }
      }
    }
    after(seconds(2, 60), [this] { world_.network().heal_all(); });
  }

  void ring() {
    count("ring");
    for (std::uint32_t a = 0; a < options_.hosts; ++a) {
      for (std::uint32_t b = 0; b < options_.hosts; ++b) {
        const std::uint32_t apart = (a + options_.hosts - b) % options_.hosts;
        if (apart > 1 && apart + 1 < options_.hosts) {
          world_.network().cut(a, b);
        }
      }
    }
    after(seconds(2, 60), [this] { world_.network().heal_all(); });
  }

  void bad_network() {
    count("bad_network");
    NetworkFaults& faults = world_.network().faults;
    faults.loss = static_cast<std::uint32_t>(rng_.below(50'000));
    faults.duplicate = static_cast<std::uint32_t>(rng_.below(50'000));
    faults.late = static_cast<std::uint32_t>(rng_.below(50'000));
    faults.late_max = rng_.between(std::chrono::milliseconds(50), std::chrono::seconds(5));
    after(seconds(5, 40), [this] { world_.network().faults = NetworkFaults(); });
  }

  void slow_disk(std::uint32_t host) {
    count("slow_disk");
    world_.set_fsync(host, std::chrono::milliseconds(10), std::chrono::seconds(1));
    after(seconds(5, 40),
          [this, host] { world_.set_fsync(host, profile_.fsync_min, profile_.fsync_max); });
  }

  /// While its attempt is RESERVED, if the moment is right.
  void cancel_newest() {
    const JobId newest(submits_->size());
    after(rng_.between(std::chrono::milliseconds(1), profile_.cancel_within),
          [this, newest] { cancel(newest); });
  }

  void cancel(JobId job) { order(job, agent::Verb::kCancel, some_host()); }

  void order(JobId job, agent::Verb verb, std::uint32_t host) {
    count(verb == agent::Verb::kCancel    ? "cancelled"
          : verb == agent::Verb::kSuspend ? "suspended"
          : verb == agent::Verb::kResume  ? "resumed"
                                          : "requeued");
    agent::Request request;
    request.verb = verb;
    request.arguments = verb == agent::Verb::kRequeue
                            ? agent::encode_payload(agent::RequeueArgs{job, 0})
                            : agent::encode_payload(agent::JobRef{job});
    world_.ask(host, std::move(request));
  }

  void order_some(agent::Verb verb) {
    if (submits_->size() == 0) {
      return;
    }
    order(JobId(1 + rng_.below(submits_->size())), verb, some_host());
  }
  static agent::Verb word_of(Fault fault) {
    return fault == Fault::kSuspended ? agent::Verb::kSuspend
           : fault == Fault::kResumed ? agent::Verb::kResume
                                      : agent::Verb::kRequeue;
  }
  void cancel_some() { order_some(agent::Verb::kCancel); }

  /// Several words about one job, soon after each other or at once.
  void order_newest() {
    static constexpr agent::Verb kWords[] = {agent::Verb::kSuspend, agent::Verb::kResume,
                                             agent::Verb::kRequeue, agent::Verb::kSuspend,
                                             agent::Verb::kResume,  agent::Verb::kCancel};
    const JobId newest(submits_->size());
    Duration delay = rng_.between(Duration(0), profile_.order_within);
    const std::uint64_t words = 1 + rng_.below(4);
    for (std::uint64_t i = 0; i < words; ++i) {
      const agent::Verb verb = kWords[rng_.below(std::size(kWords))];
      after(delay, [this, newest, verb] { order(newest, verb, some_host()); });
      delay += rng_.between(Duration(0), rng_.chance(500'000) ? kWordsClose : kWordsApart);
    }
  }

  /// Nobody else ends a suspended job, or takes back a drain whose end was lost.
  void keep_resuming() {
    const std::uint32_t host = leader();
    if (host < world_.size()) {
      operators_.take_back_all(host);
      for (const auto& [id, job] : world_.node(host).seat().state().jobs()) {
        if (job.life.state == scheduler::JobState::kSuspended) {
          order(id, agent::Verb::kResume, host);
        }
      }
    }
    after(kResumeEvery, [this] { keep_resuming(); });
  }

  void stop_faults() {
    keep_resuming();
    world_.network().heal_all();
    world_.network().faults = NetworkFaults();
    for (std::uint32_t host = 0; host < options_.hosts; ++host) {
      world_.power_on(host);
      world_.start_agent(host);
      world_.set_fsync(host, profile_.fsync_min, profile_.fsync_max);
    }
  }

  SwarmResult result() {
    SwarmResult result;
    result.violations = world_.violations();
    result.virtual_time = world_.now().time_since_epoch();
    result.hash = world_.hash();
    result.steps = world_.steps();
    result.launches = gpus_->launches();
    result.jobs = submits_->acknowledged();
    result.network = world_.network().stats;
    result.faults = counts_;
    result.disks = marks_ == nullptr ? DiskLosses() : marks_->losses();
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (world_.is_running(host) && world_.node(host).seat().has_seat()) {
        result.edges.merge(world_.node(host).seat().state().edges());
        result.job_steps.merge(world_.node(host).seat().state().job_steps());
      }
    }
    return result;
  }

  SwarmOptions options_;
  const SwarmProfile& profile_ = options_.profile;
  const Duration length_ = std::max(options_.length, profile_.length_min);
  Rng rng_;
  Rng requests_;  ///< Of requests alone, so that a schedule of faults stays as it is.
  World world_;
  SubmitsKept submits_tried_;  ///< Of runs that do not ask whether they were kept.
  SubmitsKept* submits_ = nullptr;
  NoGpuInTwoAttempts* gpus_ = nullptr;
  DiskMarks* marks_ = nullptr;
  Instant removal_over_at_;
  std::map<std::string, std::uint64_t> counts_;
  DiskFaults disks_{world_, profile_, rng_, counts_};
  LostQuorum lost_quorum_{world_, rng_, counts_};
  Operators operators_{world_, profile_, rng_, counts_};
};

}  // namespace

SwarmResult run_swarm(const SwarmOptions& options) {
  return Swarm(options).run();
}

}  // namespace muster::sim
