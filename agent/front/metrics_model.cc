#include "agent/front/metrics_model.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "agent/front/fleet_pools.h"
#include "agent/front/queue_load.h"
#include "gossip/base/version.h"
#include "scheduler/protocol/request.h"

namespace muster::agent {
namespace {

using scheduler::Edge;
using scheduler::GrantState;
using scheduler::HostRecord;
using scheduler::JobEvent;
using scheduler::JobState;
using scheduler::State;

/// Values of one label, each once, in an order.
using Labelled = std::vector<std::pair<std::string, MetricValue>>;
/// The same while they are summed up.
using LabelSums = std::map<std::string, std::uint64_t>;

class FamilyList {
 public:
  void gauge(std::string name, std::string help, MetricValue value) {
    all_.push_back(single_metric(std::move(name), std::move(help), MetricType::kGauge, value));
  }
  void counter(std::string name, std::string help, std::uint64_t value) {
    all_.push_back(single_metric(std::move(name), std::move(help), MetricType::kCounter, value));
  }
  void gauges(std::string name, std::string help, const std::string& label,
              const Labelled& values) {
    add({std::move(name), std::move(help), MetricType::kGauge, {}}, label, values);
  }
  void counters(std::string name, std::string help, const std::string& label,
                const Labelled& values) {
    add({std::move(name), std::move(help), MetricType::kCounter, {}}, label, values);
  }
  void add(MetricFamily family) { all_.push_back(std::move(family)); }
  std::vector<MetricFamily> take() { return std::move(all_); }

 private:
  void add(MetricFamily family, const std::string& label, const Labelled& values) {
    for (const auto& [value, number] : values) {
      family.samples.push_back({{{label, value}}, number, {}});
    }
    all_.push_back(std::move(family));
  }

