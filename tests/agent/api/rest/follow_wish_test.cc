// Requests for answers that go on: which they are, what they wish, and who shares a topic.

#include "agent/api/rest/follow_wish.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/agent/api/rest/call_testing.h"

namespace muster::agent {
namespace {

using rest_testing::get;

constexpr char kRankPath[] = "/v1/jobs/7/ranks/0/output";

HttpRequest follow(std::string path, HttpFields query = {}, const std::string& last_id = "") {
  HttpRequest request = get(std::move(path), std::move(query));
  request.fields.emplace_back("accept", "text/event-stream");
  if (!last_id.empty()) {
    request.fields.emplace_back("last-event-id", last_id);
  }
  return request;
}

/// 0: it is a wish.
int refusal_of(const HttpRequest& request) {
  const auto wish = follow_wish_of(request);
  const auto* refusal = std::get_if<HttpAnswer>(&wish);
  return refusal == nullptr ? 0 : refusal->status;
}
FollowWish wish_of(const HttpRequest& request) {
  auto wish = follow_wish_of(request);
  return std::holds_alternative<FollowWish>(wish) ? std::get<FollowWish>(wish) : FollowWish();
}

TEST(FollowWish, AFollowedRouteIsAskedForByAcceptOrByAParameter) {
  struct Case {
    std::string path;
    std::string accept;
    HttpFields query;
    bool is_followed;
  };
  const Case cases[] = {
      {"/v1/jobs", "", {{"follow", "1"}}, true},
      {"/v1/jobs/7", "text/event-stream", {}, true},
      {"/v1/jobs/7", "text/html, Text/Event-Stream;q=0.9", {}, true},
      {kRankPath, " text/event-stream ", {}, true},
      {"/v1/events", "text/event-stream", {}, true},
      {"/v1/jobs/7", "text/event-streams", {}, false},
      {"/v1/jobs/7", "*/*", {}, false},
      {"/v1/jobs/7", "", {}, false},
      {"/v1/hosts", "text/event-stream", {}, false},
      {"/v1/nothing", "text/event-stream", {{"follow", "1"}}, false},
  };
  for (const Case& each : cases) {
    HttpRequest request = get(each.path, each.query);
    request.fields.emplace_back("accept", each.accept);
    EXPECT_EQ(asks_to_follow(request), each.is_followed) << each.path << " " << each.accept;
    request.method = HttpMethod::kPost;
    EXPECT_FALSE(asks_to_follow(request)) << each.path;
  }
}

TEST(FollowWish, TheIdOfTheLastEventSaysWhereToGoOn) {
  struct Case {
    HttpFields query;
    std::string id;
    std::uint64_t attempt;
    std::optional<std::uint64_t> from;
  };
  const Case cases[] = {
      {{}, "", 0, std::nullopt},         {{{"offset", "5"}}, "", 0, 5},
      {{{"offset", "5"}}, "12", 1, 12},  {{}, "12@3", 3, 12},
      {{{"attempt", "2"}}, "12", 2, 12}, {{{"attempt", "3"}}, "12@3", 3, 12},
  };
  for (const Case& each : cases) {
    const FollowWish wish = wish_of(follow(kRankPath, each.query, each.id));
    EXPECT_EQ(wish.attempt, each.attempt) << each.id;
    EXPECT_EQ(wish.from, each.from) << each.id;
  }
  EXPECT_EQ(output_event_id(12, 1), "12");
  EXPECT_EQ(output_event_id(12, 3), "12@3");
  EXPECT_EQ(wish_of(follow("/v1/events", {}, "40")).events.after, 40U);
  EXPECT_FALSE(wish_of(follow("/v1/events", {}, "40")).is_from_now);
  EXPECT_TRUE(wish_of(follow("/v1/events")).is_from_now);
  EXPECT_FALSE(wish_of(follow("/v1/events", {{"limit", "9"}})).is_from_now);
}

TEST(FollowWish, AWishThatIsNoneIsRefused) {
  const HttpRequest wrong[] = {
      follow(kRankPath, {}, "x"),
      follow(kRankPath, {}, "5@0"),
      follow(kRankPath, {}, "-1"),
      follow(kRankPath, {{"attempt", "2"}}, "5@3"),
      follow(kRankPath, {{"nonsense", "1"}}),
      follow(kRankPath, {{"stream", "stdin"}}),
      follow(kRankPath, {{"follow", "0"}}),
      follow("/v1/jobs/7", {{"follow", "maybe"}}),
      follow("/v1/jobs/7", {{"consistent", "1"}}),
      follow("/v1/events", {}, "soon"),
      follow("/v1/events", {{"level", "loud"}}),
      follow("/v1/jobs/x/ranks/0/output"),
  };
  for (const HttpRequest& request : wrong) {
    EXPECT_EQ(refusal_of(request), 400) << request.path;
  }
}

TEST(FollowWish, OneTopicHasEqualQuestionsAndOnlyOutputIsSharedByPersons) {
  const FollowProof ada{"line-a", std::nullopt};
  const FollowProof bob{"line-b", std::nullopt};
  const FollowProof login{"", 1000};
  const FollowProof login_as_ada{"line-a", 1000};
  const FollowWish output = wish_of(follow(kRankPath));
  EXPECT_EQ(topic_of(output, ada, 1), topic_of(output, bob, 1));
  EXPECT_NE(topic_of(output, ada, 1), topic_of(output, ada, 2));
  EXPECT_NE(topic_of(output, ada, 1),
            topic_of(wish_of(follow("/v1/jobs/7/ranks/1/output")), ada, 1));
  const FollowWish jobs = wish_of(follow("/v1/jobs", {{"user", "a"}, {"state", "running"}}));
  const FollowWish same = wish_of(follow("/v1/jobs", {{"state", "running"}, {"user", "a"}}));
  EXPECT_EQ(topic_of(jobs, ada, 0), topic_of(same, ada, 0));
  EXPECT_NE(topic_of(jobs, ada, 0), topic_of(jobs, bob, 0));
  EXPECT_NE(topic_of(jobs, login, 0), topic_of(jobs, login_as_ada, 0));
  EXPECT_NE(topic_of(jobs, ada, 0), topic_of(jobs, login_as_ada, 0));
  EXPECT_NE(topic_of(jobs, ada, 0), topic_of(wish_of(follow("/v1/jobs")), ada, 0));
  const FollowWish events = wish_of(follow("/v1/events", {{"host", "n1"}}));
  EXPECT_NE(topic_of(events, ada, 0), topic_of(wish_of(follow("/v1/events")), ada, 0));
}

}  // namespace
}  // namespace muster::agent
