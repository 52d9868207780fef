#include "agent/api/rest/route.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>

#include "agent/api/rest/field_text.h"
#include "agent/api/verbs.h"
#include "gossip/base/check.h"
#include "gossip/base/enum_table.h"
#include "gossip/base/nearest_text.h"

namespace muster::agent {
namespace routing {

using enum HttpMethod;
using enum BodyRule;
using Id = RouteId;

constexpr bool kPages = true;
constexpr int kCreated = 201;

constexpr Route kTable[] = {
    {Id::kVersion, kGet, "/v1/version", Verb::kVersion, kNone, false, 200,
     "The product, the host that answers and its cluster."},
    {Id::kWhoami, kGet, "/v1/whoami", Verb::kWhoami, kNone, false, 200,
     "The user whose proof the request shows, with role and teams."},
    {Id::kStats, kGet, "/v1/stats", Verb::kStats, kNone, false, 200,
     "The counters of an agent since it started."},
    {Id::kJobs, kGet, "/v1/jobs", Verb::kJobs, kNone, kPages, 200,
     "Jobs in the order of their numbers, by state, user, name or queue."},
    {Id::kSubmit, kPost, "/v1/jobs", Verb::kSubmit, kNeeded, false, kCreated,
     "Submits a job; with the same Idempotency-Key it is submitted once."},
    {Id::kDryRun, kPost, "/v1/jobs:dry-run", Verb::kDryRun, kNeeded, false, 200,
     "Says whether and where a job would start now, and submits none."},
    {Id::kJob, kGet, "/v1/jobs/{job}", Verb::kShow, kNone, false, 200,
     "A job or an array, with its request, attempts and ranks."},
    {Id::kEditJob, kPatch, "/v1/jobs/{job}", Verb::kEdit, kNeeded, false, 200,
     "Changes queue, tier, priority or times of a job that has not ended."},
    {Id::kWhyJob, kGet, "/v1/jobs/{job}/why", Verb::kWhy, kNone, false, 200,
     "Says why a job waits, and with which changes it would start."},
    {Id::kJobEvents, kGet, "/v1/jobs/{job}/events", Verb::kShow, kNone, false, 200,
     "The history of a job: each state, its cause and its time."},
    {Id::kCancelJob, kPost, "/v1/jobs/{job}:cancel", Verb::kCancel, kOptional, false, 200,
     "Cancels a job, an array or a run of its tasks."},
    {Id::kSuspendJob, kPost, "/v1/jobs/{job}:suspend", Verb::kSuspend, kNone, false, 200,
     "Takes a job off its hosts until it is resumed."},
    {Id::kResumeJob, kPost, "/v1/jobs/{job}:resume", Verb::kResume, kNone, false, 200,
     "Queues a suspended job again."},
    {Id::kRequeueJob, kPost, "/v1/jobs/{job}:requeue", Verb::kRequeue, kOptional, false, 200,
     "Ends the attempt of a job and queues the job again."},
    {Id::kRankOutput, kGet, "/v1/jobs/{job}/ranks/{rank}/output", Verb::kOutput, kNone, false, 200,
     "A piece of the output of one rank."},
    {Id::kHosts, kGet, "/v1/hosts", Verb::kHosts, kNone, kPages, 200,
     "Hosts, their states and what jobs use of them."},
    {Id::kTargets, kGet, "/v1/targets", Verb::kHosts, kNone, false, 200,
     "Where Prometheus finds the metrics of each host, for its http_sd_configs."},
    {Id::kHost, kGet, "/v1/hosts/{host}", Verb::kHostDetail, kNone, false, 200,
     "A host with its GPUs, labels and rights."},
    {Id::kSetHost, kPatch, "/v1/hosts/{host}", Verb::kSetHost, kNeeded, false, 200,
     "Changes whether a host may vote, and whether it may vouch for its logins."},
    {Id::kWhyHost, kGet, "/v1/hosts/{host}/why", Verb::kWhyHost, kNone, false, 200,
     "The evidence for the state of a host."},
    {Id::kHostGpus, kGet, "/v1/hosts/{host}/gpus", Verb::kGpuBoard, kNone, false, 200,
     "The GPUs of a host as that host itself sees them now."},
    {Id::kDrainHost, kPost, "/v1/hosts/{host}:drain", Verb::kDrain, kOptional, false, 200,
     "Takes a host out of service: no job starts there."},
    {Id::kUndrainHost, kPost, "/v1/hosts/{host}:undrain", Verb::kUndrain, kNone, false, 200,
     "Puts a drained host back into service."},
    {Id::kFenceHost, kPost, "/v1/hosts/{host}:fence", Verb::kFence, kOptional, false, 200,
     "Declares that a silent host runs nothing any more: its jobs start elsewhere."},
    {Id::kRemoveHost, kPost, "/v1/hosts/{host}:remove", Verb::kRemoveHost, kNone, false, 200,
     "Forgets a host that has left and will not come back."},
    {Id::kRevokeHost, kPost, "/v1/hosts/{host}:revoke", Verb::kRevokeHost, kNone, false, 200,
     "Takes the keys of a host out of the cluster for ever."},
    {Id::kGpus, kGet, "/v1/gpus", Verb::kGpus, kNone, kPages, 200,
     "GPUs, by host, job or uuid, with their states and holders."},
    {Id::kMaskGpu, kPost, "/v1/gpus/{gpu}:mask", Verb::kMaskGpu, kOptional, false, 200,
     "Takes one GPU out of use."},
    {Id::kUnmaskGpu, kPost, "/v1/gpus/{gpu}:unmask", Verb::kUnmaskGpu, kOptional, false, 200,
     "Puts a masked GPU back into use."},
    {Id::kQuorum, kGet, "/v1/quorum", Verb::kQuorum, kNone, false, 200,
     "The voters, the leader and how many of them may fail."},
    {Id::kAddVoter, kPost, "/v1/quorum:add", Verb::kChangeQuorum, kNeeded, false, 200,
     "Makes a host a voter: the quorum grows by one."},
    {Id::kRemoveVoter, kPost, "/v1/quorum:remove", Verb::kChangeQuorum, kNeeded, false, 200,
     "Takes the vote of a host: the quorum shrinks by one."},
    {Id::kTransferLead, kPost, "/v1/quorum:transfer", Verb::kChangeQuorum, kOptional, false, 200,
     "Hands the leadership to a voter."},
    {Id::kEvents, kGet, "/v1/events", Verb::kEvents, kNone, kPages, 200,
     "The events of one host, the oldest first."},
    {Id::kAudit, kGet, "/v1/audit", Verb::kAudit, kNone, kPages, 200,
     "Changes and refusals of persons, the oldest first."},
    {Id::kUsage, kGet, "/v1/usage", Verb::kUsage, kNone, false, 200,
     "GPU time by user, by GPU type or by name of jobs."},
    {Id::kQueues, kGet, "/v1/queues", Verb::kQueues, kNone, false, 200,
     "The tree of queues, and what they hold."},
    {Id::kSetQueues, kPut, "/v1/queues", Verb::kSetQueues, kNeeded, false, 200,
     "Sets the tree of queues as a whole, from the version that the change was made from."},
    {Id::kShares, kGet, "/v1/shares", Verb::kShares, kNone, false, 200,
     "The share of each queue and user, by pool."},
    {Id::kUsers, kGet, "/v1/users", Verb::kUsers, kNone, kPages, 200,
     "Users, teams and the rules of access."},
    {Id::kChangeUsers, kPatch, "/v1/users", Verb::kChangeUsers, kNeeded, false, 200,
     "Changes users, teams or the rules of access."},
    {Id::kTokens, kGet, "/v1/tokens", Verb::kTokens, kNone, kPages, 200,
     "Access tokens, without their secrets."},
    {Id::kMakeToken, kPost, "/v1/tokens", Verb::kMakeToken, kNeeded, false, kCreated,
     "Makes an access token for the user who asks."},
    {Id::kEndToken, kDelete, "/v1/tokens/{token}", Verb::kEndToken, kNone, false, 200,
     "Ends an access token."},
    {Id::kTickets, kGet, "/v1/tickets", Verb::kTickets, kNone, false, 200,
     "Tickets with which hosts join, without their secrets."},
    {Id::kMakeTicket, kPost, "/v1/tickets", Verb::kMakeTicket, kNeeded, false, kCreated,
     "Makes a ticket with which hosts join."},
    {Id::kEndTicket, kDelete, "/v1/tickets/{ticket}", Verb::kEndTicket, kNone, false, 200,
     "Ends a ticket: no further host joins with it."},
    {Id::kKeys, kGet, "/v1/keys", Verb::kKeys, kNone, false, 200,
     "The authority that signs, and the progress of hosts that change their keys."},
    {Id::kRotateKeys, kPost, "/v1/keys:rotate", Verb::kRotateKeys, kOptional, false, 200,
     "Lets one host, all hosts or the authority change keys."},
    {Id::kHttpRoot, kGet, "/v1/http-ca", Verb::kHttpRoot, kNone, false, 200,
     "The root certificate of HTTPS, which clients have to trust."},
    {Id::kOpenapi, kGet, "/v1/openapi.json", Verb::kWhoami, kNone, false, 200,
     "This description of REST, by OpenAPI 3.1."},
};

constexpr Unrouted kLeftOut[] = {
    {Verb::kLeave, "The agent ends with it: run `muster leave` on that host."},
    {Verb::kRecover,
     "Only a person at the host whose log goes on may order it: run `muster quorum recover` "
     "there."},
    {Verb::kHostUses, "GET /v1/hosts has it beside each host."},
    {Verb::kFound, "A host without a cluster has no proofs to judge by: run `muster init` there."},
    {Verb::kEnter, "A host without a cluster has no proofs to judge by: run `muster join` there."},
    {Verb::kJoin, "Newcomers ask it on the link that their ticket made, not by HTTP."},
    {Verb::kCertify, "Agents ask voters for their own certificates, on their own links."},
    {Verb::kResetAdmin,
     "Only root of a voter may ask it, by the socket of its agent: run `muster admin reset` "
     "there."},
};

/// Without the address of a row, which the sanitisers do not take for a constant.
constexpr bool has_row(Verb verb) {
  return std::ranges::any_of(verbs::kTable,
                             [verb](const VerbRow& row) { return row.verb == verb; });
}
constexpr bool is_routed(Verb verb) {
  return rows_of(kTable, &Route::verb, verb) != 0;
}

static_assert(has_row_for_each(kTable, &Route::id));
static_assert(std::ranges::all_of(kTable, [](const Route& row) { return has_row(row.verb); }),
              "a route names a verb without a row in agent/api/verbs.h");
static_assert(has_row_for_those(kLeftOut, &Unrouted::verb,
                                [](Verb verb) { return has_row(verb) && !is_routed(verb); }),
              "each verb has routes, or a reason why not in kLeftOut, and not both");

/// The table has its rows in the order of their ids.
consteval bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kTable); ++i) {
    if (static_cast<std::size_t>(kTable[i].id) != i) {
      return false;
    }
  }
  return true;
}
static_assert(is_in_order());

}  // namespace routing

