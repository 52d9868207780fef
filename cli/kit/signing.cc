#include "cli/kit/signing.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "cli/kit/places.h"
#include "gossip/base/enum_table.h"
#include "gossip/ssh/ssh_key.h"
#include "scheduler/access/intent.h"

namespace muster::cli {
namespace {

using scheduler::MemberOrder;

template <class T>
T arguments_in(const agent::Request& request) {
  return agent::decode_payload<T>(request.arguments).value_or(T());
}

std::optional<bool> wish_of(agent::Wish wish) {
  return wish == agent::Wish::kAsItIs ? std::nullopt : std::optional(wish == agent::Wish::kYes);
}

std::string words_of_users(const agent::Request& request) {
  return scheduler::words_of(arguments_in<agent::DirectoryArgs>(request).change);
}

std::string words_of_ticket(const agent::Request& request) {
  const auto args = arguments_in<agent::TicketArgs>(request);
  scheduler::entry::MakeTicket ticket;
  ticket.key = args.key;
  ticket.uses = args.uses;
  constexpr auto kLongestMs = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(scheduler::kTicketTtlMax).count());
  ticket.ttl = std::chrono::milliseconds(std::min(args.ttl_ms, kLongestMs));
  ticket.may_vote = args.may_vote;
  ticket.may_vouch = args.may_vouch;
  ticket.host_name = args.host_name;
  return scheduler::words_of(ticket);
}

std::string words_of_revocation(const agent::Request& request) {
  return scheduler::words_of(
      MemberOrder{MemberOrder::Kind::kRevoke, arguments_in<agent::HostRef>(request).host});
}

std::string words_of_rights(const agent::Request& request) {
  const auto args = arguments_in<agent::SetHostArgs>(request);
  return scheduler::words_of(MemberOrder{MemberOrder::Kind::kSetRights, args.host,
                                         wish_of(args.may_vote), wish_of(args.may_vouch)});
}

std::string words_of_rotation(const agent::Request& request) {
  const auto args = arguments_in<agent::RotateArgs>(request);
  return scheduler::words_of(args.is_authority
                                 ? MemberOrder{MemberOrder::Kind::kReplaceAuthority}
                                 : MemberOrder{MemberOrder::Kind::kRotateKeys, args.host});
}

/// The entry holds the order of those that a leader makes a record of (scheduler::MemberOrder).
struct WordsRow {
  agent::Verb verb{};
  std::string (*words)(const agent::Request& request) = nullptr;
  bool holds = false;
};
constexpr WordsRow kSignedWords[] = {
    {agent::Verb::kChangeUsers, words_of_users},
    {agent::Verb::kMakeTicket, words_of_ticket},
    {agent::Verb::kRevokeHost, words_of_revocation, true},
    {agent::Verb::kSetHost, words_of_rights, true},
    {agent::Verb::kRotateKeys, words_of_rotation, true},
};

}  // namespace

std::optional<agent::SignatureWanted> signature_wanted(const Reply& reply) {
  const bool is_refused = reply.status == agent::ResponseStatus::kDenied ||
                          reply.status == agent::ResponseStatus::kConflict;
  auto wanted = is_refused && !reply.response.payload.empty()
                    ? agent::decode_payload<agent::SignatureWanted>(reply.response.payload)
                    : std::nullopt;
  return wanted.has_value() && !wanted->keys.empty() ? wanted : std::nullopt;
}

Status sign(Session& session, const agent::SignatureWanted& wanted, agent::Request& request) {
  const WordsRow* row = find_row(kSignedWords, &WordsRow::verb, request.verb);
  if (row == nullptr) {
    return Error{ErrorCode::kInvalid,
                 "the node wants a signature under an order that has none: "
                 "compare `muster version` here and there"};
  }
  agent::Request question;
  question.verb = agent::Verb::kWhoami;
  question.user = request.user;
  const Reply answer = session.exchange(question);
  const auto whoami = agent::decode_payload<agent::WhoamiInfo>(answer.response.payload);
  if (!answer.is_ok() || !whoami.has_value()) {
    return Error{ErrorCode::kUnavailable,
                 answer.text.empty() ? std::string(kUnreadableAnswer) : answer.text};
  }
  SignWish wish;
  wish.sign_with = session.common().sign_with;
  wish.default_file = admin_key_file(session.world(), session.common().data_dir);
  std::vector<scheduler::Intent> intents;
  for (const agent::UserKeyInfo& key : wanted.keys) {
    if (const auto line = gossip::ssh_key_of_line(key.line)) {
      intents.push_back({whoami->cluster, whoami->user, key.next, row->words(request)});
      wish.choices.push_back({line->key, scheduler::message_of(intents.back())});
    }
  }
  wish.name_space = scheduler::kIntentNamespace;
  const Result<gossip::SshSignature> signature = session.world().files.keys.sign(wish);
  if (!signature) {
    return signature.error();
  }
  for (std::size_t i = 0; i < intents.size(); ++i) {
    if (wish.choices[i].key == signature->key) {
      request.signature = scheduler::signature_for(intents[i], *signature, row->holds);
    }
  }
  return ok();
}

}  // namespace muster::cli
