#include "agent/front/use_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "agent/api/payload.h"
#include "crdt/rows/roll.h"

namespace muster::agent {
namespace {

using scheduler::Attempt;
using scheduler::HostRecord;
using scheduler::Job;
using scheduler::MemberEnd;
using scheduler::MemberRecord;
using scheduler::State;

std::uint64_t positive_ms(Duration span) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, to_ms(span)));
}

DrainInfo drain_info(const scheduler::HostDrain& drain, const State& state, std::int64_t now) {
  DrainInfo info;
  info.by = drain.by;
  info.why = drain.why;
  info.since_ms = wall_age_ms(now, drain.unix_ms);
  info.requeues = drain.requeues;
  info.requeue_in_ms = drain.requeues ? positive_ms(drain.requeue_at - state.cluster_time()) : 0;
  return info;
}

HostUse host_use(const State& state, const HostRecord& record, const crdt::AddressBook& addresses,
                 std::int64_t now) {
  HostUse use;
  use.id = record.id;
  use.name = record.name.empty() ? addresses.name(record.id) : record.name;
  use.gpu_type = record.gpu_type;
  use.gpus = record.gpus.size();
  use.gpus_free = record.takes_work() ? state.free_gpus(record).size() : 0;
  use.since_ms = wall_age_ms(now, record.unix_ms);
  use.has_left = record.verdict == scheduler::Verdict::kLeft;
  use.is_removed = record.is_removed;
  use.is_awaited = record.is_superseded() || record.recovery.awaits_hello;
  use.is_drained = record.drain.has_value();
  if (record.drain.has_value()) {
    use.drain = drain_info(*record.drain, state, now);
  }
  std::set<JobId> jobs;
  for (const Token& token : state.tokens_on(record.id)) {
    const Attempt* attempt = state.attempt(token);
    use.gpus_used += attempt->find(record.id)->member.gpus.size();
    jobs.insert(attempt->job);
  }
  const scheduler::HeldAmounts held = state.held_on(record.id);
  use.cpus_used = held.cpus;
  use.memory_mb_used = held.memory_mb;
  use.jobs.assign(jobs.begin(), jobs.end());
  use.jobs.resize(std::min(use.jobs.size(), kUseJobsMax));
  return use;
}

/// Adds the holder of the GPU, if it has one.
void add_holder(const State& state, const HostRecord& record, GpuInfo& info) {
  for (const auto& [slot, holder] : state.gpus().holders_of(info.uuid)) {
    const Attempt* attempt = state.attempt(holder.token);
    const MemberRecord* member = attempt == nullptr ? nullptr : attempt->find(record.id);
    if (member == nullptr || holder.host != record.id) {
      continue;
    }
    info.state = "used";
    info.job = attempt->job;
    info.token = holder.token;
    const scheduler::Member& share = member->member;
    const auto gpu = std::find_if(share.gpus.begin(), share.gpus.end(),
                                  [&](const auto& each) { return each.uuid == info.uuid; });
    const auto place = static_cast<std::uint64_t>(gpu - share.gpus.begin());
    info.rank = share.first_rank + place * share.rank_count() / share.gpus.size();
    if (const Job* job = state.job(attempt->job); job != nullptr) {
      info.job_name = job->spec.name;
      info.user = job->spec.user;
    }
  }
}

GpuInfo gpu_info(const State& state, const HostRecord& record, const std::string& uuid,
                 const std::set<std::string>& free) {
  const auto is_in = [&uuid](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), uuid) != list.end();
  };
  GpuInfo info;
  info.uuid = uuid;
  info.state = record.mask_of(uuid) != nullptr ? "masked"
               : is_in(record.quarantined)     ? "quarantined"
               : is_in(record.unhealthy_gpus)  ? "unhealthy"
               : free.contains(uuid)           ? "free"
               : record.drain.has_value()      ? "drained"
                                               : "withheld";
  add_holder(state, record, info);
  return info;
}

/// The state of the GPU, the reason, and the time that this is so, as the log has them.
void add_state(const HostRecord& record, std::int64_t now, ListedGpu& gpu) {
  const auto is_in = [&gpu](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), gpu.uuid) != list.end();
  };
  const auto order =
      std::find_if(record.gpu_orders.begin(), record.gpu_orders.end(),
                   [&](const scheduler::GpuOrder& each) { return each.uuid == gpu.uuid; });
  gpu.by = order == record.gpu_orders.end() ? "" : order->by;
  if (const scheduler::GpuOrder* mask = record.mask_of(gpu.uuid)) {
    gpu.state = "masked";
    gpu.why = mask->why;
    gpu.since_ms = wall_age_ms(now, mask->unix_ms);
  } else if (!record.is_reachable()) {
    gpu.state = "unreachable";
    gpu.since_ms = wall_age_ms(now, record.unix_ms);
  } else if (is_in(record.quarantined)) {
    gpu.state = "quarantined";
    gpu.why = "its host has not found it clean since a job ended";
  } else if (is_in(record.unhealthy_gpus)) {
    gpu.state = "unhealthy";
  } else if (record.drain.has_value()) {
    gpu.state = "drained";
    gpu.why = record.drain->why;
  } else if (!record.takes_work()) {
    gpu.state = "withheld";
    gpu.why = record.shortage.empty() ? "its host takes no work now" : record.shortage;
  } else {
    gpu.state = "healthy";
  }
}