namespace {

/// A longer path is not compared with those that there are.
constexpr std::size_t kComparedBytesMax = 256;

bool is_in_braces(std::string_view part) {
  return part.starts_with('{');
}

/// Takes the first part off a path, with the '/' before it.
std::string_view take_part(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(part.size());
  return part;
}

/// Splits "jobs:dry-run" at the last ':'; the order is "" if there is no ':', else it begins with
/// it.
std::pair<std::string_view, std::string_view> split_order(std::string_view part) {
  const std::size_t colon = std::min(part.rfind(':'), part.size());
  return {part.substr(0, colon), part.substr(colon)};
}

/// The values of the parts in braces; nullopt if the route has another path.
std::optional<RouteMatch> matched_by(const Route& route, std::string_view path) {
  RouteMatch match{&route};
  std::string_view wanted = route.path;
  while (!wanted.empty()) {
    if (!path.starts_with('/')) {
      return std::nullopt;
    }
    const auto [pattern, pattern_order] = split_order(take_part(wanted));
    const auto [part, order] = split_order(take_part(path));
    if (order != pattern_order || part.empty() || (!is_in_braces(pattern) && part != pattern)) {
      return std::nullopt;
    }
    if (is_in_braces(pattern)) {
      if (part.find(':') != std::string_view::npos) {
        return std::nullopt;
      }
      match.values.emplace_back(pattern.substr(1, pattern.size() - 2), std::string(part));
    }
  }
  return path.empty() ? std::optional(std::move(match)) : std::nullopt;
}

/// The path of the route with the given parts in the place of those in braces: only the rest is
/// compared.
std::string filled_in(const Route& route, std::string_view given) {
  std::string filled;
  for (std::string_view wanted = route.path; !wanted.empty();) {
    const auto [pattern, order] = split_order(take_part(wanted));
    std::string_view part;
    if (given.starts_with('/')) {
      part = split_order(take_part(given)).first;
    }
    const bool takes_it = is_in_braces(pattern) && !part.empty();
    filled.append("/").append(takes_it ? part : pattern).append(order);
  }
  return filled;
}

std::string_view nearest_path(std::string_view given) {
  std::string_view nearest = routing::kTable[0].path;
  std::size_t least = SIZE_MAX;
  for (const Route& route : routes()) {
    const std::size_t far = edit_distance(filled_in(route, given), given, least);
    if (far < least) {
      least = far;
      nearest = route.path;
    }
  }
  return nearest;
}

/// "GET, HEAD, POST": the methods of that path; "" if no route has it.
std::string methods_of(std::string_view path) {
  std::string methods;
  for (const Route& route : routes()) {
    if (matched_by(route, path).has_value()) {
      methods.append(methods.empty() ? "" : ", ").append(text_of(route.method));
      methods.append(route.method == HttpMethod::kGet ? ", HEAD" : "");
    }
  }
  return methods;
}

}  // namespace

