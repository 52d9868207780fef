#include "scheduler/access/token_book.h"

#include <algorithm>

namespace muster::scheduler {

const TokenRecord* TokenBook::find(AccessTokenId id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second;
}

Status TokenBook::add(AccessTokenId id, TokenRecord record, Duration cluster_time) {
  if (const TokenRecord* known = find(id)) {
    return known->hash == record.hash && known->user == record.user
               ? ok()
               : Status(Error{ErrorCode::kConflict,
                              "there is another access token of that number: repeat"});
  }
  const auto open = std::count_if(records_.begin(), records_.end(), [&](const auto& each) {
    return each.second.user == record.user && !each.second.has_ended(cluster_time);
  });
  if (static_cast<std::size_t>(open) >= kTokensOfUserMax) {
    return Error{ErrorCode::kConflict, "user " + record.user + " has " +
                                           std::to_string(kTokensOfUserMax) +
                                           " access tokens: revoke some (muster token revoke)"};
  }
  if (records_.size() >= kTokensMax) {
    const auto first = std::min_element(
        records_.begin(), records_.end(),
        [](const auto& a, const auto& b) { return a.second.ends_at < b.second.ends_at; });
    if (!first->second.has_ended(cluster_time)) {
      return Error{ErrorCode::kConflict,
                   "there are " + std::to_string(kTokensMax) +
                       " access tokens in the cluster: revoke some (muster token revoke)"};
    }
    records_.erase(first);
  }
  records_.emplace(id, std::move(record));
  return ok();
}

void TokenBook::end_all_of(const std::string& user) {
  std::erase_if(records_, [&](const auto& each) { return each.second.user == user; });
}

void TokenBook::forget_ended(Duration cluster_time) {
  std::erase_if(records_, [&](const auto& each) {
    return cluster_time >= each.second.ends_at + kEndedTokenKept;
  });
}

}  // namespace muster::scheduler
