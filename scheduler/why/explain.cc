#include "scheduler/why/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/state/charge.h"
#include "scheduler/why/conditions.h"
#include "scheduler/why/job_pools.h"
#include "scheduler/why/what_if.h"

namespace muster::scheduler {
namespace {

/// The hosts that the job could use, held or not: hosts of a suitable kind that take work, without
/// those that its names exclude.
class Usable {
 public:
  Usable(const State& state, const Capacity& capacity, const Job& job, const HostChoice& choice)
      : state_(state), capacity_(capacity), job_(job), choice_(choice) {}

  bool is_open(const HostId& host) const {
    const auto names = [&](const std::vector<HostNumber>& numbers) {
      return std::find(numbers.begin(), numbers.end(), capacity_.number_of(host)) != numbers.end();
    };
    return !names(choice_.barred) && (!choice_.only.has_value() || names(*choice_.only));
  }
  bool holds(const HostRecord& host) const {
    return host.takes_work() && host.suits(job_.spec) && is_open(host.id);
  }

 private:
  const State& state_;
  const Capacity& capacity_;
  const Job& job_;
  const HostChoice& choice_;
};

/// Jobs that hold something that this job could use after their end. `type`: GPU type, "" = all.
std::vector<Holder> holders_of(const State& state, const Usable& usable, const std::string& type) {
  std::map<JobId, Holder> by_job;
  for (const Token& token : state.live()) {
    const Attempt& attempt = *state.attempt(token);
    for (const MemberRecord& record : attempt.members) {
      const HostRecord* host = state.host(record.member.host);
      if (record.end != MemberEnd::kNone || host == nullptr || !usable.holds(*host) ||
          (!type.empty() && host->gpu_type != type)) {
        continue;
      }
      Holder& holder = by_job[attempt.job];
      holder.job = attempt.job;
      holder.cpus += record.member.cpus;
      holder.gpus += static_cast<std::uint32_t>(
          std::count_if(record.member.gpus.begin(), record.member.gpus.end(),
                        [&](const GpuSlot& gpu) { return host->offers(gpu.uuid); }));
      if (std::find(holder.hosts.begin(), holder.hosts.end(), host->id) == holder.hosts.end()) {
        holder.hosts.push_back(host->id);
      }
    }
  }
  std::vector<Holder> holders;
  for (auto& [id, holder] : by_job) {
    std::sort(holder.hosts.begin(), holder.hosts.end());
    holders.push_back(std::move(holder));
  }
  std::stable_sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) {
    return std::pair(a.gpus, a.cpus) > std::pair(b.gpus, b.cpus);
  });
  return holders;
}

/// GPU types of hosts that suit the job; only "", for all, if it asks for no GPUs.
std::set<std::string> types_for(const State& state, const Job& job) {
  if (job.spec.request.gpus == 0) {
    return {""};
  }
  std::set<std::string> types;
  for (const auto& [id, host] : state.hosts()) {
    if (!host.is_removed && host.suits(job.spec)) {
      types.insert(host.gpu_type);
    }
  }
  return types;
}

/// Number of GPUs on hosts that would suit the job under isolation `keep` only.
std::uint32_t barred_gpus(const State& state, const Job& job) {
  std::uint32_t count = 0;
  JobSpec kept = job.spec;
  kept.limits.keep_when_isolated = true;
  for (const auto& [id, host] : state.hosts()) {
    count += !host.suits(job.spec) && host.suits(kept)
                 ? static_cast<std::uint32_t>(host.gpus.size())
                 : 0;
  }
  return count;
}

std::string counted(std::uint32_t units, bool are_gpus) {
  return std::to_string(units) + (are_gpus ? " GPU" : " rank") + (units == 1 ? "" : "s");
}

