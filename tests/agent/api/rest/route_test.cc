// Matches of methods and paths, and the promises of the table of routes.

#include "agent/api/rest/route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "agent/api/verbs.h"

namespace muster::agent {
namespace {

using PathValues = std::vector<std::pair<std::string_view, std::string>>;

struct FoundPath {
  HttpMethod method;
  std::string path;
  RouteId id;
  PathValues values{};
};

TEST(RouteTest, FindsTheRowAndTheValuesOfThePath) {
  const FoundPath cases[] = {
      {HttpMethod::kGet, "/v1/jobs", RouteId::kJobs},
      {HttpMethod::kHead, "/v1/jobs", RouteId::kJobs},
      {HttpMethod::kPost, "/v1/jobs", RouteId::kSubmit},
      {HttpMethod::kPost, "/v1/jobs:dry-run", RouteId::kDryRun},
      {HttpMethod::kGet, "/v1/jobs/7.12", RouteId::kJob, {{"job", "7.12"}}},
      {HttpMethod::kPatch, "/v1/jobs/7", RouteId::kEditJob, {{"job", "7"}}},
      {HttpMethod::kPost, "/v1/jobs/7:cancel", RouteId::kCancelJob, {{"job", "7"}}},
      {HttpMethod::kGet, "/v1/jobs/7/why", RouteId::kWhyJob, {{"job", "7"}}},
      {HttpMethod::kGet,
       "/v1/jobs/7/ranks/3/output",
       RouteId::kRankOutput,
       {{"job", "7"}, {"rank", "3"}}},
      {HttpMethod::kGet, "/v1/targets", RouteId::kTargets},
      {HttpMethod::kGet, "/v1/hosts/a host", RouteId::kHost, {{"host", "a host"}}},
      {HttpMethod::kPost, "/v1/hosts/n1:drain", RouteId::kDrainHost, {{"host", "n1"}}},
      {HttpMethod::kPost, "/v1/quorum:add", RouteId::kAddVoter},
      {HttpMethod::kPut, "/v1/queues", RouteId::kSetQueues},
      {HttpMethod::kDelete, "/v1/tokens/0a1b", RouteId::kEndToken, {{"token", "0a1b"}}},
  };
  for (const FoundPath& wanted : cases) {
    const auto found = match(wanted.method, wanted.path);
    const auto* row = std::get_if<RouteMatch>(&found);
    ASSERT_NE(row, nullptr) << wanted.path << ": " << std::get<NoRoute>(found).text;
    EXPECT_EQ(row->route->id, wanted.id) << wanted.path;
    EXPECT_EQ(row->values, wanted.values) << wanted.path;
    for (const auto& [name, value] : wanted.values) {
      EXPECT_EQ(row->value(name), value);
    }
  }
}

TEST(RouteTest, KnowsTheListsThatMayBeLarge) {
  const auto lists = [](HttpMethod method, std::string path) {
    HttpRequest request;
    request.method = method;
    request.path = std::move(path);
    return lists_many(request);
  };
  EXPECT_TRUE(lists(HttpMethod::kGet, "/v1/jobs"));
  EXPECT_TRUE(lists(HttpMethod::kHead, "/v1/hosts"));
  EXPECT_TRUE(lists(HttpMethod::kGet, "/v1/targets"));
  EXPECT_FALSE(lists(HttpMethod::kPost, "/v1/jobs"));
  EXPECT_FALSE(lists(HttpMethod::kGet, "/v1/jobs/7"));
  EXPECT_FALSE(lists(HttpMethod::kGet, "/v1/whoami"));
  EXPECT_FALSE(lists(HttpMethod::kGet, "/healthz"));
}

struct LostPath {
  HttpMethod method;
  std::string path;
  int status;
  std::string text;  ///< A part of it.
  std::string allow{};
};

TEST(RouteTest, SaysTheNearestPathOrTheMethodsOfThePath) {
  const LostPath cases[] = {
      {HttpMethod::kGet, "/v1/job", 404, "there is no path '/v1/job': the nearest is /v1/jobs"},
      {HttpMethod::kGet, "/v1/jobs/", 404, "the nearest is /v1/jobs"},
      {HttpMethod::kGet, "/v1//why", 404, "there is no path"},
      {HttpMethod::kGet, "/v1/jobs/1234567890/wyh", 404, "is /v1/jobs/{job}/why"},
      {HttpMethod::kPost, "/v1/hosts/gpu-0017:drian", 404, "is /v1/hosts/{host}:drain"},
      {HttpMethod::kPost, "/v1/jobs/7:", 404, "the nearest is /v1/jobs"},
      {HttpMethod::kPost, "/v1/jobs/a:b:cancel", 404, "there is no path"},
      {HttpMethod::kGet, "", 404, "there is no path ''"},
      {HttpMethod::kGet, "v1/jobs", 404, "the nearest is /v1/jobs"},
      {HttpMethod::kGet, "/v1/jobs/7/why/x", 404, "there is no path"},
      {HttpMethod::kGet, "/v1/jobs/7:cancel", 405, "'/v1/jobs/7:cancel'", "POST"},
      {HttpMethod::kDelete, "/v1/jobs", 405, "does not take", "GET, HEAD, POST"},
      {HttpMethod::kOther, "/v1/jobs/7", 405, "but GET, HEAD, PATCH", "GET, HEAD, PATCH"},
  };
  for (const LostPath& wanted : cases) {
    const auto found = match(wanted.method, wanted.path);
    const auto* none = std::get_if<NoRoute>(&found);
    ASSERT_NE(none, nullptr) << wanted.path;
    EXPECT_EQ(none->status, wanted.status) << wanted.path;
    EXPECT_NE(none->text.find(wanted.text), std::string::npos) << none->text;
    EXPECT_EQ(none->allow, wanted.allow) << wanted.path;
  }
}

TEST(RouteTest, ALongPathMakesAShortError) {
  const auto found = match(HttpMethod::kGet, "/v1/" + std::string(1 << 20, 'x'));
  EXPECT_LT(std::get<NoRoute>(found).text.size(), 300U);
}

TEST(RouteTest, EachVerbHasARouteOrAReasonWhyNot) {
  for (const VerbRow& row : verbs::kTable) {
    const bool is_routed =
        std::ranges::any_of(routes(), [&](const Route& route) { return route.verb == row.verb; });
    const auto reasons = std::ranges::count_if(
        unrouted(), [&](const Unrouted& each) { return each.verb == row.verb; });
    EXPECT_EQ(is_routed ? 1 : 0, 1 - reasons) << row.name;
  }
  for (const Unrouted& each : unrouted()) {
    EXPECT_TRUE(each.why.ends_with('.')) << each.why;
  }
}

TEST(RouteTest, ReadsAreGetAndChangesAreNot) {
  for (const Route& route : routes()) {
    const bool is_plan = route.id == RouteId::kDryRun;  // It has a body, and changes nothing.
    EXPECT_EQ(is(route.verb, Effect::kReads) && !is_plan, route.method == HttpMethod::kGet)
        << route.path;
    if (route.method == HttpMethod::kGet || route.method == HttpMethod::kDelete) {
      EXPECT_EQ(route.body, BodyRule::kNone) << route.path;
    }
    EXPECT_TRUE(!route.has_pages || route.method == HttpMethod::kGet) << route.path;
  }
}

TEST(RouteTest, EachRowIsFoundByItsOwnPath) {
  std::set<std::pair<std::string, std::string_view>> seen;
  for (const Route& route : routes()) {
    EXPECT_TRUE(route.path.starts_with("/v1/")) << route.path;
    EXPECT_TRUE(route.summary.ends_with('.')) << route.path;
    EXPECT_EQ(&route_of(route.id), &route);
    EXPECT_TRUE(seen.emplace(text_of(route.method), route.path).second) << route.path;
    const auto found = match(route.method, route.path);
    const auto* row = std::get_if<RouteMatch>(&found);
    ASSERT_NE(row, nullptr) << route.path;
    EXPECT_EQ(row->route, &route) << route.path;
  }
}

}  // namespace
}  // namespace muster::agent
