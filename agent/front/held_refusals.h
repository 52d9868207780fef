#pragma once
// HeldRefusals keeps the answers of a leader that a person has no right to something until its log
// has the note about it (RequestNotes): then a refusal that a client was told of has its line in
// the audit, even if the agent is killed in the next moment. A pure noun. Owned by ClientFront.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "gossip/base/time.h"

namespace muster::agent {

struct HeldRefusal {
  Asker asker;
  Response response;
};

class HeldRefusals {
 public:
  /// A client hears its refusal after this time at the latest: a leader that lost its majority has
  /// no log to write to. Shorter than the patience of any client.
  static constexpr Duration kPatience = std::chrono::seconds(2);
  /// A log takes the notes of ten a second.
  static constexpr std::size_t kHeldMax = 64;

  /// `note`: the number of the note, not below that of the refusal before. False if too many are
  /// held: then the caller answers.
  bool hold(Instant now, std::uint64_t note, HeldRefusal refusal);
  /// The refusals that wait no more, in their order: their notes are settled, or kPatience is over.
  std::vector<HeldRefusal> take(Instant now, std::uint64_t settled);
  /// kNever if no refusal is held.
  Instant next_deadline() const { return held_.empty() ? kNever : held_.front().until; }

 private:
  struct Held {
    std::uint64_t note = 0;
    Instant until{};
    HeldRefusal refusal;
  };
  std::deque<Held> held_;
};

}  // namespace muster::agent
