#include "scheduler/state/reservations.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/host_fault.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

/// In the order of the enumeration; the array's size is checked against it.
constexpr std::array<std::string_view, kEdgeCount> kEdgeNames = {
    "reserved",
    "decide_rejected",
    "ready_counted",
    "ready_repeated",
    "ready_other_pair",
    "ready_late",
    "started",
    "start_too_early",
    "start_late",
    "aborted_refused",
    "aborted_deadline",
    "aborted_cancelled",
    "aborted_condemned",
    "aborted_restarted",
    "aborted_suspended",
    "aborted_requeued",
    "aborted_preempted",
    "aborted_fenced",
    "abort_late",
    "stop_rank_failed",
    "stop_host_lost",
    "stop_cancelled",
    "stop_time_limit",
    "stop_preempted",
    "stop_suspended",
    "stop_requeued",
    "stop_early",
    "stop_repeated",
    "stop_ended_at_once",
    "failure_seen",
    "finish_counted",
    "finish_repeated",
    "finish_other_pair",
    "finish_early",
    "finish_after_expire",
    "completed_started",
    "completed_stopping",
    "ended_by_finish",
    "ended_by_expire",
    "ended_by_proof",
    "condemned",
    "condemn_kept",
    "pardoned",
    "pardon_void",
    "expired",
    "expire_void",
    "rekeyed",
    "proven_lost",
    "fenced",
    "ignored_ended",
    "ignored_stranger",
};
static_assert(!kEdgeNames.back().empty(), "an edge has no name");

Outcome only(Edge edge) {
  return Outcome{edge, edge, false, {}};
}

Edge abort_edge(Cause cause) {
  switch (cause) {
    case Cause::kDeadline:
      return Edge::kAbortedDeadline;
    case Cause::kCancelled:
      return Edge::kAbortedCancelled;
    case Cause::kCondemned:
      return Edge::kAbortedCondemned;
    case Cause::kRestarted:
      return Edge::kAbortedRestarted;
    case Cause::kFenced:
      return Edge::kAbortedFenced;
    case Cause::kSuspended:
      return Edge::kAbortedSuspended;
    case Cause::kRequeued:
      return Edge::kAbortedRequeued;
    case Cause::kPreempted:
      return Edge::kAbortedPreempted;
    case Cause::kNone:
    case Cause::kRefused:
    case Cause::kRecovered:
    case Cause::kRankFailed:
    case Cause::kHostLost:
    case Cause::kAgentDown:
    case Cause::kRanksLost:
    case Cause::kTimeLimit:
      return Edge::kAbortedRefused;
  }
  return Edge::kAbortedRefused;
}

Edge stop_edge(Cause cause) {
  switch (cause) {
    case Cause::kHostLost:
    case Cause::kAgentDown:
    case Cause::kRanksLost:
      return Edge::kStopHostLost;
    case Cause::kTimeLimit:
      return Edge::kStopTimeLimit;
    case Cause::kPreempted:
      return Edge::kStopPreempted;
    case Cause::kSuspended:
      return Edge::kStopSuspended;
    case Cause::kRequeued:
      return Edge::kStopRequeued;
    case Cause::kCancelled:
      return Edge::kStopCancelled;
    case Cause::kNone:
    case Cause::kRefused:
    case Cause::kRecovered:
    case Cause::kDeadline:
    case Cause::kCondemned:
    case Cause::kRestarted:
    case Cause::kFenced:
    case Cause::kRankFailed:
      return Edge::kStopRankFailed;
  }
  return Edge::kStopRankFailed;
}

/// Abort frees every member at once: no agent launches without a Start (PROTOCOL.md, 2).
Outcome abort(Attempt& attempt, Cause cause, const HostId& host) {
  Outcome outcome = only(abort_edge(cause));
  for (MemberRecord& record : attempt.members) {
    if (record.end == MemberEnd::kNone) {
      record.end = MemberEnd::kAborted;
      outcome.freed.push_back(record.member.host);
    }
  }
  attempt.state = AttemptState::kEnded;
  attempt.cause = cause;
  attempt.blamed = host;
  return outcome;
}

