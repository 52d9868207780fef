#include "scheduler/placement/placement.h"

#include <algorithm>

namespace muster::scheduler {
namespace {

using Host = FreeGpus::Host;

struct Share {
  const Host* host = nullptr;
  std::size_t gpus = 0;
};

/// Hosts with something free, most first; ties by host id.
std::vector<const Host*> by_free(const FreeGpus::ByHost& hosts, const std::set<HostId>& without) {
  std::vector<const Host*> list;
  for (const auto& [id, host] : hosts) {
    if (!host.gpus.empty() && without.count(id) == 0) {
      list.push_back(&host);
    }
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Host* a, const Host* b) { return a->gpus.size() > b->gpus.size(); });
  return list;
}

/// The fullest host from `first` on that still fits `wanted`; the list is sorted by free GPUs.
std::size_t best_fit(const std::vector<const Host*>& hosts, std::size_t first, std::size_t wanted) {
  std::size_t best = first;
  for (std::size_t i = first; i < hosts.size() && hosts[i]->gpus.size() >= wanted; ++i) {
    if (hosts[i]->gpus.size() < hosts[best]->gpus.size()) {
      best = i;
    }
  }
  return best;
}

/// Taking the largest first gives the fewest hosts; the last share may go anywhere it fits.
std::vector<Share> shares_of(const std::vector<const Host*>& hosts, std::size_t wanted) {
  std::vector<Share> shares;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::size_t free = hosts[i]->gpus.size();
    if (free >= wanted) {
      shares.push_back(Share{hosts[best_fit(hosts, i, wanted)], wanted});
      return shares;
    }
    shares.push_back(Share{hosts[i], free});
    wanted -= free;
  }
  return {};
}

std::size_t left_over(const std::vector<Share>& shares) {
  std::size_t sum = 0;
  for (const Share& share : shares) {
    sum += share.host->gpus.size() - share.gpus;
  }
  return sum;
}

std::vector<Member> members_of(const std::vector<Share>& shares) {
  std::vector<Member> members;
  std::uint32_t rank = 0;
  for (const Share& share : shares) {
    Member member;
    member.host = share.host->id;
    member.start = share.host->start;
    member.first_rank = rank;
    for (std::size_t i = 0; i < share.gpus; ++i) {
      member.gpus.push_back(GpuSlot{share.host->gpus[i], 0});
    }
    rank += static_cast<std::uint32_t>(share.gpus);
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

FreeGpus::FreeGpus(const State& state, const std::set<HostId>& excluded) {
  std::set<std::string> seen;
  for (const auto& [id, record] : state.hosts()) {
    if (!record.takes_work() || excluded.count(id) != 0) {
      continue;
    }
    if (!record.has_namespaces) {
      without_namespaces_.insert(id);
    }
    Host host{id, record.start, {}};
    for (std::string& uuid : state.free_gpus(record)) {
      if (seen.insert(uuid).second) {
        host.gpus.push_back(std::move(uuid));
      }
    }
    if (!host.gpus.empty()) {
      types_[record.gpu_type][id] = std::move(host);
    }
  }
}

LiveGpus::LiveGpus(const State& state) {
  for (const auto& [id, record] : state.hosts()) {
    if (!record.is_up()) {
      continue;
    }
    const bool is_whole = record.unhealthy_gpus.empty() && record.quarantined.empty();
    const auto gpus = static_cast<std::uint32_t>(
        is_whole ? static_cast<std::ptrdiff_t>(record.gpus.size())
                 : std::count_if(record.gpus.begin(), record.gpus.end(),
                                 [&](const std::string& uuid) { return record.offers(uuid); }));
    Count& count = types_[record.gpu_type];
    count.all += gpus;
    count.with_namespaces += record.has_namespaces ? gpus : 0;
  }
}

std::uint32_t LiveGpus::largest(const JobSpec& spec) const {
  std::uint32_t most = 0;
  for (const auto& [type, count] : types_) {
    if (spec.gpu_type.empty() || spec.gpu_type == type) {
      most = std::max(most, spec.keep_when_isolated ? count.all : count.with_namespaces);
    }
  }
  return most;
}

std::uint32_t FreeGpus::count(const std::string& type, const std::set<HostId>& without) const {
  const auto hosts = types_.find(type);
  std::uint32_t sum = 0;
  if (hosts != types_.end()) {
    for (const auto& [id, host] : hosts->second) {
      sum += without.count(id) == 0 ? static_cast<std::uint32_t>(host.gpus.size()) : 0;
    }
  }
  return sum;
}

void FreeGpus::take(const std::string& type, const std::vector<Member>& members) {
  ByHost& hosts = types_.at(type);
  for (const Member& member : members) {
    std::vector<std::string>& gpus = hosts.at(member.host).gpus;
    gpus.erase(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(member.gpus.size()));
  }
}

std::set<HostId> barred_hosts(const FreeGpus& free, const Job& job) {
  std::set<HostId> hosts;
  if (!job.spec.keep_when_isolated) {
    hosts = free.without_namespaces();
  }
  for (const LeftOut& left_out : job.left_out) {
    hosts.insert(left_out.host);
  }
  return hosts;
}

std::optional<Placement> place(const FreeGpus& free, const Job& job) {
  const std::set<HostId> without = barred_hosts(free, job);
  std::vector<Share> best;
  std::string best_type;
  for (const auto& [type, hosts] : free.types()) {
    if (!job.spec.gpu_type.empty() && job.spec.gpu_type != type) {
      continue;
    }
    std::vector<Share> shares = shares_of(by_free(hosts, without), job.spec.gpus);
    const bool better = best.empty() || shares.size() < best.size() ||
                        (shares.size() == best.size() && left_over(shares) < left_over(best));
    if (!shares.empty() && better) {
      best = std::move(shares);
      best_type = type;
    }
  }
  if (best.empty()) {
    return std::nullopt;
  }
  return Placement{best_type, members_of(best)};
}

Duration hold_of(const JobSpec& spec, std::size_t host_count) {
  if (spec.hold > Duration::zero()) {
    return spec.hold;
  }
  return host_count > 1 ? kHoldGang : kHoldOneHost;
}

}  // namespace muster::scheduler
