#include "agent/front/read_model.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>

#include "agent/api/payload.h"
#include "agent/front/array_model.h"
#include "agent/front/use_model.h"
#include "agent/front/wait_model.h"
#include "crdt/rows/roll.h"
#include "membership/rings.h"
#include "scheduler/policy/owed_waits.h"
#include "scheduler/protocol/host_fault.h"
#include "scheduler/why/conditions.h"
#include "scheduler/why/explain.h"

namespace muster::agent {
namespace {

using membership::MemberState;
using scheduler::Attempt;
using scheduler::MemberEnd;
using scheduler::MemberRecord;
using scheduler::RankResult;

HostInfo host_info(const HostsKnown& known, const membership::Member& member) {
  const std::vector<HostId>& voters = known.quorum.voters;
  HostInfo info;
  info.id = member.host;
  info.name = known.addresses.name(member.host);
  info.is_voter = std::find(voters.begin(), voters.end(), member.host) != voters.end();
  info.is_leader = member.host == known.quorum.leader;
  for (const membership::Accusation& accusation : known.accusations(member.host)) {
    info.claimed_by.push_back(known.addresses.name(accusation.observer));
  }
  info.state = membership::name_of(member.state);
  info.generation = member.start.generation;
  info.rack = member.rack;
  info.since_ms =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(known.now - member.since)));
  if (member.state == MemberState::kSuspect || member.state == MemberState::kUnreachable) {
    info.detail = membership::name_of(member.kind);
  }
  if (member.doubled) {
    info.detail = info.detail.empty() ? "doubled" : info.detail + ", doubled";
  }
  const crdt::Field* roll = known.store.field(member.host, crdt::FieldId::kRoll);
  const auto record = roll == nullptr ? std::nullopt : crdt::decode_roll(roll->bytes);
  if (record.has_value() && record->revoked) {
    info.state = "revoked";
    info.detail.clear();
  }
  if (const crdt::Identity* identity = known.addresses.identity(member.host)) {
    info.address = identity->control.text();
    info.version = identity->version;
    info.https = identity->https.is_none() ? "" : identity->https.text();
  }
  const crdt::Field* field = known.store.field(member.host, crdt::FieldId::kCapacity);
  const auto capacity = field == nullptr ? std::nullopt : crdt::decode_capacity(field->bytes);
  if (capacity.has_value()) {
    info.gpu_type = capacity->gpu_type;
    info.gpus = capacity->gpus.size();
    info.gpus_healthy =
        static_cast<std::uint64_t>(std::count_if(capacity->gpus.begin(), capacity->gpus.end(),
                                                 [](const crdt::Gpu& gpu) { return gpu.healthy; }));
    info.cpus = capacity->cpus;
    info.memory_mb = capacity->memory_mb;
    if (!capacity->shortage.empty() && info.state == membership::name_of(MemberState::kAlive)) {
      info.detail += (info.detail.empty() ? "" : ", ") + std::string(kStartsNothing) + ": " +
                     capacity->shortage;
    }
  }
  return info;
}

std::string text_of(const RankResult& result) {
  constexpr std::int32_t kKillSignal = 9;
  const bool is_strange_kill = result.kind == RankResult::Kind::kSignalled &&
                               result.code == kKillSignal && !result.signalled_by_us &&
                               result.detail.empty();  // Else it says the cause.
  const std::string ours = result.signalled_by_us ? " (stopped by Muster)"
                           : is_strange_kill      ? " (not sent by Muster: memory may have run out)"
                                                  : "";
  switch (result.kind) {
    case RankResult::Kind::kExited:
      return "exited " + std::to_string(result.code) + ours;
    case RankResult::Kind::kSignalled:
      return "killed by signal " + std::to_string(result.code) + ours;
    case RankResult::Kind::kNeverRan:
      return "never ran";
    case RankResult::Kind::kLost:
      return "lost";
    case RankResult::Kind::kNotStarted:
      return scheduler::is_host_fault(result) ? "not started by its host"
                                              : "not started (" + std::to_string(result.code) + ")";
  }
  return "";
}

std::string text_of_member(const Attempt& attempt, const MemberRecord& record) {
  switch (record.end) {
    case MemberEnd::kFinished:
      return "finished";
    case MemberEnd::kLost:
      return "lost";
    case MemberEnd::kExpired:
      return "expired";
    case MemberEnd::kAborted:
      return "aborted";
    case MemberEnd::kNone:
      break;
  }
  if (record.condemned.value() != 0) {
    return "condemned";
  }
  if (attempt.state == scheduler::AttemptState::kReserved) {
    return record.ready ? "ready" : "assigned";
  }
  return attempt.state == scheduler::AttemptState::kStarted ? "running" : "stopping";
}

