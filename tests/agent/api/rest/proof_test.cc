// Goal: only the page of this node can use its cookie, a header counts before it, and no proof is
// taken from a URL or shown in an answer. Method: a table of headers and the line that each gives,
// then the answers of login and logout.

#include "agent/api/rest/proof.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::agent {
namespace {

const std::string kLine = "muster-access-1.AbC_d-9";
const std::string kCookie = "__Host-muster=" + kLine;

HttpRequest asked(HttpMethod method, std::string path, HttpFields fields) {
  HttpRequest request;
  request.method = method;
  request.path = std::move(path);
  request.fields = std::move(fields);
  request.fields.emplace_back("host", "Node1:7449");
  return request;
}

/// 0 if the request may go on.
int status_of_refusal(const std::variant<HttpAnswer, Proof>& read) {
  const auto* answer = std::get_if<HttpAnswer>(&read);
  return answer == nullptr ? 0 : answer->status;
}

struct ProofRow {
  std::string what;
  HttpFields fields;
  bool is_https;
  int status;  ///< Of the refusal; 0 = none.
  std::string line{};
};

const std::vector<ProofRow>& proof_rows() {
  static const std::vector<ProofRow> kRows = {
      {"no proof", {}, true, 0},
      {"the header", {{"authorization", "Bearer " + kLine}}, true, 0, kLine},
      {"the header on the socket", {{"authorization", "Bearer " + kLine}}, false, 0, kLine},
      {"the cookie", {{"cookie", kCookie}}, true, 0, kLine},
      {"the cookie beside others", {{"cookie", "a=1; " + kCookie + ";b=2"}}, true, 0, kLine},
      {"the cookie on the socket", {{"cookie", kCookie}}, false, 0},
      {"a cookie of another name", {{"cookie", "x" + kCookie}}, true, 0},
      {"a cookie without value", {{"cookie", "__Host-muster"}}, true, 0},
      {"an empty cookie", {{"cookie", "__Host-muster="}}, true, 401},
      {"two cookies", {{"cookie", kCookie + "; " + kCookie}}, true, 401},
      {"a cookie with a quote", {{"cookie", "__Host-muster=\"" + kLine + "\""}}, true, 401},
      {"a cookie with a blank", {{"cookie", "__Host-muster=a b"}}, true, 401},
      {"a long cookie", {{"cookie", "__Host-muster=" + std::string(5000, 'a')}}, true, 401},
      {"both",
       {{"cookie", "__Host-muster=other"}, {"authorization", "Bearer " + kLine}},
       true,
       0,
       kLine},
      {"a broken cookie beside the header",
       {{"cookie", "__Host-muster=\""}, {"authorization", "Bearer " + kLine}},
       true,
       0,
       kLine},
      {"a broken header beside the cookie",
       {{"cookie", kCookie}, {"authorization", "Basic YTpi"}},
       true,
       401},
      {"the own page", {{"cookie", kCookie}, {"sec-fetch-site", "same-origin"}}, true, 0, kLine},
      {"the bar of addresses", {{"cookie", kCookie}, {"sec-fetch-site", "none"}}, true, 0, kLine},
      {"a page of another port", {{"cookie", kCookie}, {"sec-fetch-site", "same-site"}}, true, 0},
      {"a page of another site", {{"cookie", kCookie}, {"sec-fetch-site", "cross-site"}}, true, 0},
      {"a word of a later browser", {{"cookie", kCookie}, {"sec-fetch-site", "kin"}}, true, 0},
      {"two words about the page",
       {{"cookie", kCookie}, {"sec-fetch-site", "none"}, {"sec-fetch-site", "cross-site"}},
       true,
       0},
      {"the own origin", {{"cookie", kCookie}, {"origin", "https://node1:7449"}}, true, 0, kLine},
      {"the origin of another port", {{"cookie", kCookie}, {"origin", "https://node1:9"}}, true, 0},
      {"the origin without TLS", {{"cookie", kCookie}, {"origin", "http://node1:7449"}}, true, 0},
      {"no origin to tell", {{"cookie", kCookie}, {"origin", "null"}}, true, 0},
      {"another page with the header",
       {{"cookie", kCookie},
        {"sec-fetch-site", "cross-site"},
        {"authorization", "Bearer " + kLine}},
       true,
       0,
       kLine},
  };
  return kRows;
}

TEST(ProofTest, FindsTheLineThatCounts) {
  for (const ProofRow& row : proof_rows()) {
    const auto read = read_proof(asked(HttpMethod::kGet, "/v1/jobs", row.fields), row.is_https);
    ASSERT_EQ(status_of_refusal(read), row.status) << row.what;
    if (row.status == 0) {
      EXPECT_EQ(std::get<Proof>(read).line, row.line) << row.what;
      EXPECT_FALSE(std::get<Proof>(read).is_login) << row.what;
    } else {
      EXPECT_EQ(std::get<HttpAnswer>(read).body.find("AbC_d-9"), std::string::npos) << row.what;
    }
  }
}

TEST(ProofTest, RefusesAProofInAUrl) {
  const std::pair<std::string, std::string> parameters[] = {
      {"access_token", "x"}, {"Token", "x"}, {"authorization", ""}, {"user", kLine}, {kLine, ""}};
  for (const bool is_https : {true, false}) {
    for (const auto& parameter : parameters) {
      HttpRequest request =
          asked(HttpMethod::kGet, "/v1/jobs", {{"authorization", "Bearer " + kLine}});
      request.query = {parameter};
      const auto read = read_proof(request, is_https);
      ASSERT_EQ(status_of_refusal(read), 400) << parameter.first;
      EXPECT_EQ(std::get<HttpAnswer>(read).body.find("AbC_d-9"), std::string::npos);
    }
  }
}

TEST(ProofTest, SignsInByTheHeaderAlone) {
  const HttpFields header = {{"authorization", "Bearer " + kLine}};
  const auto read = read_proof(asked(HttpMethod::kPost, "/v1/login", header), true);
  ASSERT_EQ(status_of_refusal(read), 0);
  EXPECT_TRUE(std::get<Proof>(read).is_login);
  EXPECT_EQ(std::get<Proof>(read).line, kLine);
  const std::pair<HttpRequest, int> refused[] = {
      {asked(HttpMethod::kPost, "/v1/login", {{"cookie", kCookie}}), 401},
      {asked(HttpMethod::kPost, "/v1/login", {}), 401},
      {asked(HttpMethod::kPost, "/v1/login", {{"authorization", "Bearer a;b"}}), 401},
      {asked(HttpMethod::kGet, "/v1/login", header), 405},
      {asked(HttpMethod::kPut, "/v1/logout", header), 405},
  };
  for (const auto& [request, status] : refused) {
    EXPECT_EQ(status_of_refusal(read_proof(request, true)), status);
  }
  EXPECT_EQ(status_of_refusal(read_proof(asked(HttpMethod::kPost, "/v1/login", header), false)),
            400);
}

TEST(ProofTest, AsksForTheNameOfTheLine) {
  HttpRequest login = asked(HttpMethod::kPost, "/v1/login", {});
  login.query = {{"x", "1"}};
  login.body = "{}";
  const HttpRequest question = whoami_question(login);
  EXPECT_EQ(question.method, HttpMethod::kGet);
  EXPECT_EQ(question.path, "/v1/whoami");
  EXPECT_EQ(question.query, login.query) << "so that it is refused";
  EXPECT_EQ(question.body, login.body) << "so that it is refused";
}

TEST(ProofTest, SetsTheCookieOfALineThatTheNodeBelieves) {
  HttpAnswer whoami;
  whoami.body = "{}\n";
  const HttpAnswer answer = login_answer(whoami, kLine);
  EXPECT_EQ(answer.body, whoami.body);
  EXPECT_EQ(field_of(answer.fields, "set-cookie"),
            kCookie + "; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=43200");
  whoami.status = 403;
  EXPECT_EQ(field_of(login_answer(whoami, kLine).fields, "set-cookie"), std::nullopt);
}

TEST(ProofTest, SignsOutByAnEmptyCookie) {
  HttpRequest logout = asked(HttpMethod::kPost, "/v1/logout", {});
  const auto read = read_proof(logout, true);
  ASSERT_EQ(status_of_refusal(read), 204);
  EXPECT_EQ(field_of(std::get<HttpAnswer>(read).fields, "set-cookie"),
            "__Host-muster=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0");
  logout.body = "{}";
  EXPECT_EQ(status_of_refusal(read_proof(logout, true)), 400);
}

}  // namespace
}  // namespace muster::agent
