#pragma once
// The table of routes: for each method and path of REST the verb that answers it. The rules that
// read a request, the page of routes and the door use these rows. A verb of agent/api/verbs.h that
// has neither a route nor a reason why not does not compile.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/request.h"
#include "agent/api/rest/http_message.h"

namespace muster::agent {

/// One row of the table. Some verbs have several routes.
enum class RouteId : std::uint8_t {
  kVersion,
  kWhoami,
  kStats,
  kJobs,
  kSubmit,
  kDryRun,
  kJob,
  kEditJob,
  kWhyJob,
  kJobEvents,
  kCancelJob,
  kSuspendJob,
  kResumeJob,
  kRequeueJob,
  kRankOutput,
  kHosts,
  kTargets,
  kHost,
  kSetHost,
  kWhyHost,
  kHostGpus,
  kDrainHost,
  kUndrainHost,
  kFenceHost,
  kRemoveHost,
  kRevokeHost,
  kGpus,
  kMaskGpu,
  kUnmaskGpu,
  kQuorum,
  kAddVoter,
  kRemoveVoter,
  kTransferLead,
  kEvents,
  kAudit,
  kUsage,
  kQueues,
  kSetQueues,
  kShares,
  kUsers,
  kChangeUsers,
  kTokens,
  kMakeToken,
  kEndToken,
  kTickets,
  kMakeTicket,
  kEndTicket,
  kKeys,
  kRotateKeys,
  kHttpRoot,
  kOpenapi,
};

enum class BodyRule : std::uint8_t {
  kNone,      ///< A body is refused.
  kOptional,  ///< An empty one means that no member is given.
  kNeeded,
};

struct Route {
  RouteId id{};
  HttpMethod method{};  ///< kGet also answers HEAD.
  /// "/v1/jobs/{job}:cancel": a part in braces stands for any text without '/' and ':'. The word
  /// behind ':' is the order.
  std::string_view path;
  Verb verb{};  ///< The one that answers it, or the last of those that do.
  BodyRule body = BodyRule::kNone;
  bool has_pages = false;    ///< It takes `after` and `limit`.
  int status = 200;          ///< Of an answer with kOk.
  std::string_view summary;  ///< One sentence for people.
};

/// All routes, those of one path side by side.
std::span<const Route> routes();
const Route& route_of(RouteId id);

struct Unrouted {
  Verb verb{};
  std::string_view why;  ///< One sentence for people.
};
/// The verbs that no route answers.
std::span<const Unrouted> unrouted();

struct RouteMatch {
  const Route* route = nullptr;  ///< Never null.
  /// The parts in braces by name, not empty: {"job", "7.12"}.
  std::vector<std::pair<std::string_view, std::string>> values{};

  /// Precondition: the path of the route has that name in braces.
  const std::string& value(std::string_view name) const;
};

struct NoRoute {
  int status = 404;     ///< 404: no route has that path. 405: those that do have other methods.
  std::string text{};   ///< For people: the nearest path, or the methods that the path takes.
  std::string allow{};  ///< With 405 the value of the Allow header: "GET, HEAD, POST".
};

/// `path` is percent-decoded and has no query. HEAD is matched as GET.
std::variant<RouteMatch, NoRoute> match(HttpMethod method, std::string_view path);

/// The request reads a list, whose answer may be large: its route has pages, or lists all hosts.
bool lists_many(const HttpRequest& request);

/// "GET"; of kOther "?".
std::string_view text_of(HttpMethod method);

}  // namespace muster::agent