/// Whether `job` is the job that is meant, or a task of that array.
bool is_meant(JobId meant, JobId job) {
  return job == meant || (!is_task(meant) && is_task(job) && array_of(job) == meant);
}

void add_gpus(const State& state, const HostRecord& record, const crdt::AddressBook& addresses,
              std::int64_t now, const GpusQuery& query, std::vector<ListedGpu>& gpus) {
  for (std::size_t i = 0; i < record.gpus.size(); ++i) {
    if (!record.gpus[i].starts_with(query.uuid)) {
      continue;
    }
    GpuInfo held;
    held.uuid = record.gpus[i];
    add_holder(state, record, held);
    if (query.job != JobId() && !is_meant(query.job, held.job)) {
      continue;
    }
    ListedGpu gpu;
    gpu.host = record.id;
    gpu.host_name = record.name.empty() ? addresses.name(record.id) : record.name;
    gpu.index = i;
    gpu.uuid = record.gpus[i];
    gpu.gpu_type = record.gpu_type;
    gpu.job = held.job;
    gpu.user = held.user;
    gpu.token = held.token;
    add_state(record, now, gpu);
    gpus.push_back(std::move(gpu));
  }
}

/// Masks of GPUs that the host does not register now: an operator ends them by unmask alone.
void add_gone(const HostRecord& record, std::int64_t now, const GpusQuery& query,
              std::vector<ListedGpu>& gpus) {
  std::size_t index = record.gpus.size();
  for (const scheduler::GpuOrder& order : record.gpu_orders) {
    const bool is_gone =
        std::find(record.gpus.begin(), record.gpus.end(), order.uuid) == record.gpus.end();
    if (!order.is_mask || !is_gone || !order.uuid.starts_with(query.uuid)) {
      continue;
    }
    ListedGpu gpu;
    gpu.host = record.id;
    gpu.host_name = record.name;
    gpu.index = index++;
    gpu.uuid = order.uuid;
    add_state(record, now, gpu);
    gpu.why += "; its host does not register it now";
    gpus.push_back(std::move(gpu));
  }
}

struct Sums {
  std::map<std::string, UsageRow> rows;

  UsageRow& of(const std::string& key) {
    UsageRow& row = rows[key];
    row.key = key;
    return row;
  }
};

/// Adds the GPUs that attempts hold now, each with its time after `since`.
void add_held(const State& state, const std::string& by, Duration since, const JobSight& sight,
              Sums& sums) {
  std::map<std::string, std::set<JobId>> jobs;
  for (const Token& token : state.live()) {
    const Attempt* attempt = state.attempt(token);
    const Job* job = state.job(attempt->job);
    if (job == nullptr) {
      continue;
    }
    for (const MemberRecord& record : attempt->members) {
      const HostRecord* host = state.host(record.member.host);
      if (record.end != MemberEnd::kNone || host == nullptr) {
        continue;
      }
      const std::string key = by == "type"             ? host->gpu_type
                              : !sight.sees(job->spec) ? kOtherTeams
                              : by == "user"           ? job->spec.user
                                                       : job->spec.name;
      UsageRow& row = sums.of(key);
      row.gpus_now += record.member.gpus.size();
      row.gpu_ms += record.member.gpus.size() *
                    positive_ms(state.cluster_time() - std::max(since, attempt->reserved_at));
      jobs[key].insert(job->id);
    }
  }
  for (const auto& [key, ids] : jobs) {
    sums.of(key).jobs_now = ids.size();
  }
}

}  // namespace

std::uint64_t wall_age_ms(std::int64_t now_unix_ms, std::int64_t then_unix_ms) {
  const bool is_known = now_unix_ms > 0 && then_unix_ms > 0 && now_unix_ms > then_unix_ms;
  return is_known ? static_cast<std::uint64_t>(now_unix_ms - then_unix_ms) : 0;
}

HostUseList host_uses(const State& state, const crdt::AddressBook& addresses,
                      std::int64_t now_unix_ms, HostId after) {
  HostUseList list;
  std::size_t size = 0;
  auto host = state.hosts().upper_bound(after);
  for (; host != state.hosts().end() && list.hosts.size() < kUsesListedMax && size < kUsesPageBytes;
       ++host) {
    list.hosts.push_back(host_use(state, host->second, addresses, now_unix_ms));
    size += encode_payload(list.hosts.back()).size();
  }
  if (host != state.hosts().end()) {
    list.next = list.hosts.back().id;
  }
  return list;
}

