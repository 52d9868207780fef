#include "scheduler/protocol/queues.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gossip/base/enum_table.h"
#include "gossip/base/name.h"
#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {
using gossip::Encoder;
using gossip::Reader;

struct TierText {
  Tier tier{};
  std::string_view text;
};
constexpr TierText kTierTexts[] = {
    {Tier::kNone, ""},           {Tier::kInteractive, "interactive"},
    {Tier::kBatch, "batch"},     {Tier::kStandard, "standard"},
    {Tier::kPremium, "premium"}, {Tier::kInference, "inference"},
};
static_assert(has_row_for_each(kTierTexts, &TierText::tier));

/// As written: QueueNode::time_limit_max that is not said.
constexpr Duration kNotSaid{-1};
/// And max_pending behind these, unless it is 0.
constexpr std::size_t kNodeElements = 8;

bool is_letter_or_digit(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

bool is_segment(std::string_view segment) {
  return !segment.empty() && segment.size() <= kQueueSegmentBytesMax &&
         is_letter_or_digit(segment.front()) &&
         std::all_of(segment.begin(), segment.end(), [](char byte) {
           return is_letter_or_digit(byte) || byte == '.' || byte == '_' || byte == '-';
         });
}

Error invalid_queue(const std::string& path, const std::string& what) {
  return {ErrorCode::kInvalid, "queue " + path + ": " + what};
}

Status check_amounts(const QueueNode& node, const QueueAmounts& amounts, const std::string& what) {
  if (amounts.size() > kQueueAmountsMax) {
    return invalid_queue(node.path, "more than " + std::to_string(kQueueAmountsMax) +
                                        " amounts are named as " + what);
  }
  for (const auto& [key, amount] : amounts) {
    if (!is_word_name(key) || folded(key) != key) {
      return invalid_queue(node.path, "an amount is of a GPU type in small letters, '" +
                                          std::string(kAllGpus) + "' or '" + std::string(kCpus) +
                                          "'; one of them is not");
    }
    if (amount > kQueueAmountMax) {
      return invalid_queue(node.path,
                           what + " " + key + " is above " + std::to_string(kQueueAmountMax));
    }
  }
  return ok();
}

Status check_tiers(const QueueNode& node) {
  for (auto tier = node.tiers.begin(); tier != node.tiers.end(); ++tier) {
    if (*tier == Tier::kNone || *tier > kTierLast) {
      return invalid_queue(node.path, "one of its tiers is no tier");
    }
    if (std::find(node.tiers.begin(), tier, *tier) != tier) {
      return invalid_queue(node.path, "tier " + std::string(text_of(*tier)) + " is named twice");
    }
  }
  return ok();
}

Status check_members(const QueueNode& node) {
  if (node.members.size() > kQueueMembersMax) {
    return invalid_queue(node.path, "it has more than " + std::to_string(kQueueMembersMax) +
                                        " members: make a team of them");
  }
  for (const std::string& member : node.members) {
    const bool is_team = member.starts_with('@');
    const bool is_good = is_team ? is_word_name(std::string_view(member).substr(1))
                                 : !member.empty() && is_line_name(member);
    if (!is_good || member.size() > kUserNameBytesMax) {
      return invalid_queue(node.path,
                           "a member is a login, or a team as @TEAM; one of them is not");
    }
  }
  std::vector<std::string> sorted = node.members;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end()
             ? ok()
             : Status(invalid_queue(node.path, "member " + *twice + " is named twice"));
}

Status check_node(const QueueNode& node) {
  if (Status path = check_queue_path(node.path); !path) {
    return path;
  }
  if (node.weight < 1 || node.weight > kQueueWeightMax) {
    return invalid_queue(node.path, "a weight is 1 to " + std::to_string(kQueueWeightMax));
  }
  if (parent_path(node.path) == kDefaultQueue) {
    return invalid_queue(node.path, "queue " + std::string(kDefaultQueue) +
                                        " is for jobs: there is no queue below it");
  }
  const auto limit = node.time_limit_max;
  const bool has_limit = limit.has_value() && *limit != kNoTimeLimit;
  if (has_limit && (*limit <= Duration::zero() || *limit > kSpanMax)) {
    return invalid_queue(node.path, "a time limit is above 0, and at most a year");
  }
  if (node.max_pending > kQueuePendingMax) {
    return invalid_queue(node.path, "max-pending is at most " + std::to_string(kQueuePendingMax));
  }
  if (Status amounts = check_amounts(node, node.guaranteed, "guaranteed"); !amounts) {
    return amounts;
  }
  if (Status amounts = check_amounts(node, node.max, "max"); !amounts) {
    return amounts;
  }
  if (Status tiers = check_tiers(node); !tiers) {
    return tiers;
  }
  return check_members(node);
}

struct PathLess {
  bool operator()(std::string_view a, std::string_view b) const { return path_less(a, b); }
};
using NodesByPath = std::map<std::string, const QueueNode*, PathLess>;

/// With parents that no node names, as null.
NodesByPath by_path(const QueueTree& tree) {
  NodesByPath nodes;
  for (const QueueNode& node : tree.nodes) {
    nodes[node.path] = &node;
    for (std::string_view up = parent_path(node.path); !up.empty(); up = parent_path(up)) {
      nodes.try_emplace(std::string(up), nullptr);
    }
  }
  return nodes;
}

/// The guarantees of the children of each queue, added up.
using Sums = std::map<std::string, QueueAmounts>;

std::map<std::string, QueueAmounts> guarantees_in(const NodesByPath& nodes, Sums& of_children) {
  std::map<std::string, QueueAmounts> guarantees;
  // Children stand behind their parent.
  for (auto each = nodes.rbegin(); each != nodes.rend(); ++each) {
    const auto& [path, node] = *each;
    QueueAmounts own = node == nullptr ? QueueAmounts() : node->guaranteed;
    for (const auto& [key, amount] : of_children[path]) {
      own.try_emplace(key, amount);
    }
    if (const std::string_view up = parent_path(path); !up.empty()) {
      QueueAmounts& sum = of_children[std::string(up)];
      for (const auto& [key, amount] : own) {
        sum[key] += amount;
      }
    }
    guarantees[path] = std::move(own);
  }
  return guarantees;
}

/// Guarantees that contradict those of the parent, or a maximum.
Status check_guarantees(const QueueNode& node, const QueueAmounts& guaranteed,
                        const QueueAmounts& of_children) {
  for (const auto& [key, sum] : of_children) {
    const auto own = node.guaranteed.find(key);
    if (own != node.guaranteed.end() && own->second < sum) {
      return invalid_queue(node.path, "the queues below it are guaranteed " + std::to_string(sum) +
                                          " " + key + ", it itself " + std::to_string(own->second));
    }
  }
  std::uint64_t of_types = 0;
  for (const auto& [key, amount] : guaranteed) {
    const auto max = node.max.find(key);
    if (max != node.max.end() && max->second < amount) {
      return invalid_queue(node.path, "its max " + key + " " + std::to_string(max->second) +
                                          " is below the guaranteed " + std::to_string(amount));
    }
    of_types += key == kAllGpus || key == kCpus ? 0 : amount;
  }
  const auto max = node.max.find(kAllGpus);
  return max == node.max.end() || max->second >= of_types
             ? ok()
             : Status(invalid_queue(node.path, "its max gpus " + std::to_string(max->second) +
                                                   " is below the guaranteed " +
                                                   std::to_string(of_types) + " of all types"));
}

void write_amounts(Encoder& out, const QueueAmounts& amounts) {
  out.array(amounts.size() * 2);
  for (const auto& [key, amount] : amounts) {
    out.text(key).u64(amount);
  }
}

QueueAmounts read_amounts(Reader& in) {
  QueueAmounts amounts;
  Reader list = in.array_at_most(kQueueAmountsMax * 2);
  while (list.ok() && list.left() > 0) {
    std::string key = list.text(kWordNameBytesMax);
    amounts[std::move(key)] = list.u64_at_most(kQueueAmountMax);
  }
  return amounts;
}

void write_node(Encoder& out, const QueueNode& node) {
  out.array(kNodeElements + (node.max_pending == 0 ? 0 : 1)).text(node.path).u64(node.weight);
  write_amounts(out, node.guaranteed);
  write_amounts(out, node.max);
  out.array(node.tiers.size());
  for (const Tier tier : node.tiers) {
    out.u64(static_cast<std::uint64_t>(tier));
  }
  write(out, node.members);
  out.boolean(node.is_fifo).duration(node.time_limit_max.value_or(kNotSaid));
  if (node.max_pending != 0) {
    out.u64(node.max_pending);
  }
}

QueueNode read_node(Reader& outer) {
  Reader in = outer.array();
  QueueNode node;
  node.path = in.text(kQueuePathBytesMax);
  node.weight = static_cast<std::uint32_t>(in.u64_at_most(kQueueWeightMax));
  node.guaranteed = read_amounts(in);
  node.max = read_amounts(in);
  Reader tiers = in.array_at_most(static_cast<std::size_t>(kTierLast));
  while (tiers.ok() && tiers.left() > 0) {
    node.tiers.push_back(
        static_cast<Tier>(tiers.u64_at_most(static_cast<std::uint64_t>(kTierLast))));
  }
  Reader members = in.array_at_most(kQueueMembersMax);
  while (members.ok() && members.left() > 0) {
    node.members.push_back(members.text(kUserNameBytesMax));
  }
  node.is_fifo = in.boolean();
  if (const Duration limit = in.duration(); limit != kNotSaid) {
    node.time_limit_max = limit;
  }
  if (in.left() > 0) {
    node.max_pending = in.u64_at_most(kQueuePendingMax);
  }
  return node;
}

/// An answer holds the tree twice over: with what its queues hold.
constexpr std::size_t kQueueTreeBytesMax = 384 << 10;

/// About the bytes of the tree as it travels, without its parents that no node names.
std::size_t bytes_of(const QueueTree& tree) {
  constexpr std::size_t kNodeBytes = 64;
  constexpr std::size_t kTextBytes = 3;
  constexpr std::size_t kAmountBytes = 12;
  std::size_t bytes = 0;
  for (const QueueNode& node : tree.nodes) {
    bytes += kNodeBytes + node.path.size();
    for (const std::string& member : node.members) {
      bytes += kTextBytes + member.size();
    }
    for (const QueueAmounts* amounts : {&node.guaranteed, &node.max}) {
      for (const auto& [key, amount] : *amounts) {
        bytes += kAmountBytes + key.size();
      }
    }
  }
  return bytes;
}

}  // namespace