/// After a member's end: the attempt completes when every member succeeded, from STARTED or
/// STOPPING alike (rule 6), and ends with its last member only when a Stop was logged.
void settle(Attempt& attempt, Edge ended, Outcome& outcome) {
  if (attempt.outstanding() != 0) {
    return;
  }
  const bool success = std::all_of(attempt.members.begin(), attempt.members.end(),
                                   [](const MemberRecord& record) { return record.succeeded(); });
  if (!success && attempt.state != AttemptState::kStopping) {
    return;
  }
  outcome.has_then = true;
  outcome.then = ended;
  if (success) {
    outcome.then = attempt.state == AttemptState::kStarted ? Edge::kCompletedStarted
                                                           : Edge::kCompletedStopping;
  }
  attempt.completed = success;
  attempt.state = AttemptState::kEnded;
}

Outcome end_member(MemberRecord& record, MemberEnd end, Edge edge) {
  record.end = end;
  record.condemned = LogIndex();
  Outcome outcome = only(edge);
  outcome.freed.push_back(record.member.host);
  return outcome;
}

/// Keeps what the log already says of a rank: a failure that was logged may have queued the job
/// again, so no later word of the agent turns it into a success.
void merge_failures(MemberRecord& record, const std::vector<RankResult>& results) {
  for (const RankResult& result : results) {
    const bool known = std::any_of(record.results.begin(), record.results.end(),
                                   [&](const RankResult& old) { return old.rank == result.rank; });
    if (!known && record.results.size() < record.member.rank_count()) {
      record.results.push_back(result);
    }
  }
}

void take_results(MemberRecord& record, const std::vector<RankResult>& results) {
  merge_failures(record, results);
  std::sort(record.results.begin(), record.results.end(),
            [](const RankResult& a, const RankResult& b) { return a.rank < b.rank; });
}

Outcome on(Attempt& attempt, const fact::Ready& ready) {
  MemberRecord* record = attempt.find(ready.host);
  if (record == nullptr) {
    return only(Edge::kIgnoredStranger);
  }
  if (attempt.state != AttemptState::kReserved) {
    return only(Edge::kReadyLate);
  }
  if (record->member.start != ready.start) {
    return only(Edge::kReadyOtherPair);
  }
  if (record->ready) {
    return only(Edge::kReadyRepeated);
  }
  record->ready = true;
  if (record == &attempt.members.front()) {
    attempt.master = ready.master;
  }
  return only(Edge::kReadyCounted);
}

Outcome on(Attempt& attempt, const fact::Start& start) {
  if (attempt.state != AttemptState::kReserved) {
    return only(Edge::kStartLate);
  }
  if (!attempt.all_ready()) {
    return only(Edge::kStartTooEarly);
  }
  attempt.state = AttemptState::kStarted;
  attempt.started_at = start.at;
  return only(Edge::kStarted);
}

Outcome on(Attempt& attempt, const fact::Stop& stop) {
  if (attempt.state == AttemptState::kReserved) {
    return only(Edge::kStopEarly);
  }
  if (attempt.state == AttemptState::kStopping) {
    return only(Edge::kStopRepeated);
  }
  attempt.state = AttemptState::kStopping;
  attempt.cause = stop.cause;
  Outcome outcome = only(stop_edge(stop.cause));
  settle(attempt, Edge::kStopEndedAtOnce, outcome);
  return outcome;
}

