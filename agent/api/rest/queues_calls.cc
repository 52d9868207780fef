#include "agent/api/rest/queues_calls.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/json/queues.h"
#include "agent/api/queues.h"
#include "agent/api/rest/queue_changes.h"
#include "scheduler/protocol/request.h"

namespace muster::agent {
namespace {

using scheduler::QueueNode;
using scheduler::QueueTree;

/// [{"amount_of": "h100", "amount": 64}]
scheduler::QueueAmounts take_amounts(JsonFields& queue, std::string_view name) {
  scheduler::QueueAmounts amounts;
  for (JsonFields* each : queue.objects(name)) {
    each->need("amount_of");
    each->need("amount");
    const std::string key = scheduler::folded(each->text("amount_of").value_or(""));
    const auto amount = each->number("amount", 0, scheduler::kQueueAmountMax).value_or(0);
    if (!amounts.emplace(key, amount).second) {
      each->refuse("amount_of", "'" + key + "' is there twice: upper and lower case are the same");
    }
  }
  return amounts;
}

std::vector<scheduler::Tier> take_tiers(JsonFields& queue) {
  std::vector<scheduler::Tier> tiers;
  for (const std::string& name : queue.texts("tiers").value_or(JsonFields::Texts())) {
    const auto tier = scheduler::tier_of(name).value_or(scheduler::Tier::kNone);
    if (tier == scheduler::Tier::kNone) {
      queue.refuse("tiers", "'" + name +
                                "' is not a tier: give interactive, batch, standard, premium or "
                                "inference");
    }
    tiers.push_back(tier);
  }
  return tiers;
}

std::vector<std::string> take_members(JsonFields& queue) {
  std::vector<std::string> members = queue.texts("queue_members").value_or(JsonFields::Texts());
  if (members.size() > scheduler::kQueueMembersMax) {
    queue.refuse("queue_members", "it has at most " + std::to_string(scheduler::kQueueMembersMax) +
                                      " names: make a team of them");
    return {};
  }
  for (const std::string& member : members) {
    if (member.empty() || member == "@") {
      queue.refuse("queue_members", "it has an empty name in it");
    } else if (std::count(members.begin(), members.end(), member) > 1) {
      queue.refuse("queue_members", "'" + member + "' is there twice");
    }
  }
  return members;
}

QueueNode take_queue(JsonFields& queue) {
  QueueNode node;
  queue.need("queue");
  node.path = queue.text("queue").value_or("");
  if (const Status status = scheduler::check_queue_path(node.path); !status) {
    queue.refuse("queue", status.error().text);
  }
  node.weight =
      static_cast<std::uint32_t>(queue.number("weight", 1, scheduler::kQueueWeightMax).value_or(1));
  node.guaranteed = take_amounts(queue, "guaranteed");
  node.max = take_amounts(queue, "max");
  node.tiers = take_tiers(queue);
  node.members = take_members(queue);
  node.is_fifo = queue.boolean("is_fifo").value_or(false);
  node.time_limit_max = span_of(queue, "time_limit_max", std::chrono::milliseconds(1));
  if (queue.boolean("allows_no_time_limit").value_or(false)) {
    if (node.time_limit_max.has_value()) {
      queue.refuse("allows_no_time_limit", "there is a longest time limit: choose one");
    }
    node.time_limit_max = scheduler::kNoTimeLimit;
  }
  node.max_pending = queue.number("max_pending", 1, scheduler::kQueuePendingMax).value_or(0);
  return node;
}

/// The tree that is to be set, and from which version it was made.
struct QueuesWish {
  std::uint64_t expected = 0;
  QueueTree tree{};
  std::vector<scheduler::QueueMove> moves{};
  bool is_dry = false;
};

Result<QueuesWish> queues_wish_of(CallInput& input) {
  QueuesWish wish;
  JsonFields& body = input.body;
  const bool is_first = body.is_null("queues_version");
  if (!is_first) {
    body.need("queues_version");
  }
  wish.expected = body.number("queues_version", 0, UINT64_MAX).value_or(0);
  if (const auto half_life = span_of(body, "half_life")) {
    wish.tree.half_life = *half_life;
  }
  body.need("queues");
  for (JsonFields* queue : body.objects("queues")) {
    wish.tree.nodes.push_back(take_queue(*queue));
  }
  std::sort(
      wish.tree.nodes.begin(), wish.tree.nodes.end(),
      [](const QueueNode& a, const QueueNode& b) { return scheduler::path_less(a.path, b.path); });
  for (JsonFields* move : body.objects("moves")) {
    move->need("from");
    move->need("to");
    wish.moves.push_back({move->text("from").value_or(""), move->text("to").value_or("")});
  }
  wish.is_dry = body.boolean("dry_run").value_or(false);
  if (const Status status = input.end(); !status) {
    return status.error();
  }
  if (const Status status = scheduler::validate(wish.tree); !status) {
    return status.error();
  }
  return wish;
}

CallStep set_tree(const CallFrame& frame, const QueuesWish& wish, const QueueList& now,
                  const Response& from) {
  if (wish.expected != now.version) {
    return refused(ResponseStatus::kConflict,
                   "somebody else changed the queues meanwhile: now version " +
                       std::to_string(now.version) + "; read them, and repeat the change");
  }
  const bool is_news = now.version == 0 || now.tree != wish.tree;
  std::vector<std::string> lines = queue_changes(now.tree, wish.tree);
  for (const scheduler::QueueMove& move : wish.moves) {
    if (is_news) {
      lines.push_back("jobs of queue " + move.from + ": moved to " + move.to);
    }
  }
  if (!is_news || wish.is_dry) {
    return told(frame, queues_changed_json(lines, false), from);
  }
  OrderWords words;
  words.repeat = "read the queues to see whether it was done; it is safe to repeat the request";
  return order(
      frame, Verb::kSetQueues, encode_payload(SetQueuesArgs{now.version, wish.tree, wish.moves}),
      [frame, lines](const Response& response) {
        return told(frame, queues_changed_json(lines, true), response);
      },
      std::move(words));
}

}  // namespace

CallStep list_queues(CallInput& input) {
  const bool is_waiting = input.query.boolean("waiting").value_or(false);
  const std::string path = input.query.text("queue").value_or("");
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<QueueList>(
      input.frame, Verb::kQueues, "",
      [frame = input.frame, is_waiting, path](QueueList list,
                                              const Response& response) -> CallStep {
        const auto is_elsewhere = [&path](const auto& each) {
          return !path.empty() && !is_within_queue(each.path, path);
        };
        std::erase_if(list.uses, is_elsewhere);
        std::erase_if(list.tree.nodes, is_elsewhere);
        if (!path.empty() && list.uses.empty()) {
          return refused(ResponseStatus::kNotFound,
                         "there is no queue " + path + ": `muster queue` lists them");
        }
        return told(frame, is_waiting ? waiting_json(list, response) : to_json(list, response),
                    response);
      });
}

CallStep set_queues(CallInput& input) {
  const Result<QueuesWish> wish = queues_wish_of(input);
  if (!wish) {
    return refused(wish.error());
  }
  // The leader answers it: an order made from an older tree would be refused.
  CallFrame look = input.frame;
  look.is_consistent = true;
  return look_up<QueueList>(
      look, Verb::kQueues, "",
      [frame = input.frame, wish = *wish](const QueueList& now, const Response& response) {
        return set_tree(frame, wish, now, response);
      });
}

CallStep list_shares(CallInput& input) {
  const SharesQuery query{input.query.text("queue").value_or("")};
  const bool has_users = input.query.boolean("users").value_or(false);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<ShareList>(
      input.frame, Verb::kShares, query.path.empty() ? "" : encode_payload(query),
      [frame = input.frame, has_users](ShareList list, const Response& response) {
        if (!has_users) {
          std::erase_if(list.shares, [](const ShareInfo& share) { return !share.user.empty(); });
        }
        return told(frame, to_json(list, response), response);
      });
}

}  // namespace muster::agent
