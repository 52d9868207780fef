#include "agent/roll/authority_book.h"

#include <algorithm>
#include <optional>

#include "crdt/rows/roll.h"
#include "crdt/rows/row_check.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

/// In Environment::kId.
constexpr std::string_view kAuthorityRecord = "authority";
constexpr std::uint64_t kAuthorityVersion = 1;

std::optional<AuthorityRecord> decode(const std::string& bytes) {
  Result<gossip::Document> document = gossip::Document::parse(bytes);
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  AuthorityRecord record;
  const bool is_known = in.u64() == kAuthorityVersion;
  record.authority.number = in.u64();
  record.authority.key = in.text();
  record.secret = in.text();
  record.links = gossip::read_authority_links(in);
  return in.ok() && is_known ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace

AuthorityRecord authority_in(const crdt::Records& id_records, HostId self,
                             const Credentials& credentials) {
  AuthorityRecord joined{
      {1, credentials.authority}, credentials.authority_secret, credentials.authority_links};
  for (const auto& [host, record] : credentials.records) {
    if (host == self) {
      joined.authority.number = record.version.generation.value();
    }
  }
  // The authority may have been replaced between the record and the answer that brought both.
  if (!joined.links.empty() && joined.links.back().key == joined.authority.key) {
    joined.authority.number = joined.links.back().number;
  }
  const auto kept = id_records.find(std::string(kAuthorityRecord));
  if (kept == id_records.end()) {
    return joined;
  }
  auto later = decode(kept->second);
  return later.has_value() && later->authority.number > joined.authority.number ? *std::move(later)
                                                                                : joined;
}

AuthorityBook::AuthorityBook(HostId self, const Credentials& credentials,
                             const crdt::Records& id_records)
    : self_(self),
      own_(credentials.signer),
      verifier_(credentials.verifier),
      maker_(credentials.key_maker),
      record_(authority_in(id_records, self, credentials)) {
  if (!record_.secret.empty()) {
    signer_ = maker_->signer_of(record_.secret);
  }
}

bool AuthorityBook::learn(const std::vector<gossip::AuthorityLink>& links, Outbox& outbox) {
  std::vector<gossip::AuthorityLink> news = crdt::follow(record_.authority, links, *verifier_);
  if (news.empty()) {
    return false;
  }
  record_.secret.clear();
  signer_.reset();
  record_.links.insert(record_.links.end(), news.begin(), news.end());
  const std::size_t surplus =
      record_.links.size() - std::min(record_.links.size(), gossip::kAuthorityLinksMax);
  record_.links.erase(record_.links.begin(),
                      record_.links.begin() + static_cast<std::ptrdiff_t>(surplus));
  write(outbox);
  outbox.emit(Severity::kInfo, "authority_known", {{"number", std::to_string(number())}});
  return true;
}

void AuthorityBook::open(const std::vector<std::pair<HostId, std::string>>& sealed,
                         Outbox& outbox) {
  const auto box = std::find_if(sealed.begin(), sealed.end(),
                                [&](const auto& each) { return each.first == self_; });
  if (signer_ != nullptr || box == sealed.end()) {
    return;
  }
  const auto secret = own_->open(box->second);
  const auto signer = secret.has_value() ? maker_->signer_of(*secret) : nullptr;
  if (signer == nullptr || signer->public_key() != record_.authority.key) {
    outbox.emit(
        Severity::kAlarm, "authority_not_opened",
        {{"number", std::to_string(number())},
         {"advice", "this host cannot admit new members while it leads: see `muster keys`"}});
    return;
  }
  record_.secret = *secret;
  signer_ = signer;
  write(outbox);
}

void AuthorityBook::write(Outbox& outbox) const {
  gossip::Encoder out;
  out.array(5)
      .u64(kAuthorityVersion)
      .u64(number())
      .bytes(record_.authority.key)
      .bytes(record_.secret);
  gossip::write(out, record_.links);
  outbox.write({}, crdt::Environment::kId, {{std::string(kAuthorityRecord), out.take()}});
}

std::uint64_t whole_authority(const scheduler::RollBook& book, std::uint64_t before) {
  const std::uint64_t number = book.keys().authority();
  if (before >= number) {
    return before;
  }
  const bool is_whole =
      std::all_of(book.hosts().begin(), book.hosts().end(), [&](const auto& entry) {
        return entry.second.authority >= number || crdt::decode_roll(entry.second.record)
                                                       .value_or(crdt::RollRecord())
                                                       .identity_key.empty();
      });
  return is_whole ? number : before;
}

}  // namespace muster::agent
