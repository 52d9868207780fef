#include "cli/kit/queues_file.h"

#include <algorithm>
#include <set>

#include "cli/kit/duration.h"
#include "cli/kit/queue_words.h"
#include "cli/kit/text.h"

namespace muster::cli {
namespace {

using scheduler::QueueAmounts;
using scheduler::QueueNode;
using scheduler::QueueTree;

/// As a basic string of TOML.
std::string toml_text(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7f) {
      quoted += std::string("\\u00") + kDigits[byte >> 4] + kDigits[byte & 0xf];
    } else {
      quoted += letter == '"' || letter == '\\' ? "\\" : "";
      quoted += letter;
    }
  }
  return quoted + "\"";
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) {
    quoted.push_back(toml_text(text));
  }
  return "[" + join(quoted) + "]";
}

std::string toml_amounts(const QueueAmounts& amounts) {
  std::vector<std::string> pairs;
  for (const auto& [key, amount] : amounts) {
    // A dot in a bare key would begin another table.
    const bool is_bare =
        !key.empty() &&
        key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
    pairs.push_back((is_bare ? key : toml_text(key)) + " = " + std::to_string(amount));
  }
  return "{ " + join(pairs) + " }";
}

std::string toml_of(const QueueNode& node) {
  const QueueNode fresh;
  std::string text = "\n[queue." + toml_text(node.path) + "]\n";
  const auto add = [&text](std::string_view key, const std::string& value) {
    text += std::string(key) + " = " + value + "\n";
  };
  if (node.weight != fresh.weight) {
    add("weight", std::to_string(node.weight));
  }
  if (!node.guaranteed.empty()) {
    add("guaranteed", toml_amounts(node.guaranteed));
  }
  if (!node.max.empty()) {
    add("max", toml_amounts(node.max));
  }
  if (!node.tiers.empty()) {
    std::vector<std::string> names;
    for (const scheduler::Tier tier : node.tiers) {
      names.emplace_back(text_of(tier));
    }
    add("tiers", toml_list(names));
  }
  if (!node.members.empty()) {
    add("members", toml_list(node.members));
  }
  if (node.is_fifo) {
    add("users", toml_text("fifo"));
  }
  if (node.time_limit_max.has_value()) {
    add("time-limit-max", toml_text(time_limit_text(*node.time_limit_max)));
  }
  if (node.max_pending != 0) {
    add("max-pending", std::to_string(node.max_pending));
  }
  return text;
}

/// "weight 4 (was 1); users fifo (was fair)"; without what was if the queue is new.
std::string changes_of(const QueueNode& now, const QueueNode& next, bool is_new) {
  const auto before = queue_values(now);
  const auto after = queue_values(next);
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i].second != after[i].second) {
      changes.push_back(after[i].first + " " + after[i].second +
                        (is_new ? "" : " (was " + before[i].second + ")"));
    }
  }
  return join(changes, "; ");
}

auto place_of_path(const QueueTree& tree, std::string_view path) {
  return std::lower_bound(tree.nodes.begin(), tree.nodes.end(), path,
                          [](const QueueNode& node, std::string_view wanted) {
                            return scheduler::path_less(node.path, wanted);
                          });
}

/// The guarantees of the queues at the top together: all others are within these.
QueueAmounts guaranteed_in_all(const QueueTree& tree) {
  QueueAmounts all;
  for (const auto& [path, amounts] : scheduler::guarantees_of(tree)) {
    if (path.empty() || !scheduler::parent_path(path).empty()) {
      continue;
    }
    for (const auto& [key, amount] : amounts) {
      all[key] += amount;
    }
  }
  return all;
}

void warn_of_guarantees(const QueueTree& tree, const QueueAmounts& fleet,
                        std::vector<std::string>& warnings) {
  std::uint64_t gpus = 0;
  for (const auto& [type, count] : fleet) {
    gpus += count;
  }
  for (const auto& [key, amount] : guaranteed_in_all(tree)) {
    const auto found = fleet.find(key);
    const std::uint64_t there = key == scheduler::kAllGpus ? gpus
                                : found == fleet.end()     ? 0
                                                           : found->second;
    // The list of queues does not count the CPUs of the fleet.
    if (key != scheduler::kCpus && amount > there) {
      warnings.push_back(std::to_string(amount) + " " + type_name(key) +
                         " are guaranteed, and the fleet has " + std::to_string(there) +
                         ": not every queue can get its part");
    }
  }
}

