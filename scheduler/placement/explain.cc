#include "scheduler/placement/explain.h"

#include <algorithm>
#include <numeric>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// Holders of GPUs that a job could use once they are given back: of the type, on hosts that take
/// work and are not in `without`, healthy, not quarantined.
std::vector<Holder> holders_of(const State& state, const JobSpec& spec,
                               const std::set<HostId>& without, const std::string& type) {
  std::map<JobId, Holder> by_job;
  for (const auto& [uuid, slots] : state.grants()) {
    for (const auto& [slot, grant] : slots) {
      const HostRecord* host = state.host(grant.host);
      const Attempt* attempt = state.attempt(grant.token);
      if (host == nullptr || attempt == nullptr || host->gpu_type != type || !host->suits(spec) ||
          without.count(grant.host) != 0 || !host->takes_work() || !host->offers(uuid)) {
        continue;
      }
      Holder& holder = by_job[attempt->job];
      holder.job = attempt->job;
      ++holder.gpus;
      if (std::find(holder.hosts.begin(), holder.hosts.end(), grant.host) == holder.hosts.end()) {
        holder.hosts.push_back(grant.host);
      }
    }
  }
  std::vector<Holder> holders;
  for (auto& [id, holder] : by_job) {
    std::sort(holder.hosts.begin(), holder.hosts.end());
    holders.push_back(std::move(holder));
  }
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.gpus > b.gpus; });
  return holders;
}

/// What one GPU type could do for the job.
struct Offer {
  std::string type;
  std::uint32_t free = 0;
  std::vector<Holder> holders;
  std::vector<std::size_t> cover;  ///< Indexes into holders.
  std::uint32_t cover_gpus = 0;
};

Offer offer_of(const State& state, Capacity& capacity, const Job& job,
               const std::set<HostId>& without, const std::string& type) {
  const std::vector<HostId> barred(without.begin(), without.end());
  const std::uint32_t wanted = job.spec.request.units();
  Offer offer{type,
              capacity.free_for(job, type, barred),
              holders_of(state, job.spec, without, type),
              {},
              0};
  const std::uint32_t need = wanted > offer.free ? wanted - offer.free : 0;
  std::vector<std::uint32_t> sizes;
  for (const Holder& holder : offer.holders) {
    sizes.push_back(holder.gpus);
  }
  offer.cover = smallest_cover(sizes, need);
  for (const std::size_t i : offer.cover) {
    offer.cover_gpus += sizes[i];
  }
  return offer;
}

/// A type that fits now beats all; then one that some ends make fit, by the smaller change; then
/// the one that lacks least.
bool is_better(const Offer& a, const Offer& b, std::uint32_t wanted) {
  const auto rank = [wanted](const Offer& offer) {
    return offer.free >= wanted ? 0 : offer.cover.empty() ? 2 : 1;
  };
  if (rank(a) != rank(b)) {
    return rank(a) < rank(b);
  }
  if (rank(a) == 1 && a.cover.size() != b.cover.size()) {
    return a.cover.size() < b.cover.size();
  }
  if (rank(a) == 1 && a.cover_gpus != b.cover_gpus) {
    return a.cover_gpus < b.cover_gpus;
  }
  return a.free > b.free;
}

std::set<std::string> types_for(const State& state, const Job& job) {
  std::set<std::string> types;
  for (const auto& [id, host] : state.hosts()) {
    if (!host.is_removed && host.suits(job.spec)) {
      types.insert(host.gpu_type);
    }
  }
  return types;
}

/// Of hosts that would do under isolation `keep`.
std::uint32_t barred_gpus(const State& state, const Job& job) {
  std::uint32_t count = 0;
  JobSpec kept = job.spec;
  kept.keep_when_isolated = true;
  for (const auto& [id, host] : state.hosts()) {
    count += !host.suits(job.spec) && host.suits(kept)
                 ? static_cast<std::uint32_t>(host.gpus.size())
                 : 0;
  }
  return count;
}

/// Why nothing is placed on the host now; "" = it takes work.
std::string reason_of(const HostRecord& host, const HostDoubts& doubts) {
  if (!host.is_reachable()) {
    return host.verdict == Verdict::kLeft ? "host left" : "host unreachable";
  }
  if (host.drain.has_value()) {
    return "host drained";
  }
  if (host.health != Health::kHealthy) {
    return host.health == Health::kCordoned ? "host cordoned" : "host suspect";
  }
  if (const auto doubt = doubts.find(host.id); doubt != doubts.end()) {
    return doubt->second;
  }
  return host.takes_work() ? "" : "host registers anew";
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
        ++by_reason[quarantined.count(uuid) != 0 ? "quarantined" : "unhealthy"];
      }
    }
  }
  std::vector<Withheld> withheld;
  for (const auto& [reason, gpus] : by_reason) {
    withheld.push_back({reason, gpus});
  }
  return withheld;
}

void list_ahead(const State& state, Capacity& capacity, const Job& job, Why& answer) {
  for (const QueueKey& key : state.queue()) {
    if (key.job == job.id) {
      break;
    }
    if (!capacity.could_hold(*state.job(key.job))) {
      continue;
    }
    ++answer.ahead_count;
    if (answer.ahead.size() < kWhyAheadMax) {
      answer.ahead.push_back(key.job);
    }
  }
}

using Reachable = std::vector<std::vector<bool>>;  ///< [jobs taken][their GPUs]

