#include "agent/front/why_model.h"

#include <optional>
#include <string>
#include <utility>

#include "agent/api/payload.h"
#include "agent/front/array_model.h"
#include "agent/front/wait_model.h"
#include "scheduler/why/conditions.h"
#include "scheduler/why/explain.h"

namespace muster::agent {
namespace {

using scheduler::Attempt;

/// Hosts on which jobs can be placed as the log says, but not as this node sees them.
scheduler::HostDoubts doubts_of(const scheduler::State& state, const HostViews& hosts) {
  scheduler::HostDoubts doubts = hosts.left_out_by_leader;
  for (const auto& [id, record] : state.hosts()) {
    const membership::Member* member = hosts.member_of(id);
    if (record.is_reachable() && is_missing(member)) {
      doubts[id] = "host " + std::string(membership::name_of(member->state));
    }
  }
  return doubts;
}

/// "; rank 3 on host c: out of memory: ...": the first rank of an ended attempt that was ended by
/// what its host told in words. "" if there is no such rank.
std::string end_of_ranks(const Attempt& attempt, const HostViews& hosts) {
  for (const scheduler::MemberRecord& record : attempt.members) {
    for (const scheduler::RankResult& result : record.results) {
      const bool has_run = result.kind == scheduler::RankResult::Kind::kExited ||
                           result.kind == scheduler::RankResult::Kind::kSignalled;
      if (attempt.state == scheduler::AttemptState::kEnded && has_run && !result.detail.empty()) {
        return "; rank " + std::to_string(result.rank) + " on host " +
               hosts.addresses.name(record.member.host) + ": " + result.detail;
      }
    }
  }
  return "";
}

/// The reason for which a job waits, and the outlook of a job whose hosts do not answer.
std::string headline_of(const scheduler::State& state, const scheduler::Job& job,
                        const scheduler::Why& why, const HostViews& hosts) {
  if (why.is_queued && !hosts.unled.empty()) {
    return scheduler::lead_text(why.reason) + hosts.unled;
  }
  const Attempt* newest =
      job.life.attempt_tokens.empty() ? nullptr : state.attempt(job.life.attempt_tokens.back());
  const std::string next = newest == nullptr ? "" : outlook(job, *newest, hosts);
  const std::string ended = newest == nullptr ? "" : end_of_ranks(*newest, hosts);
  if (next.empty()) {
    return why.text() + ended;
  }
  if (!hosts.unled.empty()) {
    return "some of its hosts do not answer; " + hosts.unled;
  }
  return job.life.state == scheduler::JobState::kRunning ? next : why.text() + "; " + next + ended;
}

/// False for a closeness that cannot apply: one host of a request for several, or a rack or spine
/// if no host names one. The closeness that the request requires always applies.
bool can_apply(scheduler::Pack pack, const scheduler::Request& request,
               const scheduler::State& state) {
  const std::uint32_t each = request.units_per_host();
  const bool is_of_one_host = each == 0 || request.units() == each;
  const auto is_named = [&state](std::string scheduler::HostTraits::*place) {
    return std::any_of(state.hosts().begin(), state.hosts().end(), [place](const auto& entry) {
      const scheduler::HostRecord& host = entry.second;
      const bool is_gone = host.is_removed || host.verdict == scheduler::Verdict::kLeft;
      return !is_gone && !(host.traits.*place).empty();
    });
  };
  if (pack == request.pack) {
    return true;
  }
  switch (pack) {
    case scheduler::Pack::kIsland:
      return is_of_one_host && request.gpus != 0;
    case scheduler::Pack::kHost:
      return is_of_one_host;
    case scheduler::Pack::kRack:
      return is_named(&scheduler::HostTraits::rack);
    case scheduler::Pack::kSpine:
      return is_named(&scheduler::HostTraits::spine);
    case scheduler::Pack::kAny:
      break;
  }
  return true;
}

/// "64 H100", "16 GPUs"; "" if no max keeps the job out.
std::string max_text(const scheduler::Why& why) {
  const std::string what = why.full_pool == scheduler::kAllGpus ? "GPUs"
                           : why.full_pool == scheduler::kCpus  ? "CPUs"
                                                                : why.full_pool;
  return why.full_queue.empty() ? "" : std::to_string(why.full_max) + " " + what;
}

WhySide side_of(const scheduler::TurnSide& side) {
  constexpr std::uint64_t kPermille = 1000;
  return {side.queue, !side.user.empty(), side.held, side.weight,
          side.credit * kPermille / scheduler::kCreditOne};
}

/// `now`: cluster time.
void add_queue(const scheduler::Job& job, const scheduler::Why& why, Duration now, WhyInfo& info) {
  // A job that does not wait counts in the queue that its specification names.
  info.queue = why.is_queued ? why.queue : job.spec.queue;
  info.tier = scheduler::text_of(why.is_queued ? why.tier : job.spec.tier);
  info.full_queue = why.full_queue;
  info.full_text = max_text(why);
  info.others_wait = why.others_wait;
  info.turn = {why.turn.pool,          why.turn.first,     std::string(text_of(why.turn.rule)),
               why.turn.text(),        why.turn.next_with, side_of(why.turn.own),
               side_of(why.turn.other)};
  if (why.turn.plan.has_value()) {
    const Duration left = why.turn.plan->start - now;
    info.turn.starts_in_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(1, to_ms(left)));
    info.turn.planned_hosts = why.turn.plan->hosts.size();
  }
}

WhyInfo info_of(const scheduler::State& state, const HostViews& hosts, const scheduler::Job& job,
                const scheduler::Why& why) {
  WhyInfo info;
  info.job = job.id;
  info.state = scheduler::text_of(why.state);
  info.headline = headline_of(state, job, why, hosts);
  info.wanted = why.is_queued ? job.spec.request.units() : 0;
  info.free = why.free_gpus;
  info.lacking = why.lacking_gpus;
  info.ahead = why.ahead;
  info.ahead_count = why.ahead_count;
  info.awaits_hosts = why.standstill.awaits_hosts;
  add_queue(job, why, state.cluster_time(), info);
  info.wait = wait_info(state, job);
  if (why.ahead_count == 0 && why.full_queue.empty() && why.standstill.is_none() &&
      hosts.unled.empty()) {
    using scheduler::TurnRule;
    const bool is_told = why.turn.rule != TurnRule::kNone;
    info.would_start = !is_told || why.turn.is_next_then ? why.smallest_end : std::vector<JobId>();
    info.fits_now = !is_told || why.turn.rule == TurnRule::kNext ? why.largest_now : 0;
  }
  for (const HostId host : why.left_out) {
    info.left_out.push_back(hosts.addresses.name(host));
  }
  for (const scheduler::Withheld& withheld : why.withheld) {
    info.withheld.push_back({withheld.reason, withheld.gpus});
  }
  info.has_gpus = why.has_gpus;
  info.open_hosts = why.open_hosts;
  for (const scheduler::Filtered& filtered : why.filtered) {
    info.filters.push_back({filtered.reason, filtered.hosts});
  }
  for (const auto& [pack, units] : why.largest) {
    if (can_apply(pack, job.spec.request, state)) {
      info.largest.push_back({std::string(scheduler::text_of(pack)), units});
    }
  }
  for (const scheduler::Remedy& remedy : why.would_fit_with) {
    info.would_fit.push_back(remedy.change);
  }
  std::size_t size = 0;
  for (const scheduler::Holder& holder : why.holders) {
    if (info.holders.size() >= kHoldersListedMax || size >= kHoldersBytes) {
      ++info.holders_more;
      continue;
    }
    HolderInfo entry;
    entry.job = holder.job;
    const scheduler::Job* held_by = state.job(holder.job);
    entry.name = held_by == nullptr ? "" : held_by->spec.name;
    entry.gpus = holder.gpus;
    entry.cpus = holder.cpus;
    for (const HostId host : holder.hosts) {
      entry.hosts.push_back(hosts.addresses.name(host));
    }
    size += encode_payload(entry).size();
    info.holders.push_back(std::move(entry));
  }
  return info;
}

}  // namespace

