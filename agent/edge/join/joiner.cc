#include "agent/edge/join/joiner.h"

#include <sys/random.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "crdt/rows/roll.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/ticket_line.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/message.h"

namespace muster::agent {
namespace {

constexpr Duration kReadStep = std::chrono::milliseconds(100);

std::uint64_t random_number() {
  std::uint64_t value = 0;
  while (value == 0) {
    CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
  }
  return value;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

struct Conversation {
  gossip::TicketLine ticket;
  std::unique_ptr<gossip::ZmqTransport> transport;
  std::string question;
  Nonce nonce;
  std::string last_word{};  ///< The text of the last member that could not help.
};

/// Of the authority that a ticket names, when the others followed it: a ticket says no number.
std::uint64_t number_before(const std::vector<gossip::AuthorityLink>& links,
                            const std::string& key) {
  for (const gossip::AuthorityLink& link : links) {
    if (link.key == key) {
      return link.number;
    }
    if (HostKeyVerifier().verify(key, gossip::authority_words(link.number, link.key),
                                 link.signature)) {
      return link.number - 1;
    }
  }
  return 0;
}

void ask(Conversation& talk, const gossip::TicketLine::Door& door) {
  talk.transport->send({door.at, gossip::Channel::kControl, talk.question});
}

/// The answer that ends the conversation; nullopt if `received` is no such answer.
std::optional<Result<JoinInfo>> answer_in(Conversation& talk, gossip::Received& received) {
  const Result<gossip::Message> message = gossip::decode(std::move(received.bytes));
  if (!message || message->envelope().nonce != talk.nonce ||
      message->envelope().type != gossip::MessageType::kResponse) {
    return std::nullopt;
  }
  const auto response = decode_response(message->body());
  if (!response.has_value()) {
    return std::nullopt;
  }
  if (response->status == ResponseStatus::kOk) {
    auto info = decode_payload<JoinInfo>(response->payload);
    gossip::Authority authority{0, talk.ticket.authority};
    if (info.has_value() && !info->authority_links.empty()) {
      authority.number = number_before(info->authority_links, authority.key);
      authority.follow(info->authority_links, HostKeyVerifier());
    }
    const bool is_mine = info.has_value() && info->authority == authority.key;
    if (is_mine) {
      return std::move(*info);
    }
    return Error{ErrorCode::kConflict, "the answer comes from another cluster than the ticket"};
  }
  if (response->status == ResponseStatus::kNoQuorum ||
      response->status == ResponseStatus::kUnknown) {
    talk.last_word = response->text;
    return std::nullopt;
  }
  return Error{ErrorCode::kConflict, response->text};
}

Result<JoinInfo> converse(Conversation& talk) {
  const Instant end = boot_now() + kJoinTimeout;
  ask(talk, talk.ticket.doors[random_number() % talk.ticket.doors.size()]);
  Duration again = kJoinAskAgain;
  Instant ask_at = boot_now() + again;
  bool is_first = true;
  while (boot_now() < end) {
    if (boot_now() >= ask_at) {
      std::for_each(talk.ticket.doors.begin(), talk.ticket.doors.end(),
                    [&](const gossip::TicketLine::Door& door) { ask(talk, door); });
      is_first = false;
      again = std::min(2 * again, kJoinAskAgainMax);
      ask_at = boot_now() + again;
    }
    talk.transport->wait(kReadStep);
    for (gossip::TransportInput& input : talk.transport->take_inputs()) {
      if (is_first && std::holds_alternative<gossip::LinkDown>(input)) {
        ask_at = boot_now();
      }
      if (auto* received = std::get_if<gossip::Received>(&input)) {
        if (auto answer = answer_in(talk, *received)) {
          return *std::move(answer);
        }
      }
    }
  }
  std::string addresses;
  for (const gossip::TicketLine::Door& door : talk.ticket.doors) {
    addresses += (addresses.empty() ? "" : ", ") + door.at.text();
  }
  return Error{
      ErrorCode::kUnavailable,
      talk.last_word.empty()
          ? "this host could not join at any of the ticket's addresses (" + addresses +
                "): check that these agents run and can be reached; a ticket gets no answer if "
                "the cluster no longer keeps it or these members changed their link keys: make a "
                "new one there with `muster ticket`"
          : talk.last_word};
}

}  // namespace

Result<MembershipRecord> join_with(const HostKey& key, const std::string& host_name,
                                   const std::string& ticket) {
  Result<gossip::TicketLine> line = gossip::ticket_in(ticket);
  if (!line) {
    return line.error();
  }
  MembershipRecord record;
  record.link_seed = random_bytes(gossip::kLinkSeedBytes);
  const gossip::LinkKeys link = gossip::LinkKeys::from_seed(record.link_seed);
  gossip::ZmqTransport::Options options;
  options.listens = false;
  options.link = link;
  options.ticket = gossip::LinkKeys::from_seed(line->secret);
  auto transport = gossip::ZmqTransport::open(options);
  if (!transport) {
    return transport.error();
  }
  Conversation talk{*std::move(line), std::move(transport).value(), "", Nonce(random_number())};
  JoinArgs join;
  join.identity_key = std::string(key.public_key());
  join.link_key = link.public_key;
  join.name = host_name;
  join.ticket = options.ticket->public_key;
  join.signature = key.sign(join_words(join));
  Request request;
  request.verb = Verb::kJoin;
  request.arguments = encode_payload(join);
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = talk.nonce;
  talk.question = gossip::encode(envelope, encode(request));
  talk.transport->dial_with({gossip::DialWith::Key::kTicket});
  for (const gossip::TicketLine::Door& door : talk.ticket.doors) {
    talk.transport->expect({door.at, door.link_key});
  }
  Result<JoinInfo> info = converse(talk);
  if (!info) {
    return info.error();
  }
  const crdt::Field field{{Generation(info->own.authority), Sequence(info->own.edition)},
                          info->own.record,
                          info->own.signature};
  const auto proven = crdt::proven_roll(key.host_id(), field, info->authority, HostKeyVerifier());
  if (!proven.has_value() || proven->link_key != link.public_key) {
    return Error{
        ErrorCode::kUnavailable,
        "the membership record that this host received does not match its keys: try again"};
  }
  record.cluster = info->cluster;
  record.authority = std::move(info->authority);
  record.authority_seed = std::move(info->authority_secret);
  record.authority_links = std::move(info->authority_links);
  record.own = std::move(info->own);
  record.first_admin = std::move(info->first_admin);
  record.first_admin_key = std::move(info->first_admin_key);
  record.contacts = std::move(info->contacts);
  record.contacts.resize(std::min(record.contacts.size(), kContactsMax));
  for (Contact& contact : record.contacts) {
    if (contact.link_row.size() > kLinkRowBytesMax) {
      contact.link_row.clear();
    }
  }
  return record;
}

}  // namespace muster::agent
