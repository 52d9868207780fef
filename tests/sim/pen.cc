#include "tests/sim/pen.h"

#include <algorithm>
#include <chrono>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/users.h"
#include "gossip/ssh/ssh_signature.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/sim/world.h"

namespace muster::sim {
namespace {

using agent::Verb;
using scheduler::MemberOrder;

constexpr std::uint32_t kFirstGuestUid = 2'000;

template <class T>
T arguments_in(const agent::Request& request) {
  return agent::decode_payload<T>(request.arguments).value_or(T());
}

std::optional<bool> wish_of(agent::Wish wish) {
  return wish == agent::Wish::kAsItIs ? std::nullopt : std::optional(wish == agent::Wish::kYes);
}

std::string words_of_ticket(const agent::TicketArgs& wish) {
  scheduler::entry::MakeTicket ticket;
  ticket.key = wish.key;
  ticket.uses = wish.uses;
  ticket.ttl = std::chrono::milliseconds(wish.ttl_ms);
  ticket.may_vote = wish.may_vote;
  ticket.may_vouch = wish.may_vouch;
  ticket.host_name = wish.host_name;
  return scheduler::words_of(ticket);
}

OrderWords member_words(const MemberOrder& order) {
  return {words_of(order), true};
}

}  // namespace

gossip::Sender login_of(const std::string& user) {
  gossip::Sender sender{gossip::Sender::Kind::kLogin};
  if (user != kOperator) {
    // A uid is the name's alone: any will do, but for that of root.
    sender.uid = kFirstGuestUid + static_cast<std::uint32_t>(user.size());
    sender.login_name = user;
  }
  return sender;
}

std::optional<OrderWords> words_under(const agent::Request& request) {
  if (request.verb == Verb::kChangeUsers) {
    return OrderWords{words_of(arguments_in<agent::DirectoryArgs>(request).change)};
  }
  if (request.verb == Verb::kMakeTicket) {
    return OrderWords{words_of_ticket(arguments_in<agent::TicketArgs>(request))};
  }
  if (request.verb == Verb::kRevokeHost) {
    return member_words({MemberOrder::Kind::kRevoke, arguments_in<agent::HostRef>(request).host});
  }
  if (request.verb == Verb::kSetHost) {
    const auto wish = arguments_in<agent::SetHostArgs>(request);
    return member_words({MemberOrder::Kind::kSetRights, wish.host, wish_of(wish.may_vote),
                         wish_of(wish.may_vouch)});
  }
  if (request.verb == Verb::kRotateKeys) {
    const auto wish = arguments_in<agent::RotateArgs>(request);
    return member_words(wish.is_authority ? MemberOrder{MemberOrder::Kind::kReplaceAuthority}
                                          : MemberOrder{MemberOrder::Kind::kRotateKeys, wish.host});
  }
  return std::nullopt;
}

gossip::SshKey key_of(const std::string& pen) {
  return {gossip::SshKeyType::kEd25519,
          std::string(gossip::testing::signer_of_person(pen)->public_key()), ""};
}

scheduler::PersonSignature written(const std::string& pen, const scheduler::Intent& intent,
                                   bool holds, std::string_view name_space) {
  return signature_for(intent,
                       gossip::sign_ssh(*gossip::testing::signer_of_person(pen), name_space,
                                        message_of(intent), gossip::testing::StandInVerifier()),
                       holds);
}

}  // namespace muster::sim
