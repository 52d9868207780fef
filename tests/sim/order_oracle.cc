#include "tests/sim/order_oracle.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace muster::sim {
namespace {

using scheduler::Job;
using scheduler::QueueAmounts;
using scheduler::QueueNumber;
using scheduler::QueueRecord;

__extension__ using WideOfOracle = unsigned __int128;

constexpr std::uint64_t kPartsOfGpu = 1000;

std::optional<std::uint64_t> amount_in(const QueueAmounts& amounts, std::string_view key) {
  const auto found = amounts.find(key);
  return found == amounts.end() ? std::nullopt : std::optional(found->second * kPartsOfGpu);
}

std::uint64_t rounded_up(std::uint64_t amount, std::uint64_t whole) {
  return (amount + whole - 1) / whole;
}

scheduler::Tier tier_of(const Job& job) {
  return job.spec.tier == scheduler::Tier::kNone ? scheduler::Tier::kStandard : job.spec.tier;
}

/// In one leaf.
bool goes_before(const Job& one, const Job& other) {
  if (tier_of(one) != tier_of(other)) {
    return tier_of(one) > tier_of(other);
  }
  if (one.orders.priority != other.orders.priority) {
    return one.orders.priority > other.orders.priority;
  }
  const JobId its = array_of(one.id);
  const JobId others = array_of(other.id);
  return its != others ? its < others : one.id < other.id;
}

/// As the queue names it; else the sum of its children.
std::uint64_t guarantee_of(const scheduler::QueueBook& queues, QueueNumber queue,
                           std::string_view key) {
  const QueueRecord& record = queues.at(queue);
  if (const auto named = amount_in(record.node.guaranteed, key); named.has_value()) {
    return *named;
  }
  std::uint64_t sum = 0;
  for (const QueueNumber child : record.children) {
    sum += guarantee_of(queues, child, key);
  }
  return sum;
}

}  // namespace

bool is_plain(const scheduler::Request& request) {
  return request.gpus != 0 && request.gpus_per_host == 0 && request.ranks_per_host == 0 &&
         !request.cpus.has_value() && !request.memory_mb.has_value() && request.gpu_types.empty() &&
         request.labels.empty() && request.not_labels.empty() && request.hosts.empty() &&
         request.not_hosts.empty() && request.pack == scheduler::Pack::kAny;
}

OrderOracle::OrderOracle(const scheduler::State& state, std::string pool,
                         const std::vector<scheduler::entry::Decide>& asked)
    : state_(state), pool_(std::move(pool)), asked_(asked) {
  held_.resize(state_.queues().all().size());
  held_gpus_.resize(held_.size());
  count_hosts();
  count_held();
  find_firsts();
  if (const std::optional<Candidate> first = candidate(scheduler::kRootQueue)) {
    next_ = first->job;
  }
}

void OrderOracle::count_hosts() {
  for (const auto& [id, host] : state_.hosts()) {
    if (!host.takes_work() || host.gpus.empty() || scheduler::folded(host.gpu_type) != pool_) {
      continue;
    }
    std::uint64_t gpus = state_.free_gpus(host).size();
    scheduler::HeldAmounts held = state_.held_on(id);
    std::uint64_t asked = 0;
    for (const scheduler::entry::Decide& decide : asked_) {
      for (const scheduler::Member& member : decide.members) {
        if (member.host == id) {
          asked += member.gpus.size();
          held.cpus += member.cpus;
          held.memory_mb += member.memory_mb;
        }
      }
    }
    gpus -= std::min(gpus, asked);
    const std::uint64_t all = host.gpus.size();
    const std::uint64_t cpus = std::uint64_t{host.cpus} * scheduler::kOneCpu;
    const std::uint64_t cpus_left = cpus - std::min<std::uint64_t>(cpus, held.cpus);
    const std::uint64_t memory_left =
        host.memory_mb - std::min<std::uint64_t>(host.memory_mb, held.memory_mb);
    const std::uint64_t by_cpus = cpus == 0 ? gpus : cpus_left / rounded_up(cpus, all);
    const std::uint64_t by_memory =
        host.memory_mb == 0 ? gpus : memory_left / rounded_up(host.memory_mb, all);
    fits_surely_ += std::min({gpus, by_cpus, by_memory});
    free_at_most_ += gpus;
    usable_ += static_cast<std::uint64_t>(
        std::count_if(host.gpus.begin(), host.gpus.end(),
                      [&host](const std::string& gpu) { return host.is_usable(gpu); }));
  }
}

void OrderOracle::hold(std::string_view queue, const std::string& pool, std::uint64_t charge) {
  if (pool == scheduler::kCpuPool) {
    return;
  }
  for (QueueNumber up = state_.queues().number_of(queue);; up = state_.queues().at(up).parent) {
    held_gpus_[index_of(up)] += charge;
    held_[index_of(up)] += pool == pool_ ? charge : 0;
    if (up == scheduler::kRootQueue) {
      return;
    }
  }
}

/// The largest of its parts of the host, in GPUs.
std::uint64_t OrderOracle::charge_of(const scheduler::Member& member) const {
  const scheduler::HostRecord* host = state_.host(member.host);
  std::uint64_t charge = kPartsOfGpu * member.gpus.size();
  if (host != nullptr && host->cpus != 0 && host->memory_mb != 0) {
    charge =
        std::max({charge, rounded_up(member.cpus * host->gpus.size(), host->cpus),
                  rounded_up(member.memory_mb * host->gpus.size() * kPartsOfGpu, host->memory_mb)});
  }
  return charge;
}

