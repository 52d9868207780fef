#include "agent/api/rest/openapi_schemas.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/api/json/fields.h"
#include "gossip/base/check.h"
#include "gossip/base/enum_table.h"

namespace muster::agent {
namespace shapes {

/// Keys are words: "host" is there and not null, "rack?" may be null, "-tier" may be absent,
/// "storm:Storm" is an object of that schema, or a list of such objects. "+answer" stands for the
/// keys of that fragment.
struct Shape {
  std::string_view name;
  std::string_view keys;
};

constexpr Shape kFragments[] = {
    {"answer", "answered_by age_ms"},
    {"host",
     "host host_id state detail? since_ms generation address rack? gpu_type? gpus gpus_healthy "
     "cpus memory_mib is_voter is_leader version? claimed_by https?"},
    {"why",
     "state headline wanted free lacking ahead holders:Holder would_start fits_now ahead_count "
     "left_out withheld:Withheld awaits_hosts holders_more has_gpus open_host_count "
     "filters:HostFilter largest:Largest would_fit_with queue? tier? full_queue? full_text? "
     "others_wait turn?:Turn after begin_unix_ms? deadline_unix_ms? storm:Storm"},
};

constexpr Shape kShapes[] = {
    // ---- the cluster and its hosts ----
    {"Version", "product protocol node?:Node"},
    {"Node", "product protocol host host_id generation cluster?"},
    {"Whoami",
     "user? host? is_vouched user_role? has_record member_of keys users_version? access_token? "
     "made_for? token_rights ends_in_ms? +answer"},
    {"Stats", "uptime_ms counters:Counter +answer"},
    {"Counter", "name count bytes? cpu_us?"},
    {"Hosts", "hosts:Host storm:Storm seeds_unmet:Seed voter_notes +answer"},
    {"Host",
     "+host gpus_used? gpus_free? cpu_used_thousandths? memory_used_mib? job_ids? drain?:Drain "
     "is_removed? cluster_since_ms?"},
    {"HostDetail",
     "+host gpus_used gpus_free cpu_used_thousandths memory_used_mib job_ids drain?:Drain "
     "is_removed cluster_since_ms labels spine? islands may_vote may_vouch gpu_list:HostGpu "
     "+answer"},
    {"HostGpu", "uuid state job_id? job_name? user? rank? token?"},
    {"Drain", "by why? since_ms will_requeue requeue_in_ms?"},
    {"Storm", "mode since_ms reason?"},
    {"Seed", "address silence"},
    {"WhyHost",
     "+host claims:Claim heard_by suspect_from unreachable_from storm:Storm events:Event +answer"},
    {"Claim", "observer kind is_weak age_ms"},
    {"Event", "sequence age_ms level text name unix_ms?"},
    {"Events", "events:Event lost_events last_sequence +answer"},
    {"HostChanged", "changed host_id"},
    {"HostDrained", "drained host_id"},
    {"HostUndrained", "undrained host_id"},
    {"HostFenced", "fenced host_id"},
    {"HostRemoved", "removed host_id"},
    {"HostRevoked", "revoked host_id"},
    {"Quorum",
     "cluster? role term leader? leader_id? commit_index? applied_index? tolerates voters_wanted? "
     "epoch founders_wanted founders_met seeds_unmet:Seed voters:Voter +answer"},
    {"Voter", "host host_id match_index? contact_ms? state is_learner entries_behind? rack? why?"},
    {"VoterAdded", "added detail?"},
    {"VoterRemoved", "removed detail?"},
    {"LeadTransferred", "leads? detail?"},
    {"Keys",
     "authority_number oldest_authority_number member_count members_behind hosts:HostKeys +answer"},
    {"HostKeys",
     "host host_id authority_number serial round round_wanted is_changing is_reachable"},
    {"KeysRotated", "rotated is_done"},
    {"HttpRoot", "root fingerprint +answer"},
    {"Audit", "audit:AuditLine first_audit_number? last_audit_number? +answer"},
    {"AuditLine",
     "audit_number unix_ms? index? by? user? host? host_id? told_by? proof? verb? object? outcome "
     "why?"},
    // ---- GPUs ----
    {"Gpus", "gpu_list:Gpu driver? +answer"},
    {"Gpu",
     "host host_id gpu_index uuid gpu_type? state job_id? user? token? since_ms? why? by? model? "
     "health? health_why? health_since_ms? evidence use_percent? gpu_memory_used_bytes? "
     "gpu_memory_bytes? celsius? milliwatts? throttle processes:GpuProcess processes_left_out"},
    {"GpuProcess", "pid used_bytes?"},
    {"GpuMasked", "masked host host_id"},
    {"GpuUnmasked", "unmasked host host_id"},
    // ---- jobs ----
    {"Jobs", "jobs:Job hidden_jobs gpus_of_other_teams +answer"},
    {"Job",
     "job_id name user state gpus ranks? gpu_type? attempt? priority queue? tier? exit_code? "
     "cause? hosts is_doubtful reason? submit_unix_ms? start_unix_ms? end_unix_ms? after "
     "begin_unix_ms? deadline_unix_ms? age_ms? run_ms? gpu_ms tasks?:TaskCounts"},
    {"TaskCounts", "count running completed failed cancelled"},
    {"JobDetail",
     "job:Job spec:JobSpec is_private attempts:Attempt transitions:Transition array?:Array "
     "output:OutputRule +answer"},
    {"JobSpec",
     "request:JobRequest argv argv_base64? environment environment_base64? directory "
     "directory_base64? team? is_held retries isolation_ms? keep_when_isolated grace_ms "
     "patience_ms on_lost_host time_limit_ms? shell:Shell"},
    {"JobRequest",
     "gpus gpus_per_host? ranks? ranks_per_host? cpu_thousandths? memory_mib? gpu_types labels "
     "not_labels hosts not_hosts pack pack_wait_ms?"},
    {"Shell", "umask open_files? stack_bytes? core_bytes?"},
    {"Attempt", "attempt token state cause? members:Member members_left_out"},
    {"Member",
     "host_id host first_rank gpu_uuids cpu_thousandths memory_mib state rank_list:Rank "
     "host_state? host_detail? host_since_ms?"},
    {"Rank", "rank state detail? output_bytes lost_bytes surplus_bytes"},
    {"Transition", "index? cluster_ms unix_ms? state cause"},
    {"Array",
     "first last runs?:TaskRun at_once? waiting queued suspended failures:TaskFailure "
     "failures_more"},
    {"TaskRun", "first last step"},
    {"TaskFailure", "task exit_code reason? hosts"},
    {"OutputRule", "kept_ms kept_bytes kept_files"},
    {"JobEvents", "job_id transitions:Transition +answer"},
    {"Why", "job_id +why +answer"},
    {"DryRun", "job_id? +why places:Place places_more +answer"},
    {"Holder", "job_id? name gpus cpu_thousandths hosts"},
    {"Withheld", "reason gpus"},
    {"HostFilter", "reason host_count"},
    {"Largest", "within units"},
    {"Place", "host units"},
    {"Turn",
     "pool first_job? rule reason? next_with? starts_in_ms? planned_hosts? own_side?:Side "
     "other_side?:Side"},
    {"Side", "queue is_user held_thousandths weight credit_permille"},
    {"JobSubmitted", "job_id key"},
    {"JobEdited",
     "job_id -queue -tier -time_limit_ms? -time_limit_added_ms -begin_in_ms? -deadline_in_ms? "
     "-priority"},
    {"JobsCancelled", "cancelled_jobs errors:JobError"},
    {"JobsSuspended", "suspended_jobs errors:JobError"},
    {"JobsResumed", "resumed_jobs errors:JobError"},
    {"JobsRequeued", "requeued_jobs errors:JobError"},
    {"JobError", "job_id error exit_code retry_after_ms?"},
    {"OutputPiece", "job_id attempt rank offset_bytes text base64? stream? unix_ms? is_ended"},
    {"Usage", "grouped_by days? rows:UsageRow rows_left_out +answer"},
    {"UsageRow", "group jobs_now gpus_now gpu_ms"},
    // ---- queues ----
    {"Queues", "queues_version? half_life_ms fleet:Amount queues:Queue +answer"},
    {"Queue",
     "queue is_leaf weight guaranteed:Amount max:Amount tiers queue_members is_fifo "
     "time_limit_max_ms? allows_no_time_limit max_pending? pools:QueuePool pending running "
     "longest_wait_ms?"},
    {"Amount", "amount_of amount"},
    {"QueuePool", "pool held_thousandths is_owed owed_wait_ms? owed_job_id?"},
    {"QueuesWaiting", "queues_version? queues:QueueWaiting +answer"},
    {"QueueWaiting",
     "pending over_10_min? over_30_min? longest_wait_ms longest_job_id? queue is_leaf "
     "waiting_tiers?:TierWaiting"},
    {"TierWaiting", "tier? pending over_10_min over_30_min longest_wait_ms longest_job_id?"},
    {"Shares", "half_life_ms shares:Share +answer"},
    {"Share",
     "queue user? pool pool_name held_thousandths pool_held_thousandths pool_size "
     "part_thousandths weight weights mean_permille credit_permille pending is_owed is_next "
     "at_max? borrowed_thousandths?"},
    {"Changes", "changes is_made"},
    // ---- users ----
    {"Users", "users:User users_version? +answer"},
    {"User", "user user_role member_of keys"},
    {"Teams", "teams:Team users_version? +answer"},
    {"Team", "team priority_max user_count"},
    {"Access", "unix_users visible_jobs users_version? +answer"},
    {"AccessTokens", "access_tokens:AccessToken +answer"},
    {"AccessToken", "access_token made_for user team? token_rights ends_in_ms"},
    {"AccessTokenOrdered", "access_token made_for line? file?"},
    {"Tickets", "tickets:Ticket +answer"},
    {"Ticket", "ticket uses used ends_in_ms may_vote may_vouch host? by age_ms why_not?"},
    {"TicketOrdered", "ticket line? file?"},
};

struct Answered {
  RouteId id{};
  std::string_view documents;
};

using Id = RouteId;
constexpr Answered kAnswered[] = {
    {Id::kVersion, "Version"},
    {Id::kWhoami, "Whoami"},
    {Id::kStats, "Stats"},
    {Id::kJobs, "Jobs"},
    {Id::kSubmit, "JobSubmitted"},
    {Id::kDryRun, "DryRun"},
    {Id::kJob, "JobDetail"},
    {Id::kEditJob, "JobEdited"},
    {Id::kWhyJob, "Why"},
    {Id::kJobEvents, "JobEvents"},
    {Id::kCancelJob, "JobsCancelled"},
    {Id::kSuspendJob, "JobsSuspended"},
    {Id::kResumeJob, "JobsResumed"},
    {Id::kRequeueJob, "JobsRequeued"},
    {Id::kRankOutput, "OutputPiece"},
    {Id::kHosts, "Hosts"},
    {Id::kHost, "HostDetail"},
    {Id::kSetHost, "HostChanged"},
    {Id::kWhyHost, "WhyHost"},
    {Id::kHostGpus, "Gpus"},
    {Id::kDrainHost, "HostDrained"},
    {Id::kUndrainHost, "HostUndrained"},
    {Id::kFenceHost, "HostFenced"},
    {Id::kRemoveHost, "HostRemoved"},
    {Id::kRevokeHost, "HostRevoked"},
    {Id::kGpus, "Gpus"},
    {Id::kMaskGpu, "GpuMasked"},
    {Id::kUnmaskGpu, "GpuUnmasked"},
    {Id::kQuorum, "Quorum"},
    {Id::kAddVoter, "VoterAdded"},
    {Id::kRemoveVoter, "VoterRemoved"},
    {Id::kTransferLead, "LeadTransferred"},
    {Id::kEvents, "Events"},
    {Id::kAudit, "Audit"},
    {Id::kUsage, "Usage"},
    {Id::kQueues, "Queues QueuesWaiting"},
    {Id::kSetQueues, "Changes"},
    {Id::kShares, "Shares"},
    {Id::kUsers, "Users Teams Access"},
    {Id::kChangeUsers, "Changes"},
    {Id::kTokens, "AccessTokens"},
    {Id::kMakeToken, "AccessTokenOrdered"},
    {Id::kEndToken, "AccessTokenOrdered"},
    {Id::kTickets, "Tickets"},
    {Id::kMakeTicket, "TicketOrdered"},
    {Id::kEndTicket, "TicketOrdered"},
    {Id::kKeys, "Keys"},
    {Id::kRotateKeys, "KeysRotated"},
    {Id::kTargets, ""},
    {Id::kHttpRoot, "HttpRoot"},
    {Id::kOpenapi, ""},
};
static_assert(has_row_for_each(kAnswered, &Answered::id), "each route names its documents");

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

SchemaKey key_of_word(std::string_view word) {
  SchemaKey key;
  key.is_optional = word.starts_with('-');
  word.remove_prefix(key.is_optional ? 1 : 0);
  const std::size_t colon = std::min(word.find(':'), word.size());
  key.part = word.substr(std::min(colon + 1, word.size()));
  word = word.substr(0, colon);
  key.is_nullable = word.ends_with('?');
  word.remove_suffix(key.is_nullable ? 1 : 0);
  key.name = word;
  const auto fields = json_fields();
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [word](const JsonField& each) { return each.name == word; });
  CHECK(field != fields.end());
  key.type = field->type != "strings or objects" ? field->type
             : key.part.empty()                  ? "strings"
                                                 : "objects";
  key.meaning = field->meaning;
  return key;
}

void add_keys(std::string_view text, std::vector<SchemaKey>& keys) {
  for (const std::string_view word : words_of(text)) {
    if (!word.starts_with('+')) {
      keys.push_back(key_of_word(word));
      continue;
    }
    for (const Shape& fragment : kFragments) {
      if (fragment.name == word.substr(1)) {
        add_keys(fragment.keys, keys);
      }
    }
  }
}

std::vector<Schema> all_schemas() {
  std::vector<Schema> all;
  for (const Shape& shape : kShapes) {
    Schema schema{shape.name};
    add_keys(shape.keys, schema.keys);
    all.push_back(std::move(schema));
  }
  Schema problem{kProblemSchema};
  problem.keys = {
      {"type", "string", "", "about:blank."},
      {"title", "string", "", "Words of the status."},
      {"status", "integer", "", "Status of HTTP."},
      {"detail", "string", "", "The error, and how to go on."},
      {"exit_code", "integer", "", "Exit code of the command line for the same error."},
      {"retry_after_ms", "ms", "", "Time after which the request may be taken; null: not known.",
       true},
  };
  all.push_back(std::move(problem));
  return all;
}

}  // namespace shapes

const std::vector<Schema>& schemas() {
  static const std::vector<Schema> all = shapes::all_schemas();
  return all;
}

std::vector<std::string_view> documents_of(RouteId id) {
  const auto* row = find_row(shapes::kAnswered, &shapes::Answered::id, id);
  CHECK(row != nullptr);
  return shapes::words_of(row->documents);
}

bool is_in_lines(RouteId id) {
  return id == RouteId::kRankOutput;
}

}  // namespace muster::agent
