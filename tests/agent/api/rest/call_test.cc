// Calls of REST about the cluster: what each route asks the node, and what it answers.

#include "agent/api/rest/call.h"

#include <gtest/gtest.h>

#include "agent/api/json/audit.h"
#include "agent/api/json/gpus.h"
#include "agent/api/json/queues.h"
#include "agent/api/json/users.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/route.h"
#include "agent/api/verbs.h"
#include "tests/agent/api/rest/call_testing.h"

namespace muster::agent {
namespace {

using rest_testing::bad;
using rest_testing::CallNode;
using rest_testing::field;
using rest_testing::get;
using rest_testing::good;
using rest_testing::good_with;
using rest_testing::send;

HostId call_host_id(char letter) {
  return HostId::from_bytes(std::string(HostId::kSizeBytes, letter));
}

HostInfo call_host(char letter, const std::string& name) {
  HostInfo info;
  info.id = call_host_id(letter);
  info.name = name;
  info.state = "alive";
  return info;
}

/// Two hosts, of which the second page has the first by name.
Response hosts_page(const Request& request) {
  HostList list;
  const auto query = decode_payload<HostsQuery>(request.arguments);
  const bool is_first = query.has_value() && query->after.is_zero();
  list.hosts = {is_first ? call_host('1', "n2") : call_host('2', "n1")};
  list.next = is_first ? call_host_id('1') : HostId();
  return good_with(list);
}

TEST(RestCall, TheRootOfHttpsIsAnAnswer) {
  const HttpRootInfo root{"-----BEGIN CERTIFICATE-----\n", "0a1b"};
  CallNode node;
  node.on(Verb::kHttpRoot, good_with(root));
  const HttpAnswer answer = node.run(get("/v1/http-ca"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(
      answer.body.starts_with(R"({"root":"-----BEGIN CERTIFICATE-----\n","fingerprint":"0a1b",)"))
      << answer.body;
}

TEST(RestCall, HealthNeedsNoNodeAndSaysOk) {
  CallNode node;
  const HttpAnswer answer = node.run(get("/healthz"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "ok\n");
  EXPECT_EQ(node.run(send(HttpMethod::kPost, "/healthz")).status, 405);
}

TEST(RestCall, MetricsAreForThoseToWhomTheNodeShowsItsGpus) {
  RestChance chance;
  chance.metrics = [] { return std::string("# HELP m h\n"); };
  CallNode node;
  node.on(Verb::kGpuBoard, good());
  const HttpAnswer answer = node.run(get("/metrics"), chance);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(answer.body, "# HELP m h\n");
  EXPECT_EQ(field(answer, "muster-answered-by"), "b");
  ASSERT_EQ(node.asked.size(), 1U);
  EXPECT_EQ(node.asked[0].access, "line");
  const VerbRow* row = find_verb(node.asked[0].verb);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->right, Right::kMaySee);
  EXPECT_EQ(row->openness, Openness::kVouched) << "else any login could read them";
}

TEST(RestCall, WithoutARightThereAreNoMetrics) {
  RestChance chance;
  chance.metrics = []() -> std::string {
    ADD_FAILURE() << "nobody may see them";
    return "";
  };
  CallNode node;
  node.on(Verb::kGpuBoard, rest_testing::bad(ResponseStatus::kDenied, "no such token"));
  const HttpAnswer refused = node.run(get("/metrics"), chance);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.content_type, "application/problem+json");
  node.asked.clear();
  EXPECT_EQ(node.run(send(HttpMethod::kPost, "/metrics"), chance).status, 405);
  EXPECT_EQ(node.run(get("/metrics", {{"name", "m"}}), chance).status, 400);
  EXPECT_EQ(node.run(get("/metrics")).status, 500) << "the door has no text";
  EXPECT_TRUE(node.asked.empty());
}

TEST(RestCall, TargetsAreTheMembersThatAnswerHttps) {
  HostList list;
  for (const char letter : {'1', '2', '3', '4', '5', '6'}) {
    HostInfo host = call_host(letter, std::string("n") + letter);
    host.https = std::string("10.0.0.") + letter + ":7449";
    host.rack = letter == '1' ? "r1" : "";
    list.hosts.push_back(host);
  }
  list.hosts[1].state = "left";
  list.hosts[2].state = "revoked";
  list.hosts[3].https = "";
  list.hosts[4].state = "unreachable";
  HostUseList uses;
  uses.hosts = {{}};
  uses.hosts[0].id = list.hosts[5].id;
  uses.hosts[0].is_removed = true;
  CallNode node;
  node.on(Verb::kHosts, good_with(list)).on(Verb::kHostUses, good_with(uses));
  const HttpAnswer answer = node.run(get("/v1/targets"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, R"([{"targets":["10.0.0.1:7449"],"labels":{"host":"n1","rack":"r1"}},)"
                         R"({"targets":["10.0.0.5:7449"],"labels":{"host":"n5","rack":""}}])"
                         "\n");
  EXPECT_EQ(node.run(get("/v1/targets", {{"limit", "1"}})).status, 400);
  node.on(Verb::kHosts, good_with(HostList()));
  EXPECT_EQ(node.run(get("/v1/targets")).body, "[]\n");
}

TEST(RestCall, TargetsAreReadPageByPageAndNeedNoVoter) {
  CallNode node;
  node.on(Verb::kHosts,
          [](const Request& request) {
            Response page = hosts_page(request);
            HostList list = *decode_payload<HostList>(page.payload);
            list.hosts[0].https = "10.0.0.1:7449";
            page.payload = encode_payload(list);
            return page;
          })
      .on(Verb::kHostUses, rest_testing::bad(ResponseStatus::kNoQuorum, "no voter"));
  const HttpAnswer answer = node.run(get("/v1/targets"));
  EXPECT_NE(answer.body.find("\"n1\""), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("\"n2\""), std::string::npos) << answer.body;
}

TEST(RestCall, UnknownPathsAndMethodsAreRefusedWithoutAQuestion) {
  CallNode node;
  EXPECT_EQ(node.run(get("/v1/jbos")).status, 404);
  EXPECT_EQ(node.run(send(HttpMethod::kDelete, "/v1/hosts")).status, 405);
  EXPECT_TRUE(node.asked.empty());
}

/// The path of a route with a value for each part in braces.
std::string filled_path(const Route& route) {
  std::string path;
  bool is_name = false;
  for (const char letter : route.path) {
    is_name = letter == '{' || (is_name && letter != '}');
    path += letter == '}' ? "7" : is_name ? "" : std::string(1, letter);
  }
  return path;
}

TEST(RestCall, EveryRouteRefusesAParameterThatItDoesNotKnow) {
  for (const Route& route : routes()) {
    CallNode node;
    HttpRequest request = send(route.method, filled_path(route),
                               route.body == BodyRule::kNone ? "" : R"({"nonsense": 1})");
    request.query = {{"nonsense", "1"}};
    const HttpAnswer answer = node.run(request);
    EXPECT_EQ(answer.status, 400) << route.path;
    EXPECT_NE(answer.body.find("\"exit_code\":2"), std::string::npos) << route.path;
    EXPECT_TRUE(node.asked.empty()) << route.path;
  }
}

TEST(RestCall, EveryGetRouteRefusesByNameAndABody) {
  for (const Route& route : routes()) {
    if (route.method != HttpMethod::kGet) {
      continue;
    }
    CallNode node;
    HttpRequest request = get(filled_path(route), {{"nonsense", "1"}});
    EXPECT_NE(node.run(request).body.find("nonsense"), std::string::npos) << route.path;
    EXPECT_EQ(node.run(send(HttpMethod::kGet, filled_path(route), "{}")).status, 400);
  }
}

TEST(RestCall, ABodyHasToSayThatItIsJson) {
  CallNode node;
  HttpRequest request = send(HttpMethod::kPost, "/v1/jobs", "{}");
  request.fields = {{"content-type", "text/plain"}};
  EXPECT_EQ(node.run(request).status, 415);
  EXPECT_EQ(node.run(send(HttpMethod::kPost, "/v1/jobs")).status, 400);
}

TEST(RestCall, QuestionsCarryTheProofAndTheWishToBeConsistent) {
  CallNode node;
  node.on(Verb::kQuorum, good_with(QuorumInfo()));
  const HttpAnswer answer = node.run(get("/v1/quorum", {{"consistent", "1"}}));
  ASSERT_EQ(node.asked.size(), 1U);
  EXPECT_EQ(node.asked[0].access, "line");
  EXPECT_TRUE(node.asked[0].consistent);
  EXPECT_EQ(field(answer, "muster-answered-by"), "b");
  EXPECT_EQ(field(answer, "muster-age-ms"), "12");
}

TEST(RestCall, ARefusalOfTheNodeIsAProblem) {
  CallNode node;
  node.on(Verb::kQuorum, bad(ResponseStatus::kDenied, "not for you"));
  const HttpAnswer answer = node.run(get("/v1/quorum"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_NE(answer.body.find("not for you"), std::string::npos);
}

TEST(RestCall, AnAnswerThatCannotBeReadIsAFailure) {
  CallNode node;
  node.on(Verb::kQuorum, good("garbage"));
  EXPECT_EQ(node.run(get("/v1/quorum")).status, 500);
}

TEST(RestCall, HostsAreReadPageByPageWithTheirUses) {
  CallNode node;
  HostUse use;
  use.id = call_host_id('1');
  use.gpus_used = 3;
  node.on(Verb::kHosts, hosts_page);
  node.on(Verb::kHostUses, good_with(HostUseList{{use}, {}}));
  const HttpAnswer answer = node.run(get("/v1/hosts"));
  HostList list;
  list.hosts = {call_host('2', "n1"), call_host('1', "n2")};
  const std::map<HostId, HostUse> uses = {{use.id, use}};
  EXPECT_EQ(answer.body, to_json(list, uses, good()) + "\n");
  EXPECT_EQ(node.asked.size(), 3U);
}

TEST(RestCall, HostsAreListedWithoutUsesIfNoVoterAnswers) {
  CallNode node;
  node.on(Verb::kHosts, hosts_page);
  node.on(Verb::kHostUses, bad(ResponseStatus::kNoQuorum, "no voter"));
  const HttpAnswer answer = node.run(get("/v1/hosts"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("\"gpus_used\":null"), std::string::npos);
}

TEST(RestCall, APageOfHostsIsInTheOrderOfIds) {
  CallNode node;
  node.on(Verb::kHosts, hosts_page);
  node.on(Verb::kHostUses, good_with(HostUseList()));
  const HttpAnswer first = node.run(get("/v1/hosts", {{"limit", "1"}}));
  EXPECT_NE(first.body.find("\"n2\""), std::string::npos);
  EXPECT_EQ(first.body.find("\"n1\""), std::string::npos);
  ASSERT_EQ(field(first, "muster-next"), call_host_id('1').hex());
  const HttpAnswer second = node.run(get("/v1/hosts", {{"after", call_host_id('1').hex()}}));
  EXPECT_NE(second.body.find("\"n1\""), std::string::npos);
  EXPECT_EQ(field(second, "muster-next"), "absent");
}

TEST(RestCall, AHostIsFoundByNameAndById) {
  CallNode node;
  node.on(Verb::kHosts, hosts_page);
  node.on(Verb::kHostDetail, good_with(HostDetail()));
  for (const std::string& name :
       {std::string("n1"), call_host_id('2').hex(), call_host_id('2').short_hex()}) {
    const HttpAnswer answer = node.run(get("/v1/hosts/" + name));
    EXPECT_EQ(answer.body, to_json(call_host('2', "n1"), HostDetail(), good()) + "\n");
    EXPECT_EQ(decode_payload<HostRef>(node.asked.back().arguments)->host, call_host_id('2'));
  }
  EXPECT_EQ(node.run(get("/v1/hosts/n3")).status, 404);
}

TEST(RestCall, OfTwoHostsOfANameTheRemovedOneIsNotMeant) {
  CallNode node;
  HostList list;
  list.hosts = {call_host('1', "n1"), call_host('2', "n1")};
  HostUse removed;
  removed.id = call_host_id('1');
  removed.is_removed = true;
  node.on(Verb::kHosts, good_with(list));
  node.on(Verb::kHostUses, good_with(HostUseList{{removed}, {}}));
  node.on(Verb::kUndrain, good());
  const HttpAnswer answer = node.run(send(HttpMethod::kPost, "/v1/hosts/n1:undrain"));
  EXPECT_EQ(answer.body, host_ordered_json("undrained", "n1", call_host_id('2')) + "\n");
  node.on(Verb::kHostUses, good_with(HostUseList()));
  EXPECT_EQ(node.run(send(HttpMethod::kPost, "/v1/hosts/n1:undrain")).status, 409);
}

TEST(RestCall, ADrainTakesAReasonAndADeadline) {
  CallNode node;
  node.on(Verb::kHosts, hosts_page).on(Verb::kDrain, good());
  node.run(
      send(HttpMethod::kPost, "/v1/hosts/n1:drain", R"({"why": "fan 3", "deadline_in_s": 60})"));
  const auto drain = decode_payload<DrainArgs>(node.asked.back().arguments);
  EXPECT_EQ(*drain, (DrainArgs{call_host_id('2'), "fan 3", true, 60'000}));
  EXPECT_EQ(node.run(send(HttpMethod::kPost, "/v1/hosts/n1:drain",
                          R"({"requeue": true, "deadline_in_ms": 5})"))
                .status,
            400);
}

TEST(RestCall, AHostWithItsGpusIsAskedItself) {
  CallNode node;
  node.on(Verb::kHosts, hosts_page);
  node.on(Verb::kGpus, good_with(GpuList()));
  GpuBoard board;
  board.host = call_host_id('2');
  board.driver = "550";
  node.on(Verb::kGpuBoard, good_with(board));
  const HttpAnswer answer = node.run(get("/v1/hosts/n1/gpus"));
  EXPECT_EQ(answer.body, to_json(GpuList(), board, good()) + "\n");
  EXPECT_EQ(node.asked.back().node, "n1");
  node.on(Verb::kGpuBoard, bad(ResponseStatus::kNoQuorum, "silent"));
  EXPECT_EQ(node.run(get("/v1/hosts/n1/gpus")).body,
            to_json(GpuList(), std::nullopt, good()) + "\n");
}

TEST(RestCall, AMaskNeedsAReasonAndOneGpu) {
  CallNode node;
  ListedGpu gpu;
  gpu.host = call_host_id('2');
  gpu.host_name = "n1";
  gpu.uuid = "GPU-5d0a1f3e-1";
  node.on(Verb::kGpus, good_with(GpuList{{gpu}, {}})).on(Verb::kMaskGpu, good());
  const std::string path = "/v1/gpus/GPU-5d0a1f3e:mask";
  EXPECT_EQ(node.run(send(HttpMethod::kPost, path, "{}")).status, 400);
  const HttpAnswer answer = node.run(send(HttpMethod::kPost, path, R"({"why": "fan 3"})"));
  EXPECT_EQ(answer.body, gpu_ordered_json("masked", gpu.uuid, "n1", gpu.host) + "\n");
  node.on(Verb::kGpus, good_with(GpuList{{gpu, gpu}, {}}));
  EXPECT_EQ(node.run(send(HttpMethod::kPost, path, R"({"why": "fan 3"})")).status, 409);
}

TEST(RestCall, EventsAreTheNewestOrAPageBehindANumber) {
  CallNode node;
  EventsPage page;
  page.events = {{4, 0, "info", "a", "a", 0}, {5, 0, "info", "b", "b", 0}};
  page.last = 5;
  node.on(Verb::kEvents, good_with(page));
  EXPECT_EQ(node.run(get("/v1/events")).body, to_json(page, good()) + "\n");
  EXPECT_EQ(decode_payload<EventsQuery>(node.asked[0].arguments)->newest, 50U);
  const HttpAnswer cut = node.run(get("/v1/events", {{"after", "3"}, {"limit", "1"}}));
  EXPECT_EQ(field(cut, "muster-next"), "4");
  const auto query = decode_payload<EventsQuery>(node.asked[0].arguments);
  EXPECT_EQ(query->after, 3U);
  EXPECT_EQ(query->newest, 0U);
}

TEST(RestCall, TheAuditIsReadToItsEnd) {
  CallNode node;
  AuditPage page;
  page.lines.resize(1);
  page.lines[0].number = 9;
  node.on(Verb::kAudit, good_with(page));
  const HttpAnswer answer = node.run(get("/v1/audit", {{"verb", "submit"}, {"since", "1h"}}));
  EXPECT_EQ(answer.body, audit_json(page, good()) + "\n");
  const auto query = decode_payload<AuditQuery>(node.asked[0].arguments);
  EXPECT_EQ(query->since_ms, 3'600'000U);
  EXPECT_EQ(query->newest, 50U);
  EXPECT_EQ(node.run(get("/v1/audit", {{"since", "an hour"}})).status, 400);
}

TEST(RestCall, QueuesAreSetFromTheVersionThatWasRead) {
  CallNode node;
  QueueList now;
  now.version = 3;
  node.on(Verb::kQueues, good_with(now)).on(Verb::kSetQueues, good());
  const std::string body =
      R"({"queues_version": 3, "queues": [{"queue": "nlp", "weight": 4,
          "max": [{"amount_of": "H100", "amount": 64}], "time_limit_max_ms": 3600000}]})";
  const HttpAnswer answer = node.run(send(HttpMethod::kPut, "/v1/queues", body));
  EXPECT_EQ(answer.body, queues_changed_json(
                             {"queue nlp: added; weight 4; max 64 H100; time-limit-max 1h"}, true) +
                             "\n");
  EXPECT_TRUE(node.asked[0].consistent);
  const auto args = decode_payload<SetQueuesArgs>(node.asked[1].arguments);
  ASSERT_TRUE(args.has_value());
  EXPECT_EQ(args->expected, 3U);
  EXPECT_EQ(args->tree.nodes.at(0).max.at("h100"), 64U);
  now.version = 4;
  node.on(Verb::kQueues, good_with(now));
  EXPECT_EQ(node.run(send(HttpMethod::kPut, "/v1/queues", body)).status, 409);
  EXPECT_EQ(node.run(send(HttpMethod::kPut, "/v1/queues", R"({"queues": []})")).status, 400);
}

TEST(RestCall, AChangeOfUsersSaysWhatItDid) {
  CallNode node;
  node.on(Verb::kChangeUsers, good());
  const HttpAnswer answer =
      node.run(send(HttpMethod::kPatch, "/v1/users",
                    R"({"users": [{"user": "ann", "user_role": "lead", "joins": ["nlp"]}],
                        "teams": [{"team": "nlp"}], "visible_jobs": "team"})"));
  EXPECT_EQ(
      answer.body,
      users_changed_json(
          {"team nlp: added", "user ann: role lead, joins team nlp", "access: jobs=team"}, true) +
          "\n");
  EXPECT_EQ(node.run(send(HttpMethod::kPatch, "/v1/users", "{}")).status, 400);
}

TEST(RestCall, ATokenIsMadeOfWhatTheDoorDraws) {
  CallNode node;
  VersionInfo version;
  version.cluster = ClusterId::from_bytes(std::string(16, 'c'));
  node.on(Verb::kVersion, good_with(version)).on(Verb::kMakeToken, good());
  const HttpRequest request =
      send(HttpMethod::kPost, "/v1/tokens", R"({"made_for": "ci", "token_rights": ["read"]})");
  EXPECT_EQ(node.run(request).status, 400);
  RestChance chance;
  chance.access = [](const ClusterId&) {
    return FreshAccess{scheduler::AccessTokenId::from_bytes(std::string(16, 't')), "hash",
                       "secret"};
  };
  const HttpAnswer answer = node.run(request, chance);
  EXPECT_EQ(answer.status, 201);
  EXPECT_NE(answer.body.find("\"line\":\"secret\""), std::string::npos);
  EXPECT_EQ(node.asked.back().arguments.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