MemberInfo member_info(const Attempt& attempt, const MemberRecord& record, const HostViews& hosts) {
  MemberInfo info;
  info.host = record.member.host;
  info.host_name = hosts.addresses.name(record.member.host);
  if (const membership::Member* member = hosts.member_of(info.host)) {
    info.host_state = membership::name_of(member->state);
    info.host_since_ms =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(hosts.now - member->since)));
    if (is_missing(member) && member->state != MemberState::kLeft) {
      info.host_detail = membership::name_of(member->kind);
    }
  }
  info.first_rank = record.member.first_rank;
  info.state = text_of_member(attempt, record);
  info.cpus = record.member.cpus;
  info.memory_mb = record.member.memory_mb;
  for (const scheduler::GpuSlot& gpu : record.member.gpus) {
    info.gpus.push_back(gpu.uuid.text());
  }
  for (std::uint32_t local = 0; local < record.member.rank_count(); ++local) {
    RankInfo rank;
    rank.rank = info.first_rank + local;
    rank.state = info.state;
    for (const RankResult& result : record.results) {
      if (result.rank == rank.rank) {
        rank.state = text_of(result);
        rank.detail = result.detail;
        rank.output_bytes = result.output_bytes;
        rank.lost_bytes = result.lost_bytes;
        rank.surplus_bytes = result.surplus_bytes;
      }
    }
    info.ranks.push_back(std::move(rank));
  }
  return info;
}

/// The log has the states of attempts in capitals.
std::string lower(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lowered;
}

/// `left` is the number of bytes for members; the call subtracts those of the listed members.
AttemptInfo attempt_info(const Attempt& attempt, const HostViews& hosts, std::size_t& left) {
  AttemptInfo info;
  info.number = attempt.number;
  info.token = attempt.token;
  info.state = lower(scheduler::text_of(attempt.state));
  info.cause = attempt.completed                          ? "completed"
               : attempt.cause == scheduler::Cause::kNone ? ""
                                                          : scheduler::text_of(attempt.cause);
  for (const MemberRecord& record : attempt.members) {
    MemberInfo member = member_info(attempt, record, hosts);
    const std::size_t size = encode_payload(member).size();
    if (size > left || info.members_left_out > 0) {
      left = 0;  // The list begins with the first rank; after a cut there are no older members.
      ++info.members_left_out;
      continue;
    }
    left -= size;
    info.members.push_back(std::move(member));
  }
  return info;
}

/// The reasons, as far as the queues alone know them, for which the jobs of a range of numbers
/// wait. Walks the queues once.
class Waits {
 public:
  Waits(const JobsKnown& known, std::int64_t now_unix_ms, JobId first, JobId last)
      : capacity_(known.capacity), short_hosts_(short_hosts_text(known.state)) {
    // A queue comes behind those above it: the lowest one is told.
    for (const scheduler::OwedWait& wait : scheduler::owed_waits(
             known.state, capacity_, known.queue, now_unix_ms, scheduler::kOwedWaitTold)) {
      if (first <= wait.job && wait.job <= last) {
        owed_[wait.job] = scheduler::owed_text(known.state, capacity_, wait) + short_hosts_ +
                          left_out_text(*known.state.job(wait.job));
      }
    }
    for (const auto& [leaf, queue] : known.queue) {
      walk(known.state, leaf, queue, first, last);
    }
  }
  std::string text(JobId job) const {
    if (const auto owed = owed_.find(job); owed != owed_.end()) {
      return owed->second;
    }
    const auto found = texts_.find(job);
    return found == texts_.end() ? "" : found->second;
  }