/// Why the leader places nothing on the host now; "" = the host takes work.
std::string reason_of(const HostRecord& host, const HostDoubts& doubts) {
  if (!host.is_reachable()) {
    return host.verdict == Verdict::kLeft ? "host left" : "host unreachable";
  }
  if (host.drain.has_value()) {
    return "host drained";
  }
  if (host.health != Health::kHealthy) {
    return host.health != Health::kCordoned ? "host suspect"
           : host.shortage.empty()          ? "host cordoned"
                                            : shortage_text(host);
  }
  if (const auto doubt = doubts.find(host.id); doubt != doubts.end()) {
    return doubt->second;
  }
  return host.takes_work() ? "" : "host has to register again";
}

/// Why the kind of the host does not suit the job; "" = it does.
std::string reason_of_kind(const HostRecord& host, const JobSpec& spec) {
  const Request& request = spec.request;
  const auto has = [&](const std::string& label) {
    return std::binary_search(host.traits.labels.begin(), host.traits.labels.end(), label);
  };
  const auto is_type = [&](const std::string& type) {
    return folded(type) == folded(host.gpu_type);
  };
  if (!request.gpu_types.empty() &&
      std::none_of(request.gpu_types.begin(), request.gpu_types.end(), is_type)) {
    return host.gpus.empty() ? "no GPUs" : "other GPU type";
  }
  if (!std::all_of(request.labels.begin(), request.labels.end(), has)) {
    return "label missing";
  }
  if (std::any_of(request.not_labels.begin(), request.not_labels.end(), has)) {
    return "label excluded";
  }
  return host.has_namespaces || spec.limits.keep_when_isolated ? "" : "no PID namespaces";
}

/// The amount that is too small on the host for one unit, or for units_per_host(); "" = it fits.
std::string reason_of_space(const Shape& shape, const HostKind& kind, const HostSpace& space) {
  Shape less = shape;
  less.cpus = 0;
  less.memory_mb = 0;
  if (units_in(less, kind, space) == 0) {
    return kind.gpu_type.empty() ? "no GPUs" : "too few GPUs free";
  }
  less.cpus = shape.cpus;
  if (units_in(less, kind, space) == 0) {
    return "too few CPUs free";
  }
  return units_in(shape, kind, space) == 0 ? "too little memory free" : "";
}

void count_hosts(const State& state, const Capacity& capacity, const Job& job, const Usable& usable,
                 const HostDoubts& doubts, Why& answer) {
  std::map<std::string, std::uint32_t> by_reason;
  const Shape shape = shape_of(job);
  for (const auto& [id, host] : state.hosts()) {
    if (host.is_removed || host.verdict == Verdict::kLeft) {
      continue;
    }
    std::string reason = reason_of_kind(host, job.spec);
    const bool is_left_out = std::any_of(job.life.left_out.begin(), job.life.left_out.end(),
                                         [&](const LeftOut& out) { return out.host == host.id; });
    if (reason.empty() && !usable.is_open(id) && !doubts.contains(id)) {
      reason = is_left_out ? "refused it or answered late" : "excluded by --host or --not-host";
    }
    reason = reason.empty() ? reason_of(host, doubts) : reason;
    const HostSpace* free = reason.empty() ? capacity.free_on(id) : nullptr;
    if (reason.empty()) {
      reason = free == nullptr ? "not registered yet"
                               : reason_of_space(shape, capacity.kind_on(*free), *free);
    }
    if (reason.empty()) {
      ++answer.open_hosts;
    } else {
      ++by_reason[reason];
    }
  }
  for (const auto& [reason, hosts] : by_reason) {
    answer.filtered.push_back({reason, hosts});
  }
  std::stable_sort(answer.filtered.begin(), answer.filtered.end(),
                   [](const Filtered& a, const Filtered& b) { return a.hosts > b.hosts; });
}

