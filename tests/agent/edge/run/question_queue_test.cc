#include "agent/edge/run/question_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::agent {
namespace {

QuestionQueue::Waiting from(const std::string& address, std::uint64_t number) {
  QuestionQueue::Waiting waiting;
  waiting.question.number = number;
  waiting.question.peer.address = address;
  return waiting;
}

std::vector<std::uint64_t> all_of(QuestionQueue& queue) {
  std::vector<std::uint64_t> numbers;
  while (const auto next = queue.pop()) {
    numbers.push_back(next->question.number);
  }
  return numbers;
}

TEST(QuestionQueue, AClientThatAsksMuchWaitsForTheOthers) {
  QuestionQueue queue;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    queue.push(from("10.0.0.1", number));
  }
  queue.push(from("10.0.0.2", 5));
  queue.push(from("10.0.0.3", 6));
  queue.push(from("10.0.0.2", 7));
  EXPECT_EQ(all_of(queue), (std::vector<std::uint64_t>{1, 5, 6, 2, 7, 3, 4}));
  EXPECT_TRUE(queue.is_empty());
}

TEST(QuestionQueue, LoginsAreNoAddresses) {
  QuestionQueue queue;
  QuestionQueue::Waiting login = from("", 1);
  login.question.peer.uid = 7;
  queue.push(login);
  login.question.number = 2;
  queue.push(login);
  login.question.peer.uid = 8;
  login.question.number = 3;
  queue.push(login);
  EXPECT_EQ(all_of(queue), (std::vector<std::uint64_t>{1, 3, 2}));
}

TEST(QuestionQueue, TheQuestionsOfAServerThatEndsAreGone) {
  QuestionQueue queue;
  auto* const server = reinterpret_cast<HttpServer*>(&queue);  // Compared, never used.
  QuestionQueue::Waiting waiting = from("10.0.0.1", 1);
  waiting.server = server;
  queue.push(waiting);
  queue.push(from("10.0.0.1", 2));
  waiting.question.peer.address = "10.0.0.2";
  queue.push(waiting);
  queue.forget(*server);
  EXPECT_EQ(all_of(queue), (std::vector<std::uint64_t>{2}));
  EXPECT_TRUE(queue.is_empty());
}

}  // namespace
}  // namespace muster::agent
