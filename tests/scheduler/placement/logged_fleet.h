#pragma once
// A log with the capacity that is kept beside it; its entries are made by hand or drawn from a
// seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/rng.h"
#include "scheduler/placement/capacity.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler::testing {

inline entry::Register machine(std::uint64_t host, std::uint32_t gpus, std::uint32_t cpus,
                               std::uint64_t memory_mb, const std::string& rack = "") {
  entry::Register fact = registration(host, gpus);
  fact.cpus = cpus;
  fact.memory_mb = memory_mb;
  fact.traits.rack = rack;
  return fact;
}

inline JobSpec asking(const Request& request) {
  JobSpec spec = spec_of(1);
  spec.request = request;
  return spec;
}

/// A log and the capacity that is kept beside it.
class LoggedFleet {
 public:
  ApplyResult apply(const Entry& entry) {
    ApplyResult result = log.apply(entry);
    for (const HostId& host : result.hosts_changed) {
      capacity.on_changed(log.state, host);
    }
    for (const HostId& host : result.holdings_changed) {
      capacity.on_held(log.state, host);
    }
    return result;
  }
  JobId submit(const Request& request) {
    return apply(entry::Submit{std::to_string(++keys_), asking(request), "alice"}).job;
  }
  const Job& job(JobId id) const { return *log.state.job(id); }
  std::optional<Placement> place(JobId id) { return capacity.place(log.state, job(id)); }
  /// True if the job was placed and the log took the Decide.
  bool start(JobId id) {
    const std::optional<Placement> placement = place(id);
    return placement.has_value() && decide(id, placement->members).rejected.empty();
  }
  ApplyResult decide(JobId id, const std::vector<Member>& members) {
    return apply(entry::Decide{id, job(id).life.attempts + 1, members, std::chrono::minutes(2),
                               std::chrono::seconds(10), std::chrono::seconds(10)});
  }

  Log log;
  Capacity capacity{log.state};

 private:
  std::uint64_t keys_ = 0;
};

/// Number of changes in a drawn fleet.
inline constexpr int kSteps = 60;

/// Hosts come, go and change, jobs are placed and end; each placement is checked as it is made.
class RandomFleet : public LoggedFleet {
 public:
  explicit RandomFleet(std::uint64_t seed) : rng_(seed) {
    for (std::uint64_t host = 1; host <= 5; ++host) {
      enter(host);
    }
  }
  void change() {
    const std::uint64_t draw = rng_.below(10);
    if (draw == 0) {
      enter(1 + rng_.below(5));
    } else if (draw == 1) {
      entry::Observe fact{host_id(1 + rng_.below(5)), {}, {}, {}, {}, {}};
      fact.start = log.state.host(fact.host)->start;
      fact.verdict = rng_.below(2) == 0 ? Verdict::kAlive : Verdict::kSilent;
      apply(fact);
    } else if (draw < 4 && !log.state.live().empty()) {
      apply(entry::Abort{*log.state.live().begin(), Cause::kCancelled, HostId()});
    } else if (draw == 4) {
      apply(entry::Tick{std::chrono::minutes(1)});
    } else {
      try_one();
    }
    ASSERT_TRUE(capacity.is_right(log.state));
  }
  int placed = 0;

 private:
  void enter(std::uint64_t host) {
    entry::Register fact = machine(host, static_cast<std::uint32_t>(rng_.below(5)),
                                   static_cast<std::uint32_t>(rng_.below(9)), rng_.below(9) * 1000,
                                   rng_.below(3) == 0 ? "" : std::to_string(rng_.below(2)));
    fact.start = pair_of(++generation_);
    fact.gpu_type = rng_.below(3) == 0 ? "A100" : "H100";
    if (rng_.below(2) == 0) {
      fact.traits.labels = {"fast"};
    }
    for (std::size_t i = 0; i < fact.gpus.size(); ++i) {
      fact.traits.islands.push_back(i < 2 ? 0 : 1);
    }
    apply(fact);
  }

