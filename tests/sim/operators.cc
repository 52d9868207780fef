#include "tests/sim/operators.h"

#include <chrono>
#include <utility>
#include <vector>

#include "agent/api/gpus.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "gossip/base/check.h"

namespace muster::sim {

/// Once the first quorum stands.
constexpr Duration kFirstTree = std::chrono::seconds(4);

void Operators::plan(Instant quiet_at, SubmitsKept& submits) {
  if (has_floods_) {
    world_.at(Instant() + kFirstTree, [this] { queue_owners_.change(); });
    floods_.plan(quiet_at, submits);
  }
}

void Operators::act(Fault fault, std::uint32_t host, std::uint32_t without_vote,
                    SubmitsKept& submits) {
  if (fault == Fault::kForged) {
    traitor_.forge();
  } else if (fault == Fault::kProofForged) {
    traitor_.forge_proofs();
  } else if (fault == Fault::kDrained) {
    rng_.chance(500'000) ? drain(host) : mask(host);
  } else if (fault == Fault::kReordered) {
    has_queues_&& rng_.chance(700'000) ? queue_owners_.change() : reorder(submits.size());
  } else if (fault == Fault::kFlooded) {
    floods_.flood(submits);
  } else if (fault == Fault::kEdited) {
    queue_owners_.edit();
  } else if (fault == Fault::kWordWrong) {
    say_processes_gone(host);
  } else {
    CHECK(fault == Fault::kHostRemoved);
    remove_host(without_vote);
  }
}

void Operators::take_back_all(std::uint32_t leader) {
  if (has_queues_) {
    queue_owners_.set_last(leader);
  }
  for (const auto& [id, record] : world_.node(leader).seat().state().hosts()) {
    const auto known = world_.find(id);
    if (!known.has_value()) {
      continue;
    }
    if (record.drain.has_value()) {
      undrain(*known);
    }
    for (const scheduler::GpuOrder& order : record.gpu_orders) {
      if (order.is_mask) {
        order_gpu(agent::Verb::kUnmaskGpu, *known, order.uuid);
      }
    }
  }
}

void Operators::say(agent::Verb verb, std::string arguments) {
  agent::Request request;
  request.verb = verb;
  request.arguments = std::move(arguments);
  world_.ask(static_cast<std::uint32_t>(rng_.below(world_.size())), std::move(request));
}

void Operators::drain(std::uint32_t host) {
  ++counts_["drained"];
  agent::DrainArgs arguments{world_.id(host), "swarm", rng_.chance(600'000), 0};
  arguments.after_ms = rng_.below(20'000);
  say(agent::Verb::kDrain, agent::encode_payload(arguments));
  after(2, 50, [this, host] { undrain(host); });
}

void Operators::undrain(std::uint32_t host) {
  say(agent::Verb::kUndrain, agent::encode_payload(agent::HostRef{world_.id(host)}));
}

void Operators::mask(std::uint32_t host) {
  const std::vector<std::string> gpus = world_.is_running(host)
                                            ? world_.node(host).gang_agent().inventory().gpus
                                            : std::vector<std::string>();
  if (gpus.empty()) {
    return;
  }
  ++counts_["gpu_masked"];
  const std::string uuid = gpus[rng_.below(gpus.size())];
  order_gpu(agent::Verb::kMaskGpu, host, uuid);
  after(2, 50, [this, host, uuid] { order_gpu(agent::Verb::kUnmaskGpu, host, uuid); });
}

void Operators::order_gpu(agent::Verb verb, std::uint32_t host, const std::string& uuid) {
  say(verb, agent::encode_payload(agent::GpuOrderArgs{world_.id(host), uuid, "swarm"}));
}

void Operators::reorder(std::size_t jobs) {
  if (jobs != 0) {
    ++counts_["reordered"];
    const JobId job(1 + rng_.below(jobs));
    say(agent::Verb::kEdit,
        agent::encode_payload(agent::EditArgs{job, static_cast<std::int64_t>(rng_.below(3))}));
  }
}

/// An operator who lies: the supervisors of an agent that is down, and their ranks, live.
void Operators::say_processes_gone(std::uint32_t host) {
  ++counts_["word_wrong"];
  world_.kill_agent(host);
  after(1, 12, [this, host] {
    say(agent::Verb::kFence, agent::encode_payload(agent::FenceArgs{world_.id(host), true}));
  });
  after(4, 40, [this, host] { world_.start_agent(host); });
}

void Operators::remove_host(std::uint32_t host) {
  ++counts_["host_removed"];
  world_.power_off(host);
  after(15, 40, [this, host] {
    // Another operator may have powered it on meanwhile: one looks before saying that it is off.
    if (world_.is_powered(host)) {
      return;
    }
    after(10, 40, [this, host] { world_.power_on(host); });
    say(agent::Verb::kFence, agent::encode_payload(agent::FenceArgs{world_.id(host), false}));
    say(agent::Verb::kRemoveHost, agent::encode_payload(agent::HostRef{world_.id(host)}));
  });
}

void Operators::after(int low_s, int high_s, std::function<void()> action) {
  world_.at(world_.now() + rng_.between(std::chrono::seconds(low_s), std::chrono::seconds(high_s)),
            std::move(action));
}

}  // namespace muster::sim
