#include "tests/sim/linearisable.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "gossip/base/check.h"
#include "scheduler/protocol/entry.h"
#include "tests/sim/single_copy.h"

namespace muster::sim {
namespace {

std::string milliseconds(Instant when) {
  return when == kNever ? "-" : std::to_string(to_ms(when.time_since_epoch()));
}

std::string text_of_asked(const Asked& asked) {
  if (const auto* submit = std::get_if<SubmitAsked>(&asked)) {
    return "submit " + submit->key;
  }
  if (const auto* word = std::get_if<WordAsked>(&asked)) {
    return std::string(scheduler::text_of(word->word)) + " " + std::to_string(word->job.value());
  }
  if (const auto* show = std::get_if<ShowAsked>(&asked)) {
    return "show " + std::to_string(show->job.value());
  }
  return "list";
}

std::string text_of_answer(const Operation& operation) {
  if (operation.answered != Answered::kDone) {
    return std::string(text_of(operation.answered));
  }
  std::string text = operation.job == JobId() ? "" : "job " + std::to_string(operation.job.value());
  for (const Sighting& seen : operation.seen) {
    text += (text.empty() ? "" : "; ") + std::to_string(seen.job.value()) + " " + seen.name + " " +
            std::string(scheduler::text_of(seen.state)) + "/" + std::to_string(seen.attempt);
    text += seen.life.empty() ? "" : " after " + std::to_string(seen.life.size()) + " moves";
  }
  return text.empty() ? "done" : text;
}

class Search {
 public:
  Search(const std::vector<Operation>& history, const Told& told) : empty_(told) {
    for (const Operation& operation : history) {
      const bool is_change = std::holds_alternative<SubmitAsked>(operation.asked) ||
                             std::holds_alternative<WordAsked>(operation.asked);
      const bool is_open = operation.answered == Answered::kNothing;
      if (operation.answered != Answered::kNotDone && (is_change || !is_open)) {
        operations_.push_back(&operation);
      }
    }
    // Answered early, done early: the order that holds unless something took effect late.
    std::stable_sort(
        operations_.begin(), operations_.end(),
        [](const Operation* a, const Operation* b) { return end_of(*a) < end_of(*b); });
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      must_ |= end_of(*operations_[i]) == kNever ? 0 : std::uint64_t{1} << i;
    }
  }

  Verdict run() {
    const bool is_good = go_on(0, empty_);
    verdict_.judgement = is_good         ? Judgement::kLinearisable
                         : is_too_long() ? Judgement::kUndecided
                                         : Judgement::kRefused;
    if (verdict_.judgement == Judgement::kRefused) {
      verdict_.why = "no order explains all answers; at best all but:";
      for (std::size_t i = 0; i < operations_.size(); ++i) {
        if ((must_ & ~best_) >> i & 1) {
          verdict_.why += "\n  " + text_of(*operations_[i]);
        }
      }
    }
    return verdict_;
  }

 private:
  static Instant end_of(const Operation& operation) {
    return operation.answered == Answered::kNothing ? kNever : operation.ended;
  }

  bool is_too_long() const { return verdict_.configurations >= kConfigurationsMax; }

  /// The first answer among what was not done yet: nothing asked after it can come before it.
  Instant horizon(std::uint64_t done) const {
    Instant first = kNever;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if ((must_ & ~done) >> i & 1) {
        first = std::min(first, operations_[i]->ended);
      }
    }
    return first;
  }

  bool is_new(std::uint64_t done, const SingleCopy& copy) {
    std::string key = copy.key();
    key.append(reinterpret_cast<const char*>(&done), sizeof(done));
    return seen_.insert(std::move(key)).second;
  }

  bool go_on(std::uint64_t done, const SingleCopy& copy) {
    ++verdict_.configurations;
    if (std::popcount(done & must_) > std::popcount(best_ & must_)) {
      best_ = done;
    }
    if ((must_ & ~done) == 0) {
      return true;
    }
    const Instant until = horizon(done);
    for (std::size_t i = 0; i < operations_.size() && !is_too_long(); ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i;
      if ((done & bit) != 0 || operations_[i]->began > until) {
        continue;
      }
      SingleCopy next = copy;
      if (!next.apply(*operations_[i])) {
        continue;
      }
      // Without an effect it is as if it never happened, which need not be tried twice.
      const bool is_idle = (must_ & bit) == 0 && next.key() == copy.key();
      if (!is_idle && is_new(done | bit, next) && go_on(done | bit, next)) {
        return true;
      }
    }
    return false;
  }

  std::vector<const Operation*> operations_;
  SingleCopy empty_;
  std::uint64_t must_ = 0;  ///< Operations that were answered.
  std::uint64_t best_ = 0;
  std::unordered_set<std::string> seen_;
  Verdict verdict_;
};

}  // namespace

std::string_view text_of(Answered answered) {
  switch (answered) {
    case Answered::kNothing:
      return "unknown";
    case Answered::kNotDone:
      return "not_done";
    case Answered::kDone:
      return "done";
    case Answered::kConflict:
      return "conflict";
    case Answered::kNotFound:
      return "not_found";
  }
  return "";
}

std::string text_of(const Operation& operation) {
  return milliseconds(operation.began) + ".." + milliseconds(operation.ended) + " " + operation.by +
         ": " + text_of_asked(operation.asked) + " -> " + text_of_answer(operation);
}

Verdict judge(const std::vector<Operation>& history) {
  CHECK(history.size() <= kOperationsMax);
  Verdict verdict;
  const std::optional<Told> told = gather(history, verdict.why);
  if (!told.has_value()) {
    verdict.judgement = Judgement::kRefused;
    return verdict;
  }
  return Search(history, *told).run();
}

}  // namespace muster::sim
