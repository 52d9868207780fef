#pragma once
// A member that newcomers come to over real loopback sockets, on a thread of its own, and the words
// that both say. Ports are the kernel's choice.

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/edge/disk/host_key.h"
#include "crdt/rows/roll.h"
#include "gossip/base/version.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/ticket_line.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/message.h"

namespace muster::agent::testing {

inline HostKey key_of(char seed) {
  return HostKey::from_seed(std::string(HostKey::kSeedBytes, seed));
}
/// The secret of the ticket that members know.
inline std::string ticket_secret() {
  return std::string(gossip::kLinkSeedBytes, 't');
}

/// The member's words on one question: whole messages.
using Answers = std::vector<std::string>;

inline std::string message_of(gossip::MessageType type, Nonce nonce, const std::string& body) {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = type;
  envelope.nonce = nonce;
  return gossip::encode(envelope, body);
}
inline std::string response_to(Nonce nonce, const Response& response) {
  return message_of(gossip::MessageType::kResponse, nonce, encode(response));
}
inline std::string refusal_of(Nonce nonce, ResponseStatus status, std::string text) {
  Response response;
  response.status = status;
  response.text = std::move(text);
  return response_to(nonce, response);
}
inline std::string welcome_to(Nonce nonce, const JoinInfo& info) {
  Response response;
  response.payload = encode_payload(info);
  return response_to(nonce, response);
}

/// The record of a newcomer, signed by `authority` of that number.
inline Contact record_for(const JoinArgs& newcomer, const HostKey& authority,
                          std::uint64_t number = 1) {
  crdt::RollRecord record;
  record.identity_key = newcomer.identity_key;
  record.link_key = newcomer.link_key;
  const HostId host = HostKeyVerifier().host_of(newcomer.identity_key);
  const crdt::Field field =
      crdt::signed_roll(host, {Generation(number), Sequence(2)}, record, authority);
  return {"", newcomer.link_key, host, number, 2, field.bytes, field.proof};
}
/// As a member answers that lets it in.
inline JoinInfo info_for(const JoinArgs& newcomer, const HostKey& authority) {
  JoinInfo info;
  info.cluster = ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c'));
  info.authority = std::string(authority.public_key());
  info.own = record_for(newcomer, authority);
  info.contacts = {{"127.0.0.1:1", "its key", key_of('m').host_id(), 1, 3, "record", "signature"}};
  info.authority_secret = "the authority's secret";
  return info;
}

class Member {
 public:
  /// Called on the member's thread.
  using Answer = std::function<Answers(const JoinArgs&, Nonce)>;

  explicit Member(Answer answer) : answer_(std::move(answer)) {
    gossip::ZmqTransport::Options options;
    options.control = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    options.bulk = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    options.link = gossip::LinkKeys::make();
    link_key_ = options.link.public_key;
    auto transport = gossip::ZmqTransport::open(options);
    if (!transport) {
      ADD_FAILURE() << transport.error().text;
      return;
    }
    transport_ = std::move(transport).value();
    gossip::Sender bearer;
    bearer.kind = gossip::Sender::Kind::kTicket;
    bearer.ticket = gossip::LinkKeys::from_seed(ticket_secret()).public_key;
    transport_->admit({bearer.ticket, bearer});
    door_ = {transport_->control_endpoint(), link_key_};
    thread_ = std::thread([this] { serve(); });
  }
  ~Member() {
    end();
    close(over_);
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  const gossip::TicketLine::Door& door() const { return door_; }
  /// Ends it; what it was asked, in order.
  const std::vector<JoinArgs>& end() {
    if (thread_.joinable()) {
      EXPECT_EQ(eventfd_write(over_, 1), 0);
      thread_.join();
    }
    return asked_;
  }

 private:
  void serve() {
    const std::array<int, 1> fds{over_};
    while (!transport_->readable(over_)) {
      transport_->wait(std::chrono::seconds(1), fds);
      for (gossip::TransportInput& input : transport_->take_inputs()) {
        if (auto* received = std::get_if<gossip::Received>(&input)) {
          hear(*received);
        }
      }
    }
  }
  void hear(gossip::Received& received) {
    EXPECT_EQ(received.sender.kind, gossip::Sender::Kind::kTicket);
    const auto message = gossip::decode(std::move(received.bytes));
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->envelope().version, kProtocolVersion);
    EXPECT_EQ(message->envelope().type, gossip::MessageType::kRequest);
    const auto request = decode_request(message->body());
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->verb, Verb::kJoin);
    const auto join = decode_payload<JoinArgs>(request->arguments);
    ASSERT_TRUE(join.has_value());
    asked_.push_back(*join);
    for (std::string& bytes : answer_(*join, message->envelope().nonce)) {
      transport_->reply({received.route, std::move(bytes)});
    }
  }

  Answer answer_;
  std::string link_key_;
  gossip::TicketLine::Door door_;
  std::unique_ptr<gossip::ZmqTransport> transport_;
  std::vector<JoinArgs> asked_;
  const int over_ = eventfd(0, EFD_CLOEXEC);
  std::thread thread_;  ///< Last: it uses all the others.
};

/// Lets everybody in, in the name of that authority.
inline Member::Answer lets_in(const HostKey& authority) {
  return [authority](const JoinArgs& newcomer, Nonce nonce) {
    return Answers{welcome_to(nonce, info_for(newcomer, authority))};
  };
}

/// As people hold it: with the doors of these members.
inline std::string ticket_to(const std::vector<const Member*>& members, const HostKey& authority) {
  gossip::TicketLine line;
  for (const Member* member : members) {
    line.doors.push_back(member->door());
  }
  line.authority = std::string(authority.public_key());
  line.secret = ticket_secret();
  return gossip::to_line(line);
}

}  // namespace muster::agent::testing
