#pragma once
// The attempts that the log knows: those that are not ENDED, and those that their jobs still list.
// Owned by Books; pure. What a fact does to an attempt is transition()'s answer (reservations.h).
//
// Invariants: what is live is known and not ENDED, and no other is; what is unclassed is ENDED.

#include <map>
#include <set>

#include "gossip/base/indexed_map.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

class AttemptBook {
 public:
  AttemptBook() = default;
  /// Of a snapshot; nothing is unclassed yet.
  explicit AttemptBook(std::map<Token, Attempt> attempts);

  const std::map<Token, Attempt>& all() const { return attempts_.map(); }
  /// Those that are not ENDED.
  const std::set<Token>& live() const { return live_; }
  /// ENDED ones that their jobs wait for: a failure that is not classed yet.
  const std::set<Token>& unclassed() const { return unclassed_; }
  bool is_live(const Token& token) const { return live_.contains(token); }
  const EdgeCounts& edges() const { return edges_; }

  /// Nothing for one that ended so long ago that only its being over is known.
  const Attempt* find(const Token& token) const;
  Attempt* find(const Token& token);
  /// Precondition: it is known.
  Attempt& at(const Token& token);

  /// One that is not ENDED.
  void add(Attempt attempt);
  /// Lets the fact change the attempt, and counts the edges that it took.
  Outcome feed(Attempt& attempt, const Fact& fact);
  /// An edge that no attempt of this book took.
  void count(Edge edge) { edges_.add(edge); }
  /// Unless it is live: then it still holds GPUs on silent hosts, and goes when it ends.
  void forget(const Token& token);
  void await_class(const Token& token) { unclassed_.insert(token); }
  void class_known(const Token& token) { unclassed_.erase(token); }

  /// In O(attempts).
  void check() const;

 private:
  IndexedMap<Token, Attempt> attempts_;
  std::set<Token> live_;       ///< Derived.
  std::set<Token> unclassed_;  ///< Derived from the jobs.
  EdgeCounts edges_;
};

}  // namespace muster::scheduler
