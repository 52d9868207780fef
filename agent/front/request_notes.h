#pragma once
// RequestNotes collects what this host refused to known users, and whose output it showed to
// others, for the audit in the log. It hands out numbered batches, one at a time, until the leader
// has one in its log. It keeps kNotesASecond notes a second and counts the rest; a stranger is
// counted alone. A pure noun: Node sends the batches.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/time.h"
#include "scheduler/protocol/users.h"

namespace muster::agent {

class RequestNotes {
 public:
  /// More would let one user push the lines of all others out of the audit within hours.
  static constexpr std::size_t kNotesASecond = 10;
  /// Notes that wait for a batch, and notes of a batch.
  static constexpr std::size_t kNotesMax = scheduler::kNotesMax;
  static constexpr Duration kRepeatTime = std::chrono::seconds(2);
  /// A batch is dropped after this time: a cluster without a leader refuses for hours.
  static constexpr Duration kGiveUpTime = std::chrono::minutes(10);
  /// A person who follows output asks for it twice a second: one note in this time is enough.
  static constexpr Duration kReadAgainTime = std::chrono::minutes(10);
  /// The readers that kReadAgainTime counts for; beyond it the oldest is noted again.
  static constexpr std::size_t kReadersKnownMax = 256;

  struct Batch {
    std::uint64_t number = 0;  ///< From 1.
    std::vector<scheduler::RequestNote> notes;
    std::uint64_t last = 0;  ///< The number of its last note.
  };

  /// The number of the note, from 1; 0 = it is only counted.
  std::uint64_t note(Instant now, scheduler::RequestNote note);
  /// The notes up to this number are in the log, or were dropped.
  std::uint64_t settled() const { return settled_; }
  /// The same for a look at output, which a reader repeats.
  void note_read(Instant now, scheduler::RequestNote note);
  void count_stranger() { ++strangers_; }
  std::uint64_t strangers() const { return strangers_; }
  /// Notes that were dropped because no leader took their batch in time.
  std::uint64_t dropped() const { return dropped_; }

  /// The batch to send now; nullptr if no batch is due. Notes that come while a batch is on its way
  /// travel together in the next one.
  const Batch* due(Instant now);
  /// The number of the batch that is on its way; 0 = there is no such batch.
  std::uint64_t sent() const { return sent_.has_value() ? sent_->number : 0; }
  /// The log has the batch.
  void acknowledged(std::uint64_t number);
  Instant next_deadline() const;

 private:
  void end_second(Instant now);
  void push(Instant now, scheduler::RequestNote note);

  std::vector<scheduler::RequestNote> waiting_;
  std::uint64_t last_note_ = 0;  ///< The number of the last one in waiting_.
  std::uint64_t settled_ = 0;
  Instant gathered_at_{};  ///< When the first of waiting_ came.
  std::optional<Batch> sent_;
  Instant again_at_{};
  Instant give_up_at_{};
  std::uint64_t last_number_ = 0;
  Instant second_began_{};
  std::size_t in_second_ = 0;
  std::uint64_t more_ = 0;  ///< Not kept since second_began_.
  std::deque<std::pair<std::string, Instant>> readers_;
  std::uint64_t strangers_ = 0;
  std::uint64_t dropped_ = 0;
};

/// The pace at which a leader takes batches of all hosts into its log: kNotesASecond lines a second
/// together. A batch that is not taken comes again.
class NotesPace {
 public:
  /// True if that many notes fit now; then they count.
  bool takes(Instant now, std::size_t notes);

 private:
  std::size_t room_ = RequestNotes::kNotesMax;
  Instant filled_at_{};
};

}  // namespace muster::agent
