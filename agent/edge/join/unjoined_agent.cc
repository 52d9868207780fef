#include "agent/edge/join/unjoined_agent.h"

#include <sys/random.h>

#include <memory>
#include <utility>
#include <variant>

#include "agent/api/verbs.h"
#include "agent/edge/event_log.h"
#include "agent/edge/inheritance.h"
#include "agent/edge/join/joiner.h"
#include "agent/front/asker.h"
#include "crdt/rows/roll.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/secret_file.h"
#include "gossip/edge/ticket_line.h"
#include "gossip/ssh/ssh_key.h"
#include "gossip/wire/message.h"

namespace muster::agent {
namespace {

constexpr Duration kTurn = std::chrono::milliseconds(200);
/// The answer to who founds or joins is the last one, and may take so long to leave.
constexpr Duration kLastAnswers = std::chrono::seconds(1);
/// Between two tries with the ticket of the configuration.
constexpr Duration kTryAgain = std::chrono::seconds(5);

std::string random_seed() {
  std::string bytes(gossip::kLinkSeedBytes, '\0');
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return bytes;
}

struct Asked {
  Asker asker;
  std::optional<Request> request;  ///< Empty: it is of another version.
};

std::optional<Asked> request_in(gossip::TransportInput& input) {
  auto* received = std::get_if<gossip::Received>(&input);
  if (received == nullptr || received->sender.kind != gossip::Sender::Kind::kLogin) {
    return std::nullopt;
  }
  const Result<gossip::Message> message = gossip::decode(std::move(received->bytes));
  if (!message || message->envelope().type != gossip::MessageType::kRequest) {
    return std::nullopt;
  }
  auto request = decode_request(message->body());
  return Asked{{received->sender, {}, {}, {received->route, message->envelope().nonce}},
               std::move(request)};
}

Response refusal(ResponseStatus status, std::string text) {
  Response response;
  response.status = status;
  response.text = std::move(text);
  return response;
}

Contact record_of(const HostKey& host, const MembershipRecord& membership,
                  const HostKey& authority) {
  crdt::RollRecord record;
  record.identity_key = std::string(host.public_key());
  record.link_key = gossip::LinkKeys::from_seed(membership.link_seed).public_key;
  record.founders = membership.founders;
  record.may_vote = true;
  record.may_vouch = true;
  const crdt::Field field =
      crdt::signed_roll(host.host_id(), {Generation(1), Sequence(1)}, record, authority);
  return {"", record.link_key, host.host_id(), 1, 1, field.bytes, field.proof};
}

class UnjoinedAgent {
 public:
  UnjoinedAgent(const HostKey& key, const UnjoinedOptions& options,
                std::unique_ptr<gossip::ZmqTransport> transport)
      : key_(key), options_(options), transport_(std::move(transport)) {}

  std::optional<MembershipRecord> wait() {
    while (!membership_.has_value()) {
      options_.on_turn();
      try_ticket();
      if (membership_.has_value()) {
        break;
      }
      const int fds[] = {options_.stop_fd};
      transport_->wait(kTurn, fds);
      reap_orphans();
      if (transport_->readable(options_.stop_fd)) {
        return std::nullopt;
      }
      for (gossip::TransportInput& input : transport_->take_inputs()) {
        if (const auto asked = request_in(input)) {
          answer(*asked, on_request(asked->asker, asked->request));
        }
      }
    }
    return membership_;
  }

 private:
  void try_ticket() {
    if (options_.ticket_path.empty() || boot_now() < try_at_) {
      return;
    }
    const Result<std::string> text =
        gossip::read_secret(options_.ticket_path, gossip::kTicketLineMax);
    const bool is_open = !text && text.error().code == ErrorCode::kDenied;
    if (!is_open && (!text || text->find_first_not_of(" \t\r\n") == std::string::npos)) {
      return;  // It may come yet.
    }
    Result<MembershipRecord> joined =
        is_open ? Result<MembershipRecord>(text.error()) : join_with(key_, options_.name, *text);
    if (joined) {
      membership_ = std::move(joined).value();
      return;
    }
    try_at_ = boot_now() + kTryAgain;
    log_event({Severity::kWarn, "not_joined", {{"why", joined.error().text}}});
  }

  Response on_request(const Asker& asker, const std::optional<Request>& asked) {
    const bool is_for_all = asked.has_value() && is(asked->verb, Answerer::kAskedAnyway);
    if (std::string why = why_denied_without_cluster(asker.proven, options_.login, is_for_all);
        !why.empty()) {
      return refusal(ResponseStatus::kDenied, std::move(why));
    }
    if (membership_.has_value()) {
      return refusal(ResponseStatus::kConflict, "this agent is about to become a member");
    }
    if (!asked.has_value()) {
      return refusal(ResponseStatus::kUsage,
                     "the agent of host " + options_.name +
                         " does not know that request: compare `muster version` here and there");
    }
    const Request& request = *asked;
    if (request.shows_token() && !is_for_all) {
      return refusal(ResponseStatus::kDenied,
                     "an agent without a cluster knows no access token: do it in your own name, "
                     "without MUSTER_ACCESS and --access-file");
    }
    const VerbRow* verb = find_verb(request.verb);
    const Row* row = verb == nullptr ? nullptr : row_of(request.verb);
    if (row != nullptr && !verb->is_readable(request.arguments)) {
      return refusal(ResponseStatus::kUsage,
                     "the agent cannot read the arguments of '" + std::string(verb->name) + "'");
    }
    if (row != nullptr) {
      return (this->*row->answer)(asker, request.arguments);
    }
    return refusal(ResponseStatus::kNoQuorum,
                   "the agent of host " + options_.name +
                       " belongs to no cluster yet: create one with `muster init`, or join one "
                       "with `muster join TICKET` (`muster ticket` on a member prints one)");
  }