/// Single changes of the request that make it fit now.
std::vector<Remedy> would_fit_with(Capacity& capacity, const Job& job,
                                   const std::vector<HostId>& without) {
  const Shape asked = shape_of(job);
  const HostChoice named = capacity.choice(job, without);
  std::vector<Remedy> ways;
  const auto attempt = [&](bool is_asked, const Shape& shape, const HostChoice& hosts,
                           const char* change, const char* lack) {
    if (is_asked && capacity.free_for(shape, hosts) >= asked.units) {
      ways.push_back({change, lack});
    }
  };
  Shape other = asked;
  other.cpus = 0;
  attempt(true, other, named, "fewer CPUs", "CPUs");
  other = asked;
  other.memory_mb = 0;
  attempt(true, other, named, "less memory", "memory");
  other.cpus = 0;
  attempt(ways.empty(), other, named, "fewer CPUs and less memory", "CPUs and memory");
  other = asked;
  other.pack = Pack::kAny;
  attempt(asked.pack != Pack::kAny, other, named, "--pack any", "room that is as close together");
  other = asked;
  other.per_host = 0;
  attempt(asked.per_host != 0, other, named,
          job.spec.request.gpus != 0 ? "any number of GPUs on each host"
                                     : "any number of ranks on each host",
          "hosts with enough room for each share");
  other = asked;
  other.types.clear();
  attempt(!asked.types.empty(), other, named, "GPUs of any type",
          "GPUs of the types that it accepts");
  other = asked;
  other.labels.clear();
  other.not_labels.clear();
  attempt(!asked.labels.empty() || !asked.not_labels.empty(), other, named, "any labels",
          "room on the hosts that --label and --not-label allow");
  if (!asked.hosts.empty() || !asked.not_hosts.empty()) {
    Job unnamed = job;
    unnamed.spec.request.hosts.clear();
    unnamed.spec.request.not_hosts.clear();
    attempt(true, asked, capacity.choice(unnamed, without), "any hosts",
            "room on the hosts that --host and --not-host allow");
  }
  return ways;
}

std::vector<Withheld> withheld_gpus(const State& state, const HostDoubts& doubts,
                                    const std::string& type) {
  std::map<std::string, std::uint32_t> by_reason;
  for (const auto& [id, host] : state.hosts()) {
    if (host.gpu_type != type || host.is_removed) {
      continue;
    }
    const std::string of_host = reason_of(host, doubts);
    const std::set<std::string> quarantined(host.quarantined.begin(), host.quarantined.end());
    for (const std::string& uuid : host.gpus) {
      if (!of_host.empty()) {
        ++by_reason[of_host];
      } else if (!host.offers(uuid)) {
        ++by_reason[host.mask_of(uuid) != nullptr  ? "masked"
                    : quarantined.count(uuid) != 0 ? "quarantined"
                                                   : "unhealthy"];
      }
    }
  }
  std::vector<Withheld> withheld;
  for (const auto& [reason, gpus] : by_reason) {
    withheld.push_back({reason, gpus});
  }
  return withheld;
}

/// Whether a job of that request may wait for a pool of the other one.
bool share_a_pool(const Request& one, const Request& other) {
  if (one.gpus == 0 || other.gpus == 0) {
    return one.gpus == other.gpus;
  }
  const auto is_of_both = [&](const std::string& type) {
    return std::any_of(other.gpu_types.begin(), other.gpu_types.end(),
                       [&](const std::string& its) { return folded(its) == folded(type); });
  };
  return one.gpu_types.empty() || other.gpu_types.empty() ||
         std::any_of(one.gpu_types.begin(), one.gpu_types.end(), is_of_both);
}

void list_ahead(const State& state, Capacity& capacity, const LeafQueues& queue, const Job& job,
                Why& answer) {
  const QueueKey own = queue_key_of(job);
  const Leaf own_leaf = leaf_of(state.queues(), job.spec);
  for (const auto& [leaf, waiting] : queue) {
    const bool is_own = leaf == own_leaf;
    for (auto key = waiting.begin(); key != waiting.end() && (!is_own || *key < own); ++key) {
      const Job& other = *state.job(key->job);
      if (!share_a_pool(other.spec.request, job.spec.request)) {
        continue;
      }
      if (!is_own) {
        ++answer.others_wait;
      } else if (capacity.could_hold(other)) {
        ++answer.ahead_count;
        answer.ahead.resize(std::min(answer.ahead_count, kWhyAheadMax), key->job);
      }
    }
  }
}

