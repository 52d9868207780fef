#pragma once
// The stage on which the acts of edges.cc are played: a cluster of five hosts, three of them
// voters, with every checker, and the hands that submit, cut and slow things down.

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "tests/sim/checkers.h"
#include "tests/sim/swarm.h"
#include "tests/sim/world.h"

namespace muster::sim {

class Stage {
 protected:
  using JobState = scheduler::JobState;
  static constexpr std::uint32_t kHosts = 5;
  static constexpr Duration kSlow = std::chrono::milliseconds(50);
  static constexpr Duration kHold = std::chrono::seconds(15);

  explicit Stage(std::uint64_t seed) : world_(options(seed)) {
    submits_ = add_checkers(world_).submits;
  }

  static WorldOptions options(std::uint64_t seed) {
    WorldOptions world;
    world.hosts = kHosts;
    world.seed = seed;
    world.trace = std::getenv("MUSTER_TRACE") != nullptr;
    return world;
  }

  /// From rest to rest; an act that missed its moment is not counted.
  void play(const std::string& name, const std::function<bool()>& act) {
    if (!until([this] { return is_at_rest(); }, std::chrono::minutes(5))) {
      world_.violation("edge_acts", "no rest before " + name);
      return;
    }
    if (act()) {
      ++played_[name];
    }
    world_.network().heal_all();
    world_.network().faults = NetworkFaults();
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      set_fsync(host, std::chrono::milliseconds(1));
      world_.power_on(host);
      world_.start_agent(host);
    }
  }

  bool until(const std::function<bool()>& condition, Duration limit) {
    for (const Instant end = world_.now() + limit; !condition();
         world_.run_for(std::chrono::milliseconds(1))) {
      if (world_.now() >= end) {
        return false;
      }
    }
    return true;
  }

  std::uint32_t leader() const { return world_.leader(); }
  bool has_leader() const { return leader() < world_.size(); }
  const scheduler::State& state() const { return world_.node(leader()).seat().state(); }
  const scheduler::Job* newest() const {
    return has_leader() ? state().job(JobId(submits_->size())) : nullptr;
  }
  const scheduler::Attempt* attempt() const {
    const scheduler::Job* job = newest();
    return job == nullptr || job->life.attempt_tokens.empty()
               ? nullptr
               : state().attempt(job->life.attempt_tokens.back());
  }
  bool is(JobState wanted) const { return newest() != nullptr && newest()->life.state == wanted; }
  /// The host of the newest attempt's first member.
  std::uint32_t member() const {
    return world_.find(attempt()->members.front().member.host).value();
  }

  bool is_at_rest() {
    if (!has_leader() || state().hosts().size() != kHosts || !submits_->drained(world_)) {
      return false;
    }
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      const auto known = state().hosts().find(world_.id(host));
      if (!world_.is_running(host) || !world_.farm(host).is_idle() ||
          known == state().hosts().end() || known->second.gpus.empty() ||
          !known->second.is_reachable() || known->second.is_superseded()) {
        return false;
      }
    }
    return true;
  }

  void submit(std::uint32_t gpus, Duration run, Duration hold = kHold,
              const std::vector<std::string>& more = {}, bool keep = false) {
    scheduler::JobSpec spec;
    spec.name = "act";
    spec.request.gpus = gpus;
    spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(run))};
    spec.command.argv.insert(spec.command.argv.end(), more.begin(), more.end());
    spec.limits.hold = hold;
    spec.limits.grace = std::chrono::seconds(5);
    spec.limits.keep_when_isolated = keep;
    submits_->submit(world_, leader(), spec);
  }
  void cancel() { order(agent::Verb::kCancel); }
  void order(agent::Verb verb) {
    const JobId job(submits_->size());
    agent::Request request;
    request.verb = verb;
    request.arguments = verb == agent::Verb::kRequeue
                            ? agent::encode_payload(agent::RequeueArgs{job, 0})
                            : agent::encode_payload(agent::JobRef{job});
    world_.ask(leader(), std::move(request));
  }
  void fence(std::uint32_t host) {
    agent::Request request;
    request.verb = agent::Verb::kFence;
    request.arguments = agent::encode_payload(agent::FenceArgs{world_.id(host)});
    world_.ask(leader(), std::move(request));
  }
  bool is_silent(std::uint32_t host) const {
    const scheduler::HostRecord* known = has_leader() ? state().host(world_.id(host)) : nullptr;
    return known != nullptr && known->verdict == scheduler::Verdict::kSilent;
  }

  void set_fsync(std::uint32_t host, Duration time) { world_.set_fsync(host, time, time); }
  void slow_voters() {
    for (std::uint32_t host = 0; host < kVoters; ++host) {
      set_fsync(host, kSlow);
    }
  }
  /// The next write of two voters takes long, and all behind it wait: nothing commits meanwhile.
  /// The third one is `spared`, if that is a voter.
  void hiccup(Duration length, std::uint32_t spared = kHosts) {
    std::set<std::uint32_t> waiting;
    std::set<std::uint32_t> rested;
    for (std::uint32_t host = 0; host < kVoters; ++host) {
      if (host != spared) {
        waiting.insert(host);
        set_fsync(host, length);
      }
    }
    until(
        [&] {
          for (auto host = waiting.begin(); host != waiting.end();) {
            const bool idle = world_.disk(*host).idle();
            if (idle) {
              rested.insert(*host);
            }
            if (!idle && rested.contains(*host)) {
              set_fsync(*host, std::chrono::milliseconds(1));
              host = waiting.erase(host);
            } else {
              ++host;
            }
          }
          return waiting.empty();
        },
        std::chrono::seconds(3));
    for (const std::uint32_t host : waiting) {
      set_fsync(host, std::chrono::milliseconds(1));
    }
  }
  void isolate(std::uint32_t host) {
    for (std::uint32_t other = 0; other < kHosts; ++other) {
      world_.network().cut(other, host);
      world_.network().cut(host, other);
    }
  }

  SwarmResult result() {
    SwarmResult result;
    result.violations = world_.violations();
    result.virtual_time = world_.now().time_since_epoch();
    result.hash = world_.hash();
    result.steps = world_.steps();
    result.jobs = submits_->acknowledged();
    result.network = world_.network().stats;
    result.faults = played_;
    for (std::uint32_t host = 0; host < kVoters; ++host) {
      if (world_.is_running(host)) {
        result.edges.merge(world_.node(host).seat().state().edges());
      }
    }
    return result;
  }

  World world_;
  SubmitsKept* submits_ = nullptr;
  std::map<std::string, std::uint64_t> played_;
};

}  // namespace muster::sim