 private:
  /// "; host c starts nothing: disk: ...": the reachable hosts with a shortage.
  static std::string short_hosts_text(const scheduler::State& state) {
    std::string text;
    std::size_t more = 0;
    for (const auto& [id, host] : state.hosts()) {
      if (!host.is_reachable() || host.shortage.empty()) {
        continue;
      }
      more += text.empty() ? 0 : 1;
      text = text.empty() ? "; " + scheduler::shortage_text(host) : text;
    }
    return text + (more == 0 ? "" : " and " + std::to_string(more) + " more");
  }
  /// The reason of the job names the host that refused it.
  static std::string left_out_text(const scheduler::Job& job) {
    return job.life.left_out.empty() ? "" : "; " + job.life.reason;
  }
  static std::string what(const scheduler::Request& request) {
    return request.gpus != 0 ? "GPUs" : "CPUs";
  }
  std::string first_text(const scheduler::State& state, const scheduler::Leaf& leaf,
                         const scheduler::Job& job) {
    if (std::string full = scheduler::full_text(state, capacity_, job); !full.empty()) {
      return full;
    }
    const std::string queue =
        state.queues().is_set() ? "queue " + state.queues().at(leaf.queue).node.path : "the queue";
    return "first " + (leaf.user.empty() ? "" : "of " + leaf.user + " ") + "in " + queue +
           ", waits for " + what(job.spec.request);
  }
  void walk(const scheduler::State& state, const scheduler::Leaf& leaf,
            const scheduler::Queue& queue, JobId first, JobId last) {
    std::size_t ahead = 0;
    for (const scheduler::QueueKey& key : queue) {
      const scheduler::Job& job = *state.job(key.job);
      const std::uint32_t live = live_for(job);
      const bool is_aside = live < job.spec.request.units();
      if (first <= key.job && key.job <= last) {
        texts_[key.job] = is_aside ? need_text(job, live) + short_hosts_ + left_out_text(job)
                          : ahead == 0
                              ? first_text(state, leaf, job) + short_hosts_ + left_out_text(job)
                              : "behind " + std::to_string(ahead) + (ahead == 1 ? " job" : " jobs");
      }
      ahead += is_aside ? 0 : 1;
    }
  }
  /// Cached: most jobs of a long queue ask for the same as an earlier one.
  std::uint32_t live_for(const scheduler::Job& job) {
    for (const auto& [other, live] : asked_) {
      if (other->spec.request == job.spec.request &&
          other->life.is_relaxed == job.life.is_relaxed &&
          other->spec.limits.keep_when_isolated == job.spec.limits.keep_when_isolated &&
          other->life.left_out == job.life.left_out) {
        return live;
      }
    }
    const std::uint32_t live = capacity_.live_for(job);
    if (asked_.size() < kAskedKept) {
      asked_.emplace_back(&job, live);
    } else {
      asked_[next_++ % kAskedKept] = {&job, live};
    }
    return live;
  }

  static constexpr std::size_t kAskedKept = 16;

  scheduler::Capacity& capacity_;
  const std::string short_hosts_;
  std::vector<std::pair<const scheduler::Job*, std::uint32_t>> asked_;
  std::size_t next_ = 0;
  std::map<JobId, std::string> owed_;  ///< Jobs that wait long though their queue is owed.
  std::map<JobId, std::string> texts_;
};

void add_times(const scheduler::State& state, const HostViews& hosts, const scheduler::Job& job,
               const Attempt* newest, JobSummary& summary) {
  const auto unsigned_ms = [](std::int64_t ms) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ms));
  };
  summary.submit_unix_ms = unsigned_ms(job.history.submitted_unix_ms);
  summary.start_unix_ms = unsigned_ms(job.history.started_unix_ms);
  summary.end_unix_ms = unsigned_ms(job.history.ended_unix_ms);
  summary.age_ms = wall_age_ms(hosts.now_unix_ms, job.history.submitted_unix_ms);
  summary.gpu_ms = gpu_ms_of(state, job);
  const bool was_started = newest != nullptr && !newest->was_aborted() &&
                           newest->state != scheduler::AttemptState::kReserved;
  if (was_started && job.life.state != scheduler::JobState::kQueued &&
      job.life.state != scheduler::JobState::kScheduled) {
    const bool is_suspended = job.life.state == scheduler::JobState::kSuspended;
    const Duration until = job.has_ended() ? job.history.ended_at
                           : is_suspended && !job.history.transitions.empty()
                               ? job.history.transitions.back().at
                               : state.cluster_time();
    summary.run_ms = unsigned_ms(to_ms(until - newest->started_at));
  }
}

