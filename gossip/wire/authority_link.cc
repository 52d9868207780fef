#include "gossip/wire/authority_link.h"

#include <utility>

namespace muster::gossip {

std::vector<AuthorityLink> Authority::follow(const std::vector<AuthorityLink>& links,
                                             const Verifier& verifier) {
  std::vector<AuthorityLink> news;
  for (const AuthorityLink& link : links) {
    if (link.number == number + 1 && !link.key.empty() &&
        verifier.verify(key, authority_words(link.number, link.key), link.signature)) {
      number = link.number;
      key = link.key;
      news.push_back(link);
    }
  }
  return news;
}

std::string authority_words(std::uint64_t number, std::string_view key) {
  return Encoder().array(3).text("muster authority 1").u64(number).bytes(key).take();
}

void write(Encoder& out, const std::vector<AuthorityLink>& links) {
  out.array(links.size());
  for (const AuthorityLink& link : links) {
    out.array(3).u64(link.number).bytes(link.key).bytes(link.signature);
  }
}

std::vector<AuthorityLink> read_authority_links(Reader& in) {
  std::vector<AuthorityLink> links;
  Reader list = in.array_at_most(kAuthorityLinksMax);
  while (list.ok() && list.left() > 0) {
    Reader each = list.array();
    const std::uint64_t number = each.u64();
    std::string key = each.text(kPublicKeyBytesMax);
    links.push_back({number, std::move(key), each.text(kSignatureBytes)});
  }
  return links;
}

}  // namespace muster::gossip
