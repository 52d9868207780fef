#include "agent/edge/supervisor/pruned_grants.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <utility>

#include "agent/edge/supervisor/token_name.h"

namespace muster::agent {
namespace {

constexpr std::array<PruneRule, 3> kRules = {PruneRule::kAge, PruneRule::kBytes, PruneRule::kFiles};

std::string line_of(Token token, PruneRule rule) {
  return token.text() + " " + text_of(rule) + "\n";
}

}  // namespace

std::string text_of(PruneRule rule) {
  switch (rule) {
    case PruneRule::kAge:
      return "age";
    case PruneRule::kBytes:
      return "bytes";
    case PruneRule::kFiles:
      return "files";
  }
  return "";
}

std::string sentence_of(PruneRule rule, const OutputRule& limits) {
  static constexpr std::uint64_t kHourMs = 3'600'000;
  static constexpr std::uint64_t kMegabyte = 1 << 20;
  const std::string removed = kWasRemoved;
  switch (rule) {
    case PruneRule::kAge:
      return removed + " it ended more than " + std::to_string(limits.age_ms / kHourMs) +
             " hours ago (output_keep)";
    case PruneRule::kBytes:
      return removed + " the output of ended jobs took more than " +
             std::to_string(limits.bytes / kMegabyte) + " MiB of that host (output_max)";
    case PruneRule::kFiles:
      return removed + " ended jobs left more than " + std::to_string(limits.files) +
             " files on that host, most of them from this job";
  }
  return "";
}

std::vector<Event> events_of(const std::vector<PrunedGrant>& grants, const OutputRule& limits) {
  std::map<PruneRule, std::vector<PrunedGrant>> by_rule;
  for (const PrunedGrant& pruned : grants) {
    by_rule[pruned.rule].push_back(pruned);
  }
  std::vector<Event> events;
  for (const auto& [rule, pruned] : by_rule) {
    events.push_back({Severity::kInfo,
                      "output_pruned",
                      {{"rule", text_of(rule)},
                       {"grants", std::to_string(pruned.size())},
                       {"job", pruned.front().job},
                       {"token", pruned.front().token.text()},
                       {"why", sentence_of(rule, limits)}}});
  }
  return events;
}

PrunedGrants::PrunedGrants(std::string path) : path_(std::move(path)) {
  std::ifstream file(path_);
  for (std::string name, rule; file >> name >> rule; ++lines_) {
    const std::optional<Token> token = token_named(name);
    const auto known = std::find_if(kRules.begin(), kRules.end(),
                                    [&rule](PruneRule one) { return text_of(one) == rule; });
    if (token.has_value() && known != kRules.end()) {
      rules_[*token] = *known;
    }
  }
}

void PrunedGrants::add(Token token, PruneRule rule) {
  rules_[token] = rule;
  if (rules_.size() > kRememberedMax) {
    rules_.erase(rules_.begin());
  }
  if (lines_ >= 2 * kRememberedMax) {
    rewrite();
    return;
  }
  std::ofstream(path_, std::ios::app) << line_of(token, rule);
  ++lines_;
}

void PrunedGrants::rewrite() {
  const std::string next = path_ + ".new";
  {
    std::ofstream file(next, std::ios::trunc);
    for (const auto& [token, rule] : rules_) {
      file << line_of(token, rule);
    }
    if (!file.flush()) {
      return;  // The disk is full, which is why they went.
    }
  }
  if (std::rename(next.c_str(), path_.c_str()) == 0) {
    lines_ = rules_.size();
  }
}

std::optional<PruneRule> PrunedGrants::find(Token token) const {
  const auto known = rules_.find(token);
  return known == rules_.end() ? std::nullopt : std::optional(known->second);
}

}  // namespace muster::agent