Outcome on(Attempt& attempt, const fact::Finish& finish) {
  MemberRecord* record = attempt.find(finish.host);
  if (record == nullptr) {
    return only(Edge::kIgnoredStranger);
  }
  if (attempt.state == AttemptState::kReserved) {
    return only(Edge::kFinishEarly);
  }
  if (record->end == MemberEnd::kFinished) {
    return only(Edge::kFinishRepeated);
  }
  if (record->end != MemberEnd::kNone) {
    return only(Edge::kFinishAfterExpire);
  }
  if (record->member.start != finish.start) {
    return only(Edge::kFinishOtherPair);
  }
  if (!finish.last) {
    merge_failures(*record, finish.results);
    return only(Edge::kFailureSeen);
  }
  take_results(*record, finish.results);
  Outcome outcome = end_member(*record, MemberEnd::kFinished, Edge::kFinishCounted);
  settle(attempt, Edge::kEndedByFinish, outcome);
  return outcome;
}

Outcome on(Attempt& attempt, const fact::Abort& fact) {
  const bool accepted =
      attempt.state == AttemptState::kReserved ||
      (mutant(SchedulerMutant::kAbortAfterStart) && attempt.state == AttemptState::kStarted);
  if (!accepted) {
    return only(Edge::kAbortLate);
  }
  return abort(attempt, fact.cause, fact.host);
}

Outcome on(Attempt& attempt, const fact::Condemn& condemn) {
  MemberRecord* record = attempt.find(condemn.host);
  if (record == nullptr || record->end != MemberEnd::kNone) {
    return only(Edge::kIgnoredStranger);
  }
  if (attempt.state == AttemptState::kReserved) {
    return abort(attempt, Cause::kCondemned, condemn.host);
  }
  if (attempt.keep) {
    return only(Edge::kCondemnKept);
  }
  if (mutant(SchedulerMutant::kReuseBeforeExpire)) {
    Outcome early = end_member(*record, MemberEnd::kExpired, Edge::kCondemned);
    settle(attempt, Edge::kEndedByExpire, early);
    return early;
  }
  record->condemned = condemn.index;
  return only(Edge::kCondemned);
}

Outcome on(Attempt& attempt, const fact::Pardon& pardon) {
  MemberRecord* record = attempt.find(pardon.host);
  if (record == nullptr) {
    return only(Edge::kIgnoredStranger);
  }
  if (record->condemned == LogIndex()) {
    return only(Edge::kPardonVoid);
  }
  record->condemned = LogIndex();
  return only(Edge::kPardoned);
}

Outcome on(Attempt& attempt, const fact::Expire& expire) {
  MemberRecord* record = attempt.find(expire.host);
  if (record == nullptr) {
    return only(Edge::kIgnoredStranger);
  }
  const bool rests = record->condemned != LogIndex() && record->condemned == expire.condemn;
  const bool accepted = rests || mutant(SchedulerMutant::kExpireWithoutItsCondemn);
  if (record->end != MemberEnd::kNone || !accepted) {
    return only(Edge::kExpireVoid);
  }
  Outcome outcome = end_member(*record, MemberEnd::kExpired, Edge::kExpired);
  settle(attempt, Edge::kEndedByExpire, outcome);
  return outcome;
}

Outcome on(Attempt& attempt, const fact::Registered& fact) {
  MemberRecord* record = attempt.find(fact.host);
  if (record == nullptr || record->end != MemberEnd::kNone) {
    return only(Edge::kIgnoredStranger);
  }
  if (attempt.state == AttemptState::kReserved) {
    // Re-keying is for STARTED grants: READY does not survive a restart (rule 2), and without a
    // logged Start nothing can have been launched.
    return abort(attempt, Cause::kRestarted, fact.host);
  }
  // A reboot proves the death of all but durable exit evidence (rule 5).
  const bool alive = fact.listed && (fact.ended || !fact.rebooted);
  if (alive || mutant(SchedulerMutant::kKeepPairOnRegister)) {
    record->member.start = fact.start;
    return only(Edge::kRekeyed);
  }
  Outcome outcome = end_member(*record, MemberEnd::kLost, Edge::kProvenLost);
  settle(attempt, Edge::kEndedByProof, outcome);
  return outcome;
}

