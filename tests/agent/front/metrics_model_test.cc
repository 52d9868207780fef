// The metrics of a node and of the fleet of a leader, their bounds, and the files that use them.

#include "agent/front/metrics_model.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "agent/api/rest/edge_metrics.h"
#include "gossip/base/version.h"
#include "tests/agent/api/rest/metrics_parser.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using namespace scheduler;             // NOLINT: what the log says
using namespace scheduler::testing;    // NOLINT: the fixture's verbs
using agent::testing::MetricsParser;

using Labels = std::map<std::string, std::string>;

const std::vector<std::string> kNoErrors;

/// The lines of the text that are no comments.
std::string samples_of(const std::string& text) {
  std::string samples;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    samples += text[at] == '#' ? "" : text.substr(at, end - at);
    at = end;
  }
  return samples;
}

std::vector<MetricFamily> joined(std::vector<MetricFamily> all,
                                 const std::vector<MetricFamily>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::map<HostId, membership::Member> members_of(
    const std::vector<membership::MemberState>& states) {
  std::map<HostId, membership::Member> members;
  for (std::size_t i = 0; i < states.size(); ++i) {
    membership::Member member;
    member.host = host_id(i + 1);
    member.state = states[i];
    members.emplace(member.host, member);
  }
  return members;
}

/// Four H100, of which job 1 holds two and one is masked, and two A100 of a drained host. A second
/// job waits for 100 seconds.
class LeaderMetrics : public ::testing::Test {
 protected:
  LeaderMetrics() {
    log.apply(registration(1, 4));
    log.apply(registration(2, 2, 1, "A100"));
    running = log.submit(2);
    token = log.run(running, {member_of(1, 0, 2)});
    log.apply(entry::GpuOrder{host_id(1), uuid_of(1, 3), true, "fan 3", {"ann@a"}});
    log.apply(entry::Drain{host_id(2), {"ann@a"}, "fan", true, 60s});
    waiting = log.submit(1);
    log.apply(entry::Tick{100s});
  }
  std::string text() const { return metrics_text(leader_families({log.state})); }
  std::string value(const std::string& name, const Labels& labels = {}) const {
    return MetricsParser(text()).value(name, labels);
  }

  Log log;
  JobId running;
  JobId waiting;
  Token token;
};

TEST_F(LeaderMetrics, OfASmallFleet) {
  EXPECT_EQ(MetricsParser(text()).errors(), kNoErrors);
  EXPECT_EQ(samples_of(text()), R"(muster_fleet_gpus{gpu_type="A100",state="unreachable"} 0
muster_fleet_gpus{gpu_type="A100",state="held"} 0
muster_fleet_gpus{gpu_type="A100",state="withheld"} 0
muster_fleet_gpus{gpu_type="A100",state="drained"} 2
muster_fleet_gpus{gpu_type="A100",state="free"} 0
muster_fleet_gpus{gpu_type="H100",state="unreachable"} 0
muster_fleet_gpus{gpu_type="H100",state="held"} 2
muster_fleet_gpus{gpu_type="H100",state="withheld"} 1
muster_fleet_gpus{gpu_type="H100",state="drained"} 0
muster_fleet_gpus{gpu_type="H100",state="free"} 1
muster_hosts_left_out 0
muster_jobs{state="queued"} 1
muster_jobs{state="scheduled"} 0
muster_jobs{state="running"} 1
muster_jobs{state="stopping"} 0
muster_jobs{state="suspended"} 0
muster_jobs{state="completed"} 0
muster_jobs{state="failed"} 0
muster_jobs{state="cancelled"} 0
muster_conditional_jobs 0
muster_jobs_submitted_total 2
muster_jobs_ended_total{end="completed"} 0
muster_jobs_ended_total{end="failed"} 0
muster_jobs_ended_total{end="cancelled"} 0
muster_attempts_started_total 1
muster_attempts_completed_total 0
muster_attempts_aborted_total{cause="refused"} 0
muster_attempts_aborted_total{cause="deadline"} 0
muster_attempts_aborted_total{cause="cancelled"} 0
muster_attempts_aborted_total{cause="condemned"} 0
muster_attempts_aborted_total{cause="restarted"} 0
muster_attempts_aborted_total{cause="suspended"} 0
muster_attempts_aborted_total{cause="requeued"} 0
muster_attempts_aborted_total{cause="preempted"} 0
muster_attempts_aborted_total{cause="fenced"} 0
muster_attempts_stopped_total{cause="rank_failed"} 0
muster_attempts_stopped_total{cause="host_lost"} 0
muster_attempts_stopped_total{cause="cancelled"} 0
muster_attempts_stopped_total{cause="time_limit"} 0
muster_attempts_stopped_total{cause="preempted"} 0
muster_attempts_stopped_total{cause="suspended"} 0
muster_attempts_stopped_total{cause="requeued"} 0
muster_queue_pending_jobs{queue="default"} 1
muster_queue_running_jobs{queue="default"} 1
muster_queue_oldest_wait_seconds{queue="default"} 100
muster_oldest_wait_seconds 100
muster_waiting_jobs{gpu_type="A100"} 1
muster_waiting_jobs{gpu_type="H100"} 1
muster_team_held_gpus{team="default"} 2
)");
}

TEST_F(LeaderMetrics, EachGpuCountsInTheFirstStateThatIsTrue) {
  const auto gpus = [this](const std::string& state) {
    return value("muster_fleet_gpus", {{"gpu_type", "H100"}, {"state", state}});
  };
  log.apply(entry::Drain{host_id(1), {"ann@a"}, "fan", true, 60s});
  EXPECT_EQ(gpus("held"), "2");
  EXPECT_EQ(gpus("withheld"), "1");
  EXPECT_EQ(gpus("drained"), "1");
  EXPECT_EQ(gpus("free"), "0");
  log.observe(1, Verdict::kSilent);
  EXPECT_EQ(gpus("unreachable"), "4");
  EXPECT_EQ(gpus("held"), "0");
  log.observe(1, Verdict::kLeft);
  EXPECT_EQ(gpus("unreachable"), "") << "a host that left has no GPUs in the fleet";
}

TEST_F(LeaderMetrics, EndsAreCounted) {
  log.finish(token, member_of(1, 0, 2), 0);
  log.apply(entry::Cancel{waiting, {"ann"}});
  EXPECT_EQ(value("muster_jobs_ended_total", {{"end", "completed"}}), "1");
  EXPECT_EQ(value("muster_jobs_ended_total", {{"end", "cancelled"}}), "1");
  EXPECT_EQ(value("muster_jobs_ended_total", {{"end", "failed"}}), "0");
  EXPECT_EQ(value("muster_attempts_completed_total"), "1");
  EXPECT_EQ(value("muster_jobs", {{"state", "cancelled"}}), "1");
  EXPECT_EQ(value("muster_oldest_wait_seconds"), "0");
  EXPECT_FALSE(MetricsParser(text()).families().contains("muster_team_held_gpus"));
}

TEST_F(LeaderMetrics, EveryAbortAndStopOfTheTableHasItsCause) {
  const MetricsParser parsed(text());
  const auto is_listed = [&parsed](std::string name, std::string_view cause) {
    return parsed.value(name, {{"cause", std::string(cause)}}) == "0";
  };
  for (std::size_t i = 0; i < kEdgeCount; ++i) {
    const auto edge = static_cast<Edge>(i);
    const std::string_view name = text_of(edge);
    if (name.starts_with("aborted_")) {
      EXPECT_TRUE(is_listed("muster_attempts_aborted_total", name.substr(8))) << name;
    }
    if (edge >= Edge::kStopRankFailed && edge <= Edge::kStopRequeued) {
      EXPECT_TRUE(is_listed("muster_attempts_stopped_total", name.substr(5))) << name;
    }
  }
}

TEST_F(LeaderMetrics, JobsThatWaitForATimeAreQueuedAndConditional) {
  entry::Submit fact = submission("later", 1);
  fact.spec.eligibility.begin = 1h;
  ASSERT_EQ(log.apply(fact).rejected, "");
  fact.key = "tasks";
  fact.spec.array = ArrayRange{0, 4, 0};
  ASSERT_EQ(log.apply(fact).rejected, "");
  EXPECT_EQ(value("muster_jobs", {{"state", "queued"}}), "7");
  EXPECT_EQ(value("muster_conditional_jobs"), "6");
  EXPECT_EQ(value("muster_queue_pending_jobs", {{"queue", "default"}}), "7");
  EXPECT_EQ(value("muster_waiting_jobs", {{"gpu_type", "H100"}}), "1");
}

TEST_F(LeaderMetrics, TypesThatNoHostHasAreOther) {
  entry::Submit fact = submission("odd", 1);
  fact.spec.request.gpu_types = {"my-own-type"};
  ASSERT_EQ(log.apply(fact).rejected, "");
  EXPECT_EQ(value("muster_waiting_jobs", {{"gpu_type", "other"}}), "1");
  EXPECT_EQ(text().find("my-own-type"), std::string::npos);
}

TEST_F(LeaderMetrics, ValuesOfLabelsThatAreOtherInFactAreAddedUp) {
  QueueTree tree;
  for (std::size_t i = 0; i < kQueuesMetered + 20; ++i) {
    QueueNode node;
    node.path = "a" + std::to_string(1000 + i);
    tree.nodes.push_back(node);
  }
  QueueNode node;
  node.path = kOtherMetered;
  tree.nodes.push_back(node);
  ASSERT_EQ(log.apply(entry::SetQueues{0, tree, {}, {}}).rejected, "");
  entry::Submit fact = submission("in other", 1);
  fact.spec.queue = kOtherMetered;
  ASSERT_EQ(log.apply(fact).rejected, "");
  fact = submission("in a queue without a name of its own", 1);
  fact.spec.queue = tree.nodes[kQueuesMetered + 5].path;
  ASSERT_EQ(log.apply(fact).rejected, "");
  EXPECT_EQ(MetricsParser(text()).errors(), kNoErrors);
  EXPECT_EQ(value("muster_queue_pending_jobs", {{"queue", "a1000"}}), "0");
  EXPECT_EQ(value("muster_queue_pending_jobs", {{"queue", tree.nodes[kQueuesMetered + 5].path}}),
            "");
  EXPECT_EQ(value("muster_queue_pending_jobs", {{"queue", kOtherMetered}}), "3")
      << "with the job of the queue default";
}

TEST(NodeMetrics, OfASmallNode) {
  const auto members =
      members_of({membership::MemberState::kAlive, membership::MemberState::kUnreachable,
                  membership::MemberState::kAlive});
  NodeFacts node{members, "gpu\"7"};
  node.rows = 3;
  node.storm = StormMode::kPartial;
  node.gpus = {{"ok", false, false}, {"failed", true, true}, {"", false, true}};
  node.grants = {{GrantState::kRunning, 2}};
  node.starts_grants = false;
  node.quorum = {true, true, true, Term(4), LogIndex(90), LogIndex(89), 50, 3, 2, 0};
  node.refusals = {7, 1, 2, 0};
  node.alarms = {{"disk_failed", 1}, {"rival_epoch", 2}};
  const std::string text = metrics_text(node_families(node));
  EXPECT_EQ(MetricsParser(text).errors(), kNoErrors);
  const std::string build = "muster_build_info{version=\"" + std::string(kProductVersion) +
                            "\",protocol=\"" + std::to_string(kProtocolVersion) +
                            "\",cluster=\"\",host=\"gpu\\\"7\"} 1\n";
  EXPECT_EQ(samples_of(text), build + R"(muster_members{state="alive"} 2
muster_members{state="suspect"} 0
muster_members{state="unreachable"} 1
muster_members{state="left"} 0
muster_rows 3
muster_storm_mode{mode="normal"} 0
muster_storm_mode{mode="domain"} 0
muster_storm_mode{mode="partial"} 1
muster_storm_mode{mode="partition_suspected"} 0
muster_gpus 3
muster_gpus_withheld 1
muster_gpu_state{gpu="0",state="ok"} 1
muster_gpu_state{gpu="1",state="failed"} 1
muster_gpu_state{gpu="2",state="unknown"} 1
muster_gpu_withheld{gpu="0"} 0
muster_gpu_withheld{gpu="1"} 1
muster_gpu_withheld{gpu="2"} 0
muster_gpu_free{gpu="0"} 1
muster_gpu_free{gpu="1"} 0
muster_gpu_free{gpu="2"} 0
muster_grants{state="ready"} 0
muster_grants{state="starting"} 0
muster_grants{state="running"} 2
muster_grants{state="stopping"} 0
muster_grants{state="ended"} 0
muster_grants{state="aborted"} 0
muster_starts_grants 0
muster_dropped_messages_total{part="gate"} 7
muster_dropped_messages_total{part="grants"} 1
muster_refused_requests_total{reason="stranger"} 2
muster_refused_requests_total{reason="note_dropped"} 0
muster_alarms_total 3
muster_alarms_by_name_total{alarm="disk_failed"} 1
muster_alarms_by_name_total{alarm="rival_epoch"} 2
muster_is_leader 1
muster_has_leader 1
muster_is_voter 1
muster_raft_term 4
muster_raft_commit_index 90
muster_raft_applied_index 89
muster_raft_log_entries 50
muster_quorum_voters 3
muster_quorum_reachable_voters 2
muster_quorum_tolerated_failures 0
)");
}

/// All that a node can say: more GPUs and alarms than have series of their own.
std::vector<MetricFamily> largest_node(const std::map<HostId, membership::Member>& members) {
  NodeFacts node{members, "host1"};
  node.gpus.resize(1024, {"ok", false, false});
  for (std::size_t i = 0; i < 500; ++i) {
    node.alarms["alarm_" + std::to_string(i)] = 1;
  }
  EdgeMetrics edge;
  edge.started_unix_ms = 1;
  edge.disk.size_bytes = 1;
  edge.certificate_ends_unix_s = 1;
  return joined(node_families(node), edge_families(edge));
}

TEST(MetricsBounds, ANodeHasFewSeries) {
  const auto members = members_of(std::vector<membership::MemberState>(10'000));
  const std::vector<MetricFamily> all = largest_node(members);
  const MetricsParser parsed(metrics_text(all));
  EXPECT_EQ(parsed.errors(), kNoErrors);
  EXPECT_LE(series_count(all), kNodeSeriesMax);
  EXPECT_EQ(parsed.value("muster_gpus"), "1024");
  EXPECT_EQ(parsed.value("muster_alarms_total"), "500");
  EXPECT_EQ(parsed.value("muster_alarms_by_name_total", {{"alarm", kOtherMetered}}),
            std::to_string(500 - kAlarmsMetered));
}

/// 10,000 hosts of 8 GPUs and 80 types, 200 queues, and 150 teams: team N holds 1 + N / 30 GPUs.
class LargeFleet {
 public:
  static constexpr std::uint64_t kHosts = 10'000;
  static constexpr std::uint64_t kTeams = 150;

  LargeFleet() {
    for (std::uint64_t host = 1; host <= kHosts; ++host) {
      apply(registration(host, 8, 1, "type" + std::to_string(100 + host % 80)));
    }
    QueueTree tree;
    for (std::size_t i = 0; i < 200; ++i) {
      QueueNode node;
      node.path = "q" + std::to_string(1000 + i);
      tree.nodes.push_back(node);
    }
    apply(entry::SetQueues{0, tree, {}, {}});
    for (std::uint64_t team = 0; team < kTeams; ++team) {
      hold(team, tree.nodes[team].path);
    }
  }
  const State& state() const { return state_; }

 private:
  ApplyResult apply(const Entry& entry) {
    index_ = index_.next();
    ApplyResult done = state_.apply(index_, entry);
    EXPECT_EQ(done.rejected, "");
    return done;
  }
  void hold(std::uint64_t team, const std::string& queue) {
    const auto gpus = static_cast<std::uint32_t>(1 + team / 30);
    entry::Submit fact = submission("key" + std::to_string(team), gpus);
    fact.spec.user = "user" + std::to_string(team);
    fact.spec.team = "team" + std::to_string(1000 + team);
    fact.spec.queue = queue;
    entry::Decide decided;
    decided.job = apply(fact).job;
    decided.members = {member_of(team + 1, 0, gpus)};
    decided.hold = 2min;
    decided.grace = 10s;
    decided.deadline = 10s;
    apply(decided);
  }

  State state_;
  LogIndex index_;
};

TEST(MetricsBounds, ALeaderOfTenThousandHostsHasFewSeries) {
  const LargeFleet fleet;
  const std::map<HostId, membership::Member> members;
  const std::vector<MetricFamily> all =
      joined(largest_node(members), leader_families({fleet.state()}));
  const std::string text = metrics_text(all);
  const MetricsParser parsed(text);
  EXPECT_EQ(parsed.errors(), kNoErrors);
  EXPECT_LE(series_count(all), kLeaderSeriesMax);
  std::uint64_t gpus = 0;
  std::uint64_t held = 0;
  std::set<std::string> teams;
  for (const ::muster::agent::testing::ParsedSample& sample : parsed.samples()) {
    gpus += sample.name == "muster_fleet_gpus" ? std::stoull(sample.value) : 0;
    if (sample.name == "muster_team_held_gpus") {
      held += std::stoull(sample.value);
      teams.insert(sample.labels.at("team"));
    }
  }
  EXPECT_EQ(gpus, LargeFleet::kHosts * 8);
  EXPECT_EQ(held, 30U * (1 + 2 + 3 + 4 + 5));
  EXPECT_EQ(teams.size(), kTeamsMetered + 1);
  EXPECT_TRUE(teams.contains("team1149")) << "it holds most";
  EXPECT_FALSE(teams.contains("team1000"));
}

TEST(MetricsBounds, NoLabelNamesAJobAUserOrAnotherHost) {
  const std::set<std::string> known = {"version",  "protocol", "cluster", "host",  "state", "mode",
                                       "gpu",      "part",     "reason",  "alarm", "end",   "cause",
                                       "gpu_type", "queue",    "team",    "le"};
  const LargeFleet fleet;
  const std::map<HostId, membership::Member> members;
  const MetricsParser parsed(
      metrics_text(joined(largest_node(members), leader_families({fleet.state()}))));
  for (const ::muster::agent::testing::ParsedSample& sample : parsed.samples()) {
    for (const auto& [label, value] : sample.labels) {
      EXPECT_TRUE(known.contains(label)) << label;
      EXPECT_TRUE(label != "host" || sample.name == "muster_build_info");
      EXPECT_FALSE(value.starts_with("user") || value.starts_with("host2")) << value;
    }
  }
}

TEST(Metrics, EachHelpIsAShortLineThatSaysWhatToDo) {
  const State state;
  const std::map<HostId, membership::Member> members;
  for (const MetricFamily& family : joined(largest_node(members), leader_families({state}))) {
    SCOPED_TRACE(family.name);
    EXPECT_TRUE(family.name.starts_with("muster_"));
    EXPECT_TRUE(family.help.ends_with('.'));
    EXPECT_LE(family.help.size(), 160U);
    EXPECT_EQ(family.help.find('\n'), std::string::npos);
    EXPECT_NE(family.help.find_first_of(";,"), std::string::npos) << "no clause";
  }
}

std::string content_of(const std::string& name) {
  std::ifstream file("agent/edge/door/monitoring/" + name);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The names of metrics in a text: "muster_" and what follows.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t at = text.find("muster_"); at != std::string::npos;
       at = text.find("muster_", at + 1)) {
    std::size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    names.insert(text.substr(at, end - at));
  }
  return names;
}

/// The names of all series that there can be.
std::set<std::string> names_defined() {
  const State state;
  const std::map<HostId, membership::Member> members;
  std::set<std::string> names;
  for (const MetricFamily& family : joined(largest_node(members), leader_families({state}))) {
    names.insert(family.name);
    for (const MetricSample& sample : family.samples) {
      names.insert(family.name + sample.suffix);
    }
  }
  return names;
}

TEST(Monitoring, AlertsAndDashboardUseMetricsThatExist) {
  const std::set<std::string> defined = names_defined();
  for (const std::string name : {"alerts.yml", "muster.json"}) {
    SCOPED_TRACE(name);
    const std::set<std::string> used = names_in(content_of(name));
    EXPECT_GT(used.size(), 10U);
    for (const std::string& each : used) {
      EXPECT_TRUE(defined.contains(each)) << each;
    }
  }
}

TEST(Monitoring, EachAlertSaysWhatToDo) {
  const std::string text = content_of("alerts.yml");
  const auto count = [&text](const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      ++found;
    }
    return found;
  };
  const std::size_t alerts = count("- alert: Muster");
  EXPECT_GE(alerts, 9U);
  for (const std::string key : {"\n        expr: ", "\n          severity: ",
                                "\n          summary: ", "\n          description: "}) {
    EXPECT_EQ(count(key), alerts) << key;
  }
}

TEST(Monitoring, EachPanelOfTheDashboardAsksSomething) {
  const nlohmann::json dashboard = nlohmann::json::parse(content_of("muster.json"));
  EXPECT_EQ(dashboard.at("schemaVersion"), 38);
  std::set<int> ids;
  std::set<std::string> rows;
  for (const nlohmann::json& panel : dashboard.at("panels")) {
    const std::string title = panel.at("title");
    SCOPED_TRACE(title);
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second);
    if (panel.at("type") == "row") {
      rows.insert(title);
      continue;
    }
    EXPECT_FALSE(panel.at("description").get<std::string>().empty());
    ASSERT_FALSE(panel.at("targets").empty());
    for (const nlohmann::json& target : panel.at("targets")) {
      EXPECT_FALSE(names_in(target.at("expr").get<std::string>()).empty());
    }
  }
  EXPECT_EQ(rows, (std::set<std::string>{"Fleet", "Queue", "Quorum", "Node $instance"}));
}

}  // namespace
}  // namespace muster::agent