JobSummary summary_of(const scheduler::State& state, const scheduler::Job& job,
                      const HostViews& hosts, const Waits* waits) {
  JobSummary summary;
  summary.id = job.id;
  summary.name = job.spec.name;
  summary.user = job.spec.user;
  summary.state = scheduler::text_of(job.life.state);
  summary.gpus = job.spec.request.gpus;
  summary.ranks = job.spec.request.ranks;
  for (const std::string& type : job.spec.request.gpu_types) {
    summary.gpu_type += (summary.gpu_type.empty() ? "" : "|") + type;
  }
  summary.attempt = job.life.attempts;
  summary.priority = job.orders.priority;
  summary.queue = job.spec.queue;
  summary.tier = scheduler::text_of(job.spec.tier);
  summary.exit_code = job.life.exit_code;
  if (job.life.state != scheduler::JobState::kRunning) {
    summary.cause =
        job.history.transitions.empty() ? job.life.reason : job.history.transitions.back().cause;
  }
  const Attempt* newest =
      job.life.attempt_tokens.empty() ? nullptr : state.attempt(job.life.attempt_tokens.back());
  const bool has_hosts = job.life.state != scheduler::JobState::kQueued &&
                         job.life.state != scheduler::JobState::kSuspended;
  if (newest != nullptr && has_hosts) {
    for (const MemberRecord& record : newest->members) {
      summary.hosts.push_back(hosts.addresses.name(record.member.host));
    }
  }
  add_times(state, hosts, job, newest, summary);
  // An attempt that needs its hosts no more has no outlook.
  const bool is_under_way = newest != nullptr && job.life.current == newest->token;
  const std::string next = is_under_way ? outlook(job, *newest, hosts) : "";
  summary.is_doubtful = job.life.state == scheduler::JobState::kRunning && !next.empty();
  summary.wait = wait_info(state, job);
  summary.reason = job.pauses()
                       ? "retries in " + scheduler::pause_text(scheduler::retry_in(state, job))
                   : job.is_waiting() ? scheduler::conditions_brief(state, job.life.wait)
                   : job.life.state == scheduler::JobState::kQueued    ? waits->text(job.id)
                   : job.life.state == scheduler::JobState::kCompleted ? ""
                   : !next.empty()                                     ? next
                                                                       : summary.cause;
  return summary;
}

/// Its approximate size in a message.
std::size_t size_bytes(const JobSummary& summary) {
  std::size_t size = 64 + summary.name.size() + summary.user.size() + summary.state.size() +
                     summary.gpu_type.size() + summary.cause.size() + summary.reason.size() +
                     summary.queue.size() + summary.tier.size() + 64;
  for (const std::string& host : summary.hosts) {
    size += 5 + host.size();
  }
  size += 24;  // The times of its conditions.
  for (const WaitItem& each : summary.wait.after) {
    size += 1 + 5 + each.item.size() + 5 + each.state.size();
  }
  return size;
}

}  // namespace

StormInfo storm_info(const membership::StormStatus& storm, Instant now) {
  return {std::string(name_of(storm.mode)), static_cast<std::uint64_t>(to_ms(now - storm.since)),
          storm.reason};
}

HostList host_list(const HostsKnown& known) {
  HostList list;
  list.storm = storm_info(known.storm, known.now);
  for (const auto& [host, member] : known.members) {
    list.hosts.push_back(host_info(known, member));
  }
  std::sort(list.hosts.begin(), list.hosts.end(),
            [](const HostInfo& a, const HostInfo& b) { return a.name < b.name; });
  return list;
}

HostList hosts_page(const HostsKnown& known, HostId after) {
  const std::map<HostId, membership::Member>& members = known.members;
  HostList list;
  list.storm = storm_info(known.storm, known.now);
  std::size_t size = 0;
  auto member = members.upper_bound(after);
  for (; member != members.end() && list.hosts.size() < kHostsListedMax && size < kHostsPageBytes;
       ++member) {
    list.hosts.push_back(host_info(known, member->second));
    size += encode_payload(list.hosts.back()).size();
  }
  if (member != members.end()) {
    list.next = list.hosts.back().id;
  }
  return list;
}

std::optional<WhyHostInfo> why_host_info(const HostsKnown& known, HostId host) {
  const auto member = known.members.find(host);
  if (member == known.members.end()) {
    return std::nullopt;
  }
  WhyHostInfo info;
  info.host = host_info(known, member->second);
  info.storm = storm_info(known.storm, known.now);
  const std::vector<HostId>& observers = member->second.observers;
  info.suspect_from = membership::suspect_threshold(observers.size());
  info.verdict_from = membership::verdict_threshold(observers.size());
  const std::vector<membership::Accusation> accusations = known.accusations(host);
  for (const membership::Accusation& each : accusations) {
    info.claims.push_back(
        {known.addresses.name(each.observer), std::string(membership::name_of(each.kind)),
         each.weak,
         static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(known.now - each.since)))});
  }
  for (const HostId& observer : observers) {
    const bool is_content =
        std::none_of(accusations.begin(), accusations.end(),
                     [&](const auto& each) { return each.observer == observer; });
    if (is_content) {
      info.content.push_back(known.addresses.name(observer));
    }
  }
  std::sort(info.content.begin(), info.content.end());
  return info;
}

