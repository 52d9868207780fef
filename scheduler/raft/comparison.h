#pragma once
// Comparison: the questions of a starting voter to the others, before it speaks as a voter. Owned
// by Raft. A disk may report a write as durable and lose it, or be an older image of itself. A
// voter that goes on from it votes twice in a term, or elects a leader that lacks committed
// entries.
//
// The others answer with the highest mark that they heard from this seat, and with the last entry
// that they know to be committed. A disk that holds less than such a mark went back: its seat is
// given up. Else the voter enters the highest term that it heard of, without a vote there, and
// gives its vote to no candidate that lacks a committed entry.
//
// It is over when all hosts asked have answered: the voters known here, the hosts that an answer
// names, and those that spoke as a leader or a candidate. After kPatience a majority of the voters
// known here, this host included, is enough, or the leader: the known voters may have been
// replaced. If no voter is known, the patience begins with the first host that speaks, and again
// with the leader's answer. Facts known only to a host that did not answer stay unknown: a quorum
// that waited for everybody would bear no failure.
//
// The comparison of a copied directory never ends: the others cannot tell how old a copy is. It
// only learns whether another host leads without this copy; then the seat is given up, and no
// operator is needed.

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
  /// Added to kPatience if neither a majority of the voters known here nor a leader answers, but
  /// another host does.
  static constexpr Duration kPatienceWithStrangers = std::chrono::seconds(4);
  /// A leader that still leads this long after a copy started needs no voter here: check-quorum is
  /// over (twice RaftConfig::check_quorum, and a late tick), and the copy acknowledged no entry.
  static constexpr Duration kLeadsWithoutCopy = std::chrono::seconds(4);
  static constexpr Duration kAskEvery = std::chrono::milliseconds(250);
  /// Hosts asked beyond the voters known here. Later ones are not asked.
  static constexpr std::size_t kAlsoAskedMax = 32;

  /// `question` numbers it, unlike any other request of this host; `voters` may hold `self`.
  /// `is_of_copy`: RecoveredLog::is_copy.
  Comparison(HostId self, const std::vector<HostId>& voters, std::uint64_t question, Instant now,
             bool is_of_copy = false);

  std::uint64_t question() const { return question_; }
  /// Asks a leader, a candidate, or a voter of another host's configuration as well.
  void also_ask(HostId host, Instant now);
  /// Asks a host that is a learner as far as is known here: it may vote by now. Its answer is
  /// waited for like that of a voter, and counts towards no majority.
  void await_learner(HostId host, Instant now);
  /// The hosts to ask now, those that answered included: a leader that heard nothing from this
  /// voter for the time of the comparison would step down.
  std::vector<HostId> due(Instant now);
  void answered(HostId from, Term term, const Answer& answer, Instant now);
  bool is_over(Instant now) const;
  bool is_of_copy() const { return is_of_copy_; }
  /// Another host leads without this copy.
  bool is_replaceable() const { return is_of_copy_ && leader_answered_; }
  Instant next_deadline() const;

  /// The hosts asked besides the voters known here: another starting voter may not know of them.
  std::vector<HostId> asked_besides() const;
  std::size_t answers() const { return answered_.size(); }
  /// The highest term and commit position in the answers.
  Term term() const { return term_; }
  LogPosition commit() const { return commit_; }

 private:
  HostId self_;
  std::uint64_t question_;
  std::set<HostId> voters_;  ///< Without this host.
  std::size_t needed_ = 0;   ///< Answers of voters_ for a majority, with this host if it votes.
  Instant patient_until_;
  Instant ask_at_;
  bool is_of_copy_;
  Instant leads_without_at_;  ///< A leader's answer counts from then on.
  std::set<HostId> also_;
  std::set<HostId> learners_;
  std::set<HostId> answered_;
  bool leader_answered_ = false;
  Term term_;
  LogPosition commit_;
};

/// Marks: the highest words heard from each seat, for the questions of others. Owned by Raft, kept
/// in memory only.
class Marks {
 public:
  /// The seat spoke in `term`, after that term was durable there.
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
