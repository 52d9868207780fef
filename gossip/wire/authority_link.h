#pragma once
// AuthorityLink is a step from one cluster authority to the next: the earlier one signs the later.
// A host that knows any authority follows such links to the present one and trusts no other host.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/signing.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {

struct AuthorityLink {
  std::uint64_t number = 0;  ///< From 2 on: no link leads to the first authority.
  std::string key;           ///< Public.
  std::string signature;     ///< By the authority before, over authority_words().
  bool operator==(const AuthorityLink&) const = default;
};

/// Limit of the links that are kept. A host that missed more of them has to join again.
inline constexpr std::size_t kAuthorityLinksMax = 16;

/// An authority by its number and public key.
struct Authority {
  std::uint64_t number = 1;
  std::string key;

  /// Follows `links` as far as the authority before signed each. Returns the links it followed.
  std::vector<AuthorityLink> follow(const std::vector<AuthorityLink>& links,
                                    const Verifier& verifier);
};

/// The words that the authority before `number` signs.
std::string authority_words(std::uint64_t number, std::string_view key);

/// [[number, key, signature], ...]; fails the reader beyond kAuthorityLinksMax.
void write(Encoder& out, const std::vector<AuthorityLink>& links);
std::vector<AuthorityLink> read_authority_links(Reader& in);

}  // namespace muster::gossip
