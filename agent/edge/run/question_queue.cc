#include "agent/edge/run/question_queue.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

std::string client_of(const HttpPeer& peer) {
  return peer.uid.has_value() ? "login " + std::to_string(*peer.uid) : peer.address;
}

}  // namespace

void QuestionQueue::push(Waiting waiting) {
  const std::string client = client_of(waiting.question.peer);
  std::deque<Waiting>& own = by_client_[client];
  if (own.empty()) {
    turns_.push_back(client);
  }
  own.push_back(std::move(waiting));
  ++size_;
}

std::optional<QuestionQueue::Waiting> QuestionQueue::pop() {
  if (turns_.empty()) {
    return std::nullopt;
  }
  const auto at = by_client_.find(turns_.front());
  Waiting next = std::move(at->second.front());
  at->second.pop_front();
  --size_;
  if (at->second.empty()) {
    by_client_.erase(at);
    turns_.pop_front();
  } else {
    turns_.splice(turns_.end(), turns_, turns_.begin());
  }
  return next;
}

QuestionQueue::Waiting QuestionQueue::take_newest_of_most() {
  CHECK(!by_client_.empty());
  const auto most = std::max_element(
      by_client_.begin(), by_client_.end(),
      [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
  Waiting newest = std::move(most->second.back());
  most->second.pop_back();
  --size_;
  forget_idle();
  return newest;
}

std::vector<QuestionQueue::Waiting> QuestionQueue::take_late(Instant taken_by) {
  std::vector<Waiting> late;
  for (auto& [client, own] : by_client_) {
    while (!own.empty() && own.front().taken_at <= taken_by) {
      late.push_back(std::move(own.front()));
      own.pop_front();
    }
  }
  size_ -= late.size();
  forget_idle();
  return late;
}

void QuestionQueue::forget(const HttpServer& server) {
  for (auto& [client, own] : by_client_) {
    size_ -= std::erase_if(own, [&server](const Waiting& each) { return each.server == &server; });
  }
  forget_idle();
}

void QuestionQueue::forget_idle() {
  std::erase_if(turns_,
                [this](const std::string& client) { return by_client_.at(client).empty(); });
  std::erase_if(by_client_, [](const auto& each) { return each.second.empty(); });
}

}  // namespace muster::agent
