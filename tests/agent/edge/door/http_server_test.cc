// Goal: the door carries questions and answers whole, and refuses what is too large or not meant
// for it. Method: a real server, and raw clients on loopback and on a unix socket.

#include "agent/edge/door/http_server.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "tests/agent/edge/door/http_door.h"

namespace muster::agent {
namespace {

class HttpServerAnswers : public HttpDoor {};

std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nhost: localhost\r\nmuster-client: test\r\ncontent-length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool is_status(const std::string& answer, int status) {
  return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ");
}

TEST_F(HttpServerAnswers, ARequestOverAUnixSocketBecomesAQuestionAndItsAnswerComesBack) {
  start_on_unix();
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(
      "GET /v1/jobs%3Ax?state=a%20b&limit=2 HTTP/1.1\r\nHost: any\r\nX-Two: b \r\n\r\n"));
  const HttpQuestion asked = question();
  EXPECT_EQ(asked.request.method, HttpMethod::kGet);
  EXPECT_EQ(asked.request.path, "/v1/jobs:x");
  EXPECT_EQ(asked.request.query, (HttpFields{{"state", "a b"}, {"limit", "2"}}));
  EXPECT_EQ(field_of(asked.request.fields, "x-two"), "b");
  EXPECT_EQ(asked.peer.uid, std::optional<std::uint32_t>(getuid()));
  EXPECT_EQ(asked.peer.address, "");
  server_->answer(asked.number, {200, "application/json", {{"muster-age-ms", "0"}}, "{}\n"});
  const std::string answer = client.answer();
  EXPECT_TRUE(is_status(answer, 200)) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n{}\n")) << answer;
  for (const char* field :
       {"content-type: application/json", "muster-age-ms: 0", "x-content-type-options: nosniff",
        "cache-control: no-store", "content-security-policy: default-src 'none'",
        "x-frame-options: DENY", "referrer-policy: no-referrer"}) {
    EXPECT_TRUE(has(answer, field)) << field << " in " << answer;
  }
}

TEST_F(HttpServerAnswers, AConnectionIsKeptForMoreRequestsAndAnswersMaySetTheirOwnPolicy) {
  start_on_unix();
  HttpClient client = unix_client();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(client.send(kGetJobs));
    server_->answer(question().number,
                    {200, "text/html", {{"content-security-policy", "default-src 'self'"}}, "x"});
    const std::string answer = client.answer();
    EXPECT_TRUE(has(answer, "content-security-policy: default-src 'self'\r\n")) << answer;
    EXPECT_FALSE(has(answer, "'none'")) << answer;
  }
  EXPECT_EQ(server_->stats().accepted, 1U);
  EXPECT_EQ(server_->stats().questions, 3U);
}

TEST_F(HttpServerAnswers, ALargeBodyAndALargeAnswerComeWhole) {
  start_on_unix();
  const std::string body(300'000, 'b');
  const std::string large(1'000'001, 'a');
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(post("/v1/jobs", body)));
  const HttpQuestion asked = question();
  EXPECT_EQ(asked.request.method, HttpMethod::kPost);
  EXPECT_TRUE(asked.request.body == body);
  EXPECT_EQ(server_->stats().bodies_bytes_now, body.size());
  server_->answer(asked.number, {200, "text/plain", {}, large});
  const std::string answer = client.answer();
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, large.size());
  EXPECT_TRUE(answer.ends_with(large));
  EXPECT_EQ(server_->stats().bodies_bytes_now, 0U);
}

TEST_F(HttpServerAnswers, ABodyThatComesInChunksIsPutTogether) {
  start_on_unix();
  HttpClient client = unix_client();
  ASSERT_TRUE(
      client.send("POST /v1/jobs HTTP/1.1\r\nhost: a\r\nmuster-client: t\r\n"
                  "transfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n"));
  EXPECT_EQ(question().request.body, "{\"a\":1}");
}

