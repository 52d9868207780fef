#include "scheduler/access/intent.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/wire/wire.h"

namespace muster::scheduler {
namespace {

constexpr std::string_view kDirectoryWord = "change_directory";
constexpr std::string_view kTicketWord = "make_ticket";
constexpr std::string_view kMemberWord = "member";

/// 0 = as it is.
std::uint64_t number_of(const std::optional<bool>& wish) {
  return !wish.has_value() ? 0 : *wish ? 1 : 2;
}

std::optional<bool> wish_in(gossip::Reader& in) {
  const std::uint64_t number = in.u64_at_most(2);
  return number == 0 ? std::nullopt : std::optional(number == 1);
}

}  // namespace

std::string message_of(const Intent& intent) {
  return gossip::Encoder()
      .array(4)
      .id(mutant(Mutant::kSignatureOfAnyCluster) ? ClusterId() : intent.cluster)
      .text(intent.user)
      .u64(intent.number)
      .bytes(mutant(Mutant::kSignatureOfAnyOrder) ? "" : intent.order)
      .take();
}

PersonSignature signature_for(const Intent& intent, const gossip::SshSignature& signature,
                              bool holds) {
  CHECK(!holds || intent.order.size() <= kSignedOrderBytesMax);
  return {intent.number, blob_of(signature), holds ? intent.order : ""};
}

std::string words_of(const DirectoryChange& change) {
  gossip::Encoder out;
  out.array(2).text(kDirectoryWord);
  write(out, change);
  return out.take();
}

std::string words_of(const entry::MakeTicket& ticket) {
  const Duration ttl = std::clamp(ticket.ttl, Duration::zero(), kTicketTtlMax);
  return gossip::Encoder()
      .array(7)
      .text(kTicketWord)
      .bytes(ticket.key)
      .u64(ticket.uses)
      .duration(ttl)
      .boolean(ticket.may_vote)
      .boolean(ticket.may_vouch)
      .text(ticket.host_name)
      .take();
}

std::string words_of(const MemberOrder& order) {
  return gossip::Encoder()
      .array(5)
      .text(kMemberWord)
      .u64(static_cast<std::uint64_t>(order.kind))
      .id(order.host)
      .u64(number_of(order.may_vote))
      .u64(number_of(order.may_vouch))
      .take();
}

std::optional<MemberOrder> member_order_in(std::string words) {
  const std::string given = words;
  const Result<gossip::Document> document = gossip::Document::parse(std::move(words));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  const bool is_member_order = in.text(kMemberWord.size()) == kMemberWord;
  MemberOrder order;
  order.kind = static_cast<MemberOrder::Kind>(
      in.u64_at_most(static_cast<std::uint64_t>(MemberOrder::Kind::kReplaceAuthority)));
  order.host = in.id<HostId>();
  order.may_vote = wish_in(in);
  order.may_vouch = wish_in(in);
  // One order has one form: bytes behind it would be signed and mean nothing.
  return in.ok() && is_member_order && words_of(order) == given ? std::optional(order)
                                                                : std::nullopt;
}

}  // namespace muster::scheduler
