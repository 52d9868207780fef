#include "scheduler/raft/progress.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// A part of a snapshot takes longer to travel than a batch, and the last to sync; sent again too
/// early, it would only fill the link.
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

void Progress::begin_snapshot(std::shared_ptr<const Snapshot> snapshot) {
  state_ = State::kSnapshot;
  snapshot_ = std::move(snapshot);
  snapshot_offset_ = 0;
}

void Progress::on_chunk_sent(Instant now, std::uint64_t request) {
  CHECK(state_ == State::kSnapshot);
  on_sent(now, request, snapshot_->at.index);
}

void Progress::on_chunk_wanted(std::uint64_t request, LogIndex at, std::uint64_t offset) {
  const bool is_news = request == sent_request_ || offset > snapshot_offset_;
  if (state_ == State::kSnapshot && snapshot_->at.index == at && is_news) {
    snapshot_offset_ = std::min<std::uint64_t>(offset, snapshot_->state.size());
    in_flight_.clear();
  }
}

void Progress::on_contact(Instant now, std::uint64_t round) {
  heard_at_ = std::max(heard_at_, now);
  has_answered_ = true;
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
  const bool has_snapshot = state_ == State::kSnapshot && snapshot_->at.index.value() <= match_;
  if (has_snapshot || (answered && state_ == State::kProbe)) {
    state_ = State::kReplicate;
    snapshot_.reset();
    in_flight_.clear();
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
  snapshot_.reset();
  next_ = std::max(match_ + 1, next.value());
  return true;
}

void Progress::restart() {
  ignore_up_to_ = sent_request_;
  in_flight_.clear();
  if (state_ == State::kSnapshot) {
    return;
  }
  if (state_ == State::kReplicate) {
    next_ = match_ + 1;
  }
  state_ = State::kProbe;
}

}  // namespace muster::scheduler
