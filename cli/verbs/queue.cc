// muster queue, queue show and queue export: the tree of queues, its rules, and what it holds.

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "agent/api/json/queues.h"
#include "agent/api/queues.h"
#include "cli/kit/duration.h"
#include "cli/kit/queue_words.h"
#include "cli/kit/queues_file.h"
#include "cli/kit/table.h"
#include "cli/verbs/request_options.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::QueueList;
using agent::QueueUse;
using scheduler::QueueNode;
using scheduler::QueueTree;

/// Where the words behind "guaranteed" and the like begin.
constexpr std::size_t kRuleColumn = 14;

std::string or_dash(std::string text) {
  return text.empty() ? "-" : text;
}

/// "120 H100, 8.5 A100"
std::string held_by(const QueueUse& use) {
  std::vector<std::string> amounts;
  for (const agent::PoolUse& pool : use.pools) {
    if (pool.held > 0) {
      amounts.push_back(format_cpus(pool.held) + " " + type_name(pool.pool));
    }
  }
  return join(amounts);
}

std::string owed_to(const QueueUse& use) {
  std::vector<std::string> types;
  for (const agent::PoolUse& pool : use.pools) {
    if (pool.is_owed) {
      types.push_back(type_name(pool.pool));
    }
  }
  return join(types);
}

std::string longest_wait(const QueueUse& use) {
  return use.pending == 0 ? "-" : format_age(use.longest_wait_ms);
}

/// "  nlp" of "research/nlp"
std::string indented(const std::string& path) {
  const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  return std::string(2 * depth, ' ') + path.substr(path.rfind('/') + 1);
}

void note_if_unset(Session& session, const QueueList& list) {
  if (list.version == 0) {
    session.note(
        "nobody has set queues: all jobs are in the queue default, in the order of tier, priority "
        "and number; `muster queue import` and `muster queue set` make queues");
  }
}

class ListQueues final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster queue");
  }

  int run(Session& session) override {
    const auto list = session.read<QueueList>(agent::Verb::kQueues);
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << agent::to_json(*list, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "QUEUE", .columns_min = 16},
                 {.title = "WEIGHT", .is_number = true},
                 {.title = "HELD", .columns_min = 10},
                 {.title = "GUARANTEED", .columns_min = 10},
                 {.title = "MAX", .columns_min = 8},
                 {.title = "OWED", .columns_min = 5},
                 {.title = "PENDING", .is_number = true},
                 {.title = "RUNNING", .is_number = true},
                 {.title = "LONGEST WAIT", .is_number = true}});
    const auto guarantees = scheduler::guarantees_of(list->tree);
    for (const QueueUse& use : list->uses) {
      const QueueNode* named = find_node(list->tree, use.path);
      const QueueNode node = named == nullptr ? QueueNode() : *named;
      const auto guaranteed = guarantees.find(use.path);
      table.add({indented(use.path), std::to_string(node.weight), or_dash(held_by(use)),
                 or_dash(guaranteed == guarantees.end() ? "" : amounts_text(guaranteed->second)),
                 or_dash(amounts_text(node.max)), or_dash(owed_to(use)),
                 std::to_string(use.pending), std::to_string(use.running), longest_wait(use)});
    }
    session.out() << table.text(session.screen());
    note_if_unset(session, *list);
    return 0;
  }
};

/// The value of the queue, or of the nearest one above it that has one: "standard (of research)".
std::string inherited(const QueueTree& tree, const std::string& path,
                      const std::function<std::string(const QueueNode&)>& value,
                      const std::string& otherwise) {
  for (std::string_view up = path; !up.empty(); up = scheduler::parent_path(up)) {
    const QueueNode* node = find_node(tree, up);
    const std::string text = node == nullptr ? "" : value(*node);
    if (!text.empty()) {
      return text + (up == path ? "" : " (of " + std::string(up) + ")");
    }
  }
  return otherwise;
}