  Request draw() {
    Request request;
    if (rng_.below(4) == 0) {
      request.gpus = 0;
      request.ranks = static_cast<std::uint32_t>(1 + rng_.below(6));
    } else {
      request.gpus = static_cast<std::uint32_t>(1 + rng_.below(6));
    }
    if (rng_.below(3) == 0) {
      const auto each = static_cast<std::uint32_t>(1 + rng_.below(3));
      (request.gpus != 0 ? request.gpus_per_host : request.ranks_per_host) = each;
      (request.gpus != 0 ? request.gpus : request.ranks) = each * (rng_.below(2) == 0 ? 1 : 2);
      if (request.gpus != 0) {
        request.ranks_per_host = static_cast<std::uint32_t>(rng_.below(2));
      }
    }
    if (rng_.below(2) == 0) {
      request.cpus = static_cast<std::uint32_t>(rng_.below(4) * 700);
    }
    if (rng_.below(2) == 0) {
      request.memory_mb = rng_.below(4) * 800;
    }
    if (rng_.below(3) == 0) {
      request.gpu_types = {"a100", "h100"};
      request.gpu_types.resize(1 + rng_.below(2));
    }
    if (rng_.below(4) == 0) {
      (rng_.below(2) == 0 ? request.labels : request.not_labels) = {"fast"};
    }
    if (rng_.below(5) == 0) {
      (rng_.below(2) == 0 ? request.hosts : request.not_hosts) = {"host1", "host3"};
    }
    request.pack = static_cast<Pack>(rng_.below(4));
    if (request.pack == Pack::kHost && request.units_per_host() != 0) {
      request.pack = Pack::kRack;
    }
    request.pack_wait = rng_.below(2) == 0 ? Duration(0) : std::chrono::minutes(3);
    return request;
  }

  void try_one() {
    const Request request = draw();
    const JobId id = submit(request);
    ASSERT_NE(id, JobId()) << validate(request).error().text;
    const std::optional<Placement> placement = place(id);
    if (!placement.has_value()) {
      return;
    }
    ++placed;
    for (const Member& member : placement->members) {
      expect_as_asked(request, member);
    }
    expect_packed(request, placement->members);
    const ApplyResult result = decide(id, placement->members);
    EXPECT_EQ(result.rejected, "");
  }

  void expect_as_asked(const Request& request, const Member& member) {
    const HostRecord& host = *log.state.host(member.host);
    const bool is_named = host.name == "host1" || host.name == "host3";
    EXPECT_TRUE(request.hosts.empty() || is_named);
    EXPECT_TRUE(request.not_hosts.empty() || !is_named);
    EXPECT_EQ(request.labels.empty() || !host.traits.labels.empty(), true);
    EXPECT_EQ(request.not_labels.empty() || host.traits.labels.empty(), true);
    EXPECT_TRUE(
        request.gpu_types.empty() ||
        std::count(request.gpu_types.begin(), request.gpu_types.end(), folded(host.gpu_type)) == 1);
    const std::size_t units = request.gpus != 0 ? member.gpus.size() : member.rank_count();
    if (request.cpus.has_value()) {
      EXPECT_EQ(member.cpus, *request.cpus * units);
    } else if (request.gpus != 0) {
      EXPECT_EQ(member.cpus, host.cpus * 1000 / host.gpus.size() * units) << "its share";
    }
    EXPECT_TRUE(!request.memory_mb.has_value() || member.memory_mb == *request.memory_mb * units);
  }

  void expect_packed(const Request& request, const std::vector<Member>& members) {
    std::set<std::string> racks;
    for (const Member& member : members) {
      const HostRecord& host = *log.state.host(member.host);
      racks.insert(host.traits.rack);
      std::set<std::uint32_t> islands;
      for (const GpuSlot& gpu : member.gpus) {
        const auto at = std::find(host.gpus.begin(), host.gpus.end(), gpu.uuid);
        islands.insert(host.traits.islands[static_cast<std::size_t>(at - host.gpus.begin())]);
      }
      EXPECT_TRUE(request.pack != Pack::kIsland || islands.size() <= 1);
    }
    EXPECT_TRUE(request.pack != Pack::kHost || members.size() == 1);
    EXPECT_TRUE(request.pack != Pack::kRack || members.size() == 1 ||
                (racks.size() == 1 && !racks.begin()->empty()));
  }

  Rng rng_;
  std::uint64_t generation_ = 0;
};

}  // namespace muster::scheduler::testing
