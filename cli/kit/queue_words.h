#pragma once
// The keys of a queue and their values in words, in one form for files, for `muster queue set` and
// for what people read. Pure. Errors are kInvalid, and say what to write.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/queues.h"

namespace muster::cli {

inline constexpr std::array<std::string_view, 8> kQueueKeys = {
    "weight", "guaranteed", "max", "tiers", "members", "users", "time-limit-max", "max-pending"};

/// "unknown key 'wieght' of queue nlp; did you mean weight?" Without a near key it names all.
/// `where` is " of queue nlp" or the like.
std::string unknown_key_text(std::string_view key, std::string_view where,
                             const std::vector<std::string>& known);
std::vector<std::string> queue_key_names();
/// The word that a person may have meant; "" if every one needs more than two changes.
std::string nearest_of(std::string_view given, const std::vector<std::string>& words);

/// 1 to kQueueWeightMax.
Status set_weight(scheduler::QueueNode& node, std::int64_t weight);
/// `key` is a GPU type in any case, kAllGpus or kCpus; the amount is 0 to kQueueAmountMax. `name`
/// is "guaranteed" or "max", for the error. The amount replaces the one before.
Status set_amount(scheduler::QueueAmounts& amounts, std::string_view name, std::string_view key,
                  std::int64_t amount);
/// Names of tiers, each once and at least one.
Status set_tiers(scheduler::QueueNode& node, const std::vector<std::string>& tiers);
/// Logins, and teams as "@TEAM", each once and at least one.
Status set_members(scheduler::QueueNode& node, const std::vector<std::string>& members);
/// "fair" or "fifo".
Status set_users(scheduler::QueueNode& node, std::string_view users);
/// 1 to kQueuePendingMax.
Status set_max_pending(scheduler::QueueNode& node, std::int64_t jobs);
/// A duration above 0, or "none".
Status set_time_limit_max(scheduler::QueueNode& node, std::string_view limit);
/// A duration from kHalfLifeMin to kHalfLifeMax.
Result<Duration> half_life_of(std::string_view text);

/// One word of `muster queue set`: "weight=4", "guaranteed.h100=64", "tiers=standard,batch".
/// Without a value the queue loses the key: "max.gpus=".
Status set_key(scheduler::QueueNode& node, const std::string& given);

/// "H100" of "h100"; else as scheduler::pool_words() says.
std::string type_name(std::string_view key);
/// "64 H100, 96 GPUs"; "" if there are no amounts.
std::string amounts_text(const scheduler::QueueAmounts& amounts);
/// "7d" or "none".
std::string time_limit_text(Duration limit);
/// "standard, batch"
std::string tiers_text(const std::vector<scheduler::Tier>& tiers);
/// Each of kQueueKeys with its value in words, in that order: {"weight", "4"}.
std::vector<std::pair<std::string, std::string>> queue_values(const scheduler::QueueNode& node);

}  // namespace muster::cli
