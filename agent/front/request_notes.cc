#include "agent/front/request_notes.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

constexpr Duration kNotesSecond = std::chrono::seconds(1);

}  // namespace

std::uint64_t RequestNotes::note(Instant now, scheduler::RequestNote note) {
  end_second(now);
  if (in_second_ >= kNotesASecond || waiting_.size() >= kNotesMax) {
    ++more_;
    return 0;
  }
  ++in_second_;
  push(now, std::move(note));
  return last_note_;
}

void RequestNotes::note_read(Instant now, scheduler::RequestNote note) {
  while (!readers_.empty() &&
         (readers_.front().second + kReadAgainTime <= now || readers_.size() >= kReadersKnownMax)) {
    readers_.pop_front();
  }
  const std::string reader = note.by.name + "\n" + note.object;
  const bool is_known = std::any_of(readers_.begin(), readers_.end(),
                                    [&](const auto& each) { return each.first == reader; });
  if (!is_known) {
    readers_.emplace_back(reader, now);
    this->note(now, std::move(note));
  }
}

/// Notes that were not kept become one line, once their second is over and there is room for it.
void RequestNotes::end_second(Instant now) {
  if (now < second_began_ + kNotesSecond) {
    return;
  }
  if (more_ > 0 && waiting_.size() < kNotesMax) {
    scheduler::RequestNote rest;
    rest.why = std::to_string(std::exchange(more_, 0)) + " more requests";
    push(now, std::move(rest));
  }
  second_began_ = now;
  in_second_ = 0;
}

void RequestNotes::push(Instant now, scheduler::RequestNote note) {
  CHECK(waiting_.size() < kNotesMax);
  if (waiting_.empty()) {
    gathered_at_ = now;
  }
  ++last_note_;
  waiting_.push_back(std::move(note));
}

const RequestNotes::Batch* RequestNotes::due(Instant now) {
  if (sent_.has_value() && give_up_at_ <= now) {
    dropped_ += sent_->notes.size();
    acknowledged(sent_->number);
  }
  end_second(now);
  if (!sent_.has_value() && !waiting_.empty()) {
    sent_ = Batch{++last_number_, std::exchange(waiting_, {}), last_note_};
    again_at_ = now;
    give_up_at_ = now + kGiveUpTime;
  }
  if (!sent_.has_value() || again_at_ > now) {
    return nullptr;
  }
  again_at_ = now + kRepeatTime;
  return &*sent_;
}

void RequestNotes::acknowledged(std::uint64_t number) {
  if (sent_.has_value() && sent_->number == number) {
    settled_ = sent_->last;
    sent_.reset();
  }
}

Instant RequestNotes::next_deadline() const {
  if (sent_.has_value()) {
    return std::min(again_at_, give_up_at_);
  }
  const Instant rest = more_ > 0 ? second_began_ + kNotesSecond : kNever;
  return std::min(rest, waiting_.empty() ? kNever : gathered_at_);
}

bool NotesPace::takes(Instant now, std::size_t notes) {
  const auto fresh =
      static_cast<std::size_t>((now - filled_at_) / kNotesSecond) * RequestNotes::kNotesASecond;
  if (fresh > 0) {
    room_ = std::min(room_ + fresh, RequestNotes::kNotesMax);
    filled_at_ = now;
  }
  if (room_ < notes) {
    return false;
  }
  room_ -= notes;
  return true;
}

}  // namespace muster::agent
