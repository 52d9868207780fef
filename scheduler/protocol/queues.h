#pragma once
// The tree of queues in the log: which teams share the fleet, their guarantees, limits and weights,
// and the tiers of jobs. One entry replaces the whole tree. scheduler/state/queue_book.h says what
// a tree means for a job, scheduler/state/queue_rules.h what the entry does.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "gossip/wire/wire.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

/// The tier of a job: in one queue the higher tier goes first. Numbers as logged; higher = first.
enum class Tier : std::uint8_t {
  kNone = 0,  ///< Not said: the first tier of its queue.
  kInteractive = 1,
  kBatch = 2,
  kStandard = 3,
  kPremium = 4,
  kInference = 5,
};
inline constexpr Tier kTierLast = Tier::kInference;
/// "", "interactive", "batch", "standard", "premium", "inference".
std::string_view text_of(Tier tier);
/// nullopt if it is no tier; "" is Tier::kNone.
std::optional<Tier> tier_of(std::string_view text);

/// Queues that a tree names, without parents that it leaves out.
inline constexpr std::size_t kQueuesMax = 1024;
inline constexpr std::size_t kQueueDepthMax = 8;
inline constexpr std::size_t kQueuePathBytesMax = 255;
inline constexpr std::size_t kQueueSegmentBytesMax = 64;
inline constexpr std::uint32_t kQueueWeightMax = 1000;
/// GPUs or CPUs of one amount.
inline constexpr std::uint64_t kQueueAmountMax = 10'000'000;
/// Jobs of QueueNode::max_pending.
inline constexpr std::uint64_t kQueuePendingMax = 1'000'000;
/// Amounts of one queue, for each of guaranteed and max; members of one queue; moves of one entry.
inline constexpr std::size_t kQueueAmountsMax = 64;
inline constexpr std::size_t kQueueMembersMax = 1000;
inline constexpr std::size_t kQueueMovesMax = 1024;
/// The keys of amounts that are no GPU type: GPUs over all types, and CPUs of jobs without GPUs.
inline constexpr std::string_view kAllGpus = "gpus";
inline constexpr std::string_view kCpus = "cpus";
/// The name of the pool of jobs without GPUs. No GPU type is folded to it: it has a space.
inline constexpr std::string_view kCpuPool = "no gpu";
/// The pool of GPU types that have none of their own.
inline constexpr std::string_view kOtherPool = "other gpus";
/// For people: "GPUs" for kAllGpus, "CPUs" for kCpus and kCpuPool, "other GPUs" for kOtherPool; ""
/// for a GPU type.
std::string_view pool_words(std::string_view pool);
/// The queue of jobs that name none and whose user is a member of none. It exists in every tree.
inline constexpr std::string_view kDefaultQueue = "default";
/// In QueueNode::time_limit_max and in the spec of a Submit: the job may run for ever.
inline constexpr Duration kNoTimeLimit = Duration::max();
inline constexpr Duration kHalfLifeMin = std::chrono::hours(1);
inline constexpr Duration kHalfLifeMax = std::chrono::hours(24 * 365);
inline constexpr Duration kHalfLifeDefault = std::chrono::hours(24 * 7);

/// By folded GPU type, kAllGpus or kCpus.
using QueueAmounts = std::map<std::string, std::uint64_t, std::less<>>;

/// A queue as its owners describe it: what is not said is empty.
struct QueueNode {
  std::string path;          ///< "research/nlp"; parents that no node names have the defaults.
  std::uint32_t weight = 1;  ///< 1 to kQueueWeightMax, among its siblings.
  /// A parent that names no amount of a key has the sum of its children there.
  QueueAmounts guaranteed{};
  QueueAmounts max{};  ///< No limit for keys that are missing.
  /// The tiers that its jobs may have, the first one for those that name none. Empty: those of its
  /// parent; at the top all of them, and Tier::kStandard first.
  std::vector<Tier> tiers{};
  /// Logins, and teams as "@TEAM". Empty: those of its parent; at the top everybody.
  std::vector<std::string> members{};
  bool is_fifo = false;  ///< Its users share one leaf; else each has one of equal weight.
  /// The longest time limit of its jobs. nullopt: that of its parent; at the top no limit, though
  /// then a job has to have one. kNoTimeLimit: a job may have none.
  std::optional<Duration> time_limit_max{};
  /// Jobs that may wait in it and below it, tasks of arrays among them: 1 to kQueuePendingMax. 0:
  /// no limit. A leader refuses submits beyond it; the log does not know it.
  std::uint64_t max_pending = 0;
  bool operator==(const QueueNode&) const = default;
};

struct QueueTree {
  Duration half_life = kHalfLifeDefault;  ///< Of counted usage.
  std::vector<QueueNode> nodes;           ///< In the order of path_less(), each path once.
  bool operator==(const QueueTree&) const = default;
};

/// The jobs of a queue, and of those below it, go to another one. `from` is not in the new tree.
struct QueueMove {
  std::string from;
  std::string to;
  bool operator==(const QueueMove&) const = default;
};

namespace entry {
/// Replaces the tree of queues.
struct SetQueues {
  std::uint64_t expected = 0;  ///< QueueBook::version() that the change was made from.
  QueueTree tree;
  std::vector<QueueMove> moves;
  Subject by;
  bool operator==(const SetQueues&) const = default;
};
}  // namespace entry

/// Parents stand right before their children: '/' is lower than any other byte.
bool path_less(std::string_view a, std::string_view b);
/// "" for a queue at the top.
std::string_view parent_path(std::string_view path);
/// kInvalid unless it has at most kQueueDepthMax segments of letters, digits, '.', '_' and '-',
/// each of which begins with a letter or digit.
Status check_queue_path(std::string_view path);
/// kInvalid names the queue, and what is wrong: paths, weights, amounts, a child's guarantees above
/// those of its parent, a maximum below the guarantee, tiers named twice. Looks at one tree alone.
Status validate(const QueueTree& tree);
/// The guarantees of a queue: those that it names, and for other keys the sum of its children.
/// By path, for every queue of the tree and parents that it leaves out.
std::map<std::string, QueueAmounts> guarantees_of(const QueueTree& tree);

/// [half-life, nodes]
void write(gossip::Encoder& out, const QueueTree& tree);
/// Fails the reader beyond the limits above; does not validate otherwise.
QueueTree read_queue_tree(gossip::Reader& in);
void write(gossip::Encoder& out, const QueueMove& move);
QueueMove read_queue_move(gossip::Reader& in);

/// Number of elements behind the header of the entry.
inline constexpr std::size_t kSetQueuesElements = 4;
void write(gossip::Encoder& out, const entry::SetQueues& fact);
entry::SetQueues read_set_queues(gossip::Reader& in);

}  // namespace muster::scheduler