/// The type as hosts call it.
std::string unfolded(const State& state, const std::string& type) {
  for (const auto& [id, host] : state.hosts()) {
    if (folded(host.gpu_type) == type) {
      return host.gpu_type;
    }
  }
  return type;
}

/// Tells the max that keeps the job out, if one does in each pool.
void tell_full(const State& state, Capacity& capacity, const Job& job, Why& answer) {
  const QueueBook& queues = state.queues();
  const QueueNumber queue = queues.number_of(job.spec.queue);
  const std::uint64_t charge = least_charge_of(job.spec);
  answer.queue = queues.at(queue).node.path;
  answer.tier = job.spec.tier;
  std::optional<std::pair<QueueNumber, std::string>> full;
  for (const std::string& pool : pools_for(capacity, job)) {
    QueueNumber at = kRootQueue;
    if (charge <= state.shares().room(queues, queue, pool, &at)) {
      return;
    }
    full = full.has_value() ? full : std::pair(at, pool);
  }
  if (!full.has_value()) {
    return;
  }
  const auto& [at, pool] = *full;
  const QueueAmounts& max = queues.at(at).node.max;
  const std::string own(pool == kCpuPool ? kCpus : std::string_view(pool));
  const auto named = max.find(own);
  const bool is_own =
      named != max.end() && state.shares().share(at, pool).held + charge > named->second * kOneCpu;
  const auto key = is_own ? named : max.find(kAllGpus);
  if (key != max.end()) {
    answer.full_queue = queues.at(at).node.path;
    answer.full_max = key->second;
    answer.full_pool = is_own && pool != kCpuPool ? unfolded(state, pool) : key->first;
  }
}

/// Precondition: tell_change() has set the GPU type and the smallest end.
void tell_turn(const State& state, Capacity& capacity, const LeafQueues& queue, const Job& job,
               const std::vector<HostId>& without, Why& answer) {
  TurnAsked asked{pools_for(capacity, job), answer.smallest_end, without};
  const auto own = std::find(asked.pools.begin(), asked.pools.end(), folded(answer.gpu_type));
  if (own != asked.pools.end()) {
    std::rotate(asked.pools.begin(), own, own + 1);
  }
  answer.turn = turn_of(state, capacity, queue, job, asked);
  if (answer.turn.rule == TurnRule::kNext && answer.largest_now < shape_of(job).units) {
    answer.turn.plan = plan_start(state, capacity, job, answer.turn.pool);
  }
}

/// Sets the GPU type that the numbers are about, and the jobs whose end would make this one fit.
void tell_change(const State& state, Capacity& capacity, const Job& job, const Usable& usable,
                 const std::vector<HostId>& without, Why& answer) {
  WhatIf what_if(state, capacity, capacity.choice(job, without));
  std::vector<std::pair<JobId, std::uint32_t>> candidates;
  for (const Holder& holder : holders_of(state, usable, "")) {
    candidates.emplace_back(holder.job, holder.gpus);
  }
  const Shape allowed = allowed_shape(state, capacity, job);
  answer.smallest_end = what_if.smallest_end(allowed, candidates);
  std::pair<bool, std::uint32_t> most{false, 0};
  for (const std::string& type : types_for(state, job)) {
    if (allowed.share != 0 && !allowed.types.empty() &&
        std::find(allowed.types.begin(), allowed.types.end(), folded(type)) ==
            allowed.types.end()) {
      continue;
    }
    const std::uint32_t free = capacity.free_for(job, type, without);
    answer.largest_now = std::max(answer.largest_now, free);
    Shape of_type = shape_of(job);
    if (of_type.share != 0) {
      of_type.types = {folded(type)};
    }
    const bool fits =
        !answer.smallest_end.empty() && what_if.fits_without(of_type, answer.smallest_end);
    if (answer.gpu_type.empty() || std::pair(fits, free) > most) {
      most = {fits, free};
      answer.gpu_type = type;
      answer.free_gpus = free;
    }
  }
}

}  // namespace

