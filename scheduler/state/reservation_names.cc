#include "scheduler/state/reservations.h"

namespace muster::scheduler {

std::string_view text_of(AttemptState state) {
  switch (state) {
    case AttemptState::kReserved:
      return "RESERVED";
    case AttemptState::kStarted:
      return "STARTED";
    case AttemptState::kStopping:
      return "STOPPING";
    case AttemptState::kEnded:
      return "ENDED";
  }
  return "";
}

namespace {

/// In the order of the enumeration; the array's size is checked against it.
constexpr std::array<std::string_view, kEdgeCount> kEdgeNames = {
    "reserved",          "decide_rejected",
    "ready_counted",     "ready_repeated",
    "ready_other_pair",  "ready_late",
    "started",           "start_too_early",
    "start_late",        "aborted_refused",
    "aborted_deadline",  "aborted_cancelled",
    "aborted_condemned", "aborted_restarted",
    "aborted_suspended", "aborted_requeued",
    "aborted_fenced",    "abort_late",
    "stop_rank_failed",  "stop_host_lost",
    "stop_cancelled",    "stop_time_limit",
    "stop_preempted",    "stop_suspended",
    "stop_requeued",     "stop_early",
    "stop_repeated",     "stop_ended_at_once",
    "failure_seen",      "finish_counted",
    "finish_repeated",   "finish_other_pair",
    "finish_early",      "finish_after_expire",
    "completed_started", "completed_stopping",
    "ended_by_finish",   "ended_by_expire",
    "ended_by_proof",    "condemned",
    "condemn_kept",      "pardoned",
    "pardon_void",       "expired",
    "expire_void",       "rekeyed",
    "proven_lost",       "fenced",
    "ignored_ended",     "ignored_stranger",
};
static_assert(!kEdgeNames.back().empty(), "an edge has no name");

}  // namespace

std::string_view text_of(Edge edge) {
  return kEdgeNames[static_cast<std::size_t>(edge)];
}

}  // namespace muster::scheduler