std::string_view text_of(Tier tier) {
  const TierText* row = find_row(kTierTexts, &TierText::tier, tier);
  return row == nullptr ? "" : row->text;
}

std::optional<Tier> tier_of(std::string_view text) {
  const TierText* row = find_row(kTierTexts, &TierText::text, text);
  return row == nullptr ? std::nullopt : std::optional(row->tier);
}

std::string_view pool_words(std::string_view pool) {
  return pool == kAllGpus                    ? "GPUs"
         : pool == kCpus || pool == kCpuPool ? "CPUs"
         : pool == kOtherPool                ? "other GPUs"
                                             : "";
}

bool path_less(std::string_view a, std::string_view b) {
  const auto rank = [](char byte) {
    return byte == '/' ? 0U : 1U + static_cast<std::uint8_t>(byte);
  };
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(),
      [&](char left, char right) { return rank(left) < rank(right); });
}

std::string_view parent_path(std::string_view path) {
  const std::size_t at = path.rfind('/');
  return at == std::string_view::npos ? std::string_view() : path.substr(0, at);
}

Status check_queue_path(std::string_view path) {
  bool is_path = path.size() <= kQueuePathBytesMax;
  std::size_t depth = 0;
  for (std::string_view left = path; is_path;) {
    const std::size_t at = left.find('/');
    is_path = is_segment(left.substr(0, at)) && ++depth <= kQueueDepthMax;
    if (at == std::string_view::npos) {
      break;
    }
    left.remove_prefix(at + 1);
  }
  // The text does not repeat the path: it may steer a terminal.
  return is_path ? ok()
                 : Status(Error{ErrorCode::kInvalid,
                                "not a valid path of a queue: it is at most " +
                                    std::to_string(kQueueDepthMax) +
                                    " names with '/' between them, each of 1 to " +
                                    std::to_string(kQueueSegmentBytesMax) +
                                    " letters, digits and ._-, a letter or digit first, together " +
                                    std::to_string(kQueuePathBytesMax) + " bytes"});
}

