#include "tests/agent/api/rest/document_samples.h"

#include <map>
#include <optional>

#include "agent/api/json/audit.h"
#include "agent/api/json/enrolment.h"
#include "agent/api/json/gpus.h"
#include "agent/api/json/http_root.h"
#include "agent/api/json/orders.h"
#include "agent/api/json/queues.h"
#include "agent/api/json/users.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/problem.h"
#include "tests/agent/api/filled.h"

namespace muster::agent::rest_testing {
namespace {

using testing::filled;
using Samples = std::vector<DocumentSample>;

const Response kFrom{ResponseStatus::kOk, "", "b", 12, ""};
const HostId kOneHost = HostId::from_bytes(std::string(HostId::kSizeBytes, 'h'));

void add_cluster(Samples& all) {
  all.push_back({"Version", to_json(std::optional<VersionInfo>(filled<VersionInfo>()))});
  all.push_back({"Version", to_json(std::optional<VersionInfo>(VersionInfo()))});
  all.push_back({"Version", to_json(std::optional<VersionInfo>())});
  all.push_back({"Whoami", to_json(filled<WhoamiInfo>(), kFrom)});
  all.push_back({"Whoami", to_json(WhoamiInfo(), kFrom)});
  all.push_back({"Stats", to_json(filled<StatsInfo>(), kFrom)});
  all.push_back({"Stats", to_json(StatsInfo{1, {Counter()}}, kFrom)});
  all.push_back({"Quorum", to_json(filled<QuorumInfo>(), kFrom)});
  QuorumInfo led = filled<QuorumInfo>();
  led.role = "leader";
  led.voters[0].is_unheard = false;
  all.push_back({"Quorum", to_json(led, kFrom)});
  QuorumInfo none;
  none.voters = {VoterInfo()};
  all.push_back({"Quorum", to_json(none, kFrom)});
  for (const char* text : {"", "text"}) {
    all.push_back({"VoterAdded", quorum_changed_json("added", "a", text)});
    all.push_back({"VoterRemoved", quorum_changed_json("removed", "a", text)});
    all.push_back({"LeadTransferred", quorum_changed_json("leads", text, text)});
  }
  all.push_back({"HttpRoot", to_json(HttpRootInfo{"pem", "0a"}, kFrom)});
  all.push_back({"Keys", to_json(filled<KeysInfo>(), kFrom)});
  all.push_back({"KeysRotated", rotated_json("all", false)});
  all.push_back({"Events", to_json(filled<EventsPage>(), kFrom)});
  all.push_back({"Events", to_json(EventsPage{{EventInfo()}, 0}, kFrom)});
  all.push_back({"Audit", audit_json(filled<AuditPage>(), kFrom)});
  AuditPage page;
  page.lines = {AuditInfo()};
  all.push_back({"Audit", audit_json(page, kFrom)});
  all.push_back({"Problem", problem(503, ResponseStatus::kNoQuorum, "x", 5).body});
  all.push_back({"Problem", problem(404, ResponseStatus::kNotFound, "x").body});
}

HostUse use_with(bool requeues, const std::string& why) {
  HostUse use = filled<HostUse>();
  use.is_drained = true;
  use.drain.requeues = requeues;
  use.drain.why = why;
  return use;
}

void add_hosts(Samples& all) {
  HostList list = filled<HostList>();
  std::map<HostId, HostUse> uses = {{list.hosts[0].id, use_with(true, "why")},
                                    {list.hosts[1].id, use_with(false, "")}};
  all.push_back({"Hosts", to_json(list, uses, kFrom)});
  HostList bare;
  bare.hosts = {HostInfo()};
  all.push_back({"Hosts", to_json(bare, std::nullopt, kFrom)});
  HostDetail detail = filled<HostDetail>();
  detail.gpus[0].state = "used";
  all.push_back({"HostDetail", to_json(HostInfo(), detail, kFrom)});
  all.push_back({"HostDetail", to_json(filled<HostInfo>(), HostDetail(), kFrom)});
  all.push_back({"WhyHost", to_json(filled<WhyHostInfo>(), kFrom)});
  all.push_back({"WhyHost", to_json(WhyHostInfo(), kFrom)});
  constexpr std::pair<std::string_view, std::string_view> kOrders[] = {
      {"HostChanged", "changed"},
      {"HostDrained", "drained"},
      {"HostRemoved", "removed"},
      {"HostUndrained", "undrained"},
      {"HostRevoked", "revoked"}};
  for (const auto& [schema, done] : kOrders) {
    all.push_back({schema, host_ordered_json(done, "a", kOneHost)});
  }
  all.push_back({"HostFenced", fenced_json("a", kOneHost)});
}

void add_gpus(Samples& all) {
  GpuBoard board = filled<GpuBoard>();
  board.gpus[0].use_percent = 1;
  board.gpus[0].memory_used_bytes = 2;
  board.gpus[0].memory_bytes = 3;
  board.gpus[0].celsius = 4;
  board.gpus[0].milliwatts = 5;
  board.gpus[0].processes = {{1, 2}, {3, kNotRead}};
  GpuList list = filled<GpuList>();
  list.gpus[0].uuid = board.gpus[0].uuid;
  all.push_back({"Gpus", to_json(list, board, kFrom)});
  list.gpus = {ListedGpu()};
  all.push_back({"Gpus", to_json(list, std::nullopt, kFrom)});
  all.push_back({"GpuMasked", gpu_ordered_json("masked", "GPU-1", "a", kOneHost)});
  all.push_back({"GpuUnmasked", gpu_ordered_json("unmasked", "GPU-1", "a", kOneHost)});
}

scheduler::JobSpec full_spec() {
  scheduler::JobSpec spec = filled<scheduler::JobSpec>();
  spec.team = "nlp";
  spec.request.gpus_per_host = 1;
  spec.request.ranks = 2;
  spec.request.ranks_per_host = 3;
  spec.request.cpus = 4;
  spec.request.memory_mb = 5;
  spec.request.pack_wait = std::chrono::seconds(1);
  spec.limits.hold = std::chrono::minutes(1);
  spec.limits.time_limit = std::chrono::hours(1);
  spec.command.argv = {"\xff"};
  spec.command.environment = {"\xff"};
  spec.command.directory = "\xff";
  spec.command.shell.core_bytes = spec.command.shell.stack_bytes = spec.command.shell.open_files =
      scheduler::SubmitShell::kNoLimit;
  spec.array = scheduler::range_of({0, 1, 2, 4, 6, 8});
  spec.array->at_once = 2;
  return spec;
}

void add_jobs(Samples& all) {
  JobList list = filled<JobList>();
  list.jobs[0].state = "completed";
  all.push_back({"Jobs", to_json(list, 1, kFrom)});
  list.jobs = {JobSummary()};
  all.push_back({"Jobs", to_json(list, 1, kFrom)});
  JobDetail detail = filled<JobDetail>();
  detail.spec = full_spec();
  detail.array.failures.resize(1);
  detail.array.failures[0].task = task_id(JobId(7), 4);
  all.push_back({"JobDetail", to_json(detail, kFrom)});
  detail.spec = scheduler::JobSpec();
  detail.summary = JobSummary();
  detail.attempts = {AttemptInfo()};
  detail.attempts[0].members = {MemberInfo()};
  detail.attempts[0].members[0].ranks = {RankInfo()};
  detail.transitions = {TransitionInfo()};
  all.push_back({"JobDetail", to_json(detail, kFrom)});
  detail.summary.tasks = 4;
  detail.spec.array = scheduler::range_of({0, 1, 2, 3});
  detail.array.failures = {TaskFailure{task_id(JobId(7), 4), 0, "", {}}};
  all.push_back({"JobDetail", to_json(detail, kFrom)});
  all.push_back({"JobEvents", to_json(JobId(7), filled<JobDetail>().transitions, kFrom)});
  WhyInfo why;
  why.holders = {HolderInfo()};
  why.turn.pool = "h100";
  all.push_back({"Why", to_json(filled<WhyInfo>(), kFrom)});
  all.push_back({"Why", to_json(WhyInfo(), kFrom)});
  all.push_back({"Why", to_json(why, kFrom)});
  all.push_back({"DryRun", dry_run_json(filled<WhyInfo>(), kFrom)});
  all.push_back({"DryRun", dry_run_json(WhyInfo(), kFrom)});
  all.push_back({"Usage", to_json(filled<UsageList>(), "user", kFrom)});
  all.push_back({"Usage", to_json(UsageList{{UsageRow()}}, "name", kFrom)});
}

void add_orders(Samples& all) {
  const std::vector<JobOutcome> outcomes = {
      {JobId(7), 0, ""}, {task_id(JobId(7), 1), 5, "x", 3}, {JobId(9), 6, "x"}};
  all.push_back({"JobsCancelled", to_json("cancelled", outcomes)});
  all.push_back({"JobsSuspended", to_json("suspended", outcomes)});
  all.push_back({"JobsResumed", to_json("resumed", outcomes)});
  all.push_back({"JobsRequeued", to_json("requeued", outcomes)});
  all.push_back({"JobSubmitted", submitted_json(JobId(7), "key")});
  EditArgs edit;
  edit.keeps_priority = true;
  all.push_back({"JobEdited", edited_json(edit)});
  edit = {JobId(7), -2, false, "a/b", scheduler::Tier::kBatch, 5, false, false, 6, 7};
  all.push_back({"JobEdited", edited_json(edit)});
  edit.adds_time = true;
  edit.begin_ms = edit.deadline_ms = 0;
  all.push_back({"JobEdited", edited_json(edit)});
  edit.has_no_limit = true;
  all.push_back({"JobEdited", edited_json(edit)});
  OutputPiece piece{JobId(7), 1, 2, 3, "\xff", "stdout", 4, true};
  all.push_back({"OutputPiece", to_json(piece)});
  all.push_back({"OutputPiece", to_json(OutputPiece())});
}

void add_queues(Samples& all) {
  QueueList list = filled<QueueList>();
  list.tree.nodes[0].path = list.uses[0].path;
  list.tree.nodes[0].guaranteed = {{"h100", 1}};
  list.tree.nodes[0].time_limit_max = std::chrono::hours(1);
  list.tree.nodes[0].max_pending = 3;
  all.push_back({"Queues", to_json(list, kFrom)});
  all.push_back({"QueuesWaiting", waiting_json(list, kFrom)});
  list.version = 0;
  list.uses = {QueueUse()};
  list.uses[0].pools = {PoolUse()};
  all.push_back({"Queues", to_json(list, kFrom)});
  list.uses[0].pending = 1;
  all.push_back({"QueuesWaiting", waiting_json(list, kFrom)});
  list.uses[0].waits = {TierWaits()};
  all.push_back({"QueuesWaiting", waiting_json(list, kFrom)});
  all.push_back({"Shares", to_json(filled<ShareList>(), kFrom)});
  all.push_back({"Shares", to_json(ShareList{0, {ShareInfo()}}, kFrom)});
  all.push_back({"Changes", queues_changed_json({"x"}, true)});
}

void add_users(Samples& all) {
  for (const UserList& list : {filled<UserList>(), UserList()}) {
    all.push_back({"Users", users_json(list, kFrom)});
    all.push_back({"Teams", teams_json(list, kFrom)});
    all.push_back({"Access", access_json(list, kFrom)});
  }
  all.push_back({"Changes", users_changed_json({"x"}, false)});
  all.push_back({"AccessTokens", tokens_json({filled<TokenInfo>(), TokenInfo()}, kFrom)});
  all.push_back({"Tickets", to_json(filled<TicketList>(), kFrom)});
  all.push_back({"Tickets", to_json(TicketList{{TicketInfo()}}, kFrom)});
  for (const char* text : {"", "text"}) {
    all.push_back({"AccessTokenOrdered", token_json(TokenInfo(), text, text)});
    all.push_back({"TicketOrdered", ticket_json("0a", text, text)});
  }
}

}  // namespace

std::vector<DocumentSample> document_samples() {
  Samples all;
  for (const auto add :
       {add_cluster, add_hosts, add_gpus, add_jobs, add_orders, add_queues, add_users}) {
    add(all);
  }
  return all;
}

}  // namespace muster::agent::rest_testing
