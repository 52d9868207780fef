#include "cli/edge/queues_toml.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "cli/edge/config_file.h"
#include "cli/kit/queue_words.h"
#include "scheduler/protocol/request.h"

namespace muster::cli {
namespace {

using scheduler::QueueAmounts;
using scheduler::QueueNode;
using scheduler::QueueTree;

/// A finding about one place of the file of queues.
struct QueueMisfit {
  toml::source_region region;
  std::string text;
};

[[noreturn]] void refuse_queue(const toml::node& node, std::string text) {
  throw QueueMisfit{node.source(), std::move(text)};
}

void accept_value(const toml::node& node, const Status& status) {
  if (!status) {
    refuse_queue(node, status.error().text);
  }
}

std::string word_of(const toml::node& node, const std::string& key) {
  const auto* text = node.as_string();
  if (text == nullptr) {
    refuse_queue(node, "'" + key + "' must be a string");
  }
  return text->get();
}

std::vector<std::string> words_of_list(const toml::node& node, const std::string& key) {
  const auto* array = node.as_array();
  if (array == nullptr) {
    refuse_queue(node, "'" + key + "' must be a list of strings");
  }
  std::vector<std::string> words;
  for (const toml::node& element : *array) {
    words.push_back(word_of(element, key));
  }
  return words;
}

/// A value that is no whole number is refused as one out of range is.
std::int64_t number_or(const toml::node& node, std::int64_t otherwise) {
  const auto* number = node.as_integer();
  return number == nullptr ? otherwise : number->get();
}

QueueAmounts amounts_of(const toml::node& node, const std::string& name) {
  const auto* table = node.as_table();
  if (table == nullptr) {
    refuse_queue(node, "'" + name + "' must be amounts by GPU type: " + name + " = { h100 = 64 }");
  }
  QueueAmounts amounts;
  for (const auto& [key, value] : *table) {
    if (amounts.contains(scheduler::folded(key.str()))) {
      refuse_queue(value, "'" + std::string(key.str()) + "' is twice in '" + name +
                              "': upper and lower case are the same type");
    }
    accept_value(value, set_amount(amounts, name, key.str(), number_or(value, -1)));
  }
  return amounts;
}

/// False: there is no such key.
bool read_queue_key(QueueNode& node, const std::string& key, const toml::node& value) {
  if (key == "weight") {
    accept_value(value, set_weight(node, number_or(value, 0)));
  } else if (key == "guaranteed") {
    node.guaranteed = amounts_of(value, key);
  } else if (key == "max") {
    node.max = amounts_of(value, key);
  } else if (key == "tiers") {
    accept_value(value, set_tiers(node, words_of_list(value, key)));
  } else if (key == "members") {
    accept_value(value, set_members(node, words_of_list(value, key)));
  } else if (key == "users") {
    accept_value(value, set_users(node, word_of(value, key)));
  } else if (key == "time-limit-max") {
    accept_value(value, set_time_limit_max(node, word_of(value, key)));
  } else if (key == "max-pending") {
    accept_value(value, set_max_pending(node, number_or(value, 0)));
  } else {
    return false;
  }
  return true;
}

QueueNode queue_of(const std::string& path, const toml::node& node) {
  accept_value(node, scheduler::check_queue_path(path));
  const auto* table = node.as_table();
  if (table == nullptr) {
    refuse_queue(node, "'" + path + "' must be a table: [queue.\"" + path + "\"]");
  }
  QueueNode queue;
  queue.path = path;
  for (const auto& [key, value] : *table) {
    const std::string name(key.str());
    if (read_queue_key(queue, name, value)) {
      continue;
    }
    refuse_queue(value, value.is_table()
                            ? "unknown key '" + name + "' of queue " + path +
                                  "; a queue below it is [queue.\"" + path + "/" + name + "\"]"
                            : unknown_key_text(name, " of queue " + path, queue_key_names()));
  }
  return queue;
}

QueueTree tree_of(const toml::table& root) {
  QueueTree tree;
  for (const auto& [key, node] : root) {
    const std::string name(key.str());
    if (name == "half-life") {
      const Result<Duration> half_life = half_life_of(word_of(node, name));
      if (!half_life) {
        refuse_queue(node, half_life.error().text);
      }
      tree.half_life = *half_life;
    } else if (name == "queue" && node.is_table()) {
      for (const auto& [path, queue] : *node.as_table()) {
        tree.nodes.push_back(queue_of(std::string(path.str()), queue));
      }
    } else if (name == "queue") {
      refuse_queue(node, "'queue' must be a table for each queue: [queue.\"PATH\"]");
    } else {
      refuse_queue(node, unknown_key_text(name, "", {"half-life", "queue"}));
    }
  }
  std::sort(tree.nodes.begin(), tree.nodes.end(), [](const QueueNode& a, const QueueNode& b) {
    return scheduler::path_less(a.path, b.path);
  });
  return tree;
}

Error queue_misfit(const std::string& path, const toml::source_region& region,
                   std::string_view text) {
  return {ErrorCode::kInvalid,
          path + ":" + std::to_string(region.begin.line) + ": " + std::string(text)};
}

}  // namespace

Result<QueueTree> parse_queues_file(std::string_view text, const std::string& path) {
  try {
    QueueTree tree = tree_of(toml::parse(text));
    if (const Status status = scheduler::validate(tree); !status) {
      return Error{ErrorCode::kInvalid, path + ": " + status.error().text};
    }
    return tree;
  } catch (const toml::parse_error& error) {
    return queue_misfit(path, error.source(), error.description());
  } catch (const QueueMisfit& found) {
    return queue_misfit(path, found.region, found.text);
  }
}

Result<QueueTree> read_queues_file(const std::string& path) {
  const Result<std::string> text = read_text(path, kQueuesFileBytesMax, "file of queues");
  return text ? parse_queues_file(*text, path) : Result<QueueTree>(text.error());
}

}  // namespace muster::cli
