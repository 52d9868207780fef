#include "agent/api/json/view.h"

#include <algorithm>

#include "agent/api/job_state.h"
#include "agent/api/json/bytes_text.h"
#include "agent/api/json/dump.h"
#include "gossip/base/name.h"
#include "gossip/base/version.h"

namespace muster::agent {
namespace {

/// Members of a document without those that dump_answer() adds, and more.
constexpr std::size_t kMembersAtOnce = 8;

/// An object whose members do not move when it grows: a move copies all that is below them.
Json roomy_object() {
  Json json = Json::object();
  json.get_ref<Json::object_t&>().reserve(kMembersAtOnce);
  return json;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

/// A number; of a task "7.12".
Json view(JobId job) {
  return is_task(job) ? Json(text_of(job)) : Json(job.value());
}

Json view(const HostInfo& host) {
  return {{"host", host.name},
          {"host_id", host.id.hex()},
          {"state", host.state},
          {"detail", text_or_null(host.detail)},
          {"since_ms", host.since_ms},
          {"generation", host.generation.value()},
          {"address", host.address},
          {"rack", text_or_null(host.rack)},
          {"gpu_type", text_or_null(host.gpu_type)},
          {"gpus", host.gpus},
          {"gpus_healthy", host.gpus_healthy},
          {"cpus", host.cpus},
          {"memory_mib", host.memory_mb},
          {"is_voter", host.is_voter},
          {"is_leader", host.is_leader},
          {"version", text_or_null(host.version)},
          {"claimed_by", sorted(host.claimed_by)},
          {"https", text_or_null(host.https)}};
}

/// null for 0, where 0 means that there is no limit.
Json ms_or_null(Duration duration) {
  return duration == Duration(0) ? Json(nullptr) : Json(to_ms(duration));
}

Json view(const DrainInfo& drain) {
  return {{"by", drain.by},
          {"why", text_or_null(drain.why)},
          {"since_ms", drain.since_ms},
          {"will_requeue", drain.requeues},
          {"requeue_in_ms", drain.requeues ? Json(drain.requeue_in_ms) : Json(nullptr)}};
}

/// Added to what the node sees of a host; null where no voter could be asked.
void add_use(Json& json, const HostUse* use) {
  Json jobs = Json::array();
  for (const JobId job : use == nullptr ? std::vector<JobId>() : use->jobs) {
    jobs.push_back(view(job));
  }
  json["gpus_used"] = use == nullptr ? Json(nullptr) : Json(use->gpus_used);
  json["gpus_free"] = use == nullptr ? Json(nullptr) : Json(use->gpus_free);
  json["cpu_used_thousandths"] = use == nullptr ? Json(nullptr) : Json(use->cpus_used);
  json["memory_used_mib"] = use == nullptr ? Json(nullptr) : Json(use->memory_mb_used);
  json["job_ids"] = use == nullptr ? Json(nullptr) : jobs;
  json["drain"] = use == nullptr || !use->is_drained ? Json(nullptr) : view(use->drain);
  json["is_removed"] = use == nullptr ? Json(nullptr) : Json(use->is_removed);
  json["cluster_since_ms"] = use == nullptr ? Json(nullptr) : Json(use->since_ms);
}

Json view(const GpuInfo& gpu) {
  const bool is_used = gpu.state == "used";
  return {{"uuid", gpu.uuid},
          {"state", gpu.state},
          {"job_id", is_used ? view(gpu.job) : Json(nullptr)},
          {"job_name", is_used ? Json(gpu.job_name) : Json(nullptr)},
          {"user", is_used ? Json(gpu.user) : Json(nullptr)},
          {"rank", is_used ? Json(gpu.rank) : Json(nullptr)},
          {"token", is_used ? Json(gpu.token.text()) : Json(nullptr)}};
}

Json view(const UsageRow& row) {
  return {{"group", row.key},
          {"jobs_now", row.jobs_now},
          {"gpus_now", row.gpus_now},
          {"gpu_ms", row.gpu_ms}};
}

Json view(const StormInfo& storm) {
  return {
      {"mode", storm.mode}, {"since_ms", storm.since_ms}, {"reason", text_or_null(storm.reason)}};
}

Json view(const SeedInfo& seed) {
  return {{"address", seed.address}, {"silence", seed.silence}};
}

Json view(const ClaimInfo& claim) {
  return {{"observer", claim.observer},
          {"kind", claim.kind},
          {"is_weak", claim.is_weak},
          {"age_ms", claim.age_ms}};
}

/// Only the leader knows how far a voter has come.
Json view(const VoterInfo& voter, bool is_from_leader) {
  return {
      {"host", voter.name},
      {"host_id", voter.id.hex()},
      {"match_index", is_from_leader ? Json(voter.match_index) : Json(nullptr)},
      {"contact_ms", is_from_leader && !voter.is_unheard ? Json(voter.contact_ms) : Json(nullptr)},
      {"state", voter.state},
      {"is_learner", voter.is_learner},
      {"entries_behind", is_from_leader ? Json(voter.behind) : Json(nullptr)},
      {"rack", text_or_null(voter.rack)},
      {"why", text_or_null(voter.why)}};
}

Json view(const EventInfo& event) {
  return {{"sequence", event.sequence}, {"age_ms", event.age_ms},
          {"level", event.severity},    {"text", event.text},
          {"name", event.name},         {"unix_ms", number_or_null(event.unix_ms)}};
}

Json after_view(const WaitInfo& wait) {
  Json items = Json::array();
  for (const WaitItem& each : wait.after) {
    items.push_back(each.item);
  }
  return items;
}

Json view(const JobSummary& job) {
  return {{"job_id", view(job.id)},
          {"name", job.name},
          {"user", job.user},
          {"state", job.state},
          {"gpus", job.gpus},
          {"ranks", number_or_null(job.ranks)},
          {"gpu_type", text_or_null(job.gpu_type)},
          {"attempt", number_or_null(job.attempt)},
          {"priority", job.priority},
          {"queue", text_or_null(job.queue)},
          {"tier", text_or_null(job.tier)},
          {"exit_code", is_ended(job.state) ? Json(job.exit_code) : Json(nullptr)},
          {"cause", text_or_null(job.cause)},
          {"hosts", job.hosts},
          {"is_doubtful", job.is_doubtful},
          {"reason", text_or_null(job.reason)},
          {"submit_unix_ms", number_or_null(job.submit_unix_ms)},
          {"start_unix_ms", number_or_null(job.start_unix_ms)},
          {"end_unix_ms", number_or_null(job.end_unix_ms)},
          {"after", after_view(job.wait)},
          {"begin_unix_ms", number_or_null(job.wait.begin_unix_ms)},
          {"deadline_unix_ms", number_or_null(job.wait.deadline_unix_ms)},
          {"age_ms", job.submit_unix_ms == 0 ? Json(nullptr) : Json(job.age_ms)},
          {"run_ms", job.start_unix_ms == 0 ? Json(nullptr) : Json(job.run_ms)},
          {"gpu_ms", job.gpu_ms},
          {"tasks", job.tasks == 0 ? Json(nullptr)
                                   : Json{{"count", job.tasks},
                                          {"running", job.tasks_running},
                                          {"completed", job.tasks_completed},
                                          {"failed", job.tasks_failed},
                                          {"cancelled", job.tasks_cancelled}}}};
}

Json view(const scheduler::Request& request) {
  return {{"gpus", request.gpus},
          {"gpus_per_host", number_or_null(request.gpus_per_host)},
          {"ranks", number_or_null(request.ranks)},
          {"ranks_per_host", number_or_null(request.ranks_per_host)},
          {"cpu_thousandths", request.cpus.has_value() ? Json(*request.cpus) : Json(nullptr)},
          {"memory_mib", request.memory_mb.has_value() ? Json(*request.memory_mb) : Json(nullptr)},
          {"gpu_types", request.gpu_types},
          {"labels", request.labels},
          {"not_labels", request.not_labels},
          {"hosts", request.hosts},
          {"not_hosts", request.not_hosts},
          {"pack", text_of(request.pack)},
          {"pack_wait_ms", ms_or_null(request.pack_wait)}};
}

/// As shells show a file mask: "0027".
std::string octal(std::uint32_t mode) {
  std::string text(4, '0');
  for (std::size_t at = text.size(); at > 0; --at) {
    text[at - 1] = static_cast<char>('0' + mode % 8);
    mode /= 8;
  }
  return text;
}

Json view(const scheduler::SubmitShell& shell) {
  const auto limit = [](std::uint64_t soft) {
    return soft == scheduler::SubmitShell::kNoLimit ? Json(nullptr) : Json(soft);
  };
  return {{"umask", octal(shell.umask)},
          {"open_files", limit(shell.open_files)},
          {"stack_bytes", limit(shell.stack_bytes)},
          {"core_bytes", limit(shell.core_bytes)}};
}

/// The bytes that JSON cannot hold; null = it holds them all.
Json base64_or_null(const std::string& bytes) {
  return is_utf8(bytes) ? Json(nullptr) : Json(base64(bytes));
}
/// All of them, when one is needed.
Json base64_or_null(const std::vector<std::string>& words) {
  if (std::all_of(words.begin(), words.end(), is_utf8)) {
    return nullptr;
  }
  Json array = Json::array();
  for (const std::string& word : words) {
    array.push_back(base64(word));
  }
  return array;
}

Json view(const scheduler::JobSpec& spec) {
  return {{"request", view(spec.request)},
          {"argv", spec.command.argv},
          {"argv_base64", base64_or_null(spec.command.argv)},
          {"environment", spec.command.environment},
          {"environment_base64", base64_or_null(spec.command.environment)},
          {"directory", spec.command.directory},
          {"directory_base64", base64_or_null(spec.command.directory)},
          {"team", text_or_null(spec.team)},
          {"is_held", spec.is_held},
          {"retries", spec.retry.retries},
          {"isolation_ms", ms_or_null(spec.limits.hold)},
          {"keep_when_isolated", spec.limits.keep_when_isolated},
          {"grace_ms", to_ms(spec.limits.grace)},
          {"patience_ms", to_ms(spec.limits.patience)},
          {"on_lost_host",
           spec.retry.on_lost_host == scheduler::OnLostHost::kWait ? "wait" : "requeue"},
          {"time_limit_ms", ms_or_null(spec.limits.time_limit)},
          {"shell", view(spec.command.shell)}};
}

Json view(const RankInfo& rank) {
  return {{"rank", rank.rank},
          {"state", rank.state},
          {"detail", text_or_null(rank.detail)},
          {"output_bytes", rank.output_bytes},
          {"lost_bytes", rank.lost_bytes},
          {"surplus_bytes", rank.surplus_bytes}};
}

Json view(const TransitionInfo& transition) {
  return {{"index", number_or_null(transition.index.value())},
          {"cluster_ms", transition.cluster_ms},
          {"unix_ms", number_or_null(transition.unix_ms)},
          {"state", transition.state},
          {"cause", transition.cause}};
}

Json view(const HolderInfo& holder) {
  return {{"job_id", holder.job == JobId() ? Json(nullptr) : view(holder.job)},
          {"name", holder.name},
          {"gpus", holder.gpus},
          {"cpu_thousandths", holder.cpus},
          {"hosts", holder.hosts}};
}

Json view(const WithheldInfo& withheld) {
  return {{"reason", withheld.reason}, {"gpus", withheld.gpus}};
}

Json view(const WhyFilter& filter) {
  return {{"reason", filter.reason}, {"host_count", filter.hosts}};
}

Json view(const WhyPlace& place) {
  return {{"host", place.host}, {"units", place.units}};
}

Json view(const WhyLevel& level) {
  return {{"within", level.level}, {"units", level.units}};
}

// Declared before `views`: name lookup does not find them in this namespace later.
Json view(const MemberInfo& member);
Json view(const AttemptInfo& attempt);

template <class T>
Json views(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) {
    array.push_back(view(value));
  }
  return array;
}

Json view(const MemberInfo& member) {
  return {
      {"host_id", member.host.hex()},
      {"host", member.host_name},
      {"first_rank", member.first_rank},
      {"gpu_uuids", member.gpus},
      {"cpu_thousandths", member.cpus},
      {"memory_mib", member.memory_mb},
      {"state", member.state},
      {"rank_list", views(member.ranks)},
      {"host_state", text_or_null(member.host_state)},
      {"host_detail", text_or_null(member.host_detail)},
      {"host_since_ms", member.host_state.empty() ? Json(nullptr) : Json(member.host_since_ms)}};
}

Json view(const AttemptInfo& attempt) {
  return {{"attempt", attempt.number},
          {"token", attempt.token.text()},
          {"state", attempt.state},
          {"cause", text_or_null(attempt.cause)},
          {"members", views(attempt.members)},
          {"members_left_out", attempt.members_left_out}};
}

/// Null: there is no such side.
Json view(const WhySide& side) {
  return side.queue.empty() && !side.is_user ? Json(nullptr)
                                             : Json{{"queue", side.queue},
                                                    {"is_user", side.is_user},
                                                    {"held_thousandths", side.held},
                                                    {"weight", side.weight},
                                                    {"credit_permille", side.credit_permille}};
}

Json view(const WhyTurn& turn) {
  return turn.pool.empty()
             ? Json(nullptr)
             : Json{{"pool", turn.pool},
                    {"first_job", turn.first == JobId() ? Json(nullptr) : view(turn.first)},
                    {"rule", turn.rule},
                    {"reason", text_or_null(turn.text)},
                    {"next_with", text_or_null(turn.next_with)},
                    {"starts_in_ms", number_or_null(turn.starts_in_ms)},
                    {"planned_hosts", number_or_null(turn.planned_hosts)},
                    {"own_side", view(turn.own)},
                    {"other_side", view(turn.other)}};
}

/// Of a job that waits, and of one that is not submitted.
Json fields_of(const WhyInfo& why, Json job) {
  return {{"job_id", std::move(job)},
          {"state", why.state},
          {"headline", why.headline},
          {"wanted", why.wanted},
          {"free", why.free},
          {"lacking", why.lacking},
          {"ahead", views(why.ahead)},
          {"holders", views(why.holders)},
          {"would_start", views(why.would_start)},
          {"fits_now", why.fits_now},
          {"ahead_count", why.ahead_count},
          {"left_out", sorted(why.left_out)},
          {"withheld", views(why.withheld)},
          {"awaits_hosts", why.awaits_hosts},
          {"holders_more", why.holders_more},
          {"has_gpus", why.has_gpus},
          {"open_host_count", why.open_hosts},
          {"filters", views(why.filters)},
          {"largest", views(why.largest)},
          {"would_fit_with", why.would_fit},
          {"queue", text_or_null(why.queue)},
          {"tier", text_or_null(why.tier)},
          {"full_queue", text_or_null(why.full_queue)},
          {"full_text", text_or_null(why.full_text)},
          {"others_wait", why.others_wait},
          {"turn", view(why.turn)},
          {"after", after_view(why.wait)},
          {"begin_unix_ms", number_or_null(why.wait.begin_unix_ms)},
          {"deadline_unix_ms", number_or_null(why.wait.deadline_unix_ms)},
          {"storm", view(why.storm)}};
}

}  // namespace

std::string to_json(const HostList& list, const std::optional<std::map<HostId, HostUse>>& uses,
                    const Response& answer) {
  Json hosts = Json::array();
  for (const HostInfo& host : list.hosts) {
    Json json = view(host);
    const auto use = uses.has_value() ? uses->find(host.id) : decltype(uses->find(host.id))();
    add_use(json, uses.has_value() && use != uses->end() ? &use->second : nullptr);
    hosts.push_back(std::move(json));
  }
  Json json = roomy_object();
  json["hosts"] = std::move(hosts);
  json["storm"] = view(list.storm);
  json["seeds_unmet"] = views(list.seeds_unmet);
  json["voter_notes"] = list.voter_notes;
  return dump_answer(std::move(json), answer);
}

std::string to_json(const HostInfo& host, const HostDetail& detail, const Response& answer) {
  Json json = view(host);
  add_use(json, &detail.use);
  json["labels"] = detail.labels;
  json["spine"] = text_or_null(detail.spine);
  json["islands"] = detail.islands;
  json["may_vote"] = detail.may_vote;
  json["may_vouch"] = detail.may_vouch;
  json["gpu_list"] = views(detail.gpus);
  return dump_answer(std::move(json), answer);
}

std::string to_json(const UsageList& list, const std::string& by, const Response& answer) {
  return dump_answer({{"grouped_by", by},
                      {"days", number_or_null(list.days)},
                      {"rows", views(list.rows)},
                      {"rows_left_out", list.rows_left_out}},
                     answer);
}

std::string to_json(JobId job, const std::vector<TransitionInfo>& steps, const Response& answer) {
  return dump_answer({{"job_id", view(job)}, {"transitions", views(steps)}}, answer);
}

std::string to_json(const WhyHostInfo& why, const Response& answer) {
  Json json = view(why.host);
  json["claims"] = views(why.claims);
  json["heard_by"] = sorted(why.content);
  json["suspect_from"] = why.suspect_from;
  json["unreachable_from"] = why.verdict_from;
  json["storm"] = view(why.storm);
  json["events"] = views(why.events);
  return dump_answer(std::move(json), answer);
}

std::string to_json(const QuorumInfo& quorum, const Response& answer) {
  Json voters = Json::array();
  for (const VoterInfo& voter : quorum.voters) {
    voters.push_back(view(voter, quorum.role == "leader"));
  }
  return dump_answer({{"cluster", id_or_null(quorum.cluster)},
                      {"role", quorum.role},
                      {"term", quorum.term.value()},
                      {"leader", text_or_null(quorum.leader_name)},
                      {"leader_id", id_or_null(quorum.leader)},
                      {"commit_index", number_or_null(quorum.commit.value())},
                      {"applied_index", number_or_null(quorum.applied.value())},
                      {"tolerates", quorum.tolerates},
                      {"voters_wanted", number_or_null(quorum.wanted)},
                      {"epoch", quorum.epoch},
                      {"founders_wanted", quorum.founders_wanted},
                      {"founders_met", quorum.founders_met},
                      {"seeds_unmet", views(quorum.seeds_unmet)},
                      {"voters", voters}},
                     answer);
}

std::string to_json(const EventsPage& page, const Response& answer) {
  return dump_answer(
      {{"events", views(page.events)}, {"lost_events", page.lost}, {"last_sequence", page.last}},
      answer);
}

std::string to_json(const JobList& list, std::size_t hidden, const Response& answer) {
  Json json = roomy_object();
  json["jobs"] = views(list.jobs);
  json["hidden_jobs"] = hidden;
  json["gpus_of_other_teams"] = list.gpus_of_others;
  return dump_answer(std::move(json), answer);
}

namespace {

Json view(const TaskFailure& failure) {
  return {{"task", view(failure.task)},
          {"exit_code", failure.exit_code},
          {"reason", text_or_null(failure.reason)},
          {"hosts", failure.hosts}};
}

/// null of what is no array.
Json array_view(const JobDetail& detail) {
  const auto& range = detail.spec.array;
  if (detail.summary.tasks == 0 || !range.has_value()) {
    return nullptr;
  }
  Json runs = Json::array();
  for (const scheduler::TaskRun& run : range->runs) {
    runs.push_back({{"first", run.first}, {"last", run.last}, {"step", run.step}});
  }
  Json failures = Json::array();
  for (const TaskFailure& failure : detail.array.failures) {
    failures.push_back(view(failure));
  }
  return {{"first", range->first},
          {"last", range->last},
          {"runs", range->runs.empty() ? Json(nullptr) : runs},
          {"at_once", number_or_null(range->at_once)},
          {"waiting", detail.array.waiting},
          {"queued", detail.array.queued},
          {"suspended", detail.array.suspended},
          {"failures", failures},
          {"failures_more", detail.array.failures_more}};
}

}  // namespace

std::string to_json(const JobDetail& detail, const Response& answer) {
  return dump_answer({{"job", view(detail.summary)},
                      {"spec", view(detail.spec)},
                      {"is_private", detail.is_private},
                      {"attempts", views(detail.attempts)},
                      {"transitions", views(detail.transitions)},
                      {"array", array_view(detail)},
                      {"output",
                       {{"kept_ms", detail.output_rule.age_ms},
                        {"kept_bytes", detail.output_rule.bytes},
                        {"kept_files", detail.output_rule.files}}}},
                     answer);
}

std::string to_json(const WhyInfo& why, const Response& answer) {
  return dump_answer(fields_of(why, view(why.job)), answer);
}

std::string dry_run_json(const WhyInfo& why, const Response& answer) {
  Json fields = fields_of(why, nullptr);
  fields["places"] = views(why.places);
  fields["places_more"] = why.places_more;
  return dump_answer(std::move(fields), answer);
}

std::string to_json(const StatsInfo& stats, const Response& answer) {
  Json counters = Json::array();
  for (const Counter& counter : stats.counters) {
    counters.push_back({{"name", counter.name},
                        {"count", counter.count},
                        {"bytes", number_or_null(counter.bytes)},
                        {"cpu_us", number_or_null(counter.cpu_us)}});
  }
  return dump_answer({{"uptime_ms", stats.uptime_ms}, {"counters", counters}}, answer);
}

std::string to_json(const EventInfo& event) {
  return dump(view(event));
}

std::string to_json(const std::optional<VersionInfo>& node) {
  Json json = {{"product", kProductVersion}, {"protocol", kProtocolVersion}, {"node", nullptr}};
  if (node.has_value()) {
    json["node"] = {{"product", node->product},
                    {"protocol", node->protocol},
                    {"host", node->host_name},
                    {"host_id", node->host.hex()},
                    {"generation", node->generation.value()},
                    {"cluster", id_or_null(node->cluster)}};
  }
  return dump(json);
}

std::string quorum_changed_json(const std::string& done, const std::string& host_name,
                                const std::string& detail) {
  return dump({{done, text_or_null(host_name)}, {"detail", text_or_null(detail)}});
}

std::string recovered_json(const std::string& host_name, std::uint64_t epoch, LogIndex last) {
  return dump({{"recovered_from", host_name}, {"epoch", epoch}, {"index", last.value()}});
}

std::string fenced_json(const std::string& host_name, HostId host) {
  return dump({{"fenced", host_name}, {"host_id", host.hex()}});
}

std::string host_ordered_json(std::string_view done, const std::string& host_name, HostId host) {
  return dump({{std::string(done), host_name}, {"host_id", host.hex()}});
}

std::string left_json(const std::string& host_name) {
  return dump({{"left", host_name}});
}

}  // namespace muster::agent
