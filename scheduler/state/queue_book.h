#pragma once
// QueueBook: the tree of queues as the log has it, with the parents that its owners left out and
// the queue kDefaultQueue. It knows no jobs and no shares. Owned by Books; pure.
//
// Invariants: queue 0 is the root, which has no path and no limits; a parent has a lower number
// than its children; numbers follow path_less() and hold for one version of the tree. Version 0:
// nobody has set queues, the tree is kDefaultQueue alone, and jobs have no default time limits.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/protocol/queues.h"

namespace muster::scheduler {

/// Index in QueueBook::all(). Never logged and never sent.
enum class QueueNumber : std::uint32_t {};
constexpr std::uint32_t index_of(QueueNumber number) {
  return static_cast<std::uint32_t>(number);
}
inline constexpr QueueNumber kRootQueue{0};

struct QueueRecord {
  QueueNode node;
  QueueNumber parent = kRootQueue;    ///< Of the root: itself.
  std::vector<QueueNumber> children;  ///< In the order of their paths. Empty: it is a leaf.
  QueueAmounts guaranteed;            ///< As guarantees_of() says.
  bool operator==(const QueueRecord&) const = default;

  bool is_leaf() const { return children.empty(); }
};

class QueueBook {
 public:
  /// Version 0.
  QueueBook() : QueueBook(0, QueueTree()) {}
  /// Precondition: validate(tree).
  QueueBook(std::uint64_t version, QueueTree tree);

  /// Counts the changes; 0 = nobody has set queues.
  std::uint64_t version() const { return version_; }
  bool is_set() const { return version_ != 0; }
  /// As its owners wrote it.
  const QueueTree& tree() const { return tree_; }
  Duration half_life() const { return tree_.half_life; }
  /// By number, the root first.
  const std::vector<QueueRecord>& all() const { return queues_; }
  /// Precondition: it is a number of this tree.
  const QueueRecord& at(QueueNumber number) const { return queues_.at(index_of(number)); }
  /// nullopt if there is no such queue; the root has no path.
  std::optional<QueueNumber> find(std::string_view path) const;
  /// The queue of that path; if it is gone, kDefaultQueue: every attempt is charged somewhere.
  QueueNumber number_of(std::string_view path) const;

  // Settings that a queue inherits from those above it. Precondition: it is a number of this tree.
  /// The tiers of its jobs, the default first.
  std::vector<Tier> tiers(QueueNumber number) const;
  /// Empty: everybody.
  const std::vector<std::string>& members(QueueNumber number) const;
  /// nullopt: any limit, but not none. kNoTimeLimit: none is allowed.
  std::optional<Duration> time_limit_max(QueueNumber number) const;

  bool operator==(const QueueBook&) const = default;

 private:
  std::uint64_t version_ = 0;
  QueueTree tree_;
  std::vector<QueueRecord> queues_;
  std::map<std::string, QueueNumber, std::less<>> numbers_;
};

}  // namespace muster::scheduler