WhyInfo why_info(const JobsKnown& known, const HostViews& hosts, JobId id) {
  const scheduler::State& state = known.state;
  const auto why = scheduler::why(state, known.capacity, known.queue, id, doubts_of(state, hosts));
  const scheduler::Job* job = state.job(id);
  if (!why.has_value() || job == nullptr) {
    WhyInfo unknown;
    unknown.job = id;
    return unknown;
  }
  return info_of(state, hosts, *job, *why);
}

WhyInfo why_array(const JobsKnown& known, const HostViews& hosts,
                  const scheduler::TaskArray& array) {
  const scheduler::State& state = known.state;
  if (const std::optional<JobId> task = telling_task(state, array)) {
    return why_info(known, hosts, *task);
  }
  const JobSummary summary = array_summary(state, array, hosts);
  WhyInfo why;
  why.wait = summary.wait;
  why.job = array.id;
  why.state = summary.state;
  why.queue = summary.queue;
  why.tier = summary.tier;
  why.headline = is_waiting(array) ? scheduler::conditions_text(state, array.wait) : summary.reason;
  // Tasks that failed before their turn have no names.
  if (summary.tasks_failed > 0 && array.wait.ended_by.empty()) {
    why.headline += "; `muster show " + text_of(array.id) + "` names those that failed";
  }
  return why;
}

WhyInfo dry_run_info(const JobsKnown& known, const HostViews& hosts,
                     const scheduler::JobSpec& spec) {
  const scheduler::State& state = known.state;
  scheduler::Job job;
  job.id = scheduler::kDryRun;
  job.spec = spec;
  job.orders.priority = spec.priority;
  if (auto wait = state.wait_of(spec.eligibility, hosts.now_unix_ms)) {
    job.life.wait = *std::move(wait);
  }
  job.life.reason = "not submitted";
  const scheduler::HostDoubts doubts = doubts_of(state, hosts);
  const scheduler::Why why = scheduler::why_queued(state, known.capacity, known.queue, job, doubts);
  WhyInfo info = info_of(state, hosts, job, why);
  info.job = JobId();
  // It has no number so far.
  info.turn.first = info.turn.first == scheduler::kDryRun ? JobId() : info.turn.first;
  if (const std::string never = state.never_of(job.life.wait); !never.empty()) {
    info.headline = "it would be cancelled at once: " + never;
    return info;
  }
  const bool may_be_first = why.ahead_count == 0 && why.others_wait == 0 && why.full_queue.empty();
  if (!why.fits_now || !may_be_first || !why.standstill.is_none() || !hosts.unled.empty()) {
    return info;
  }
  for (const auto& [host, reason] : doubts) {
    job.life.left_out.push_back(
        {host, Duration::max()});  // The leader places nothing there, either.
  }
  const auto placement = known.capacity.place(state, job);
  for (const scheduler::Member& member :
       placement.has_value() ? placement->members : std::vector<scheduler::Member>()) {
    if (info.places.size() == kPlacesListedMax) {
      ++info.places_more;
      continue;
    }
    const std::size_t units = why.has_gpus ? member.gpus.size() : member.rank_count();
    info.places.push_back({hosts.addresses.name(member.host), units});
  }
  return info;
}

}  // namespace muster::agent