namespace {

/// Adds jobs and arrays above `after` in the order of their numbers, until the page is full.
class JobsPage {
 public:
  JobsPage(const JobsKnown& known, const HostViews& hosts, JobId after, JobId end)
      : state_(known.state),
        hosts_(hosts),
        job_(state_.jobs().upper_bound(after)),
        jobs_end_(state_.jobs().lower_bound(end)),
        array_(state_.arrays().upper_bound(after)),
        arrays_end_(state_.arrays().lower_bound(end)),
        waits_(known, hosts.now_unix_ms, after.next(), last_wanted(end)) {}

  /// The page ends behind the job with which it reaches `bytes_max`.
  JobList list(std::size_t bytes_max) {
    JobList list;
    std::size_t size = 0;
    while ((job_ != jobs_end_ || array_ != arrays_end_) && list.jobs.size() < kJobsListedMax &&
           size < bytes_max) {
      const bool is_array =
          job_ == jobs_end_ || (array_ != arrays_end_ && array_->first < job_->first);
      list.jobs.push_back(is_array ? array_summary(state_, (array_++)->second, hosts_)
                                   : summary_of(state_, (job_++)->second, hosts_, &waits_));
      size += size_bytes(list.jobs.back());
    }
    if (job_ != jobs_end_ || array_ != arrays_end_) {
      list.next = list.jobs.back().id;
    }
    return list;
  }

 private:
  JobId last_wanted(JobId end) const {
    auto last = job_;
    for (std::size_t i = 0; i < kJobsListedMax && last != jobs_end_; ++i) {
      ++last;
    }
    return last == jobs_end_ ? end : last->first;
  }

  const scheduler::State& state_;
  const HostViews& hosts_;
  std::map<JobId, scheduler::Job>::const_iterator job_;
  std::map<JobId, scheduler::Job>::const_iterator jobs_end_;
  scheduler::ArrayBook::Arrays::const_iterator array_;
  scheduler::ArrayBook::Arrays::const_iterator arrays_end_;
  const Waits waits_;
};

}  // namespace

JobList jobs_page(const JobsKnown& known, const HostViews& hosts, JobId after, JobId array) {
  if (array > kLastArray) {
    return {};
  }
  const bool is_of_tasks = array != JobId();
  const JobId begin = is_of_tasks ? JobId(task_id(array, 0).value() - 1) : JobId();
  const JobId end = is_of_tasks ? JobId(task_id(array, kTaskIndexMax).value() + 1) : kFirstTask;
  after = std::max(after, begin);
  return after >= end ? JobList() : JobsPage(known, hosts, after, end).list(kJobsPageBytes);
}

JobList newest_jobs(const JobsKnown& known, const HostViews& hosts) {
  const scheduler::State& state = known.state;
  const auto first_job = state.jobs().begin();
  const auto first_array = state.arrays().begin();
  auto job = state.jobs().lower_bound(kFirstTask);
  auto array = state.arrays().end();
  JobId after = kFirstTask;
  for (std::size_t i = 0; i < kJobsListedMax && (job != first_job || array != first_array); ++i) {
    const bool is_array = job == first_job ||
                          (array != first_array && std::prev(array)->first > std::prev(job)->first);
    after = JobId((is_array ? (--array)->first : (--job)->first).value() - 1);
  }
  return after == kFirstTask ? JobList() : JobsPage(known, hosts, after, kFirstTask).list(SIZE_MAX);
}

std::optional<JobDetail> job_detail(const JobsKnown& known, const HostViews& hosts, JobId id) {
  const scheduler::State& state = known.state;
  const scheduler::Job* job = state.job(id);
  if (job == nullptr) {
    return std::nullopt;
  }
  JobDetail detail;
  std::optional<Waits> waits;
  if (job->life.state == scheduler::JobState::kQueued) {
    waits.emplace(known, hosts.now_unix_ms, id, id);
  }
  detail.summary = summary_of(state, *job, hosts, waits.has_value() ? &*waits : nullptr);
  detail.spec = job->spec;
  for (const scheduler::Transition& step : job->history.transitions) {
    detail.transitions.push_back(
        {step.index, static_cast<std::uint64_t>(to_ms(step.at)),
         std::string(scheduler::text_of(step.to)), step.cause,
         static_cast<std::uint64_t>(std::max<std::int64_t>(0, step.unix_ms))});
  }
  const std::size_t size = encode_payload(detail).size();
  std::size_t left = kJobDetailBytes - std::min(kJobDetailBytes, size);
  for (auto token = job->life.attempt_tokens.rbegin(); token != job->life.attempt_tokens.rend();
       ++token) {
    if (const Attempt* attempt = state.attempt(*token)) {
      detail.attempts.push_back(attempt_info(*attempt, hosts, left));
    }
  }
  std::reverse(detail.attempts.begin(), detail.attempts.end());
  return detail;
}

}  // namespace muster::agent
