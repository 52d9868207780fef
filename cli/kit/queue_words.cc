#include "cli/kit/queue_words.h"

#include <algorithm>

#include "cli/kit/duration.h"
#include "cli/kit/options.h"
#include "cli/kit/text.h"
#include "gossip/base/nearest_text.h"
#include "scheduler/protocol/request.h"

namespace muster::cli {
namespace {

using scheduler::QueueAmounts;
using scheduler::QueueNode;
using scheduler::Tier;

constexpr std::string_view kNone = "none";
constexpr std::string_view kFair = "fair";
constexpr std::string_view kFifo = "fifo";
/// From so many changes on it is another word.
constexpr std::size_t kOtherWord = 3;

Error unfit(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

std::vector<std::string> tier_names() {
  std::vector<std::string> names;
  for (auto number = static_cast<unsigned>(Tier::kInteractive);
       number <= static_cast<unsigned>(scheduler::kTierLast); ++number) {
    names.emplace_back(text_of(static_cast<Tier>(number)));
  }
  return names;
}

/// "": each word is there once, and none is empty.
std::string flaw_of(const std::vector<std::string>& words, const std::string& key) {
  if (words.empty()) {
    return "'" + key + "' is empty: leave it out, and the queue has those of its parent";
  }
  for (const std::string& word : words) {
    if (word.empty() || word == "@") {
      return "'" + key + "' has an empty name in it";
    }
    if (std::count(words.begin(), words.end(), word) > 1) {
      return "'" + word + "' is twice in '" + key + "'";
    }
  }
  return "";
}

std::vector<std::string> comma_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::string or_none(std::string text) {
  return text.empty() ? std::string(kNone) : text;
}

Status set_amount_key(QueueAmounts& amounts, const std::string& key, const std::string& value) {
  const std::size_t dot = key.find('.');
  const std::string name = key.substr(0, dot);
  const std::string type = dot == std::string::npos ? "" : key.substr(dot + 1);
  if (type.empty()) {
    return unfit("'" + name + "' needs a GPU type, gpus or cpus: write " + name + ".h100=64");
  }
  if (value.empty()) {
    amounts.erase(scheduler::folded(type));
    return ok();
  }
  const auto number = parse_integer(value);
  return number ? set_amount(amounts, name, type, *number) : set_amount(amounts, name, type, -1);
}

/// As a new queue has it.
void clear_key(QueueNode& node, std::string_view key) {
  const QueueNode fresh;
  if (key == "weight") {
    node.weight = fresh.weight;
  } else if (key == "tiers") {
    node.tiers.clear();
  } else if (key == "members") {
    node.members.clear();
  } else if (key == "users") {
    node.is_fifo = fresh.is_fifo;
  } else if (key == "max-pending") {
    node.max_pending = fresh.max_pending;
  } else {
    node.time_limit_max.reset();
  }
}

}  // namespace

std::string unknown_key_text(std::string_view key, std::string_view where,
                             const std::vector<std::string>& known) {
  const std::string nearest = nearest_of(key, known);
  return "unknown key '" + std::string(key) + "'" + std::string(where) +
         (nearest.empty() ? "; the keys are: " + join(known) : "; did you mean " + nearest + "?");
}

std::vector<std::string> queue_key_names() {
  return {kQueueKeys.begin(), kQueueKeys.end()};
}

std::string nearest_of(std::string_view given, const std::vector<std::string>& words) {
  const std::string_view nearest = nearest_text(given, {words.begin(), words.end()});
  return std::string(edit_distance(given, nearest, kOtherWord) < kOtherWord ? nearest : "");
}

Status set_weight(QueueNode& node, std::int64_t weight) {
  if (weight < 1 || weight > scheduler::kQueueWeightMax) {
    return unfit("'weight' must be a whole number from 1 to " +
                 std::to_string(scheduler::kQueueWeightMax));
  }
  node.weight = static_cast<std::uint32_t>(weight);
  return ok();
}

Status set_max_pending(QueueNode& node, std::int64_t jobs) {
  if (jobs < 1 || static_cast<std::uint64_t>(jobs) > scheduler::kQueuePendingMax) {
    return unfit("'max-pending' must be a whole number from 1 to " +
                 std::to_string(scheduler::kQueuePendingMax));
  }
  node.max_pending = static_cast<std::uint64_t>(jobs);
  return ok();
}

Status set_amount(QueueAmounts& amounts, std::string_view name, std::string_view key,
                  std::int64_t amount) {
  if (amount < 0 || static_cast<std::uint64_t>(amount) > scheduler::kQueueAmountMax) {
    return unfit("'" + std::string(key) + "' of '" + std::string(name) +
                 "' must be a whole number from 0 to " +
                 std::to_string(scheduler::kQueueAmountMax));
  }
  amounts[scheduler::folded(key)] = static_cast<std::uint64_t>(amount);
  return ok();
}

Status set_tiers(QueueNode& node, const std::vector<std::string>& tiers) {
  if (const std::string flaw = flaw_of(tiers, "tiers"); !flaw.empty()) {
    return unfit(flaw);
  }
  std::vector<Tier> found;
  for (const std::string& name : tiers) {
    const auto tier = scheduler::tier_of(name);
    if (!tier.has_value() || *tier == Tier::kNone) {
      const std::string nearest = nearest_of(name, tier_names());
      return unfit("'" + name + "' is not a tier; " +
                   (nearest.empty() ? "the tiers are: " + join(tier_names())
                                    : "did you mean " + nearest + "?"));
    }
    found.push_back(*tier);
  }
  node.tiers = std::move(found);
  return ok();
}

Status set_members(QueueNode& node, const std::vector<std::string>& members) {
  if (const std::string flaw = flaw_of(members, "members"); !flaw.empty()) {
    return unfit(flaw);
  }
  if (members.size() > scheduler::kQueueMembersMax) {
    return unfit("'members' has at most " + std::to_string(scheduler::kQueueMembersMax) +
                 " names: make a team of them");
  }
  node.members = members;
  return ok();
}

Status set_users(QueueNode& node, std::string_view users) {
  if (users != kFair && users != kFifo) {
    return unfit("'users' must be fair or fifo");
  }
  node.is_fifo = users == kFifo;
  return ok();
}

Status set_time_limit_max(QueueNode& node, std::string_view limit) {
  if (limit == kNone) {
    node.time_limit_max = scheduler::kNoTimeLimit;
    return ok();
  }
  const Result<Duration> parsed = parse_duration(limit);
  if (!parsed) {
    return unfit("'time-limit-max': " + parsed.error().text + ", or none");
  }
  if (*parsed == Duration(0)) {
    return unfit("'time-limit-max' must be longer than 0; none lets jobs run for ever");
  }
  node.time_limit_max = *parsed;
  return ok();
}

Result<Duration> half_life_of(std::string_view text) {
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed) {
    return unfit("'half-life': " + parsed.error().text);
  }
  if (*parsed < scheduler::kHalfLifeMin || *parsed > scheduler::kHalfLifeMax) {
    return unfit("'half-life' must be from " + format_duration(scheduler::kHalfLifeMin) + " to " +
                 format_duration(scheduler::kHalfLifeMax));
  }
  return *parsed;
}

Status set_key(QueueNode& node, const std::string& given) {
  const std::size_t equals = given.find('=');
  if (equals == std::string::npos) {
    return unfit("'" + given + "' is not KEY=VALUE; the keys are: " + join(queue_key_names()));
  }
  const std::string key = given.substr(0, equals);
  const std::string value = given.substr(equals + 1);
  const std::string head = key.substr(0, key.find('.'));
  if (head == "guaranteed" || head == "max") {
    return set_amount_key(head == "max" ? node.max : node.guaranteed, key, value);
  }
  if (std::find(kQueueKeys.begin(), kQueueKeys.end(), key) == kQueueKeys.end()) {
    return unfit(unknown_key_text(key, "", queue_key_names()));
  }
  if (value.empty()) {
    clear_key(node, key);
    return ok();
  }
  if (key == "weight" || key == "max-pending") {
    const auto number = parse_integer(value);
    return key == "weight" ? set_weight(node, number ? *number : 0)
                           : set_max_pending(node, number ? *number : 0);
  }
  return key == "tiers"     ? set_tiers(node, comma_list(value))
         : key == "members" ? set_members(node, comma_list(value))
         : key == "users"   ? set_users(node, value)
                            : set_time_limit_max(node, value);
}

std::string type_name(std::string_view key) {
  if (const std::string_view words = scheduler::pool_words(key); !words.empty()) {
    return std::string(words);
  }
  std::string name(key);
  for (char& letter : name) {
    letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return name;
}

std::string amounts_text(const QueueAmounts& amounts) {
  std::vector<std::string> types;
  std::vector<std::string> sums;
  for (const auto& [key, amount] : amounts) {
    (key == scheduler::kAllGpus || key == scheduler::kCpus ? sums : types)
        .push_back(std::to_string(amount) + " " + type_name(key));
  }
  // "cpus" stands before "gpus" in the map.
  types.insert(types.end(), sums.rbegin(), sums.rend());
  return join(types);
}

std::string time_limit_text(Duration limit) {
  return limit == scheduler::kNoTimeLimit ? std::string(kNone) : format_duration(limit);
}

std::string tiers_text(const std::vector<Tier>& tiers) {
  std::vector<std::string> names;
  for (const Tier tier : tiers) {
    names.emplace_back(text_of(tier));
  }
  return join(names);
}

std::vector<std::pair<std::string, std::string>> queue_values(const QueueNode& node) {
  constexpr char kInherited[] = "that of its parent";
  constexpr char kInheritedList[] = "those of its parent";
  return {
      {"weight", std::to_string(node.weight)},
      {"guaranteed", or_none(amounts_text(node.guaranteed))},
      {"max", or_none(amounts_text(node.max))},
      {"tiers", node.tiers.empty() ? kInheritedList : tiers_text(node.tiers)},
      {"members", node.members.empty() ? kInheritedList : join(node.members)},
      {"users", std::string(node.is_fifo ? kFifo : kFair)},
      {"time-limit-max",
       node.time_limit_max.has_value() ? time_limit_text(*node.time_limit_max) : kInherited},
      {"max-pending", or_none(node.max_pending == 0 ? "" : std::to_string(node.max_pending))},
  };
}

}  // namespace muster::cli
