#include "agent/edge/run/question_queue.h"

#include <algorithm>
#include <utility>

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
}

std::optional<QuestionQueue::Waiting> QuestionQueue::pop() {
  if (turns_.empty()) {
    return std::nullopt;
  }
  const auto at = by_client_.find(turns_.front());
  Waiting next = std::move(at->second.front());
  at->second.pop_front();
  if (at->second.empty()) {
    by_client_.erase(at);
    turns_.pop_front();
  } else {
    turns_.splice(turns_.end(), turns_, turns_.begin());
  }
  return next;
}

void QuestionQueue::forget(const HttpServer& server) {
  for (auto& [client, own] : by_client_) {
    std::erase_if(own, [&server](const Waiting& each) { return each.server == &server; });
  }
  std::erase_if(turns_,
                [this](const std::string& client) { return by_client_.at(client).empty(); });
  std::erase_if(by_client_, [](const auto& each) { return each.second.empty(); });
}

}  // namespace muster::agent