std::string rules_text(const QueueTree& tree, const std::string& path) {
  const QueueNode* named = find_node(tree, path);
  const QueueNode node = named == nullptr ? QueueNode() : *named;
  const auto guarantees = scheduler::guarantees_of(tree);
  const auto guaranteed = guarantees.find(path);
  const auto tiers = [](const QueueNode& each) { return tiers_text(each.tiers); };
  const auto members = [](const QueueNode& each) { return join(each.members); };
  const auto limit = [](const QueueNode& each) {
    return !each.time_limit_max.has_value() ? ""
           : *each.time_limit_max == scheduler::kNoTimeLimit
               ? "none: jobs may run for ever"
               : time_limit_text(*each.time_limit_max);
  };
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& value) {
    text += name + std::string(kRuleColumn - name.size(), ' ') + value + "\n";
  };
  add("queue", path);
  add("weight", std::to_string(node.weight));
  add("guaranteed",
      or_dash(guaranteed == guarantees.end() ? "" : amounts_text(guaranteed->second)));
  add("max", or_dash(amounts_text(node.max)));
  add("tiers", inherited(tree, path, tiers, "all, standard for jobs that name none"));
  add("members", inherited(tree, path, members, "everybody"));
  add("users", node.is_fifo ? "fifo: one line for all users" : "fair: equal parts");
  add("longest limit", inherited(tree, path, limit, "any, but each job has one"));
  return text;
}

std::string use_text(const QueueList& list, const QueueUse& use) {
  std::vector<std::string> below;
  for (const QueueUse& each : list.uses) {
    if (scheduler::parent_path(each.path) == use.path) {
      below.push_back(each.path);
    }
  }
  return "held          " + or_dash(held_by(use)) + "\n" +  //
         "owed          " + or_dash(owed_to(use)) + "\n" +  //
         "pending       " + std::to_string(use.pending) +
         (use.pending == 0 ? "" : ", the longest for " + longest_wait(use)) + "\n" +
         "running       " + std::to_string(use.running) + "\n" +
         (below.empty() ? "" : "below it      " + join(below) + "\n");
}

class ShowQueue final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("PATH", path_, "Path of the queue, as research/nlp");
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster queue show research/nlp");
  }

  int run(Session& session) override {
    auto list = session.read<QueueList>(agent::Verb::kQueues);
    if (!list.has_value()) {
      return session.failed();
    }
    const auto use = std::find_if(list->uses.begin(), list->uses.end(),
                                  [&](const QueueUse& each) { return each.path == path_; });
    if (use == list->uses.end()) {
      return session.fail(agent::ResponseStatus::kNotFound,
                          no_queue_text(path_, paths_of(list->tree)));
    }
    if (session.common().is_json) {
      const auto is_elsewhere = [&](const auto& each) { return !is_within(each.path, path_); };
      std::erase_if(list->uses, is_elsewhere);
      std::erase_if(list->tree.nodes, is_elsewhere);
      session.out() << agent::to_json(*list, session.last()) << "\n";
      return 0;
    }
    const bool is_old_default = list->version == 0;
    session.out() << fitted(printable_lines((is_old_default ? "queue         " + path_ + "\n"
                                                            : rules_text(list->tree, path_)) +
                                            use_text(*list, *use)),
                            kRuleColumn, session.screen());
    note_if_unset(session, *list);
    return 0;
  }

 private:
  std::string path_;
};

class ExportQueues final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    common_.is_consistent = true;  // A file of it may be imported: an old copy would undo changes.
    options.example("muster queue export > queues.toml");
  }

  int run(Session& session) override {
    const auto list = session.read<QueueList>(agent::Verb::kQueues);
    if (!list.has_value()) {
      return session.failed();
    }
    session.out() << (session.common().is_json ? agent::to_json(*list, session.last()) + "\n"
                                               : toml_of(list->tree));
    note_if_unset(session, *list);
    return 0;
  }
};

}  // namespace

std::unique_ptr<Verb> make_queue() {
  return std::make_unique<ListQueues>();
}
std::unique_ptr<Verb> make_queue_show() {
  return std::make_unique<ShowQueue>();
}
std::unique_ptr<Verb> make_queue_export() {
  return std::make_unique<ExportQueues>();
}

}  // namespace muster::cli