Outcome on(Attempt& attempt, const fact::Fenced& fact) {
  MemberRecord* record = attempt.find(fact.host);
  if (record == nullptr || record->end != MemberEnd::kNone) {
    return only(Edge::kIgnoredStranger);
  }
  if (attempt.state == AttemptState::kReserved) {
    return abort(attempt, Cause::kFenced, fact.host);
  }
  record->is_fenced = true;
  Outcome outcome = end_member(*record, MemberEnd::kLost, Edge::kFenced);
  settle(attempt, Edge::kEndedByProof, outcome);
  return outcome;
}

}  // namespace

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

std::string_view text_of(Edge edge) {
  return kEdgeNames[static_cast<std::size_t>(edge)];
}

const RankResult* MemberRecord::lost_rank() const {
  const auto lost = std::find_if(results.begin(), results.end(), [](const RankResult& result) {
    return result.kind == RankResult::Kind::kLost;
  });
  return lost == results.end() ? nullptr : &*lost;
}

bool MemberRecord::succeeded() const {
  if (end != MemberEnd::kFinished || results.size() != member.rank_count()) {
    return false;
  }
  // Rank by rank and in order, so that one good rank reported twice never hides a bad one.
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].rank != member.first_rank + i || !results[i].is_success()) {
      return false;
    }
  }
  return true;
}

MemberRecord* Attempt::find(const HostId& host) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const MemberRecord& record) {
    return record.member.host == host;
  });
  return found == members.end() ? nullptr : &*found;
}

const MemberRecord* Attempt::find(const HostId& host) const {
  return const_cast<Attempt*>(this)->find(host);
}

bool Attempt::all_ready() const {
  return std::all_of(members.begin(), members.end(),
                     [](const MemberRecord& record) { return record.ready; });
}

std::size_t Attempt::outstanding() const {
  return static_cast<std::size_t>(
      std::count_if(members.begin(), members.end(),
                    [](const MemberRecord& record) { return record.end == MemberEnd::kNone; }));
}

std::uint64_t Attempt::charge() const {
  std::uint64_t sum = 0;
  for (const MemberRecord& record : members) {
    sum += record.end == MemberEnd::kNone ? record.charge : 0;
  }
  return sum;
}

bool Attempt::has_failed_member() const {
  return std::any_of(members.begin(), members.end(), [](const MemberRecord& record) {
    const bool over = record.end != MemberEnd::kNone && record.end != MemberEnd::kAborted;
    const bool failed_early =
        std::any_of(record.results.begin(), record.results.end(),
                    [](const RankResult& result) { return !result.is_success(); });
    return (over && !record.succeeded()) || failed_early;
  });
}

const RankResult* Attempt::program_failure() const {
  for (const MemberRecord& record : members) {
    for (const RankResult& result : record.results) {
      const bool exited_badly = result.kind == RankResult::Kind::kExited && result.code != 0;
      const bool died = result.kind == RankResult::Kind::kSignalled ||
                        result.kind == RankResult::Kind::kNotStarted;
      if (!result.signalled_by_us && !is_host_fault(result) && (exited_badly || died)) {
        return &result;
      }
    }
  }
  return nullptr;
}

Outcome transition(Attempt& attempt, const Fact& fact) {
  CHECK(!attempt.members.empty());
  if (attempt.state == AttemptState::kEnded) {
    return only(Edge::kIgnoredEnded);
  }
  const Outcome outcome =
      std::visit([&attempt](const auto& known) { return on(attempt, known); }, fact);
  CHECK(attempt.state != AttemptState::kEnded || attempt.outstanding() == 0);
  return outcome;
}

void EdgeCounts::merge(const EdgeCounts& other) {
  for (std::size_t i = 0; i < kEdgeCount; ++i) {
    counts_[i] += other.counts_[i];
  }
}

std::vector<std::string_view> EdgeCounts::unreached() const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kEdgeCount; ++i) {
    if (counts_[i] == 0) {
      names.push_back(text_of(static_cast<Edge>(i)));
    }
  }
  return names;
}

}  // namespace muster::scheduler
