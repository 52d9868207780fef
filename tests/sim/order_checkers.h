#pragma once
// Checkers of the order in which jobs start, for swarms with queues: what is first goes first, what
// waits is not pushed back, means follow what is held, and in the end every job has had its turn.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/decide_watch.h"
#include "tests/sim/order_oracle.h"

namespace muster::sim {

/// A calm leader decides the job that is next in its pool (order_oracle.h). It passes a job only
/// for a plan, which a pool has once jobs waited in it for long: then no job passes one of its own
/// leaf, older and no larger and no longer, that was never tried.
class OrderObeyed : public DecideWatch {
 public:
  std::string name() const override { return "order_obeyed"; }

 protected:
  void on_decide(World& world, std::uint32_t host, const scheduler::State& state,
                 const Decides& before, const scheduler::entry::Decide& decide) override;
};

/// Jobs that pass one that is next and does not fit do not push it back: it starts at the latest
/// when all attempts that were there while it waited are sure to be over.
class PlanKept : public DecideWatch {
 public:
  std::string name() const override { return "plan_kept"; }

 protected:
  void on_decide(World& world, std::uint32_t host, const scheduler::State& state,
                 const Decides& before, const scheduler::entry::Decide& decide) override;
  void on_state(const scheduler::State& state, const Decides& asked) override;
  void on_leader() override { stuck_.reset(); }

 private:
  struct Span {
    Duration seen{0};  ///< Cluster time at which it was last there.
    Duration end{0};   ///< Cluster time by which it is over for certain.
  };
  Duration latest_end(const scheduler::Job& job) const;

  std::map<Token, Span> spans_;  ///< Of attempts with a time limit.
  std::optional<JobId> stuck_;   ///< It was next all the time since the pool had no plan.
};

/// The mean of each queue goes, minute by minute, the part of the way to what is held that the
/// half-life says; credits keep their bounds, and favour who used less than is due.
class MeansFollow : public Checker {
 public:
  std::string name() const override { return "means_follow"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  struct Voter {
    std::uint64_t step = 0;
    std::uint64_t applied = 0;
    std::uint64_t version = 0;
    std::uint64_t epoch = 0;
    Duration sampled_at{0};
    scheduler::ShareBook::Pools pools;
  };
  void judge(World& world, std::uint32_t host, const scheduler::State& state, const Voter& before);
  void judge_credits(World& world, std::uint32_t host, const scheduler::State& state,
                     const scheduler::ShareBook::Pool& pool);

  std::map<std::uint32_t, Voter> voters_;
};

/// Faults are over, and nothing new was asked for since: no job waits any more.
class StartsInTime : public Checker {
 public:
  static constexpr std::string_view kName = "starts_in_time";
  std::string name() const override { return std::string(kName); }
  void at_end(World& world) override;
  /// From now on, the time after which all jobs have ended, though each ran all by itself.
  static Duration bound(const World& world);
};

/// All of them.
void add_order_checkers(World& world);

}  // namespace muster::sim
