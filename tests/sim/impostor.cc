#include "tests/sim/impostor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/api/users.h"
#include "crdt/rows/link_cert.h"
#include "crdt/rows/proof.h"
#include "crdt/rows/roll.h"
#include "gossip/base/version.h"
#include "gossip/wire/authority_link.h"
#include "gossip/wire/message.h"
#include "scheduler/raft/codec.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/crdt/rows/signed_row.h"

namespace muster::sim {
namespace {

using gossip::testing::StandInSigner;

constexpr Duration kBetweenLooksAtKeys = std::chrono::seconds(1);
/// A hop on one machine: a relay is nearer than a round of the quorum.
constexpr Duration kNear = std::chrono::microseconds(1);
const std::string kTicket = "the one ticket";
const std::string kFalseTicket = "a ticket of nobody";
const std::string kTraitorsTicket = "a ticket of the traitor";
/// The user, the job and the reason of a drain that it makes in the name of the administrator.
const std::string kForged = "forged";
const HostId kFalseAuthority = HostId::from_bytes("false authority_");

/// All that are made up begin so.
HostId stranger(std::uint64_t number) {
  std::string bytes = "stranger________";
  bytes.back() = static_cast<char>(number);
  return HostId::from_bytes(bytes);
}
bool is_stranger(HostId host) {
  return host.bytes().starts_with("stranger");
}

agent::JoinArgs join_of(HostId identity, HostId signer) {
  agent::JoinArgs join;
  join.identity_key = std::string(identity.bytes());
  join.link_key = "link of " + identity.hex().substr(identity.hex().size() / 2);
  join.link_key.resize(gossip::kLinkKeyBytes, '-');
  join.name = "stranger";
  join.ticket = kTicket;
  join.signature = StandInSigner(signer).sign(join_words(join));
  return join;
}

void sign(crdt::RowOf& row, HostId as) {
  crdt::testing::sign_own_fields(row.host, row.row, StandInSigner(as));
}

}  // namespace

HostId traitor_of(const World& world) {
  return world.id(world.size() - 1);
}

// The honest side.

Impostor::Impostor(World& world, Rng& rng, std::map<std::string, std::uint64_t>& counts,
                   Persons* persons)
    : world_(world), rng_(rng), counts_(counts), persons_(persons) {
  plan();
}

void Impostor::plan() {
  const auto at = [&](int low, int high, std::function<void()> act) {
    world_.at(Instant() + rng_.between(std::chrono::seconds(low), std::chrono::seconds(high)),
              std::move(act));
  };
  at(5, 6, [this] {
    agent::TicketArgs ticket;
    ticket.key = kTicket;
    ticket.ttl_ms = 3'600'000;
    order(agent::Verb::kMakeTicket, agent::encode_payload(ticket));
  });
  if (rng_.chance(600'000)) {
    at(6, 10, [this] { rotate(true); });
  }
  if (rng_.chance(500'000)) {
    at(6, 20, [this] { rotate(false); });
  }
  if (rng_.chance(400'000)) {
    at(10, 20, [this] {
      ++counts_["revoked"];
      order(agent::Verb::kRevokeHost, agent::encode_payload(agent::HostRef{traitor_of(world_)}));
    });
  }
}

void Impostor::order(agent::Verb verb, std::string arguments) {
  const std::uint32_t leader = world_.leader();
  if (persons_ != nullptr && leader < world_.size()) {
    persons_->order(leader, verb, std::move(arguments));
  } else if (leader < world_.size()) {
    agent::Request request;
    request.verb = verb;
    request.arguments = std::move(arguments);
    world_.ask(leader, std::move(request));
  }
}

void Impostor::rotate(bool authority) {
  ++counts_[authority ? "authority_rotated" : "keys_rotated"];
  order(agent::Verb::kRotateKeys, agent::encode_payload(agent::RotateArgs{{}, authority}));
}

// The other one.

void Impostor::speak(std::uint32_t victim) {
  ++counts_["imposed"];
  switch (rng_.below(8)) {
    case 0:
      return say_of_quorum(victim);
    case 1:
      return acknowledge(victim);
    case 2:
      return make_authority(victim);
    case 3:
      return use_old_authority(victim);
    case 4:
      return claim_key(victim);
    case 5:
      return make_ticket(victim);
    case 6:
      return order_as_admin(victim);
    default:
      return join(victim);
  }
}

void Impostor::say(std::uint32_t victim, gossip::MessageType type, HostId as, std::string body,
                   Nonce nonce) {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = type;
  envelope.cluster = world_.node(victim).cluster();
  envelope.from = as;
  envelope.generation = Generation(1);
  envelope.nonce = nonce;
  world_.say_as_stranger(victim, traitor_of(world_), gossip::encode(envelope, body), kNear);
}

void Impostor::say_rows(std::uint32_t victim, crdt::RowOf row) {
  crdt::RowsBody body;
  body.rows.push_back(std::move(row));
  say(victim, gossip::MessageType::kRows, traitor_of(world_), crdt::encode(body));
}

/// In its own name or a voter's: it leads, wants to, or ends and starts what it likes.
void Impostor::say_of_quorum(std::uint32_t victim) {
  const HostId as = rng_.chance(500'000) ? traitor_of(world_) : world_.id(0);
  const auto grants = world_.node(victim).gang_agent().grants();
  const AgentStart start = world_.node(victim).options().start;
  if (!grants.empty() && rng_.chance(500'000)) {
    scheduler::Stop stop;
    stop.token = grants[rng_.below(grants.size())].token;
    stop.start = start;
    const scheduler::AgentMessage word = std::move(stop);
    return say(victim, scheduler::type_of(word), as, scheduler::encode(word));
  }
  if (rng_.chance(300'000)) {
    scheduler::Assign assign;
    assign.token = {1, 1'000'000};
    assign.start = start;
    assign.members = {{world_.id(victim), start, {{"GPU-" + std::to_string(victim) + "-0", 0}}, 0}};
    assign.hold = std::chrono::minutes(1);
    const scheduler::AgentMessage word = std::move(assign);
    return say(victim, scheduler::type_of(word), as, scheduler::encode(word));
  }
  scheduler::RaftMessage word = scheduler::VoteRequest{Term(1'000), false, {}, 1, true};
  if (rng_.chance(500'000)) {
    scheduler::AppendRequest append;
    append.term = Term(1'000);
    word = append;
  }
  say(victim, scheduler::type_of(word), as, scheduler::encode(word));
}

/// As a relay that was handed the renewals would know their nonces.
void Impostor::acknowledge(std::uint32_t victim) {
  const auto holds_of = [this](std::uint32_t host) {
    std::map<Token, Instant> holds;
    for (const agent::GrantView& grant : world_.node(host).gang_agent().grants()) {
      holds[grant.token] = grant.hold_until;
    }
    return holds;
  };
  for (const Nonce nonce : world_.node(victim).gang_agent().renewals_under_way()) {
    scheduler::RenewAck ack;
    const auto before = holds_of(victim);
    for (const auto& [token, until] : before) {
      ack.tokens.push_back(token);
    }
    const scheduler::AgentMessage word = std::move(ack);
    say(victim, scheduler::type_of(word), traitor_of(world_), scheduler::encode(word), nonce);
    ++counts_["acks_made_up"];
    world_.at(world_.now() + 2 * kNear, [this, victim, before, holds_of] {
      if (world_.is_running(victim) && holds_of(victim) > before) {
        world_.violation("only_members_are_in",
                         "host " + std::to_string(victim) + " holds on by an ack that nobody gave");
      }
    });
  }
}

/// Signed by itself, in its own row.
void Impostor::make_authority(std::uint32_t victim) {
  const HostId traitor = traitor_of(world_);
  const std::uint64_t number = world_.node(victim).authority().number() + 1;
  const std::string key(kFalseAuthority.bytes());
  const crdt::AuthorityView view{
      {{number, key, StandInSigner(traitor).sign(gossip::authority_words(number, key))}}, number};
  const crdt::Row* held = world_.node(victim).store().row(traitor);
  const crdt::RowVersion newest = held == nullptr ? crdt::RowVersion() : held->version();
  crdt::RowOf row{traitor, {newest.generation, {}}};
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kAuthority)] = {
      {newest.generation, newest.sequence.next()}, crdt::encode(view)};
  sign(row, traitor);
  say_rows(victim, std::move(row));
}

/// An owner of the secret of the first authority has it still, and lets a stranger in.
void Impostor::use_old_authority(std::uint32_t victim) {
  if (world_.node(victim).authority().number() < 2) {
    return;
  }
  const HostId host = stranger(200);
  crdt::RowOf row{host, {Generation(1), {}}};
  crdt::Identity identity;
  identity.name = "stranger";
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kIdentity)] = {
      {Generation(1), Sequence(1)}, crdt::encode(identity)};
  sign(row, host);
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kRoll)] =
      crdt::testing::roll_field(host, crdt::testing::record_of(host), 9);
  ++counts_["old_authority_used"];
  say_rows(victim, std::move(row));
}

/// Its own row says that its links are proven with the key of another host.
void Impostor::claim_key(std::uint32_t victim) {
  const HostId traitor = traitor_of(world_);
  const crdt::Row* held = world_.node(victim).store().row(traitor);
  const auto robbed = static_cast<std::uint32_t>(rng_.below(world_.size() - 1));
  if (held == nullptr || !world_.is_running(robbed)) {
    return;
  }
  const crdt::RowVersion newest = held->version();
  const std::string key = world_.link_key(robbed);
  const crdt::LinkCert cert{std::string(traitor.bytes()),
                            7,
                            key,
                            "",
                            0,
                            crdt::proof_of(traitor, key, StandInSigner(traitor)),
                            {}};
  crdt::RowOf row{traitor, {newest.generation, {}}};
  row.row.fields[static_cast<std::uint32_t>(crdt::FieldId::kLink)] = {
      {newest.generation, newest.sequence.next()}, crdt::encode(cert)};
  sign(row, traitor);
  say_rows(victim, std::move(row));
}

/// As if one of its logins had asked for it.
void Impostor::make_ticket(std::uint32_t victim) {
  agent::TicketArgs ticket;
  ticket.key = kTraitorsTicket;
  ticket.uses = 64;
  ticket.ttl_ms = 3'600'000;
  agent::Request request;
  request.user = kOperator;  // It may state any user.
  request.verb = agent::Verb::kMakeTicket;
  request.arguments = agent::encode_payload(ticket);
  ++counts_["tickets_of_the_traitor"];
  say(victim, gossip::MessageType::kRequest, traitor_of(world_), agent::encode(request),
      Nonce(rng_.next() | 1U));
}

/// As if the administrator were one of its logins. Where it may vouch, it may do all this.
void Impostor::order_as_admin(std::uint32_t victim) {
  if (world_.options().last_may_vouch) {
    return;
  }
  agent::Request request;
  request.user = kOperator;
  request.via = rng_.chance(500'000) ? "" : world_.node(victim).options().name;
  switch (rng_.below(3)) {
    case 0: {
      agent::SubmitArgs submit{kForged, {}};
      submit.spec.name = kForged;
      submit.spec.command.argv = {"sim"};
      request.verb = agent::Verb::kSubmit;
      request.arguments = agent::encode_payload(submit);
      break;
    }
    case 1: {
      agent::DirectoryArgs change;
      change.change.users.push_back({kForged, false, scheduler::UserRole::kAdmin});
      request.verb = agent::Verb::kChangeUsers;
      request.arguments = agent::encode_payload(change);
      break;
    }
    default:
      request.verb = agent::Verb::kDrain;
      request.arguments =
          agent::encode_payload(agent::DrainArgs{world_.id(victim), kForged, true, 0});
  }
  ++counts_["orders_forged"];
  say(victim, gossip::MessageType::kRequest, traitor_of(world_), agent::encode(request),
      Nonce(rng_.next() | 1U));
}

/// With the one ticket that there is: as many hosts as it likes, other hosts' identities, and
/// other questions.
void Impostor::join(std::uint32_t victim) {
  switch (rng_.below(4)) {
    case 0: {
      agent::TicketArgs ticket;
      ticket.key = kFalseTicket;
      ticket.ttl_ms = 1'000'000;
      ticket.may_vote = true;
      return ask_with_ticket(victim, agent::Verb::kMakeTicket, agent::encode_payload(ticket));
    }
    case 1: {  // Another's identity, signed by itself.
      const HostId robbed = world_.id(static_cast<std::uint32_t>(rng_.below(world_.size() - 1)));
      return ask_with_ticket(victim, agent::Verb::kJoin,
                             agent::encode_payload(join_of(robbed, stranger(1))));
    }
    default: {
      const HostId host = stranger(1 + strangers_++ % 64);
      return ask_with_ticket(victim, agent::Verb::kJoin,
                             agent::encode_payload(join_of(host, host)));
    }
  }
}

void Impostor::ask_with_ticket(std::uint32_t victim, agent::Verb verb, std::string arguments) {
  agent::Request request;
  request.user = kOperator;  // It may state any user.
  request.verb = verb;
  request.arguments = std::move(arguments);
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = Nonce(1 + strangers_);
  world_.say_as(victim, {gossip::Sender::Kind::kTicket, {}, kTicket},
                gossip::encode(envelope, agent::encode(request)), kNear);
}

// The property.

void OnlyMembersAreIn::on_event(World& world, std::uint32_t, const Event&) {
  if (world.now() >= look_at_) {
    look_at_ = world.now() + kBetweenLooksAtKeys;
    at_end(world);
  }
}

void OnlyMembersAreIn::at_end(World& world) {
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (world.is_running(host)) {
      look(world, host);
    }
  }
}

void OnlyMembersAreIn::look(World& world, std::uint32_t host) {
  const std::string here = "host " + std::to_string(host);
  const agent::Node& node = world.node(host);
  if (node.authority().authority().key == kFalseAuthority.bytes()) {
    return world.violation(name(), here + " takes an authority that signed for itself");
  }
  std::size_t strangers = 0;
  for (const auto& [owner, held] : node.store().rows()) {
    strangers += is_stranger(owner) ? 1 : 0;
    const crdt::Field* roll = held.row.field(crdt::FieldId::kRoll);
    const auto record = roll == nullptr ? std::nullopt : crdt::decode_roll(roll->bytes);
    if (record.has_value() && !is_stranger(owner) && record->link_key != owner.bytes()) {
      return world.violation(
          name(), here + " has a record of " + owner.short_hex() + " with a key that it never had");
    }
    if (owner == stranger(200)) {
      return world.violation(name(), here + " lets in whom a replaced authority let in");
    }
  }
  if (strangers > 1) {
    return world.violation(name(), here + " has more strangers than the ticket lets in");
  }
  look_at_keys(world, host);
  look_at_log(world, host);
}

void OnlyMembersAreIn::look_at_keys(World& world, std::uint32_t host) {
  const HostId traitor = traitor_of(world);
  const crdt::Field* roll = world.node(host).store().field(traitor, crdt::FieldId::kRoll);
  const auto record = roll == nullptr ? std::nullopt : crdt::decode_roll(roll->bytes);
  const bool is_out = record.has_value() && record->revoked;
  for (const auto& [key, who] : world.admitted(host)) {
    const auto whose = world.owner_of_key(key);
    if (whose.has_value() && *whose != who) {
      return world.violation(name(), "host " + std::to_string(host) + " lets the key of " +
                                         whose->short_hex() + " in as " + who.short_hex());
    }
    if (is_out && who == traitor) {
      return world.violation(
          name(), "host " + std::to_string(host) + " lets in whom it knows to be thrown out");
    }
  }
}

/// Orders that Impostor::order_as_admin() gave.
void OnlyMembersAreIn::look_at_orders(World& world, const scheduler::State& state) {
  const bool has_job = std::any_of(state.jobs().begin(), state.jobs().end(), [](const auto& each) {
    return each.second.spec.name == kForged;
  });
  const bool has_drain =
      std::any_of(state.hosts().begin(), state.hosts().end(), [](const auto& each) {
        return each.second.drain.has_value() && each.second.drain->why == kForged;
      });
  if (has_job || has_drain || state.directory().has_record(kForged)) {
    world.violation(name(), "a host that may not vouch gave an order as the administrator");
  }
}

void OnlyMembersAreIn::look_at_log(World& world, std::uint32_t host) {
  const scheduler::State& state = world.node(host).seat().state();
  if (state.roll().ticket(kFalseTicket) != nullptr) {
    return world.violation(name(), "the log has a ticket that no operator made");
  }
  look_at_orders(world, state);
  const scheduler::Ticket* ticket = state.roll().ticket(kTraitorsTicket);
  const scheduler::EnrolledHost* traitor = state.roll().find(traitor_of(world));
  const auto record = traitor == nullptr ? std::nullopt : crdt::decode_roll(traitor->record);
  if (ticket == nullptr || !record.has_value()) {
    return;
  }
  if (!world.options().last_may_vouch) {
    return world.violation(name(), "the login of a host that may not vouch made a ticket");
  }
  if (record->revoked && ticket->is_open(state.cluster_time())) {
    world.violation(name(), "a ticket of a host that was thrown out lets hosts in");
  }
}

}  // namespace muster::sim