Status validate(const QueueTree& tree) {
  if (tree.half_life < kHalfLifeMin || tree.half_life > kHalfLifeMax) {
    return Error{ErrorCode::kInvalid, "the half-life of usage is 1 hour to 365 days"};
  }
  if (tree.nodes.size() > kQueuesMax) {
    return Error{ErrorCode::kInvalid,
                 "there are more than " + std::to_string(kQueuesMax) + " queues"};
  }
  const QueueNode* before = nullptr;
  for (const QueueNode& node : tree.nodes) {
    if (Status good = check_node(node); !good) {
      return good;
    }
    if (before != nullptr && !path_less(before->path, node.path)) {
      return invalid_queue(node.path, before->path == node.path
                                          ? "it is named twice"
                                          : "it stands behind queue " + before->path +
                                                ": queues are in the order of their paths");
    }
    before = &node;
  }
  if (bytes_of(tree) > kQueueTreeBytesMax) {
    return Error{ErrorCode::kInvalid, "the names of all queues and members take more than " +
                                          std::to_string(kQueueTreeBytesMax >> 10) + " KiB"};
  }
  const NodesByPath nodes = by_path(tree);
  if (nodes.size() > 2 * kQueuesMax) {
    return Error{ErrorCode::kInvalid, "with the parents that no table names there are more than " +
                                          std::to_string(2 * kQueuesMax) + " queues"};
  }
  Sums of_children;
  const auto guarantees = guarantees_in(nodes, of_children);
  for (const QueueNode& node : tree.nodes) {
    if (Status good = check_guarantees(node, guarantees.at(node.path), of_children[node.path]);
        !good) {
      return good;
    }
  }
  return ok();
}