TEST_F(HttpServerAnswers, ABodyThatIsTooLargeIs413AndTheConnectionIsUsableBehindIt) {
  HttpServerOptions options;
  options.limits.body_bytes = 1'000;
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(post("/v1/jobs", std::string(1'001, 'x'))));
  const std::string refused = client.answer();
  EXPECT_TRUE(is_status(refused, 413)) << refused;
  EXPECT_TRUE(has(refused, "application/problem+json")) << refused;
  ASSERT_TRUE(client.send(post("/v1/jobs", std::string(1'000, 'x'))));
  EXPECT_EQ(question().request.body.size(), 1'000U);
  EXPECT_EQ(server_->stats().refused_requests, 1U);
}

TEST_F(HttpServerAnswers, AnEndlessBodyInChunksIs413OrClosed) {
  HttpServerOptions options;
  options.limits.body_bytes = 1'000;
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(
      client.send("POST / HTTP/1.1\r\nhost: a\r\nmuster-client: t\r\n"
                  "transfer-encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  int sent = 0;
  while (sent < 1'000 && client.send(chunk)) {
    ++sent;
  }
  EXPECT_LT(sent, 1'000);
  EXPECT_EQ(server_->stats().bodies_bytes_now, 0U);
}

TEST_F(HttpServerAnswers, AClientThatWaitsForAWordIsRefusedBeforeItSendsItsBody) {
  start_on_unix();
  HttpClient client = unix_client();
  ASSERT_TRUE(
      client.send("POST /v1/jobs HTTP/1.1\r\nhost: a\r\nmuster-client: t\r\n"
                  "expect: 100-continue\r\ncontent-length: 2000000\r\n\r\n"));
  EXPECT_TRUE(is_status(client.answer(), 413));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpServerAnswers, AHeadThatIsTooLargeIs431) {
  start_on_unix();
  for (const std::size_t size : {17'000U, 100'000U}) {
    HttpClient client = unix_client();
    client.send("GET / HTTP/1.1\r\nhost: a\r\nx: " + std::string(size, 'x') + "\r\n\r\n");
    EXPECT_TRUE(is_status(client.until("\r\n"), 431)) << size;
  }
}

TEST_F(HttpServerAnswers, RequestsThatTheGateRefusesAreNoQuestions) {
  start_on_unix();
  const std::pair<std::string, int> rows[] = {
      {"POST /v1/jobs HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}", 403},
      {"DELETE /v1/tokens/1 HTTP/1.1\r\nhost: a\r\n\r\n", 403},
      {"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nhost: a\r\nmuster-client: t\r\ncontent-length: 3\r\n"
       "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"GET /%zz HTTP/1.1\r\nhost: a\r\n\r\n", 400},
      {"GET /?a=%ff HTTP/1.1\r\nhost: a\r\n\r\n", 400},
      {"GET http://a/ HTTP/1.1\r\nhost: a\r\n\r\n", 400},
  };
  for (const auto& [request, status] : rows) {
    HttpClient client = unix_client();
    ASSERT_TRUE(client.send(request));
    const std::string answer = client.answer();
    EXPECT_TRUE(is_status(answer, status)) << request << answer;
  }
  EXPECT_EQ(server_->stats().questions, 0U);
  EXPECT_EQ(server_->stats().refused_requests, std::size(rows));
}

TEST_F(HttpServerAnswers, MoreQuestionsThanMayWaitAre503) {
  HttpServerOptions options;
  options.limits.questions = 2;
  start_on_unix(std::move(options));
  HttpClient first = unix_client();
  HttpClient second = unix_client();
  ASSERT_TRUE(first.send(kGetJobs));
  const HttpQuestion one = question();
  ASSERT_TRUE(second.send(kGetJobs));
  const HttpQuestion two = question();
  HttpClient third = unix_client();
  ASSERT_TRUE(third.send(kGetJobs));
  const std::string answer = third.answer();
  EXPECT_TRUE(is_status(answer, 503)) << answer;
  EXPECT_TRUE(has(answer, "retry-after: ")) << answer;
  EXPECT_EQ(server_->stats().refused_busy, 1U);
  server_->answer(two.number, {200, "text/plain", {}, "two"});
  server_->answer(one.number, {200, "text/plain", {}, "one"});
  EXPECT_TRUE(first.answer().ends_with("one"));
  EXPECT_TRUE(second.answer().ends_with("two"));
}

TEST_F(HttpServerAnswers, TheBodiesThatWaitHaveALimitTogether) {
  HttpServerOptions options;
  options.limits.bodies_bytes = 1'500;
  start_on_unix(std::move(options));
  HttpClient first = unix_client();
  HttpClient second = unix_client();
  ASSERT_TRUE(first.send(post("/", std::string(1'000, 'x'))));
  const HttpQuestion one = question();
  ASSERT_TRUE(second.send(post("/", std::string(1'000, 'x'))));
  EXPECT_TRUE(is_status(second.answer(), 503));
  server_->answer(one.number, {});
  EXPECT_TRUE(is_status(first.answer(), 200));
  ASSERT_TRUE(second.send(post("/", std::string(1'000, 'x'))));
  EXPECT_NE(question().number, one.number);
}

TEST_F(HttpServerAnswers, AQuestionThatIsNotAnsweredInTimeIs504AndTheLateAnswerIsDropped) {
  HttpServerOptions options;
  options.deadlines.question = std::chrono::milliseconds(100);
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetJobs));
  const HttpQuestion late = question();
  EXPECT_TRUE(is_status(client.answer(), 504));
  server_->answer(late.number, {});
  EXPECT_EQ(server_->stats().late, 1U);
  EXPECT_EQ(server_->stats().dropped_answers, 1U);
}

TEST_F(HttpServerAnswers, AQuestionThatNobodyTookInTimeIs503) {
  HttpServerOptions options;
  options.deadlines.question = std::chrono::milliseconds(100);
  start_on_unix(std::move(options));
  HttpClient client = unix_client();
  ASSERT_TRUE(client.send(kGetJobs));
  EXPECT_TRUE(is_status(client.answer(), 503));
  EXPECT_TRUE(server_->take().empty());
}

TEST_F(HttpServerAnswers, ARequestOverTlsIsAnsweredAndSaysItsAddress) {
  start_on_tcp();
  HttpClient client = tcp_client();
  ASSERT_TRUE(client.start_tls());
  ASSERT_TRUE(client.send(kGetJobs));
  const HttpQuestion asked = question();
  EXPECT_EQ(asked.peer.address, "127.0.0.1");
  EXPECT_EQ(asked.peer.uid, std::nullopt);
  const std::string large(500'000, 'a');
  server_->answer(asked.number, {200, "text/plain", {}, large});
  EXPECT_TRUE(client.answer().ends_with("\r\n\r\n" + large));
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n"));
  EXPECT_TRUE(is_status(client.answer(), 421));
}

TEST_F(HttpServerAnswers, AKeptConnectionSurvivesANewCertificateThatLaterOnesSee) {
  start_on_tcp();
  const auto ask = [this](HttpClient& client) {
    EXPECT_TRUE(client.send(kGetJobs));
    server_->answer(question().number, {200, "text/plain", {}, "ok"});
    return is_status(client.answer(), 200);
  };
  HttpClient kept = tcp_client();
  ASSERT_TRUE(kept.start_tls());
  ASSERT_TRUE(ask(kept));
  // Its handshake has not begun: it takes the certificate that is in force then.
  HttpClient early = tcp_client();
  ASSERT_TRUE(server_->set_tls(self_signed_tls(), {"localhost", "other"}));
  ASSERT_TRUE(early.start_tls());
  EXPECT_NE(early.shown_certificate(), kept.shown_certificate());
  EXPECT_TRUE(ask(kept));
  EXPECT_FALSE(kept.has_hung_up(0));
  HttpClient later = tcp_client();
  ASSERT_TRUE(later.start_tls());
  EXPECT_EQ(later.shown_certificate(), early.shown_certificate());
  EXPECT_TRUE(ask(later));
  // Browsers may ask by the new names at once.
  ASSERT_TRUE(kept.send("GET /v1/jobs HTTP/1.1\r\nhost: other\r\n\r\n"));
  server_->answer(question().number, {200, "text/plain", {}, "ok"});
  EXPECT_TRUE(is_status(kept.answer(), 200));
}

TEST_F(HttpServerAnswers, ManyChangesLeaveEachConnectionItsCertificate) {
  start_on_tcp();
  std::vector<HttpClient> clients;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(server_->set_tls(self_signed_tls(), {"localhost"}));
    clients.push_back(tcp_client());
    ASSERT_TRUE(clients.back().start_tls());
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    ASSERT_TRUE(clients[i].send(kGetJobs));
    server_->answer(question().number, {200, "text/plain", {}, std::to_string(i)});
    EXPECT_TRUE(clients[i].answer().ends_with("\r\n\r\n" + std::to_string(i)));
  }
}

TEST_F(HttpServerAnswers, ACertificateThatIsNoGoodChangesNothing) {
  start_on_tcp();
  HttpClient before = tcp_client();
  ASSERT_TRUE(before.start_tls());
  const Status refused =
      server_->set_tls({self_signed_tls().key, self_signed_tls().certificates}, {"other"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  HttpClient after = tcp_client();
  ASSERT_TRUE(after.start_tls());
  EXPECT_EQ(after.shown_certificate(), before.shown_certificate());
}

TEST(HttpServerStart, WithoutACertificateHandshakesFailUntilThereIsOne) {
  HttpServerOptions options;
  options.endpoint = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
  const auto server = HttpServer::start(options);
  ASSERT_TRUE(server.has_value()) << server.error().text;
  HttpClient early = HttpClient::over_tcp((*server)->endpoint().port);
  EXPECT_FALSE(early.start_tls());
  ASSERT_TRUE((*server)->set_tls(self_signed_tls(), {"localhost"}));
  HttpClient later = HttpClient::over_tcp((*server)->endpoint().port);
  EXPECT_TRUE(later.start_tls());
}

TEST_F(HttpServerAnswers, PlainHttpOnThePortOfTlsGetsASentence) {
  start_on_tcp();
  HttpClient client = tcp_client();
  ASSERT_TRUE(client.send(kGetJobs));
  const std::string answer = client.answer();
  EXPECT_TRUE(is_status(answer, 400)) << answer;
  EXPECT_TRUE(answer.ends_with("This port speaks HTTPS: ask again with https:// in front\n"))
      << answer;
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServerStart, AWrongCertificateOrATakenPortIsAnError) {
  HttpServerOptions options;
  options.endpoint = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
  options.tls = {"no key", "no certificate"};
  EXPECT_EQ(HttpServer::start(options).error().code, ErrorCode::kInvalid);
  options.tls = {self_signed_tls().key, self_signed_tls().certificates};
  EXPECT_EQ(HttpServer::start(options).error().code, ErrorCode::kInvalid)
      << "the key of another certificate";
  options.tls = self_signed_tls();
  const auto first = HttpServer::start(options);
  ASSERT_TRUE(first.has_value()) << first.error().text;
  options.endpoint = (*first)->endpoint();
  EXPECT_EQ(HttpServer::start(options).error().code, ErrorCode::kConflict);
  EXPECT_EQ(HttpServer::start({}).error().code, ErrorCode::kIo) << "no socket at all";
}

}  // namespace
}  // namespace muster::agent
