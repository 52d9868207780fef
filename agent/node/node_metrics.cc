#include "agent/node/node_metrics.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "agent/front/metrics_model.h"

namespace muster::agent {
namespace {

/// In the order in which the agent offers them.
std::vector<OwnGpu> own_gpus(const NodeView& node) {
  std::map<std::string, std::string> health;
  for (const GpuHealthInfo& each : node.gpus.health()) {
    health[each.uuid] = gpu_state_word(each.state);
  }
  std::set<std::string> broken;  // As the inventory says.
  for (const crdt::Gpu& each : node.options.hardware.capacity.gpus) {
    if (!each.healthy) {
      broken.insert(each.uuid);
    }
  }
  const std::vector<std::string> offer = node.gang_agent.offered_gpus();
  const std::set<std::string> offered(offer.begin(), offer.end());
  const std::set<std::string> held = node.gang_agent.held_gpus();
  const std::map<std::string, std::string> dirty = node.gpus.dirty();
  std::vector<OwnGpu> gpus;
  for (const std::string& uuid : node.gang_agent.inventory().gpus) {
    OwnGpu gpu;
    gpu.health = health[uuid];
    gpu.is_withheld = !node.gpus.is_well(uuid) || broken.contains(uuid) || dirty.contains(uuid) ||
                      !offered.contains(uuid);
    gpu.is_held = held.contains(uuid);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

QuorumFacts quorum_facts(const NodeView& node) {
  const HostId leader = node.seat.ready_leader();
  const crdt::QuorumView quorum = node.seat.known_quorum();
  QuorumFacts facts;
  facts.leads = node.seat.leads();
  facts.has_leader = facts.leads || (!leader.is_zero() && is_leader_reachable(node, leader));
  facts.votes = node.seat.is_voter();
  facts.term = node.seat.known_term();
  if (const scheduler::Raft* raft = node.seat.raft()) {
    facts.commit = raft->commit();
    facts.applied = node.seat.state().applied();
    facts.log_entries = raft->last_index().value() - raft->log().start().index.value();
  }
  facts.voters = quorum.voters.size();
  facts.reachable = live_voters(node, quorum);
  facts.tolerates = failures_tolerated(node, quorum);
  return facts;
}

}  // namespace

std::vector<MetricFamily> metrics_of(const NodeView& node, const RequestNotes& notes) {
  NodeFacts facts{node.membership.members(), node.options.name};
  facts.cluster = node.cluster;
  facts.rows = node.store.rows().size();
  facts.storm = node.membership.storm().mode;
  facts.gpus = own_gpus(node);
  for (const GrantView& grant : node.gang_agent.grants()) {
    ++facts.grants[grant.state];
  }
  facts.starts_grants = node.gang_agent.shortage().empty();
  facts.quorum = quorum_facts(node);
  facts.refusals = {node.message_gate.dropped_count(), node.gang_agent.dropped_count(),
                    notes.strangers(), notes.dropped()};
  facts.alarms = node.recent.alarms();
  std::vector<MetricFamily> families = node_families(facts);
  if (facts.quorum.leads) {
    std::vector<MetricFamily> fleet = leader_families(
        {node.seat.state(), node.wall_clock.unix_ms(node.now), node.seat.left_out().size()});
    std::move(fleet.begin(), fleet.end(), std::back_inserter(families));
  }
  return families;
}

}  // namespace muster::agent
