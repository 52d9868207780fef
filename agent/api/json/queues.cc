#include "agent/api/json/queues.h"

#include <algorithm>

#include "agent/api/json/dump.h"

namespace muster::agent {
namespace {

Json amounts_of(const scheduler::QueueAmounts& amounts) {
  Json list = Json::array();
  for (const auto& [key, amount] : amounts) {
    list.push_back({{"amount_of", key}, {"amount", amount}});
  }
  return list;
}

Json tiers_of(const std::vector<scheduler::Tier>& tiers) {
  Json list = Json::array();
  for (const scheduler::Tier tier : tiers) {
    list.push_back(scheduler::text_of(tier));
  }
  return list;
}

/// A number, of a task "7.12"; null if there is no such job, or the asker may not see it.
Json named_job(JobId job) {
  return is_task(job) ? Json(text_of(job)) : number_or_null(job.value());
}

Json pools_of(const QueueUse& use) {
  Json list = Json::array();
  for (const PoolUse& pool : use.pools) {
    list.push_back({{"pool", pool.pool},
                    {"held_thousandths", pool.held},
                    {"is_owed", pool.is_owed},
                    {"owed_wait_ms", number_or_null(pool.owed_wait_ms)},
                    {"owed_job_id", named_job(pool.owed_job)}});
  }
  return list;
}

/// A parent that the tree leaves out has the defaults.
scheduler::QueueNode node_at(const QueueList& list, const std::string& path) {
  const auto& nodes = list.tree.nodes;
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.path == path; });
  return found == nodes.end() ? scheduler::QueueNode() : *found;
}

Json queue_of(const QueueList& list, const QueueUse& use) {
  const scheduler::QueueNode node = node_at(list, use.path);
  const bool is_endless = node.time_limit_max == scheduler::kNoTimeLimit;
  const bool has_max = node.time_limit_max.has_value() && !is_endless;
  return {{"queue", use.path},
          {"is_leaf", use.is_leaf},
          {"weight", node.weight},
          {"guaranteed", amounts_of(node.guaranteed)},
          {"max", amounts_of(node.max)},
          {"tiers", tiers_of(node.tiers)},
          {"queue_members", node.members},
          {"is_fifo", node.is_fifo || list.version == 0},
          {"time_limit_max_ms", has_max ? Json(to_ms(*node.time_limit_max)) : Json(nullptr)},
          {"allows_no_time_limit", is_endless},
          {"max_pending", number_or_null(node.max_pending)},
          {"pools", pools_of(use)},
          {"pending", use.pending},
          {"running", use.running},
          {"longest_wait_ms", use.pending == 0 || (use.waits.empty() && use.longest_wait_ms == 0)
                                  ? Json(nullptr)
                                  : Json(use.longest_wait_ms)}};
}

Json view(const TierWaits& waits) {
  return {{"tier", text_or_null(waits.tier)},    {"pending", waits.count},
          {"over_10_min", waits.over_10_min},    {"over_30_min", waits.over_30_min},
          {"longest_wait_ms", waits.longest_ms}, {"longest_job_id", named_job(waits.longest)}};
}

/// Null where an older node does not tell the tiers.
Json waits_of(const QueueUse& use) {
  Json tiers = Json::array();
  for (const TierWaits& each : use.waits) {
    tiers.push_back(view(each));
  }
  Json json = use.waits.empty() ? Json() : view(use.all_waits());
  if (use.waits.empty()) {
    json = {{"pending", use.pending},
            {"over_10_min", nullptr},
            {"over_30_min", nullptr},
            {"longest_wait_ms", use.longest_wait_ms},
            {"longest_job_id", nullptr}};
  }
  json.erase("tier");
  json["queue"] = use.path;
  json["is_leaf"] = use.is_leaf;
  json["waiting_tiers"] = use.waits.empty() ? Json(nullptr) : tiers;
  return json;
}

Json share_of(const ShareInfo& share) {
  return {{"queue", share.path},
          {"user", text_or_null(share.user)},
          {"pool", share.pool},
          {"pool_name", share.pool_name},
          {"held_thousandths", share.held},
          {"pool_held_thousandths", share.pool_held},
          {"pool_size", share.pool_size},
          {"part_thousandths", share.part},
          {"weight", share.weight},
          {"weights", share.weights},
          {"mean_permille", share.mean_permille},
          {"credit_permille", share.credit_permille},
          {"pending", share.pending},
          {"is_owed", share.is_owed},
          {"is_next", share.is_next},
          {"at_max", text_or_null(share.at_max)},
          {"borrowed_thousandths", share.user.empty() ? Json(share.borrowed) : Json(nullptr)}};
}

}  // namespace

std::string to_json(const QueueList& list, const Response& answer) {
  Json queues = Json::array();
  for (const QueueUse& use : list.uses) {
    queues.push_back(queue_of(list, use));
  }
  return dump_answer({{"queues_version", number_or_null(list.version)},
                      {"half_life_ms", to_ms(list.tree.half_life)},
                      {"fleet", amounts_of(list.fleet)},
                      {"queues", queues}},
                     answer);
}

std::string waiting_json(const QueueList& list, const Response& answer) {
  Json queues = Json::array();
  for (const QueueUse& use : list.uses) {
    if (use.pending != 0) {
      queues.push_back(waits_of(use));
    }
  }
  return dump_answer({{"queues_version", number_or_null(list.version)}, {"queues", queues}},
                     answer);
}

std::string to_json(const ShareList& list, const Response& answer) {
  Json shares = Json::array();
  for (const ShareInfo& share : list.shares) {
    shares.push_back(share_of(share));
  }
  return dump_answer({{"half_life_ms", list.half_life_ms}, {"shares", shares}}, answer);
}

std::string queues_changed_json(const std::vector<std::string>& changes, bool is_made) {
  return dump({{"changes", changes}, {"is_made", is_made}});
}

}  // namespace muster::agent
