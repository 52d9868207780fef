#include "scheduler/raft/progress.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// A snapshot takes longer to travel and to sync than a batch; sent again too early, it would only
/// fill the link.
constexpr int kSnapshotPatience = 8;

}  // namespace

bool Progress::may_send(std::size_t window) const {
  return state_ == State::kReplicate ? in_flight_.size() < window : in_flight_.empty();
}

bool Progress::stalled(Instant now, Duration retransmit) const {
  const Duration patience = retransmit * (state_ == State::kSnapshot ? kSnapshotPatience : 1);
  return !in_flight_.empty() && now - in_flight_.front().sent_at > patience;
}

void Progress::on_sent(Instant now, std::uint64_t request, LogIndex last) {
  CHECK(request > sent_request_);
  sent_request_ = request;
  in_flight_.push_back({last, now});
  if (state_ == State::kReplicate) {
    next_ = last.value() + 1;
  }
}

void Progress::on_snapshot_sent(Instant now, std::uint64_t request, LogIndex at) {
  on_sent(now, request, at);
  state_ = State::kSnapshot;
}

void Progress::on_contact(Instant now, std::uint64_t round) {
  heard_at_ = std::max(heard_at_, now);
  round_ = std::max(round_, round);
}

void Progress::on_match(LogIndex reported) {
  match_ = std::max(match_, reported.value());
  next_ = std::max(next_, match_ + 1);
  bool answered = false;
  while (!in_flight_.empty() && in_flight_.front().last.value() <= match_) {
    in_flight_.pop_front();
    answered = true;
  }
  if (answered && state_ != State::kReplicate) {
    state_ = State::kReplicate;
    next_ = match_ + 1;
  }
}

bool Progress::on_refused(std::uint64_t request, LogIndex next) {
  if (request <= ignore_up_to_ || request > sent_request_) {
    return false;
  }
  ignore_up_to_ = sent_request_;
  in_flight_.clear();
  state_ = State::kProbe;
  next_ = std::max(match_ + 1, next.value());
  return true;
}

void Progress::restart() {
  ignore_up_to_ = sent_request_;
  in_flight_.clear();
  if (state_ == State::kReplicate) {
    next_ = match_ + 1;
  }
  state_ = State::kProbe;
}

}  // namespace muster::scheduler
