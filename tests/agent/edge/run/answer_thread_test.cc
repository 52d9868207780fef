// Goal: what the thread makes is what the call itself would have made, each once and in order.
// Method: answers of a node for a list of hosts.

#include "agent/edge/run/answer_thread.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "gossip/base/check.h"

namespace muster::agent {
namespace {

constexpr std::size_t kAnswers = 5;
constexpr int kPatienceMs = 30'000;
const Response kUnanswered{ResponseStatus::kUnknown, "the node did not answer", "b", 0, ""};

RestCall begun_list() {
  HttpRequest request;
  request.method = HttpMethod::kGet;
  request.path = "/v1/hosts";
  return std::get<RestCall>(RestCall::begin(request, ""));
}

Response hosts_called(const std::string& name) {
  HostList list;
  HostInfo host;
  host.name = name;
  list.hosts.push_back(host);
  return {ResponseStatus::kOk, "", "b", 0, encode_payload(list)};
}

/// The node has told its hosts. Without an answer to its next question the call has a document.
RestCall list_of_hosts(const std::string& name) {
  RestCall call = begun_list();
  CHECK(!call.on_answer(hosts_called(name)).has_value() && call.is_addition());
  return call;
}

/// All that were made, once `count` are.
std::vector<AnswerThread::Made> wait_for(AnswerThread& thread, std::size_t count) {
  std::vector<AnswerThread::Made> all;
  while (all.size() < count) {
    pollfd ready{thread.fd(), POLLIN, 0};
    if (poll(&ready, 1, kPatienceMs) <= 0) {
      break;
    }
    for (AnswerThread::Made& made : thread.take()) {
      all.push_back(std::move(made));
    }
  }
  return all;
}

TEST(AnswerThread, MakesWhatTheCallWouldHaveMade) {
  AnswerThread thread;
  std::vector<std::string> wanted;
  for (std::uint64_t number = 0; number < kAnswers; ++number) {
    const std::string name = "host" + std::to_string(number);
    wanted.push_back(list_of_hosts(name).on_answer(kUnanswered)->body);
    thread.submit({100 + number, list_of_hosts(name), kUnanswered});
  }
  const auto made = wait_for(thread, kAnswers);
  ASSERT_EQ(made.size(), kAnswers);
  for (std::size_t at = 0; at < made.size(); ++at) {
    EXPECT_EQ(made[at].number, 100 + at);
    ASSERT_TRUE(made[at].answer.has_value());
    EXPECT_EQ(made[at].answer->body, wanted[at]);
  }
  EXPECT_TRUE(thread.take().empty());
  pollfd ready{thread.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 0), 0);
}

TEST(AnswerThread, ACallThatAsksOnComesBackWithItsNextQuestion) {
  AnswerThread thread;
  thread.submit({7, begun_list(), hosts_called("a")});
  auto made = wait_for(thread, 1);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_FALSE(made.front().answer.has_value());
  EXPECT_TRUE(made.front().call.is_addition());
  const auto answer = made.front().call.on_answer(kUnanswered);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->body, list_of_hosts("a").on_answer(kUnanswered)->body);
}

}  // namespace
}  // namespace muster::agent
