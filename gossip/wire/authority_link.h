#pragma once
// How one cluster authority follows another: the one before signs it. Whoever knows an authority
// knows by such links the one that signs now, and needs to be told by nobody.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/signing.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {

struct AuthorityLink {
  std::uint64_t number = 0;  ///< From 2 on: the first authority follows none.
  std::string key;           ///< Public.
  std::string signature;     ///< Of the one before over authority_words().
  bool operator==(const AuthorityLink&) const = default;
};

/// Links that are kept: a host that missed more of them has to join again.
inline constexpr std::size_t kAuthorityLinksMax = 16;

/// An authority by its number and public key.
struct Authority {
  std::uint64_t number = 1;
  std::string key;

  /// Goes on along `links` as far as each is signed by the one before; those that were new.
  std::vector<AuthorityLink> follow(const std::vector<AuthorityLink>& links,
                                    const Verifier& verifier);
};

/// The words that the authority before it signs.
std::string authority_words(std::uint64_t number, std::string_view key);

/// [[number, key, signature], ...]; fails the reader beyond kAuthorityLinksMax.
void write(Encoder& out, const std::vector<AuthorityLink>& links);
std::vector<AuthorityLink> read_authority_links(Reader& in);

}  // namespace muster::gossip
