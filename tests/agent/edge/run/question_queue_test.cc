#include "agent/edge/run/question_queue.h"

#include <gtest/gtest.h>

#include <chrono>
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
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(all_of(queue), (std::vector<std::uint64_t>{2}));
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.size(), 0U);
}

TEST(QuestionQueue, TheClientThatHasTheMostMakesRoom) {
  QuestionQueue queue;
  queue.push(from("10.0.0.1", 1));
  for (std::uint64_t number = 2; number <= 4; ++number) {
    queue.push(from("10.0.0.2", number));
  }
  queue.push(from("10.0.0.3", 5));
  EXPECT_EQ(queue.take_newest_of_most().question.number, 4U);
  EXPECT_EQ(queue.take_newest_of_most().question.number, 3U);
  EXPECT_EQ(queue.size(), 3U);
  EXPECT_EQ(all_of(queue), (std::vector<std::uint64_t>{1, 2, 5}));
  queue.push(from("10.0.0.1", 6));
  EXPECT_EQ(queue.take_newest_of_most().question.number, 6U);
  EXPECT_TRUE(queue.is_empty());
}

TEST(QuestionQueue, LateQuestionsAreTakenOutAndTheOthersKeepTheirTurns) {
  QuestionQueue queue;
  const auto at = [](QuestionQueue::Waiting waiting, int seconds) {
    waiting.taken_at = Instant(std::chrono::seconds(seconds));
    return waiting;
  };
  queue.push(at(from("10.0.0.1", 1), 10));
  queue.push(at(from("10.0.0.2", 2), 11));
  queue.push(at(from("10.0.0.1", 3), 12));
  queue.push(at(from("10.0.0.3", 4), 13));
  EXPECT_TRUE(queue.take_late(Instant(std::chrono::seconds(9))).empty());
  EXPECT_EQ(queue.size(), 4U);
  std::vector<std::uint64_t> late;
  for (const auto& each : queue.take_late(Instant(std::chrono::seconds(11)))) {
    late.push_back(each.question.number);
  }
  EXPECT_EQ(late, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(all_of(queue), (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(queue.size(), 0U);
}

}  // namespace
}  // namespace muster::agent