/// One more job of `size` may be taken; counts and sums downwards, so that it is taken once.
void add_job(Reachable& can, std::uint32_t size) {
  for (std::size_t count = can.size() - 1; count > 0; --count) {
    for (std::size_t sum = can[count].size(); sum-- > size;) {
      if (can[count - 1][sum - size]) {
        can[count][sum] = true;
      }
    }
  }
}

/// Of the sets of exactly `count` jobs the one with the smallest sum that reaches `need`. One
/// exists: `count` is what the largest jobs need, so the sum stays below need + the largest.
std::vector<std::size_t> exact_cover(const std::vector<std::uint32_t>& sizes, std::uint32_t need,
                                     std::size_t count) {
  const std::size_t sums = need + *std::max_element(sizes.begin(), sizes.end()) + 1;
  Reachable can(count + 1, std::vector<bool>(sums, false));
  can[0][0] = true;
  std::vector<Reachable> before;
  for (const std::uint32_t size : sizes) {
    before.push_back(can);
    add_job(can, size);
  }
  std::size_t sum = need;
  while (!can[count][sum]) {
    ++sum;
    CHECK(sum < sums);
  }
  std::vector<std::size_t> chosen;
  for (std::size_t i = sizes.size(); i > 0; --i) {
    if (!before[i - 1][count][sum]) {
      chosen.push_back(i - 1);
      sum -= sizes[i - 1];
      --count;
    }
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

std::vector<std::size_t> smallest_cover(const std::vector<std::uint32_t>& sizes,
                                        std::uint32_t need) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  std::vector<std::size_t> chosen;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < order.size() && sum < need; ++i) {
    chosen.push_back(order[i]);
    sum += sizes[order[i]];
  }
  if (sum < need || need == 0) {
    return {};
  }
  if (sizes.size() <= kWhyExactJobsMax && need <= kWhyExactGpusMax) {
    return exact_cover(sizes, need, chosen.size());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::optional<Why> why(const State& state, Capacity& capacity, JobId id, const HostDoubts& doubts) {
  const Job* job = state.job(id);
  if (job == nullptr) {
    return std::nullopt;
  }
  Why answer;
  answer.job = id;
  answer.state = job->state;
  answer.reason = job->reason;
  answer.is_queued = job->state == JobState::kQueued;
  if (!answer.is_queued) {
    return answer;
  }
  const std::uint32_t units = job->spec.request.units();
  answer.barred_gpus = barred_gpus(state, *job);
  answer.is_impossible = !state.hosts().empty() && units > capacity.ever_for(shape_of(*job));
  answer.gpus = units;
  answer.lacking_gpus = units;
  answer.live_gpus = capacity.live_for(*job);
  answer.is_aside = !answer.is_impossible && !capacity.could_hold(*job);
  list_ahead(state, capacity, *job, answer);
  for (const LeftOut& left_out : job->left_out) {
    answer.left_out.push_back(left_out.host);
  }
  answer.awaits_hosts = state.awaits_hosts();
  std::set<HostId> doubted;
  for (const auto& [host, reason] : doubts) {
    doubted.insert(host);
  }
  std::set<HostId> without = doubted;
  without.insert(answer.left_out.begin(), answer.left_out.end());
  std::optional<Offer> best;
  for (const std::string& type : types_for(state, *job)) {
    Offer offer = offer_of(state, capacity, *job, without, type);
    answer.largest_now = std::max(answer.largest_now, offer.free);
    if (!best.has_value() || is_better(offer, *best, units)) {
      best = std::move(offer);
    }
  }
  if (best.has_value()) {
    answer.gpu_type = best->type;
    answer.free_gpus = best->free;
    answer.fits_now = best->free >= units;
    answer.lacking_gpus = answer.fits_now ? 0 : units - best->free;
    for (const std::size_t i : best->cover) {
      answer.smallest_end.push_back(best->holders[i].job);
    }
    answer.holders = std::move(best->holders);
    answer.withheld = withheld_gpus(state, doubts, best->type);
  }
  return answer;
}

namespace {

std::string barred(std::uint32_t gpus) {
  return gpus == 0 ? ""
                   : "; " + std::to_string(gpus) +
                         " more take only --isolation keep, as their hosts have no PID namespaces";
}

std::string jobs_ahead(std::size_t count) {
  return count == 1 ? "1 job is" : std::to_string(count) + " jobs are";
}

}  // namespace

std::string Why::text() const {
  if (state == JobState::kSuspended) {
    return reason + "; it waits for `muster resume " + std::to_string(job.value()) + "`";
  }
  if (!is_queued) {
    return state == JobState::kRunning ? "it waits for nothing" : reason;
  }
  std::string text = reason + "; ";
  if (is_impossible) {
    return text + "it asks for more GPUs than all registered hosts have" + barred(barred_gpus);
  }
  if (awaits_hosts) {
    return text + "after the recovery the queue waits for hosts to say what they run";
  }
  if (is_aside) {
    return text + "it needs " + std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs") +
           " and the hosts that are up have " + std::to_string(live_gpus) +
           ", free or not; others pass it meanwhile" + barred(barred_gpus);
  }
  if (!fits_now) {
    return text + "it lacks " + std::to_string(lacking_gpus) +
           (lacking_gpus == 1 ? " GPU, " : " GPUs, ") + std::to_string(free_gpus) +
           (free_gpus == 1 ? " is free" : " are free") + barred(barred_gpus);
  }
  return text + (ahead_count == 0
                     ? "it fits and starts now"
                     : "it would fit, but " + jobs_ahead(ahead_count) + " ahead of it");
}

}  // namespace muster::scheduler
