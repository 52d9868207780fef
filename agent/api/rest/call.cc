#include "agent/api/rest/call.h"

#include <utility>

#include "agent/api/rest/cluster_calls.h"
#include "agent/api/rest/gpus_calls.h"
#include "agent/api/rest/hosts_calls.h"
#include "agent/api/rest/http_text.h"
#include "agent/api/rest/job_orders_calls.h"
#include "agent/api/rest/jobs_calls.h"
#include "agent/api/rest/metrics_text.h"
#include "agent/api/rest/output_calls.h"
#include "agent/api/rest/problem.h"
#include "agent/api/rest/queues_calls.h"
#include "agent/api/rest/quorum_calls.h"
#include "agent/api/rest/submit_calls.h"
#include "agent/api/rest/tokens_calls.h"
#include "agent/api/rest/users_calls.h"
#include "gossip/base/check.h"
#include "gossip/base/enum_table.h"

namespace muster::agent {
namespace calls {

/// The rule of a route.
struct Rule {
  RouteId id{};
  CallStep (*begin)(CallInput& input) = nullptr;
};

using Id = RouteId;

constexpr Rule kRules[] = {
    {Id::kVersion, show_version},
    {Id::kWhoami, show_whoami},
    {Id::kStats, show_stats},
    {Id::kJobs, list_jobs},
    {Id::kSubmit, submit_job},
    {Id::kDryRun, dry_run_job},
    {Id::kJob, show_job},
    {Id::kEditJob, edit_job},
    {Id::kWhyJob, why_job},
    {Id::kJobEvents, job_events},
    {Id::kCancelJob, cancel_job},
    {Id::kSuspendJob, suspend_job},
    {Id::kResumeJob, resume_job},
    {Id::kRequeueJob, requeue_job},
    {Id::kRankOutput, rank_output},
    {Id::kHosts, list_hosts},
    {Id::kTargets, list_targets},
    {Id::kHost, show_host},
    {Id::kSetHost, set_host},
    {Id::kWhyHost, why_host},
    {Id::kHostGpus, host_gpus},
    {Id::kDrainHost, drain_host},
    {Id::kUndrainHost, undrain_host},
    {Id::kFenceHost, fence_host},
    {Id::kRemoveHost, remove_host},
    {Id::kRevokeHost, revoke_host},
    {Id::kGpus, list_gpus},
    {Id::kMaskGpu, mask_gpu},
    {Id::kUnmaskGpu, unmask_gpu},
    {Id::kQuorum, show_quorum},
    {Id::kAddVoter, add_voter},
    {Id::kRemoveVoter, remove_voter},
    {Id::kTransferLead, transfer_lead},
    {Id::kEvents, list_events},
    {Id::kAudit, list_audit},
    {Id::kUsage, show_usage},
    {Id::kQueues, list_queues},
    {Id::kSetQueues, set_queues},
    {Id::kShares, list_shares},
    {Id::kUsers, list_users},
    {Id::kChangeUsers, change_users},
    {Id::kTokens, list_tokens},
    {Id::kMakeToken, make_token},
    {Id::kEndToken, end_token},
    {Id::kTickets, list_tickets},
    {Id::kMakeTicket, make_ticket},
    {Id::kEndTicket, end_ticket},
    {Id::kKeys, show_keys},
    {Id::kRotateKeys, rotate_keys},
    {Id::kHttpRoot, show_http_root},
    {Id::kOpenapi, show_openapi},
};
static_assert(has_row_for_each(kRules, &Rule::id), "each route has one rule");

}  // namespace calls

namespace {

constexpr char kHealthPath[] = "/healthz";
constexpr char kMetricsPath[] = "/metrics";

/// "/metrics takes GET and HEAD" if the method is another one.
std::optional<HttpAnswer> why_not_read(HttpMethod method, const char* path) {
  return method == HttpMethod::kGet || method == HttpMethod::kHead
             ? std::nullopt
             : std::optional(problem_of(
                   NoRoute{405, std::string(path) + " takes GET and HEAD", "GET, HEAD"}));
}

/// It says nothing but that the door is open.
HttpAnswer health_answer(HttpMethod method) {
  if (auto refusal = why_not_read(method, kHealthPath)) {
    return *std::move(refusal);
  }
  HttpAnswer answer;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = "ok\n";
  return answer;
}

/// They are for all who may see the cluster. The node judges that: it shows its GPUs to nobody
/// else, and to a login only if its host may vouch for it.
CallStep metrics_step(const HttpRequest& request, const CallFrame& frame,
                      const RestChance& chance) {
  if (auto refusal = why_not_read(request.method, kMetricsPath)) {
    return ended(*std::move(refusal));
  }
  if (const Status known = QueryFields(request.query).end(); !known) {
    return ended(problem_of(known.error()));
  }
  if (chance.metrics == nullptr) {
    return refused(ResponseStatus::kFailed, "this door has no metrics");
  }
  return ask(request_of(frame, Verb::kGpuBoard, ""),
             [metrics = chance.metrics](const Response& response) {
               if (response.status != ResponseStatus::kOk) {
                 return refused(response);
               }
               HttpAnswer answer;
               answer.content_type = kMetricsContentType;
               answer.fields = {{"muster-answered-by", response.answered_by}};
               answer.body = metrics();
               return ended(std::move(answer));
             });
}

/// An absent body is an object without members.
std::variant<JsonValue, HttpAnswer> body_of(const HttpRequest& request, BodyRule rule) {
  constexpr int kUnsupportedMediaType = 415;
  if (request.body.empty()) {
    JsonValue none;
    none.kind = JsonValue::Kind::kObject;
    return rule == BodyRule::kNeeded
               ? std::variant<JsonValue, HttpAnswer>(
                     problem_of(Error{ErrorCode::kInvalid, "this request needs a body of JSON"}))
               : none;
  }
  if (rule == BodyRule::kNone) {
    return problem_of(Error{ErrorCode::kInvalid, "this request takes no body"});
  }
  if (!is_json_type(field_of(request.fields, "content-type").value_or(""))) {
    return problem(kUnsupportedMediaType, ResponseStatus::kUsage,
                   "the body has to be JSON: say so by Content-Type: application/json");
  }
  Result<JsonValue> json = read_json(request.body);
  return json ? std::variant<JsonValue, HttpAnswer>(std::move(json).value())
              : problem_of(json.error());
}

CallStep first_step(const HttpRequest& request, const RouteMatch& match, CallFrame frame,
                    const RestChance& chance) {
  auto body = body_of(request, match.route->body);
  if (auto* refusal = std::get_if<HttpAnswer>(&body)) {
    return ended(std::move(*refusal));
  }
  QueryFields query(request.query);
  JsonFields members(std::get<JsonValue>(body));
  frame.status = match.route->status;
  frame.is_consistent =
      match.route->method == HttpMethod::kGet && query.boolean("consistent").value_or(false);
  CallInput input{match, request.fields, std::move(frame), query, members, chance};
  return begin_rule(input);
}

}  // namespace

CallStep begin_rule(CallInput& input) {
  const calls::Rule* rule = find_row(calls::kRules, &calls::Rule::id, input.match.route->id);
  CHECK(rule != nullptr);
  return rule->begin(input);
}

std::variant<HttpAnswer, RestCall> RestCall::begin(const HttpRequest& request, std::string access,
                                                   const RestChance& chance) {
  if (request.path == kHealthPath) {
    return health_answer(request.method);
  }
  CallFrame frame;
  frame.access = std::move(access);
  const auto begun = [](CallStep step) -> std::variant<HttpAnswer, RestCall> {
    if (step.next == nullptr) {
      return std::move(step.answer);
    }
    return RestCall(std::move(step));
  };
  if (request.path == kMetricsPath) {
    return begun(metrics_step(request, frame, chance));
  }
  const std::variant<RouteMatch, NoRoute> found = match(request.method, request.path);
  if (const auto* none = std::get_if<NoRoute>(&found)) {
    return problem_of(*none);
  }
  return begun(first_step(request, std::get<RouteMatch>(found), std::move(frame), chance));
}

std::optional<HttpAnswer> RestCall::on_answer(const Response& response) {
  CHECK(step_.next != nullptr);
  // The function lives on while it makes the step that takes its place.
  const CallNext next = std::move(step_.next);
  step_ = next(response);
  return step_.next == nullptr ? std::optional(std::move(step_.answer)) : std::nullopt;
}

}  // namespace muster::agent
