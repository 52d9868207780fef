#pragma once
// The attempts that the log knows: those that are not ENDED, and those that their jobs still list.
// Owned by Books; pure. transition() says what a fact does to an attempt (reservations.h).
//
// Invariants: an attempt is live if and only if it is known and not ENDED; what is unclassed is
// ENDED.

#include <map>
#include <set>

#include "gossip/base/indexed_map.h"
#include "scheduler/state/reservations.h"

namespace muster::scheduler {

class AttemptBook {
 public:
  AttemptBook() = default;
  /// From a snapshot; no attempt is unclassed yet.
  explicit AttemptBook(std::map<Token, Attempt> attempts);

  const std::map<Token, Attempt>& all() const { return attempts_.map(); }
  /// Attempts that are not ENDED.
  const std::set<Token>& live() const { return live_; }
  /// ENDED attempts with a failure that is not classed yet; their jobs wait for that.
  const std::set<Token>& unclassed() const { return unclassed_; }
  bool is_live(const Token& token) const { return live_.contains(token); }
  const EdgeCounts& edges() const { return edges_; }

  /// Null if the attempt is unknown or ended so long ago that it was forgotten.
  const Attempt* find(const Token& token) const;
  Attempt* find(const Token& token);
  /// Precondition: it is known.
  Attempt& at(const Token& token);

  /// Precondition: the attempt is not ENDED.
  void add(Attempt attempt);
  /// Applies the fact to the attempt, and counts the edges that it took.
  Outcome feed(Attempt& attempt, const Fact& fact);
  /// Counts an edge that no attempt of this book took.
  void count(Edge edge) { edges_.add(edge); }
  /// Does nothing while the attempt is live: it still holds GPUs on silent hosts. It is forgotten
  /// when it ends.
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
