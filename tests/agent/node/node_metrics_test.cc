// The metrics of a node are read from its parts, and those of the fleet only while it leads.

#include "agent/node/node_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/agent/api/rest/metrics_parser.h"
#include "tests/agent/node/bare_node.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using testing::BareNode;
using testing::kCluster;
using testing::kPeer;
using testing::MetricsParser;
using testing::request;

const std::vector<std::string> kNoMetricErrors;

MetricsParser metrics_of_node(BareNode& bare) {
  const Node& node = bare.node();
  // A step is never before the last one.
  return MetricsParser(metrics_text(metrics_of(node.view(Instant(1h)), node.notes())));
}

TEST(NodeMetricsOf, AFounderThatLeads) {
  BareNode bare(Login{1000, "ann"});
  bare.pass(5s);
  ASSERT_TRUE(bare.node().seat().leads());
  const MetricsParser metrics = metrics_of_node(bare);
  EXPECT_EQ(metrics.errors(), kNoMetricErrors);
  const auto value = [&metrics](const std::string& name,
                                const std::map<std::string, std::string>& labels = {}) {
    return metrics.value(name, labels);
  };
  EXPECT_EQ(value("muster_members", {{"state", "alive"}}), "1");
  EXPECT_EQ(value("muster_rows"), std::to_string(bare.node().store().rows().size()));
  EXPECT_EQ(value("muster_storm_mode", {{"mode", "normal"}}), "1");
  EXPECT_EQ(value("muster_gpus"), "1");
  EXPECT_EQ(value("muster_gpus_withheld"), "0");
  EXPECT_EQ(value("muster_gpu_free", {{"gpu", "0"}}), "1");
  EXPECT_EQ(value("muster_starts_grants"), "1");
  EXPECT_EQ(value("muster_is_leader"), "1");
  EXPECT_EQ(value("muster_has_leader"), "1");
  EXPECT_EQ(value("muster_is_voter"), "1");
  EXPECT_EQ(value("muster_raft_term"), std::to_string(bare.node().seat().known_term().value()));
  EXPECT_EQ(value("muster_raft_applied_index"), value("muster_raft_commit_index"));
  EXPECT_NE(value("muster_raft_log_entries"), "0");
  EXPECT_EQ(value("muster_quorum_voters"), "1");
  EXPECT_EQ(value("muster_quorum_reachable_voters"), "1");
  EXPECT_EQ(value("muster_quorum_tolerated_failures"), "0");
  EXPECT_EQ(value("muster_fleet_gpus", {{"gpu_type", "H100"}, {"state", "free"}}), "1");
  EXPECT_EQ(value("muster_hosts_left_out"), "0");
}

TEST(NodeMetricsOf, AMemberWithoutALeader) {
  BareNode bare(0, kCluster);
  bare.pass(1s);
  const MetricsParser metrics = metrics_of_node(bare);
  EXPECT_EQ(metrics.errors(), kNoMetricErrors);
  EXPECT_EQ(metrics.value("muster_is_leader", {}), "0");
  EXPECT_EQ(metrics.value("muster_has_leader", {}), "0");
  EXPECT_EQ(metrics.value("muster_is_voter", {}), "0");
  EXPECT_EQ(metrics.value("muster_raft_log_entries", {}), "0");
  EXPECT_FALSE(metrics.families().contains("muster_fleet_gpus"));
  EXPECT_FALSE(metrics.families().contains("muster_jobs"));
}

TEST(NodeMetricsOf, AGpuThatIsNotHealthyIsWithheld) {
  crdt::Capacity capacity;
  capacity.gpu_type = "H100";
  capacity.gpus = {{"GPU-1", true}, {"GPU-2", false}};
  BareNode bare(1, ClusterId(), {}, false, capacity);
  bare.pass(5s);
  const MetricsParser metrics = metrics_of_node(bare);
  EXPECT_EQ(metrics.value("muster_gpus", {}), "2");
  EXPECT_EQ(metrics.value("muster_gpu_withheld", {{"gpu", "0"}}), "0");
  EXPECT_EQ(metrics.value("muster_gpu_withheld", {{"gpu", "1"}}), "1");
  EXPECT_EQ(metrics.value("muster_gpu_free", {{"gpu", "1"}}), "0");
}

TEST(NodeMetricsOf, DropsRefusalsAndAlarmsCount) {
  BareNode bare(0, kCluster);
  const auto dropped = [&bare] {
    return std::stoull(
        metrics_of_node(bare).value("muster_dropped_messages_total", {{"part", "gate"}}));
  };
  const auto before = dropped();
  bare.receive_from(kPeer, "no message");
  EXPECT_EQ(dropped(), before + 1);
  Request asked = request(Verb::kHosts);
  gossip::Sender stranger{gossip::Sender::Kind::kLogin};
  stranger.uid = 4711;
  bare.ask_as(stranger, encode(asked));
  const MetricsParser metrics = metrics_of_node(bare);
  EXPECT_EQ(metrics.value("muster_refused_requests_total", {{"reason", "stranger"}}),
            std::to_string(bare.node().notes().strangers()));
  EXPECT_EQ(metrics.value("muster_alarms_total", {}), "0");
}

}  // namespace
}  // namespace muster::agent
