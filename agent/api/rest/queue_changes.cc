#include "agent/api/rest/queue_changes.h"

#include <utility>

namespace muster::agent {
namespace {

using scheduler::QueueNode;

std::string joined_words(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : separator).append(word);
  }
  return text;
}

/// "1h30m"
std::string span_text(Duration span) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};
  std::int64_t rest_ms = to_ms(span);
  std::string text;
  for (const auto& [name, ms] : kUnits) {
    if (rest_ms >= ms) {
      text.append(std::to_string(rest_ms / ms)).append(name);
      rest_ms %= ms;
    }
  }
  return text.empty() ? "0" : text;
}

std::string pool_text(std::string_view key) {
  if (const std::string_view words = scheduler::pool_words(key); !words.empty()) {
    return std::string(words);
  }
  std::string name(key);
  for (char& letter : name) {
    letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return name;
}

std::string amounts_words(const scheduler::QueueAmounts& amounts) {
  std::vector<std::string> types;
  std::vector<std::string> sums;
  for (const auto& [key, amount] : amounts) {
    const bool is_sum = key == scheduler::kAllGpus || key == scheduler::kCpus;
    (is_sum ? sums : types).push_back(std::to_string(amount) + " " + pool_text(key));
  }
  // "cpus" stands before "gpus" in the map.
  types.insert(types.end(), sums.rbegin(), sums.rend());
  return types.empty() ? "none" : joined_words(types, ", ");
}

std::string tiers_words(const std::vector<scheduler::Tier>& tiers) {
  std::vector<std::string> names;
  for (const scheduler::Tier tier : tiers) {
    names.emplace_back(text_of(tier));
  }
  return joined_words(names, ", ");
}

/// The keys of a queue with their values in words.
std::vector<std::pair<std::string, std::string>> words_of_queue(const QueueNode& node) {
  constexpr char kInheritedList[] = "those of its parent";
  return {
      {"weight", std::to_string(node.weight)},
      {"guaranteed", amounts_words(node.guaranteed)},
      {"max", amounts_words(node.max)},
      {"tiers", node.tiers.empty() ? kInheritedList : tiers_words(node.tiers)},
      {"members", node.members.empty() ? kInheritedList : joined_words(node.members, ", ")},
      {"users", node.is_fifo ? "fifo" : "fair"},
      {"time-limit-max", !node.time_limit_max.has_value() ? "that of its parent"
                         : *node.time_limit_max == scheduler::kNoTimeLimit
                             ? "none"
                             : span_text(*node.time_limit_max)},
      {"max-pending", node.max_pending == 0 ? "none" : std::to_string(node.max_pending)},
  };
}

/// "weight 4 (was 1); users fifo (was fair)"; without what was if the queue is new.
std::string changes_of_queue(const QueueNode& now, const QueueNode& next, bool is_new) {
  const auto before = words_of_queue(now);
  const auto after = words_of_queue(next);
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i].second != after[i].second) {
      changes.push_back(after[i].first + " " + after[i].second +
                        (is_new ? "" : " (was " + before[i].second + ")"));
    }
  }
  return joined_words(changes, "; ");
}

}  // namespace

std::vector<std::string> queue_changes(const scheduler::QueueTree& now,
                                       const scheduler::QueueTree& next) {
  std::vector<std::string> lines;
  const std::string before = span_text(now.half_life);
  const std::string after = span_text(next.half_life);
  if (before != after) {
    lines.push_back("half-life " + after + " (was " + before + ")");
  }
  auto old_node = now.nodes.begin();
  auto new_node = next.nodes.begin();
  while (old_node != now.nodes.end() || new_node != next.nodes.end()) {
    const bool is_removed =
        new_node == next.nodes.end() ||
        (old_node != now.nodes.end() && scheduler::path_less(old_node->path, new_node->path));
    if (is_removed) {
      lines.push_back("queue " + old_node->path + ": removed");
      ++old_node;
      continue;
    }
    const bool is_new =
        old_node == now.nodes.end() || scheduler::path_less(new_node->path, old_node->path);
    const std::string changes =
        changes_of_queue(is_new ? QueueNode() : *old_node, *new_node, is_new);
    if (is_new || !changes.empty()) {
      lines.push_back("queue " + new_node->path + ": " + (is_new ? "added" : "") +
                      (is_new && !changes.empty() ? "; " : "") + changes);
    }
    old_node += is_new ? 0 : 1;
    ++new_node;
  }
  return lines;
}

bool is_within_queue(std::string_view each, std::string_view path) {
  return each == path ||
         (each.size() > path.size() && each.starts_with(path) && each[path.size()] == '/');
}

}  // namespace muster::agent