  struct Row {
    Verb verb{};
    Response (UnjoinedAgent::*answer)(const Asker& asker, const std::string& arguments) = nullptr;
  };
  /// Null: it is answered by members alone.
  static const Row* row_of(Verb asked) {
    static constexpr Row kRows[] = {
        {Verb::kFound, &UnjoinedAgent::found},
        {Verb::kEnter, &UnjoinedAgent::enter},
        {Verb::kVersion, &UnjoinedAgent::version},
    };
    static_assert(has_row_for_those(kRows, &Row::verb, [](Verb verb) {
      return is(verb, Answerer::kUnjoined) || is(verb, Answerer::kAskedAnyway);
    }));
    return find_row(kRows, &Row::verb, asked);
  }

  Response version(const Asker&, const std::string&) {
    Response response;
    response.payload = encode_payload(
        VersionInfo{kProductVersion, kProtocolVersion, options_.name, key_.host_id(), {}, {}});
    response.answered_by = options_.name;
    return response;
  }

  Response found(const Asker& asker, const std::string& arguments) {
    const auto args = decode_payload<FoundArgs>(arguments).value_or(FoundArgs());
    const bool is_alone = args.founders == 1;
    if (!is_alone && ((args.founders != 3 && args.founders != 5) || args.ticket.empty())) {
      return refusal(ResponseStatus::kUsage, "a cluster is founded by 1, 3 or 5 hosts");
    }
    if (!is_alone && options_.control.port == 0) {
      return refusal(ResponseStatus::kUsage,
                     "the other founders must be able to reach this agent: start it with a port "
                     "(--listen IP:PORT)");
    }
    if (!args.admin_key.empty()) {
      if (const auto key = gossip::ssh_key_of_line(args.admin_key); !key) {
        return refusal(ResponseStatus::kUsage, key.error().text);
      }
    }
    MembershipRecord record;
    record.link_seed = random_seed();
    record.authority_seed = random_seed();
    const HostKey authority = HostKey::from_seed(record.authority_seed);
    record.authority = std::string(authority.public_key());
    record.founders = args.founders;
    record.founding_ticket = args.ticket;
    record.first_admin = name_of_login(asker.proven, options_.login);
    record.first_admin_key = args.admin_key;
    record.own = record_of(key_, record, authority);
    Contact here = record.own;
    here.address = options_.control.text();
    Response response;
    response.payload = encode_payload(TicketMade{record.authority, {here}});
    response.answered_by = options_.name;
    membership_ = std::move(record);
    return response;
  }

  Response enter(const Asker&, const std::string& arguments) {
    const auto args = decode_payload<EnterArgs>(arguments).value_or(EnterArgs());
    Result<MembershipRecord> joined = join_with(key_, options_.name, args.ticket);
    if (!joined) {
      return refusal(status_of(joined.error().code), joined.error().text);
    }
    membership_ = std::move(joined).value();
    Response response;
    response.answered_by = options_.name;
    return response;
  }

  void answer(const Asked& asked, const Response& response) {
    gossip::Envelope envelope;
    envelope.version = kProtocolVersion;
    envelope.type = gossip::MessageType::kResponse;
    envelope.from = key_.host_id();
    envelope.nonce = asked.asker.back.nonce;
    transport_->reply({asked.asker.back.route, gossip::encode(envelope, encode(response))});
  }

  const HostKey& key_;
  const UnjoinedOptions& options_;
  std::unique_ptr<gossip::ZmqTransport> transport_;
  std::optional<MembershipRecord> membership_;
  Instant try_at_{};
};

}  // namespace

Result<std::optional<MembershipRecord>> wait_for_membership(const HostKey& key,
                                                            const UnjoinedOptions& options) {
  gossip::ZmqTransport::Options sockets;
  sockets.listens = false;
  sockets.ipc_path = options.ipc_path;
  sockets.logins = options.logins;
  sockets.last_answers = kLastAnswers;
  sockets.link = gossip::LinkKeys::make();
  auto transport = gossip::ZmqTransport::open(sockets);
  if (!transport) {
    return transport.error();
  }
  log_event({Severity::kInfo,
             "no_cluster_yet",
             {{"socket", options.ipc_path},
              {"advice", "create one with `muster init`, or join one with `muster join TICKET`"}}});
  return UnjoinedAgent(key, options, std::move(transport).value()).wait();
}

}  // namespace muster::agent