std::span<const Route> routes() {
  return routing::kTable;
}

const Route& route_of(RouteId id) {
  const auto row = static_cast<std::size_t>(id);
  CHECK(row < std::size(routing::kTable));
  return routing::kTable[row];
}

std::span<const Unrouted> unrouted() {
  return routing::kLeftOut;
}

const std::string& RouteMatch::value(std::string_view name) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [name](const auto& value) { return value.first == name; });
  CHECK(found != values.end());
  return found->second;
}

std::variant<RouteMatch, NoRoute> match(HttpMethod method, std::string_view path) {
  const HttpMethod asked = method == HttpMethod::kHead ? HttpMethod::kGet : method;
  for (const Route& route : routes()) {
    if (route.method == asked) {
      if (auto found = matched_by(route, path)) {
        return *std::move(found);
      }
    }
  }
  NoRoute none;
  none.allow = methods_of(path);
  if (!none.allow.empty()) {
    none.status = 405;
    none.text = shown(path) + " does not take this method, but " + none.allow;
    return none;
  }
  none.text = "there is no path " + shown(path) + ": the nearest is " +
              std::string(nearest_path(path.substr(0, kComparedBytesMax)));
  return none;
}

bool lists_many(const HttpRequest& request) {
  if (request.method != HttpMethod::kGet && request.method != HttpMethod::kHead) {
    return false;
  }
  const std::span<const Route> all = routes();
  return std::any_of(all.begin(), all.end(), [&request](const Route& route) {
    const bool is_list = route.has_pages || route.id == RouteId::kTargets;
    return is_list && route.method == HttpMethod::kGet && route.path == request.path;
  });
}

std::string_view text_of(HttpMethod method) {
  switch (method) {
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kHead:
      return "HEAD";
    case HttpMethod::kPost:
      return "POST";
    case HttpMethod::kPut:
      return "PUT";
    case HttpMethod::kPatch:
      return "PATCH";
    case HttpMethod::kDelete:
      return "DELETE";
    case HttpMethod::kOther:
      break;
  }
  return "?";
}

}  // namespace muster::agent