std::map<std::string, QueueAmounts> guarantees_of(const QueueTree& tree) {
  Sums of_children;
  return guarantees_in(by_path(tree), of_children);
}

void write(Encoder& out, const QueueTree& tree) {
  out.array(2).duration(tree.half_life).array(tree.nodes.size());
  for (const QueueNode& node : tree.nodes) {
    write_node(out, node);
  }
}

QueueTree read_queue_tree(Reader& outer) {
  Reader in = outer.array();
  QueueTree tree;
  tree.half_life = in.duration();
  Reader nodes = in.array_at_most(kQueuesMax);
  while (nodes.ok() && nodes.left() > 0) {
    tree.nodes.push_back(read_node(nodes));
  }
  return tree;
}

void write(Encoder& out, const QueueMove& move) {
  out.array(2).text(move.from).text(move.to);
}

QueueMove read_queue_move(Reader& outer) {
  Reader in = outer.array();
  QueueMove move;
  move.from = in.text(kQueuePathBytesMax);
  move.to = in.text(kQueuePathBytesMax);
  return move;
}

void write(Encoder& out, const entry::SetQueues& fact) {
  out.u64(fact.expected);
  write(out, fact.tree);
  out.array(fact.moves.size());
  for (const QueueMove& move : fact.moves) {
    write(out, move);
  }
  write(out, fact.by);
}

entry::SetQueues read_set_queues(Reader& in) {
  entry::SetQueues fact;
  fact.expected = in.u64();
  fact.tree = read_queue_tree(in);
  Reader moves = in.array_at_most(kQueueMovesMax);
  while (moves.ok() && moves.left() > 0) {
    fact.moves.push_back(read_queue_move(moves));
  }
  fact.by = read_subject(in);
  return fact;
}

}  // namespace muster::scheduler