  std::vector<MetricFamily> all_;
};

Labelled labelled(const LabelSums& sums) {
  return {sums.begin(), sums.end()};
}

/// The `most` largest, and the rest together if there is one.
Labelled largest(const LabelSums& sums, std::size_t most) {
  std::vector<std::pair<std::string, std::uint64_t>> ranked(sums.begin(), sums.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  LabelSums kept;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    kept[i < most ? ranked[i].first : kOtherMetered] += ranked[i].second;
  }
  return labelled(kept);
}

std::string_view grant_word(GrantState state) {
  switch (state) {
    case GrantState::kReady:
      return "ready";
    case GrantState::kStarting:
      return "starting";
    case GrantState::kRunning:
      return "running";
    case GrantState::kStopping:
      return "stopping";
    case GrantState::kEnded:
      return "ended";
    case GrantState::kAborted:
      return "aborted";
  }
  return "";
}

void add_build(const NodeFacts& node, FamilyList& list) {
  list.add({"muster_build_info",
            "Version, cluster and name of this host, always 1; run one version everywhere.",
            MetricType::kGauge,
            {{{{"version", kProductVersion},
               {"protocol", std::to_string(kProtocolVersion)},
               {"cluster", node.cluster.is_zero() ? "" : node.cluster.hex()},
               {"host", node.name}},
              1,
              {}}}});
}

void add_members(const NodeFacts& node, FamilyList& list) {
  constexpr membership::MemberState kStates[] = {
      membership::MemberState::kAlive, membership::MemberState::kSuspect,
      membership::MemberState::kUnreachable, membership::MemberState::kLeft};
  Labelled members;
  for (const membership::MemberState state : kStates) {
    const auto count = std::count_if(node.members.begin(), node.members.end(),
                                     [&](const auto& each) { return each.second.state == state; });
    members.emplace_back(membership::name_of(state), static_cast<std::uint64_t>(count));
  }
  list.gauges("muster_members",
              "Hosts by state as this node sees them; run `muster hosts` if some are unreachable.",
              "state", members);
  list.gauge("muster_rows",
             "Rows of hosts that this node holds; compare nodes, which should differ for seconds "
             "only.",
             node.rows);
  Labelled modes;
  for (const StormMode mode : {StormMode::kNormal, StormMode::kDomain, StormMode::kPartial,
                               StormMode::kPartitionSuspected}) {
    modes.emplace_back(name_of(mode), metric_flag(mode == node.storm));
  }
  list.gauges("muster_storm_mode",
              "1 for the mode in which this node judges silent hosts; look at network and power if "
              "it is not normal.",
              "mode", modes);
}

void add_own_gpus(const NodeFacts& node, FamilyList& list) {
  MetricFamily states{"muster_gpu_state",
                      "Health of each GPU of this host as a label, always 1; see `muster gpus` if "
                      "it is not ok.",
                      MetricType::kGauge,
                      {}};
  Labelled withheld;
  Labelled free;
  for (std::size_t i = 0; i < std::min(node.gpus.size(), kOwnGpusMetered); ++i) {
    const OwnGpu& gpu = node.gpus[i];
    const std::string index = std::to_string(i);
    const std::string health = gpu.health.empty() ? "unknown" : metric_label(gpu.health);
    states.samples.push_back({{{"gpu", index}, {"state", health}}, 1, {}});
    withheld.emplace_back(index, metric_flag(gpu.is_withheld));
    free.emplace_back(index, metric_flag(!gpu.is_withheld && !gpu.is_held));
  }
  const auto is_withheld = [](const OwnGpu& gpu) { return gpu.is_withheld; };
  list.gauge("muster_gpus",
             "GPUs of this host; look at its driver if it is below what is built in.",
             node.gpus.size());
  list.gauge(
      "muster_gpus_withheld",
      "GPUs of this host that get no new job; see `muster gpus` for the reasons.",
      static_cast<std::uint64_t>(std::count_if(node.gpus.begin(), node.gpus.end(), is_withheld)));
  list.add(std::move(states));
  list.gauges("muster_gpu_withheld",
              "1 if this GPU gets no new job; repair, reset or unmask it if that lasts.", "gpu",
              withheld);
  list.gauges("muster_gpu_free", "1 if this GPU could get a job now; sum it to see idle GPUs.",
              "gpu", free);
}

void add_grants(const NodeFacts& node, FamilyList& list) {
  Labelled grants;
  for (auto state = static_cast<std::uint8_t>(GrantState::kReady);
       state <= static_cast<std::uint8_t>(GrantState::kAborted); ++state) {
    const auto found = node.grants.find(GrantState{state});
    grants.emplace_back(grant_word(GrantState{state}),
                        found == node.grants.end() ? 0 : found->second);
  }
  list.gauges("muster_grants",
              "Shares of jobs on this host by state; look at its ranks if some stop for minutes.",
              "state", grants);
  list.gauge("muster_starts_grants",
             "1 if this host can start jobs; `muster hosts` says what it lacks if it is 0.",
             metric_flag(node.starts_grants));
}

void add_refusals(const NodeFacts& node, FamilyList& list) {
  list.counters("muster_dropped_messages_total",
                "Messages that this node dropped, by the part that did; look for another cluster "
                "or version if gate rises.",
                "part",
                {{"gate", node.refusals.messages_gate}, {"grants", node.refusals.messages_grants}});
  list.counters("muster_refused_requests_total",
                "Requests of people that were refused without a line in the audit, by reason; look "
                "for a login that guesses if stranger rises.",
                "reason",
                {{"stranger", node.refusals.strangers}, {"note_dropped", node.refusals.notes}});
}

void add_alarms(const NodeFacts& node, FamilyList& list) {
  std::uint64_t all = 0;
  LabelSums named;
  for (const auto& [name, count] : node.alarms) {
    all += count;
    named[named.size() < kAlarmsMetered ? name : kOtherMetered] += count;
  }
  list.counter("muster_alarms_total",
               "Alarms of this node; read `muster events --level alarm` of it if it rises.", all);
  list.counters("muster_alarms_by_name_total",
                "Alarms of this node by name; look the name up in the guide.", "alarm",
                labelled(named));
}

void add_quorum(const QuorumFacts& quorum, FamilyList& list) {
  list.gauge("muster_is_leader",
             "1 if this node leads; one node of a cluster should, so run `muster quorum` if no "
             "node does.",
             metric_flag(quorum.leads));
  list.gauge("muster_has_leader",
             "1 if this node knows a leader that it reaches; look at its network if others do.",
             metric_flag(quorum.has_leader));
  list.gauge("muster_is_voter", "1 if this node votes; see `muster quorum` for the others.",
             metric_flag(quorum.votes));
  list.gauge("muster_raft_term",
             "Term that this node knows; look at the voters' network and disks if it rises often.",
             quorum.term.value());
  list.gauge("muster_raft_commit_index",
             "End of the log that is committed as this voter knows; 0 on hosts without the log, "
             "compare voters.",
             quorum.commit.value());
  list.gauge("muster_raft_applied_index",
             "End of the log that this voter applied; look at its CPU if it stays behind the "
             "commit index.",
             quorum.applied.value());
  list.gauge("muster_raft_log_entries",
             "Entries in the log of this voter; read its alarms if it grows without an end.",
             quorum.log_entries);
  list.gauge("muster_quorum_voters", "Voters; run three or five.", quorum.voters);
  list.gauge("muster_quorum_reachable_voters",
             "Voters that can vote now as this node sees them; start those that miss.",
             quorum.reachable);
  list.gauge("muster_quorum_tolerated_failures",
             "Voters that may still fail; bring one back or add one if it is 0.", quorum.tolerates);
}

/// The state of a GPU of the fleet, the first that is true: each counts once.
enum class FleetGpu : std::uint8_t { kUnreachable, kHeld, kWithheld, kDrained, kFree };
constexpr std::size_t kFleetGpus = 5;
constexpr std::array<std::string_view, kFleetGpus> kFleetGpuWords = {"unreachable", "held",
                                                                     "withheld", "drained", "free"};

FleetGpu fleet_gpu(const State& state, const HostRecord& host, std::size_t index,
                   scheduler::GpuNumber gpu) {
  if (!host.is_reachable()) {
    return FleetGpu::kUnreachable;
  }
  if (state.gpus().is_held(gpu)) {
    return FleetGpu::kHeld;
  }
  if (!host.is_usable(host.gpus[index])) {
    return FleetGpu::kWithheld;
  }
  if (host.drain.has_value()) {
    return FleetGpu::kDrained;
  }
  return host.takes_work() ? FleetGpu::kFree : FleetGpu::kWithheld;
}

/// The value of the label gpu_type for each folded type; types that are not here are "other".
using TypeNames = std::map<std::string, std::string, std::less<>>;

TypeNames type_names(const FleetPools& pools) {
  TypeNames names;
  for (const auto& [type, name] : pools.names) {
    if (names.size() < kGpuTypesMetered) {
      names.emplace(type, metric_label(name));
    }
  }
  return names;
}

std::string type_name(const TypeNames& names, std::string_view type) {
  const auto found = names.find(type);
  return found == names.end() ? kOtherMetered : found->second;
}

void add_fleet(const State& state, const TypeNames& names, FamilyList& list) {
  std::map<std::string, std::array<std::uint64_t, kFleetGpus>> types;
  for (const auto& [id, host] : state.hosts()) {
    const std::vector<scheduler::GpuNumber>& numbers = state.gpus().on(id).gpus;
    if (!host.keeps_name() || numbers.empty()) {
      continue;
    }
    auto& counts = types[type_name(names, scheduler::folded(host.gpu_type))];
    for (std::size_t i = 0; i < std::min(numbers.size(), host.gpus.size()); ++i) {
      ++counts.at(static_cast<std::size_t>(fleet_gpu(state, host, i, numbers[i])));
    }
  }
  MetricFamily family{"muster_fleet_gpus",
                      "GPUs of the fleet by type and state, each in one state; see `muster hosts` "
                      "for those that are neither free nor held.",
                      MetricType::kGauge,
                      {}};
  for (const auto& [type, counts] : types) {
    for (std::size_t i = 0; i < kFleetGpus; ++i) {
      family.samples.push_back(
          {{{"gpu_type", type}, {"state", std::string(kFleetGpuWords.at(i))}}, counts.at(i), {}});
    }
  }
  list.add(std::move(family));
}

void add_jobs(const State& state, FamilyList& list) {
  std::array<std::uint64_t, scheduler::kJobStateCount> counts{};
  std::uint64_t conditional = 0;
  for (const auto& [id, job] : state.jobs()) {
    ++counts.at(static_cast<std::size_t>(job.life.state));
    conditional += job.is_waiting() ? 1U : 0U;
  }
  for (const auto& [id, array] : state.arrays()) {
    // Tasks that are no jobs yet.
    const std::uint64_t folded = array.has_ended() ? 0 : array.folded() - array.skipped_count();
    counts.at(static_cast<std::size_t>(JobState::kQueued)) += folded;
    conditional += array.wait.is_open() ? folded : 0;
  }
  Labelled jobs;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    jobs.emplace_back(text_of(static_cast<JobState>(i)), counts.at(i));
  }
  list.gauges("muster_jobs",
              "Jobs and tasks by state, ended ones until they are forgotten; see `muster jobs`.",
              "state", jobs);
  list.gauge("muster_conditional_jobs",
             "Queued jobs that wait for other jobs or for a time; subtract them from the queued "
             "ones to see who waits for GPUs.",
             conditional);
}

struct EdgeCause {
  Edge edge{};
  std::string_view cause;
};
constexpr EdgeCause kAborts[] = {
    {Edge::kAbortedRefused, "refused"},     {Edge::kAbortedDeadline, "deadline"},
    {Edge::kAbortedCancelled, "cancelled"}, {Edge::kAbortedCondemned, "condemned"},
    {Edge::kAbortedRestarted, "restarted"}, {Edge::kAbortedSuspended, "suspended"},
    {Edge::kAbortedRequeued, "requeued"},   {Edge::kAbortedPreempted, "preempted"},
    {Edge::kAbortedFenced, "fenced"}};
constexpr EdgeCause kStops[] = {
    {Edge::kStopRankFailed, "rank_failed"}, {Edge::kStopHostLost, "host_lost"},
    {Edge::kStopCancelled, "cancelled"},    {Edge::kStopTimeLimit, "time_limit"},
    {Edge::kStopPreempted, "preempted"},    {Edge::kStopSuspended, "suspended"},
    {Edge::kStopRequeued, "requeued"}};

template <std::size_t Size>
Labelled by_cause(const scheduler::EdgeCounts& edges, const EdgeCause (&causes)[Size]) {
  Labelled values;
  for (const EdgeCause& each : causes) {
    values.emplace_back(each.cause, edges[each.edge]);
  }
  return values;
}

/// How often a job was moved by one of `events` to that state.
std::uint64_t moves(const scheduler::JobStepCounts& steps, JobState to) {
  std::uint64_t count = 0;
  for (std::size_t from = 0; from < scheduler::kJobStateCount; ++from) {
    for (std::size_t event = 0; event < scheduler::kJobEventCount; ++event) {
      const auto state = static_cast<JobState>(from);
      const auto move = static_cast<JobEvent>(event);
      const scheduler::JobStep step = scheduler::job_step(state, scheduler::JobOrder::kNone, move);
      count += step.rule == scheduler::JobRule::kMove && step.to == to ? steps(state, move) : 0;
    }
  }
  return count;
}

void add_ends(const State& state, FamilyList& list) {
  const scheduler::EdgeCounts& edges = state.edges();
  const scheduler::JobStepCounts& steps = state.job_steps();
  list.counter("muster_jobs_submitted_total",
               "Jobs that came into the queue, tasks of arrays in their turn; compare it with the "
               "ends.",
               steps(JobState::kQueued, JobEvent::kSubmitted));
  Labelled ends;
  for (const JobState end : {JobState::kCompleted, JobState::kFailed, JobState::kCancelled}) {
    ends.emplace_back(text_of(end), moves(steps, end));
  }
  list.counters("muster_jobs_ended_total",
                "Jobs that ended; look at `muster jobs --state failed` if failures rise.", "end",
                ends);
  list.counter("muster_attempts_started_total",
               "Attempts that were started; compare it with those that stopped.",
               edges[Edge::kStarted]);
  list.counter("muster_attempts_completed_total",
               "Attempts of which every rank succeeded; compare it with those that stopped.",
               edges[Edge::kCompletedStarted] + edges[Edge::kCompletedStopping]);
  list.counters("muster_attempts_aborted_total",
                "Attempts that ended before they started, by cause; look at the hosts if refused "
                "or deadline rises.",
                "cause", by_cause(edges, kAborts));
  list.counters("muster_attempts_stopped_total",
                "Attempts that were stopped, by cause; look for sick hosts if host_lost rises.",
                "cause", by_cause(edges, kStops));
}

std::uint64_t oldest_ms(const QueueCounts& counts) {
  std::uint64_t oldest = 0;
  for (const auto& [tier, waits] : counts.waits) {
    oldest = std::max(oldest, waits.longest_ms);
  }
  return oldest;
}

/// Jobs are in leaves alone, so that the values of all queues add up.
void add_queues(const State& state, const QueueLoad& load, FamilyList& list) {
  LabelSums pending;
  LabelSums running;
  LabelSums oldest;
  const auto& queues = state.queues().all();
  for (std::size_t i = 1; i < queues.size(); ++i) {
    if (queues[i].is_leaf()) {
      const std::string name =
          pending.size() < kQueuesMetered ? queues[i].node.path : kOtherMetered;
      pending[name] += load.counts[i].pending;
      running[name] += load.counts[i].running;
      oldest[name] = std::max(oldest[name], oldest_ms(load.counts[i]));
    }
  }
  list.gauges("muster_queue_pending_jobs",
              "Jobs that wait in each queue; see `muster queue` if it only grows.", "queue",
              labelled(pending));
  list.gauges("muster_queue_running_jobs",
              "Jobs of each queue that have an attempt; compare it with those that wait.", "queue",
              labelled(running));
  Labelled waits;
  for (const auto& [queue, ms] : oldest) {
    waits.emplace_back(queue, metric_seconds_of_ms(ms));
  }
  list.gauges("muster_queue_oldest_wait_seconds",
              "Longest wait of a job in each queue that could start; `muster why` explains it.",
              "queue", waits);
  list.gauge("muster_oldest_wait_seconds",
             "Longest wait of a job that could start; `muster why` explains it.",
             metric_seconds_of_ms(oldest_ms(load.counts[0])));
}

void add_pools(const QueueLoad& load, const TypeNames& names, FamilyList& list) {
  LabelSums waiting;
  for (const auto& [pool, jobs] : load.pools) {
    if (pool != scheduler::kCpuPool) {
      waiting[type_name(names, pool)] += jobs.queues.at(0).count;
    }
  }
  list.gauges("muster_waiting_jobs",
              "Jobs that could start on GPUs of a type, in each that they accept; compare it with "
              "the free GPUs of that type.",
              "gpu_type", labelled(waiting));
}

void add_teams(const State& state, FamilyList& list) {
  LabelSums teams;
  for (const Token& token : state.live()) {
    const scheduler::Attempt* attempt = state.attempt(token);
    const scheduler::Job* job = state.job(attempt->job);
    const std::string team = job == nullptr           ? kOtherMetered
                             : job->spec.team.empty() ? std::string(scheduler::kDefaultTeam)
                                                      : metric_label(job->spec.team);
    for (const scheduler::MemberRecord& record : attempt->members) {
      teams[team] +=
          record.end == scheduler::MemberEnd::kNone ? record.member.gpus.size() : std::size_t{0};
    }
  }
  std::erase_if(teams, [](const auto& team) { return team.second == 0; });
  list.gauges("muster_team_held_gpus",
              "GPUs that jobs of each team hold, of the teams that hold most; see `muster share`.",
              "team", largest(teams, kTeamsMetered));
}

}  // namespace

std::vector<MetricFamily> node_families(const NodeFacts& node) {
  FamilyList list;
  add_build(node, list);
  add_members(node, list);
  add_own_gpus(node, list);
  add_grants(node, list);
  add_refusals(node, list);
  add_alarms(node, list);
  add_quorum(node.quorum, list);
  return list.take();
}

std::vector<MetricFamily> leader_families(const FleetFacts& fleet) {
  const State& state = fleet.state;
  const FleetPools pools = fleet_pools(state);
  const QueueLoad load = queue_load(state, pools, fleet.now_unix_ms);
  const TypeNames names = type_names(pools);
  FamilyList list;
  add_fleet(state, names, list);
  list.gauge("muster_hosts_left_out",
             "Hosts on which this leader places nothing now; see `muster hosts` for the reasons.",
             fleet.left_out);
  add_jobs(state, list);
  add_ends(state, list);
  add_queues(state, load, list);
  add_pools(load, names, list);
  add_teams(state, list);
  return list.take();
}

}  // namespace muster::agent
