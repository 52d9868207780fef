#pragma once
// TokenBook holds the access tokens of a directory, without their secrets. Owned by Directory;
// pure. A token ends by itself, when it is revoked, and with its user.
//
// Invariants: at most kTokensMax tokens; at most kTokensOfUserMax of one user are open at their
// making. A token that ended by itself is kept for kEndedTokenKept: until then its holder hears
// the reason.

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "gossip/base/result.h"
#include "gossip/base/time.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

inline constexpr std::size_t kTokensMax = 4'096;
inline constexpr std::size_t kTokensOfUserMax = 64;
/// Of cluster time.
inline constexpr Duration kEndedTokenKept = std::chrono::hours(24);

struct TokenRecord {
  std::string hash;   ///< hash_of() in access_token.h.
  std::string user;   ///< Its maker, for whom it acts.
  std::string label;  ///< For people.
  TokenRights rights;
  std::string team;     ///< Jobs that it submits are in this team; "" = in any team of the user.
  Duration ends_at{0};  ///< Cluster time.
  bool operator==(const TokenRecord&) const = default;

  bool has_ended(Duration cluster_time) const { return cluster_time >= ends_at; }
};

class TokenBook {
 public:
  using Records = std::map<AccessTokenId, TokenRecord>;

  TokenBook() = default;
  /// From a snapshot, or a copy.
  explicit TokenBook(Records records) : records_(std::move(records)) {}

  const Records& all() const { return records_; }
  /// nullptr if there is no such token.
  const TokenRecord* find(AccessTokenId id) const;
  /// Keeps the token. kConflict: there is another token under that id, or there are too many; the
  /// book is unchanged. A token that is there already is left as it is.
  Status add(AccessTokenId id, TokenRecord record, Duration cluster_time);
  /// False if there is no such token.
  bool end(AccessTokenId id) { return records_.erase(id) > 0; }
  void end_all_of(const std::string& user);
  /// Forgets tokens that ended by themselves kEndedTokenKept ago.
  void forget_ended(Duration cluster_time);
  bool operator==(const TokenBook&) const = default;

 private:
  Records records_;
};

}  // namespace muster::scheduler
