#pragma once
// What a voter that starts asks the others before it says anything as a voter. A disk
// may say that a write is durable and lose it, or be an older image of itself: whoever goes on from
// it votes twice in one term, or helps to elect a leader without what it acknowledged.
//
// The others answer with the highest mark that they heard from this seat, and with what they know
// to be committed. A disk that holds less than such a mark went back: its seat is given up. Else
// the voter enters the highest term that it heard of, without a vote there, and helps nobody to
// lead who lacks what is committed.
//
// It is over when all have answered, those too whom an answer names and who spoke as a leader or a
// candidate; or, after kPatience, a majority of those known here with this host, or whoever leads
// (the voters known here may have been replaced, or none is known yet: then the patience begins
// with the first that speaks, and once more with the leader's answer). What only a host knew that
// did not answer stays unknown: a quorum that waited for everybody would bear no failure.
//
// That of a directory that was copied never ends so: an old copy knows too little for others to
// know how little. It learns only whether somebody leads without it, and then needs no word of an
// operator: its seat is given up.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "scheduler/raft/types.h"

namespace muster::scheduler {

class Comparison {
 public:
  /// Lower: a live voter that is slow to reach is passed over. Higher: with one voter down, the
  /// restart of another stops the quorum for longer.
  static constexpr Duration kPatience = std::chrono::milliseconds(1000);
  /// So much longer when none but candidates answer who are no voters known here.
  static constexpr Duration kPatienceWithStrangers = std::chrono::seconds(4);
  /// A leader that still leads so long after a copy started needs no voter here: check-quorum is
  /// over (twice RaftConfig::check_quorum, and a late tick), and the copy acknowledged nothing.
  static constexpr Duration kLeadsWithoutCopy = std::chrono::seconds(4);
  static constexpr Duration kAskEvery = std::chrono::milliseconds(250);
  /// Beyond the voters known here; whoever comes later is not asked.
  static constexpr std::size_t kAlsoAskedMax = 32;

  /// `question` numbers it, unlike any other request of this host; `voters` may hold `self`.
  /// `is_of_copy`: RecoveredLog::is_copy.
  Comparison(HostId self, const std::vector<HostId>& voters, std::uint64_t question, Instant now,
             bool is_of_copy = false);

  std::uint64_t question() const { return question_; }
  /// Who leads, or wants to, or votes elsewhere may be none of the voters known here.
  void also_ask(HostId host, Instant now);
  /// One that receives the log without a vote, as far as is known here, may have got one since: its
  /// answer is waited for as a voter's is, and decides nothing.
  void await_learner(HostId host, Instant now);
  /// Whom to ask now, and again later, even who answered: a leader that heard nothing for as long
  /// as this may take would step down.
  std::vector<HostId> due(Instant now);
  void answered(HostId from, Term term, const Answer& answer, Instant now);
  bool is_over(Instant now) const;
  bool is_of_copy() const { return is_of_copy_; }
  /// Somebody leads without this copy.
  bool is_replaceable() const { return is_of_copy_ && leader_answered_; }
  Instant next_deadline() const;

  /// Whom it asks besides the voters known here: whoever starts as well may not know of them.
  std::vector<HostId> asked_besides() const;
  std::size_t answers() const { return answered_.size(); }
  /// The highest that were heard of.
  Term term() const { return term_; }
  LogPosition commit() const { return commit_; }

 private:
  HostId self_;
  std::uint64_t question_;
  std::set<HostId> voters_;  ///< Without this host.
  std::size_t needed_ = 0;   ///< Of them, for a majority with this host if it votes.
  Instant patient_until_;
  Instant ask_at_;
  bool is_of_copy_;
  Instant leads_without_at_;  ///< From then on a leader's answer counts, at a copy.
  std::set<HostId> also_;
  std::set<HostId> learners_;
  std::set<HostId> answered_;
  bool leader_answered_ = false;
  Term term_;
  LogPosition commit_;
};

/// What this host heard of the disks of others, for their questions. In memory alone.
class Marks {
 public:
  /// It spoke in that term, with that durable.
  void heard(HostId host, SeatId seat, Term term);
  void heard_vote(HostId host, SeatId seat, Term term);
  void heard_match(HostId host, SeatId seat, Term term, LogPosition match);
  Mark of(HostId host, SeatId seat) const;

 private:
  /// Seats come and go slowly: more than the members of any configuration.
  static constexpr std::size_t kMax = 64;
  std::map<std::pair<HostId, SeatId>, Mark> marks_;
};

}  // namespace muster::scheduler