bool is_somebody(const std::string& member, const agent::UserList& users) {
  if (!member.starts_with("@")) {
    return users.are_logins_users ||
           std::any_of(users.users.begin(), users.users.end(),
                       [&](const agent::UserInfo& user) { return user.name == member; });
  }
  // Logins without a record are in team default.
  const std::string team = member.substr(1);
  return std::any_of(users.teams.begin(), users.teams.end(), [&](const agent::TeamInfo& each) {
    return each.name == team && (each.users > 0 || (team == "default" && users.are_logins_users));
  });
}

}  // namespace

std::string toml_of(const QueueTree& tree) {
  std::string text = "half-life = " + toml_text(format_duration(tree.half_life)) + "\n";
  for (const QueueNode& node : tree.nodes) {
    text += toml_of(node);
  }
  return text;
}

std::vector<std::string> differences(const QueueTree& now, const QueueTree& next) {
  std::vector<std::string> lines;
  const std::string before = format_duration(now.half_life);
  const std::string after = format_duration(next.half_life);
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
    const std::string changes = changes_of(is_new ? QueueNode() : *old_node, *new_node, is_new);
    if (is_new || !changes.empty()) {
      lines.push_back("queue " + new_node->path + ": " + (is_new ? "added" : "") +
                      (is_new && !changes.empty() ? "; " : "") + changes);
    }
    old_node += is_new ? 0 : 1;
    ++new_node;
  }
  return lines;
}

std::vector<std::string> warnings_about(const QueueTree& tree, const QueueAmounts& fleet,
                                        const agent::UserList& users) {
  std::vector<std::string> warnings;
  if (tree.nodes.empty()) {
    warnings.emplace_back(
        "the tree names no queue: all jobs are in the queue default, and everybody may use it");
  }
  warn_of_guarantees(tree, fleet, warnings);
  for (const QueueNode& node : tree.nodes) {
    const bool has_somebody =
        node.members.empty() ||
        std::any_of(node.members.begin(), node.members.end(),
                    [&](const std::string& member) { return is_somebody(member, users); });
    if (!has_somebody) {
      warnings.push_back("the members of queue " + node.path +
                         " are nobody: the cluster knows no " +
                         "user and no team with users among them");
    }
  }
  return warnings;
}

std::vector<std::string> paths_of(const QueueTree& tree) {
  const auto is_before = [](const std::string& a, const std::string& b) {
    return scheduler::path_less(a, b);
  };
  std::set<std::string, decltype(is_before)> paths(is_before);
  paths.emplace(scheduler::kDefaultQueue);
  for (const QueueNode& node : tree.nodes) {
    for (std::string_view path = node.path; !path.empty(); path = scheduler::parent_path(path)) {
      paths.emplace(path);
    }
  }
  return {paths.begin(), paths.end()};
}

const QueueNode* find_node(const QueueTree& tree, std::string_view path) {
  const auto found = place_of_path(tree, path);
  return found != tree.nodes.end() && found->path == path ? &*found : nullptr;
}

QueueNode& node_at(QueueTree& tree, std::string_view path) {
  const auto place = tree.nodes.begin() + (place_of_path(tree, path) - tree.nodes.begin());
  if (place != tree.nodes.end() && place->path == path) {
    return *place;
  }
  QueueNode node;
  node.path = path;
  return *tree.nodes.insert(place, std::move(node));
}

bool remove_queue(QueueTree& tree, std::string_view path) {
  return std::erase_if(tree.nodes,
                       [&](const QueueNode& node) { return is_within(node.path, path); }) > 0;
}

bool is_within(std::string_view each, std::string_view path) {
  return each == path ||
         (each.size() > path.size() && each.starts_with(path) && each[path.size()] == '/');
}

std::string no_queue_text(std::string_view path, const std::vector<std::string>& paths) {
  std::string nearest = nearest_of(path, paths);
  for (const std::string& each : paths) {
    // Its last word alone is meant as the whole.
    if (nearest.empty() && each.ends_with("/" + std::string(path))) {
      nearest = each;
    }
  }
  return "there is no queue " + std::string(path) +
         (nearest.empty() ? ": `muster queue` lists them"
                          : "; did you mean " + nearest + "? (`muster queue` lists them)");
}

}  // namespace muster::cli