std::string shortage_text(const HostRecord& host) {
  return "host " + host.name + " starts nothing: " + host.shortage;
}

std::string need_text(const Job& job, std::uint32_t live) {
  const Request& request = job.spec.request;
  const bool are_gpus = request.gpus != 0;
  const Pack pack = shape_of(job).pack;
  const std::string where = pack == Pack::kAny ? "" : " in one " + std::string(text_of(pack));
  const std::string most = where.empty() ? "" : "at most ";
  const std::uint32_t each = request.units_per_host();
  if (each == 0) {
    return "needs " + counted(request.units(), are_gpus) + where +
           ", and the suitable hosts that are up have " + (are_gpus ? "" : "room for ") + most +
           std::to_string(live) + where;
  }
  const std::uint32_t hosts = request.units() / each;
  const std::string on = pack == Pack::kIsland ? where + " on " : " on ";
  return "needs " + counted(each, are_gpus) + on +
         (hosts == 1 ? "1 host" : "each of " + std::to_string(hosts) + " hosts") +
         (pack == Pack::kIsland ? "" : where) + ", and " + most + std::to_string(live / each) +
         " of the suitable hosts that are up " + (live / each == 1 ? "has" : "have") +
         (are_gpus ? " so many" : " room for so many");
}

std::string pause_text(Duration left) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(left).count()) + "s";
}

Duration retry_in(const State& state, const Job& job) {
  return job.pauses() ? job.life.failures.retry_at - state.cluster_time() : Duration::zero();
}

std::optional<Why> why(const State& state, Capacity& capacity, const LeafQueues& queue, JobId id,
                       const HostDoubts& doubts) {
  const Job* job = state.job(id);
  if (job == nullptr) {
    return std::nullopt;
  }
  if (job->life.state == JobState::kQueued) {
    return why_queued(state, capacity, queue, *job, doubts);
  }
  Why answer;
  answer.job = id;
  answer.state = job->life.state;
  answer.reason = job->life.reason;
  return answer;
}

Why why_queued(const State& state, Capacity& capacity, const LeafQueues& queue, const Job& job,
               const HostDoubts& doubts) {
  Why answer;
  answer.job = job.id;
  answer.reason = job.life.reason;
  answer.is_queued = true;
  const std::uint32_t units = job.spec.request.units();
  answer.barred_gpus = barred_gpus(state, job);
  answer.is_impossible =
      !state.hosts().empty() && units > capacity.ever_for(relaxed_shape_of(job.spec));
  answer.has_gpus = job.spec.request.gpus != 0;
  answer.gpus = units;
  answer.lacking_gpus = units;
  answer.is_aside = !answer.is_impossible && !capacity.could_hold(job);
  answer.need = answer.is_aside ? need_text(job, capacity.live_for(job)) : "";
  list_ahead(state, capacity, queue, job, answer);
  tell_full(state, capacity, job, answer);
  for (const LeftOut& left_out : job.life.left_out) {
    answer.left_out.push_back(left_out.host);
  }
  answer.standstill = {state.awaits_hosts(), retry_in(state, job),
                       conditions_text(state, job.life.wait)};
  std::vector<HostId> without;
  for (const auto& [host, reason] : doubts) {
    without.push_back(host);
  }
  const HostChoice choice = capacity.choice(job, without);
  const Usable usable(state, capacity, job, choice);
  tell_change(state, capacity, job, usable, without, answer);
  if (!job.life.wait.is_open()) {
    tell_turn(state, capacity, queue, job, without, answer);
  }
  answer.fits_now = answer.largest_now >= units;
  answer.lacking_gpus = answer.fits_now ? 0 : units - answer.free_gpus;
  answer.holders = holders_of(state, usable, answer.gpu_type);
  if (answer.has_gpus) {
    answer.withheld = withheld_gpus(state, doubts, answer.gpu_type);
  }
  count_hosts(state, capacity, job, usable, doubts, answer);
  Shape shape = shape_of(job);
  for (const Pack pack : {Pack::kIsland, Pack::kHost, Pack::kRack, Pack::kSpine, Pack::kAny}) {
    shape.pack = pack;
    answer.largest.emplace_back(pack, capacity.free_for(shape, choice));
  }
  if (!answer.fits_now && !answer.is_impossible) {
    answer.would_fit_with = would_fit_with(capacity, job, without);
  }
  return answer;
}