std::optional<HostDetail> host_detail(const State& state, const crdt::AddressBook& addresses,
                                      std::int64_t now_unix_ms, HostId host) {
  const HostRecord* record = state.host(host);
  if (record == nullptr) {
    return std::nullopt;
  }
  HostDetail detail;
  detail.use = host_use(state, *record, addresses, now_unix_ms);
  detail.labels = record->traits.labels;
  detail.spine = record->traits.spine;
  if (const scheduler::EnrolledHost* enrolled = state.roll().find(host)) {
    const auto said = crdt::decode_roll(enrolled->record).value_or(crdt::RollRecord());
    detail.may_vote = said.may_vote && !said.revoked;
    detail.may_vouch = said.may_vouch && !said.revoked;
  }
  detail.islands.assign(record->traits.islands.begin(), record->traits.islands.end());
  std::set<std::string> free;
  if (record->takes_work()) {
    const std::vector<std::string> list = state.free_gpus(*record);
    free.insert(list.begin(), list.end());
  }
  for (const std::string& uuid : record->gpus) {
    detail.gpus.push_back(gpu_info(state, *record, uuid, free));
  }
  return detail;
}

GpuList gpu_list(const State& state, const crdt::AddressBook& addresses, std::int64_t now_unix_ms,
                 const GpusQuery& query) {
  GpuList list;
  std::size_t size = 0;
  const auto end = state.hosts().end();
  auto host = query.host.is_zero() ? state.hosts().upper_bound(query.after)
                                   : state.hosts().find(query.host);
  while (host != end && size < kUsesPageBytes) {
    const HostRecord& record = host->second;
    const std::size_t before = list.gpus.size();
    if (record.verdict != scheduler::Verdict::kLeft && !record.is_removed) {
      add_gpus(state, record, addresses, now_unix_ms, query, list.gpus);
      if (query.job == JobId()) {
        add_gone(record, now_unix_ms, query, list.gpus);
      }
    }
    for (std::size_t i = before; i < list.gpus.size(); ++i) {
      size += encode_payload(list.gpus[i]).size();
    }
    const HostId last = host->first;
    host = query.host.is_zero() ? std::next(host) : end;
    list.next = host == end ? HostId() : last;
  }
  return list;
}

std::optional<UsageList> usage_list(const State& state, const UsageQuery& query,
                                    const JobSight& sight) {
  if (query.by != "user" && query.by != "type" && query.by != "name") {
    return std::nullopt;
  }
  const std::int64_t today = state.cluster_time() / scheduler::kUsageDay;
  std::int64_t first = std::max<std::int64_t>(0, today - scheduler::kUsageDays + 1);
  if (query.since_ms != 0) {
    const auto since = std::chrono::milliseconds(
        std::min<std::uint64_t>(query.since_ms, static_cast<std::uint64_t>(INT32_MAX) * 1000));
    first = std::max(first, (state.cluster_time() - since) / scheduler::kUsageDay);
  }
  const Duration begin = scheduler::kUsageDay * first;
  Sums sums;
  if (query.by == "name") {
    for (const auto& [id, job] : state.jobs()) {
      if (job.history.gpu_ms > 0) {
        sums.of(sight.sees(job.spec) ? job.spec.name : kOtherTeams).gpu_ms += job.history.gpu_ms;
      }
    }
  } else {
    for (const auto& [key, time] : state.usage().rows()) {
      if (key.day >= first) {
        const std::string user = key.user.empty()            ? "(others)"
                                 : sight.sees_user(key.user) ? key.user
                                                             : kOtherTeams;
        sums.of(query.by == "user" ? user : key.gpu_type).gpu_ms += time;
      }
    }
  }
  add_held(state, query.by, query.by == "name" ? Duration::zero() : begin, sight, sums);
  UsageList list;
  list.days = query.by == "name" ? 0 : static_cast<std::uint64_t>(today - first + 1);
  for (auto& [key, row] : sums.rows) {
    list.rows.push_back(std::move(row));
  }
  std::stable_sort(list.rows.begin(), list.rows.end(),
                   [](const UsageRow& a, const UsageRow& b) { return a.gpu_ms > b.gpu_ms; });
  if (list.rows.size() > kUsageRowsListedMax) {
    list.rows_left_out = list.rows.size() - kUsageRowsListedMax;
    list.rows.resize(kUsageRowsListedMax);
  }
  return list;
}

std::uint64_t gpu_ms_of(const scheduler::State& state, const scheduler::Job& job) {
  std::uint64_t time = job.history.gpu_ms;
  for (const Token& token : job.life.attempt_tokens) {
    const scheduler::Attempt* attempt = state.attempt(token);
    if (attempt == nullptr) {
      continue;
    }
    for (const scheduler::MemberRecord& record : attempt->members) {
      if (record.end == scheduler::MemberEnd::kNone) {
        time += scheduler::gpu_ms(state.cluster_time() - attempt->reserved_at,
                                  record.member.gpus.size());
      }
    }
  }
  return time;
}

}  // namespace muster::agent
