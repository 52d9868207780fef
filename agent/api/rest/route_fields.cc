#include "agent/api/rest/route_fields.h"

#include "agent/api/rest/call_input.h"
#include "gossip/base/enum_table.h"
#include "scheduler/protocol/array_range.h"
#include "scheduler/protocol/queues.h"
#include "scheduler/protocol/request.h"

namespace muster::agent {
namespace taken {

using enum FieldKind;
using Id = RouteId;
using Field = RouteField;

constexpr auto kSpanMsMax = static_cast<std::uint64_t>(kRequestSpanMax.count() / 1'000'000);
constexpr std::uint64_t kSpanSecondsMax = kSpanMsMax / 1000;
constexpr std::string_view kTierNames = "interactive|batch|standard|premium|inference";

constexpr Field needed(Field field) {
  field.is_needed = true;
  return field;
}
constexpr Field choice(std::string_view name, std::string_view choices,
                       std::string_view meaning = "") {
  return {name, kChoice, meaning, 0, UINT64_MAX, choices};
}
constexpr Field choices(std::string_view name, std::string_view choices, std::string_view meaning) {
  return {name, kChoices, meaning, 0, UINT64_MAX, choices};
}
constexpr Field object(std::string_view name, std::span<const Field> parts,
                       std::string_view meaning = "") {
  return {name, kObject, meaning, 0, UINT64_MAX, "", parts};
}
constexpr Field objects(std::string_view name, std::span<const Field> parts,
                        std::string_view meaning = "") {
  return {name, kObjects, meaning, 0, UINT64_MAX, "", parts};
}
/// NAME_ms and NAME_s are one time: only one of them may be given.
constexpr Field ms(std::string_view name, std::string_view meaning = "", std::uint64_t min = 0) {
  return {name, kNumber, meaning, min, kSpanMsMax};
}
constexpr Field seconds(std::string_view name, std::uint64_t min = 0) {
  return {name, kNumber, "The same in seconds; give one of the two.", min, kSpanSecondsMax};
}

constexpr Field kConsistent = {"consistent", kBoolean,
                               "The leader answers, with all changes that were made before."};
constexpr Field kSince = {
    "since", kText, "Only entries no older than this time: a whole number and a unit, as 30m, 1d."};
constexpr Field kLimit = {"limit", kNumber, "Most entries of the answer.", 1, kPageMax};
constexpr Field kAfterText = {"after", kText,
                              "The page begins behind this entry: muster-next of the page before."};
constexpr Field kAfterNumber = {
    "after", kNumber,
    "The page begins behind this number: muster-next of the page before; 0: at the first one."};

// ---- queries ----

constexpr Field kJobsQuery[] = {
    {"job", kTexts, "Jobs, tasks and ranges of them, as 7, 7.12, 100-120 or 7.0-99."},
    {"name", kText, "Only jobs whose name fits this pattern with * and ?."},
    {"user", kText, "Only jobs of this user."},
    {"host", kText, "Only jobs on this host, tasks of arrays among them."},
    choices("state", "queued|scheduled|running|stopping|suspended|completed|failed|cancelled",
            "Only jobs in one of these states."),
    kSince,
    {"all", kBoolean, "Jobs of all users, and all that have ended."},
    {"tasks", kBoolean, "The numbers of arrays mean their tasks."},
    {"sort", kText, "Column to sort by; with - before it the other way round."},
    kLimit,
    {"after", kText,
     "A page in the order of numbers begins behind this job: muster-next of the page before; 0: at "
     "the first one."},
};
constexpr Field kJobEventsQuery[] = {kSince, kLimit};
constexpr Field kOutputQuery[] = {
    {"attempt", kNumber, "Number of the attempt; 0: the last one."},
    {"offset", kNumber, "Byte at which the piece begins: muster-next of the piece before."},
    kSince,
    choice("stream", "stdout|stderr", "Only this stream."),
};
constexpr Field kHostsQuery[] = {
    {"all", kBoolean, "Hosts that were removed or left long ago, too."}, kLimit, kAfterText};
constexpr Field kGpusQuery[] = {
    {"job", kText, "Only GPUs that this job holds, or a task of this array."},
    {"uuid", kText, "Only GPUs whose UUID begins so."},
    {"host", kText, "Only GPUs of this host, with what it reads of them now."},
    kLimit,
    kAfterText,
};
constexpr Field kStatsQuery[] = {{"host", kText, "Host of the agent; else the one that answers."}};
constexpr Field kEventsQuery[] = {
    {"host", kText, "Host whose events are listed; else those of the one that answers."},
    kSince,
    choice("level", "info|warn|alarm", "Only events of this level and above."),
    {"event", kTexts, "Only events with one of these names."},
    kAfterNumber,
    kLimit,
};
constexpr Field kAuditQuery[] = {
    {"user", kText, "Only lines about this user."},
    {"verb", kText, "Only lines about this request: submit, cancel and so on."},
    kSince,
    kAfterNumber,
    kLimit,
};
constexpr Field kUsageQuery[] = {
    choice("by", "user|type|name", "The rows are users, GPU types or names of jobs."),
    kSince,
};
constexpr Field kQueuesQuery[] = {
    {"waiting", kBoolean, "Instead the jobs that wait, by queue and tier."},
    {"queue", kText, "Only this queue and those below it."},
};
constexpr Field kSharesQuery[] = {
    {"queue", kText, "Only this queue and those below it."},
    {"users", kBoolean, "The shares of users, too."},
};
constexpr Field kUsersQuery[] = {
    choice("show", "users|teams|access", "Users, or instead teams, or the rules of access."),
    kLimit,
    kAfterText,
};
constexpr Field kTokensQuery[] = {
    {"all", kBoolean, "Access tokens of all users."}, kLimit, kAfterText};
constexpr Field kEndTokenQuery[] = {
    {"all", kBoolean, "The access token may be that of another user."}};

// ---- bodies ----

constexpr Field kShellBody[] = {
    {"umask", kText},
    {"open_files", kNumber},
    {"stack_bytes", kNumber},
    {"core_bytes", kNumber},
};
constexpr Field kFirst = {"first", kNumber, "", 0, kTaskIndexMax};
constexpr Field kLast = {"last", kNumber, "", 0, kTaskIndexMax};
constexpr Field kStep = {"step", kNumber, "", 1, kTaskIndexMax};
constexpr Field kRunBody[] = {needed(kFirst), needed(kLast), kStep};
constexpr Field kArrayBody[] = {
    objects("runs", kRunBody, "Ranges of the task numbers, in the place of first, last and step."),
    kFirst,
    kLast,
    kStep,
    {"at_once", kNumber, "", 0, scheduler::kTasksMax},
};
constexpr Field kSubmitBody[] = {
    {"command", kTexts, "The program and its arguments; needed, by this name or by argv."},
    {"argv", kTexts, "Another name of command."},
    {"name", kText},
    needed({"directory", kText, "Absolute path of the directory in which the ranks run."}),
    {"environment", kTexts},
    object("shell", kShellBody),
    {"gpus", kNumber, "", 0, scheduler::kGangUnitsMax},
    {"gpus_per_host", kNumber, "", 0, scheduler::kGangUnitsMax},
    {"ranks", kNumber, "", 0, scheduler::kGangUnitsMax},
    {"ranks_per_host", kNumber, "", 0, scheduler::kHostUnitsMax},
    {"cpu_thousandths", kNumber, "", 0, scheduler::kCpusMax},
    {"memory_mib", kNumber, "", 0, scheduler::kMemoryMbMax},
    {"gpu_types", kTexts},
    {"gpu_type", kText, "The one GPU type that the job accepts."},
    {"labels", kTexts},
    {"not_labels", kTexts},
    {"hosts", kTexts, "Hosts that the job may use."},
    {"not_hosts", kTexts},
    choice("pack", "island|host|rack|spine|any"),
    ms("pack_wait_ms"),
    seconds("pack_wait_s"),
    ms("isolation_ms"),
    seconds("isolation_s"),
    {"keep_when_isolated", kBoolean},
    ms("grace_ms"),
    seconds("grace_s"),
    ms("patience_ms"),
    seconds("patience_s"),
    ms("time_limit_ms", "Time limit of the job; null: none; absent: that of its queue."),
    seconds("time_limit_s"),
    {"team", kText},
    {"priority", kInteger},
    {"queue", kText, "Path of the queue; absent: the first one of the user."},
    choice("tier", kTierNames),
    {"is_held", kBoolean},
    {"retries", kNumber, "", 0, UINT32_MAX},
    choice("on_lost_host", "requeue|wait"),
    {"after", kTexts},
    ms("begin_in_ms"),
    seconds("begin_in_s"),
    ms("deadline_in_ms"),
    seconds("deadline_in_s"),
    object("array", kArrayBody),
};
constexpr Field kEditBody[] = {
    {"queue", kText, "Path of the queue to which the job moves."},
    {"tier", kText},
    {"priority", kInteger},
    ms("time_limit_ms", "New time limit; null: none.", 1),
    seconds("time_limit_s", 1),
    ms("time_limit_added_ms", "", 1),
    seconds("time_limit_added_s", 1),
    ms("begin_in_ms", "", 1),
    seconds("begin_in_s", 1),
    ms("deadline_in_ms", "", 1),
    seconds("deadline_in_s", 1),
};
constexpr Field kCancelBody[] = {
    {"last", kText, "Last task of a run that begins with the task of the path, as 99 or 7.99."}};
constexpr Field kRequeueBody[] = {
    {"attempt", kNumber, "Attempt that makes way; absent: the newest one.", 1}};
constexpr Field kSetHostBody[] = {{"may_vote", kBoolean}, {"may_vouch", kBoolean}};
constexpr Field kDrainBody[] = {
    {"why", kText, "Reason, for people."},
    {"requeue", kBoolean, "Jobs on the host are queued again at once."},
    ms("deadline_in_ms", "Time after which jobs that are left on the host are queued again."),
    seconds("deadline_in_s"),
};
constexpr Field kFenceBody[] = {
    {"processes_gone", kBoolean, "Only the ranks are gone; the host need not be."}};
constexpr Field kGpuOrderBody[] = {
    needed({"why", kText, "Reason, for people."}),
    {"host", kText, "Host of the GPU, if several have one whose UUID begins so."},
};
constexpr Field kVoterBody[] = {needed({"host", kText, "Name or id of the host."})};
constexpr Field kLeadBody[] = {
    {"host", kText, "Host that is to lead; absent: the leader chooses."}};
constexpr Field kAmountBody[] = {
    needed({"amount_of", kText}),
    needed({"amount", kNumber, "", 0, scheduler::kQueueAmountMax}),
};
constexpr Field kQueueBody[] = {
    needed({"queue", kText}),
    {"weight", kNumber, "", 1, scheduler::kQueueWeightMax},
    objects("guaranteed", kAmountBody),
    objects("max", kAmountBody),
    {"tiers", kTexts},
    {"queue_members", kTexts},
    {"is_fifo", kBoolean},
    ms("time_limit_max_ms", "", 1),
    seconds("time_limit_max_s", 1),
    {"allows_no_time_limit", kBoolean},
    {"max_pending", kNumber, "", 1, scheduler::kQueuePendingMax},
};
constexpr Field kMoveBody[] = {
    needed({"from", kText, "Queue that goes."}),
    needed({"to", kText, "Queue that its jobs move to."}),
};
constexpr Field kQueuesBody[] = {
    needed({"queues_version", kNumber,
            "Version from which the change was made; null: nobody has set queues."}),
    ms("half_life_ms"),
    seconds("half_life_s"),
    needed(objects("queues", kQueueBody, "The queues, each with what it has of its own.")),
    objects("moves", kMoveBody, "Queues whose jobs move to another one."),
    {"dry_run", kBoolean, "The changes are listed and not made."},
};
constexpr Field kUserBody[] = {
    needed({"user", kText, "Login name."}),
    {"is_removed", kBoolean, "The user is removed, and has no other change."},
    choice("user_role", "viewer|user|lead|operator|admin"),
    {"joins", kTexts, "Teams that the user joins."},
    {"leaves", kTexts, "Teams that the user leaves."},
    {"keys_added", kTexts, "SSH keys of the user, each as the line of a .pub file."},
    {"keys_removed", kTexts, "Fingerprints of SSH keys that the user loses."},
};
constexpr Field kTeamBody[] = {
    needed({"team", kText, "Name of the team."}),
    {"is_removed", kBoolean, "The team is removed."},
    {"priority_max", kInteger},
};
constexpr Field kUsersBody[] = {
    objects("users", kUserBody, "Users that are added, changed or removed."),
    objects("teams", kTeamBody, "Teams that are added, changed or removed."),
    choice("unix_users", "user|none"),
    choice("visible_jobs", "all|team"),
};
constexpr Field kTokenBody[] = {
    needed({"made_for", kText, "Name of the access token, which lists show."}),
    needed({"token_rights", kTexts}),
    {"team", kText, "Team of the jobs that it submits; absent: any team of the user."},
    ms("ttl_ms", "Time after which it expires; absent: 30 days.", 1000),
    seconds("ttl_s", 1),
};
constexpr Field kTicketBody[] = {
    {"uses", kNumber, "", 1, UINT32_MAX},
    ms("ttl_ms", "Time after which it expires; absent: one hour.", 1000),
    seconds("ttl_s", 1),
    {"host", kText, "Name of the one host that it admits."},
    {"may_vote", kBoolean},
    {"may_vouch", kBoolean},
};
constexpr Field kRotateBody[] = {
    {"host", kText, "The host that changes its key."},
    {"all", kBoolean, "All hosts change their keys."},
    {"authority", kBoolean, "The authority changes its key."},
};

constexpr RouteFields kTable[] = {
    {Id::kStats, kStatsQuery},
    {Id::kJobs, kJobsQuery},
    {Id::kSubmit, {}, kSubmitBody, "Submit"},
    {Id::kDryRun, {}, kSubmitBody, "Submit"},
    {Id::kEditJob, {}, kEditBody, "Edit"},
    {Id::kJobEvents, kJobEventsQuery},
    {Id::kCancelJob, {}, kCancelBody, "Cancel"},
    {Id::kRequeueJob, {}, kRequeueBody, "Requeue"},
    {Id::kRankOutput, kOutputQuery},
    {Id::kHosts, kHostsQuery},
    {Id::kSetHost, {}, kSetHostBody, "SetHost"},
    {Id::kDrainHost, {}, kDrainBody, "DrainHost"},
    {Id::kFenceHost, {}, kFenceBody, "FenceHost"},
    {Id::kGpus, kGpusQuery},
    {Id::kMaskGpu, {}, kGpuOrderBody, "GpuOrder"},
    {Id::kUnmaskGpu, {}, kGpuOrderBody, "GpuOrder"},
    {Id::kAddVoter, {}, kVoterBody, "OneHost"},
    {Id::kRemoveVoter, {}, kVoterBody, "OneHost"},
    {Id::kTransferLead, {}, kLeadBody, "TransferLead"},
    {Id::kEvents, kEventsQuery},
    {Id::kAudit, kAuditQuery},
    {Id::kUsage, kUsageQuery},
    {Id::kQueues, kQueuesQuery},
    {Id::kSetQueues, {}, kQueuesBody, "SetQueues"},
    {Id::kShares, kSharesQuery},
    {Id::kUsers, kUsersQuery},
    {Id::kChangeUsers, {}, kUsersBody, "ChangeUsers"},
    {Id::kTokens, kTokensQuery},
    {Id::kMakeToken, {}, kTokenBody, "MakeToken"},
    {Id::kEndToken, kEndTokenQuery},
    {Id::kMakeTicket, {}, kTicketBody, "MakeTicket"},
    {Id::kRotateKeys, {}, kRotateBody, "RotateKeys"},
};
constexpr RouteFields kTakesNothing{};

}  // namespace taken

const RouteField& consistent_field() {
  return taken::kConsistent;
}

const RouteFields& fields_of(RouteId id) {
  const RouteFields* row = find_row(taken::kTable, &RouteFields::id, id);
  return row == nullptr ? taken::kTakesNothing : *row;
}

bool may_be_null(const RouteField& field) {
  return !field.is_needed || field.name == "queues_version";
}

}  // namespace muster::agent