namespace {

std::string barred(std::uint32_t gpus) {
  return gpus == 0 ? ""
                   : "; " + std::to_string(gpus) +
                         " more GPUs accept only jobs with --isolation keep, because their hosts "
                         "have no PID namespaces";
}

std::string jobs_ahead(std::size_t count) {
  return count == 1 ? "1 job is" : std::to_string(count) + " jobs are";
}

}  // namespace

/// If a request for other amounts would fit, the job lacks these amounts, not GPUs.
std::string Why::lack_text() const {
  if (!full_queue.empty()) {
    return "queue " + full_queue + " is at its max of " + std::to_string(full_max) + " " +
           (full_pool == kAllGpus ? "GPUs"
            : full_pool == kCpus  ? "CPUs"
                                  : full_pool);
  }
  if (would_fit_with.empty()) {
    return "it lacks " + counted(lacking_gpus, has_gpus) + ", " + std::to_string(free_gpus) +
           (free_gpus == 1 ? " is free" : " are free");
  }
  const Remedy& first = would_fit_with.front();
  std::string text = "it lacks " + first.lack + ": it would fit now with ";
  for (const Remedy& each : would_fit_with) {
    text += (&each == &first ? "" : ", or ") + each.change;
  }
  return text;
}

std::string full_text(const State& state, Capacity& capacity, const Job& job) {
  const QueueBook& queues = state.queues();
  QueueNumber up = queues.number_of(job.spec.queue);
  while (up != kRootQueue && queues.at(up).node.max.empty()) {
    up = queues.at(up).parent;
  }
  if (up == kRootQueue) {
    return "";  // Most queues: without a walk over hosts.
  }
  Why answer;
  tell_full(state, capacity, job, answer);
  return answer.full_queue.empty() ? "" : answer.lack_text();
}

std::string lead_text(const std::string& reason) {
  if (reason == "submitted") {
    return "";
  }
  std::string words = reason;
  if (words.find(' ') == std::string::npos) {  // The name of a cause, as host_lost.
    std::replace(words.begin(), words.end(), '_', ' ');
  }
  return words + "; ";
}

std::string Why::text() const {
  if (state == JobState::kSuspended) {
    return reason + "; it waits for `muster resume " + text_of(job) + "`";
  }
  if (!is_queued) {
    return state == JobState::kRunning ? "all of its ranks have started" : reason;
  }
  const std::string text = lead_text(reason);
  if (is_impossible) {
    return text + "it asks for more than all registered hosts could ever hold" +
           barred(barred_gpus);
  }
  if (!standstill.conditions.empty()) {
    return text + standstill.conditions;
  }
  if (standstill.awaits_hosts) {
    return text + "after the recovery the queue waits for hosts to report what they run";
  }
  if (standstill.retry_in != Duration::zero()) {
    return text + "it retries in " + pause_text(standstill.retry_in);
  }
  if (is_aside) {
    return text + "it " + need + ", free or not; other jobs pass it meanwhile" +
           barred(barred_gpus);
  }
  if (!full_queue.empty()) {
    return text + lack_text();
  }
  if (!fits_now) {
    return text + lack_text() + barred(barred_gpus);
  }
  if (turn.rule == TurnRule::kNext) {
    return text + "it fits and starts now";
  }
  const std::string other = turn.text();
  if (ahead_count != 0) {
    return text + "it would fit, but " + jobs_ahead(ahead_count) + " ahead of it" +
           (other.empty() ? "" : "; " + other);
  }
  return text + (other.empty() ? "it fits and starts now" : "it would fit, but " + other);
}

}  // namespace muster::scheduler
