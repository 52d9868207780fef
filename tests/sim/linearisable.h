#pragma once
// Judges whether a history of clients is linearisable: each operation could have
// happened at one instant between its question and its answer, one after the other, by the rules
// of a single copy (Herlihy and Wing 1990; the search is Wing and Gong's, with Lowe's memory of the
// configurations that led nowhere).
//
// The single copy: submit(key) gives the next number to a key that is new, and the old one to a key
// that is known; a word of an operator does what the table of scheduler/state/job_life.h says; a
// consistent read tells every job, or one job's whole life. Between operations jobs move by
// themselves wherever that table lets their attempts move them, so what is kept of a job is the set
// of all points of its life at which it may be. An operation without an answer may take effect at
// any later instant, or never; one that was said to be surely not done never does.
//
// Jobs are not taken apart: numbers are given in one order, and a list shows all jobs at one
// instant. Pure; knows no simulator.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "scheduler/state/job_life.h"

namespace muster::sim {

struct SubmitAsked {
  std::string key;  ///< Also the job's name, by which reads tell whose it is.
};
struct WordAsked {
  scheduler::JobEvent word = scheduler::JobEvent::kCancel;
  JobId job;
};
struct ShowAsked {
  JobId job;
};
struct ListAsked {};
using Asked = std::variant<SubmitAsked, WordAsked, ShowAsked, ListAsked>;

enum class Answered : std::uint8_t {
  kNothing,   ///< No answer, or that it is unknown: it may have happened, or happen later.
  kNotDone,   ///< Surely not done.
  kDone,      ///< A read: what was seen.
  kConflict,  ///< An operator's word was refused by the job's state.
  kNotFound,  ///< There is no such job.
};

/// One job as a read saw it.
struct Sighting {
  JobId job;
  std::string name;
  scheduler::JobState state = scheduler::JobState::kQueued;
  std::uint32_t attempt = 0;
  /// Every state since its submit, the present one last; empty when the read did not tell.
  std::vector<scheduler::JobState> life;
};

struct Operation {
  Asked asked;
  Answered answered = Answered::kNothing;
  Instant began{};
  Instant ended = kNever;      ///< When the answer came; counts unless kNothing.
  JobId job;                   ///< The number that a submit was given.
  std::vector<Sighting> seen;  ///< By a read that is kDone: of a list all jobs, by number.
  std::string by;              ///< The client and the host it asked, for people.
};

/// One line for people.
std::string text_of(const Operation& operation);
/// "unknown", "not_done", "done", "conflict", "not_found".
std::string_view text_of(Answered answered);

enum class Judgement : std::uint8_t {
  kLinearisable,
  kRefused,
  kUndecided,  ///< The search was given up: its bound is kConfigurationsMax.
};
struct Verdict {
  Judgement judgement = Judgement::kLinearisable;
  std::string why;                   ///< Of a refusal.
  std::uint64_t configurations = 0;  ///< Looked at.
};

/// A longer history is not judged: what was done is kept as the bits of one number.
inline constexpr std::size_t kOperationsMax = 64;
inline constexpr std::uint64_t kConfigurationsMax = 2'000'000;

/// Precondition: at most kOperationsMax operations.
Verdict judge(const std::vector<Operation>& history);

}  // namespace muster::sim
