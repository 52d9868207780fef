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

/// "H100", or "H100 for 12m" once its next job waits for long. `names_jobs`: "H100 for 12m (job
/// 7)".
std::string owed_to(const QueueUse& use, bool names_jobs = false) {
  std::vector<std::string> types;
  for (const agent::PoolUse& pool : use.pools) {
    const bool is_long = pool.owed_wait_ms != 0;
    const bool has_job = names_jobs && pool.owed_job != JobId();
    if (pool.is_owed || is_long) {
      types.push_back(type_name(pool.pool) +
                      (is_long ? " for " + format_age(pool.owed_wait_ms) : "") +
                      (has_job ? " (job " + text_of(pool.owed_job) + ")" : ""));
    }
  }
  return join(types);
}

std::string longest_wait(const QueueUse& use) {
  const bool nobody_waits = use.pending == 0 || (use.waits.empty() && use.longest_wait_ms == 0);
  return nobody_waits ? "-" : format_age(use.longest_wait_ms);
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

/// A row of the jobs that wait. "" in `tier`: of all tiers.
void add_waits(Table& table, const std::string& queue, const agent::TierWaits& waits) {
  table.add({queue, waits.tier.empty() ? "all" : waits.tier, std::to_string(waits.count),
             std::to_string(waits.over_10_min), std::to_string(waits.over_30_min),
             format_age(waits.longest_ms),
             waits.longest == JobId() ? "-" : text_of(waits.longest)});
}

/// The jobs that wait: a row for each queue that has some, below it its tiers if it is a leaf, and
/// a row for all queues. False: a node that is older does not tell the tiers.
bool add_all_waits(Table& table, const QueueList& list) {
  agent::TierWaits all;
  bool is_told = true;
  for (const QueueUse& use : list.uses) {
    if (use.pending == 0) {
      continue;
    }
    if (use.waits.empty()) {
      is_told = is_told && use.longest_wait_ms == 0;
      table.add({indented(use.path), "all", std::to_string(use.pending), "-", "-",
                 longest_wait(use), "-"});
      continue;
    }
    if (scheduler::parent_path(use.path).empty()) {
      all.add(use.all_waits());
    }
    const bool is_one = use.is_leaf && use.waits.size() == 1;
    add_waits(table, indented(use.path), is_one ? use.waits.front() : use.all_waits());
    for (std::size_t i = 0; use.is_leaf && !is_one && i < use.waits.size(); ++i) {
      add_waits(table, "", use.waits[i]);
    }
  }
  if (all.count != 0 && is_told) {
    add_waits(table, "all queues", all);
  }
  return is_told;
}

class ListQueues final : public Verb {
 public:
  void describe(Options& options) override {
    options.flag(
        "--waiting", is_waiting_,
        "List the jobs that wait instead, by queue and tier, with how long they wait since "
        "they may start");
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster queue --waiting");
  }

  int run(Session& session) override {
    const auto list = session.read<QueueList>(agent::Verb::kQueues);
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << (is_waiting_ ? agent::waiting_json(*list, session.last())
                                    : agent::to_json(*list, session.last()))
                    << "\n";
      return 0;
    }
    if (is_waiting_) {
      return show_waiting(session, *list);
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

 private:
  static int show_waiting(Session& session, const QueueList& list) {
    Table table({{.title = "QUEUE", .columns_min = 16},
                 {.title = "TIER", .columns_min = 11},
                 {.title = "WAITING", .is_number = true},
                 {.title = "OVER 10 MIN", .is_number = true},
                 {.title = "OVER 30 MIN", .is_number = true},
                 {.title = "LONGEST WAIT", .is_number = true},
                 {.title = "JOB", .is_number = true}});
    const bool is_told = add_all_waits(table, list);
    const bool has_some = std::any_of(list.uses.begin(), list.uses.end(),
                                      [](const QueueUse& use) { return use.pending != 0; });
    if (has_some) {
      session.out() << table.text(session.screen());
    } else {
      session.note("no job waits");
    }
    if (!is_told) {
      session.note("the node that answered is older: it does not tell the tiers");
    }
    return 0;
  }

  bool is_waiting_ = false;
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
  add("max pending", or_dash(node.max_pending == 0 ? "" : std::to_string(node.max_pending)));
  return text;
}

std::string use_text(const QueueList& list, const QueueUse& use) {
  std::vector<std::string> below;
  for (const QueueUse& each : list.uses) {
    if (scheduler::parent_path(each.path) == use.path) {
      below.push_back(each.path);
    }
  }
  return "held          " + or_dash(held_by(use)) + "\n" +        //
         "owed          " + or_dash(owed_to(use, true)) + "\n" +  //
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