void OrderOracle::count_held() {
  for (const Token& token : state_.live()) {
    const scheduler::Attempt& attempt = *state_.attempt(token);
    for (const scheduler::MemberRecord& record : attempt.members) {
      if (record.end == scheduler::MemberEnd::kNone) {
        hold(attempt.share.queue, attempt.share.pool, record.charge);
      }
    }
  }
  for (const scheduler::entry::Decide& decide : asked_) {
    const Job* job = state_.job(decide.job);
    for (const scheduler::Member& member : decide.members) {
      const scheduler::HostRecord* host = state_.host(member.host);
      // A job that does not wait any more, nor has the attempt, is not counted by its leader.
      if (job != nullptr && job->is_pending() && host != nullptr && !member.gpus.empty()) {
        hold(job->spec.queue, scheduler::folded(host->gpu_type), charge_of(member));
      }
    }
  }
}

bool OrderOracle::is_asked_for(JobId job) const {
  return std::any_of(asked_.begin(), asked_.end(),
                     [job](const auto& decide) { return decide.job == job; });
}

/// Below each max on its path while nothing is held, and on the hosts that there are.
bool OrderOracle::could_start(const Job& job, QueueNumber queue) const {
  const std::uint64_t charge = kPartsOfGpu * job.spec.request.gpus;
  for (; queue != scheduler::kRootQueue; queue = state_.queues().at(queue).parent) {
    const QueueAmounts& max = state_.queues().at(queue).node.max;
    if (charge > amount_in(max, pool_).value_or(UINT64_MAX) ||
        charge > amount_in(max, scheduler::kAllGpus).value_or(UINT64_MAX)) {
      return false;
    }
  }
  return job.spec.request.gpus <= usable_;
}

void OrderOracle::find_firsts() {
  for (const auto& [id, job] : state_.jobs()) {
    if (!job.is_pending() || job.spec.request.gpus == 0 || is_asked_for(id)) {
      continue;
    }
    const QueueNumber queue = state_.queues().number_of(job.spec.queue);
    if (!could_start(job, queue)) {
      continue;
    }
    First& first = firsts_[queue];
    if (first.job == nullptr) {
      first.job = &job;
      continue;
    }
    const bool is_shared = state_.queues().at(queue).node.is_fifo;
    first.has_several_users |= !is_shared && first.job->spec.user != job.spec.user;
    first.job = goes_before(job, *first.job) ? &job : first.job;
  }
}

std::uint64_t OrderOracle::room(QueueNumber queue) const {
  const QueueAmounts& max = state_.queues().at(queue).node.max;
  const auto left = [](std::optional<std::uint64_t> most, std::uint64_t held) {
    return most.has_value() ? *most - std::min(*most, held) : UINT64_MAX;
  };
  return std::min(left(amount_in(max, pool_), held_[index_of(queue)]),
                  left(amount_in(max, scheduler::kAllGpus), held_gpus_[index_of(queue)]));
}

bool OrderOracle::is_owed(QueueNumber queue, std::uint64_t charge) const {
  const scheduler::QueueBook& queues = state_.queues();
  return held_[index_of(queue)] + charge <= guarantee_of(queues, queue, pool_) ||
         held_gpus_[index_of(queue)] + charge <= guarantee_of(queues, queue, scheduler::kAllGpus);
}

/// Of two siblings.
bool OrderOracle::is_before(QueueNumber one, const Candidate& its, QueueNumber other,
                            const Candidate& others) const {
  const bool is_one_owed = is_owed(one, its.charge);
  if (is_one_owed != is_owed(other, others.charge)) {
    return is_one_owed;
  }
  if (tier_of(*its.job) != tier_of(*others.job)) {
    return tier_of(*its.job) > tier_of(*others.job);
  }
  const auto divisor = [this](QueueNumber queue) {
    return std::uint64_t{state_.queues().at(queue).node.weight} *
           state_.shares().share(queue, pool_).credit;
  };
  const WideOfOracle mine = WideOfOracle{held_[index_of(one)]} * divisor(other);
  const WideOfOracle theirs = WideOfOracle{held_[index_of(other)]} * divisor(one);
  return mine != theirs ? mine < theirs : one < other;
}

std::optional<OrderOracle::Candidate> OrderOracle::candidate(QueueNumber queue) {
  const QueueRecord& record = state_.queues().at(queue);
  std::optional<Candidate> best;
  QueueNumber from = queue;
  if (const auto first = firsts_.find(queue); first != firsts_.end()) {
    const Job& job = *first->second.job;
    best = Candidate{&job, kPartsOfGpu * job.spec.request.gpus};
    is_sure_ = is_sure_ && record.is_leaf() && !first->second.has_several_users &&
               is_plain(job.spec.request) && job.life.left_out.empty();
  }
  for (const QueueNumber child : record.children) {
    const std::optional<Candidate> its = candidate(child);
    if (its.has_value() && (!best.has_value() || is_before(child, *its, from, *best))) {
      best = its;
      from = child;
    }
  }
  return best.has_value() && best->charge <= room(queue) ? best : std::nullopt;
}

}  // namespace muster::sim
