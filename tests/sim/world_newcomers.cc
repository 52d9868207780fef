// Hosts of a World that are no members yet, and what connections cost.

#include <ctime>
#include <utility>

#include "agent/step/node_interface.h"
#include "crdt/rows/roll.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "tests/crdt/rows/roll_of.h"
#include "tests/sim/world.h"
#include "tests/sim/world_host.h"

namespace muster::sim {
namespace {

Duration cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

bool World::is_newcomer(std::uint32_t host) const {
  return host >= options_.hosts - options_.newcomers;
}

const HostCost& World::cost(std::uint32_t host) const {
  return hosts_[host]->cost;
}

/// When both ends are through; `met`: when the first word of it arrived.
Instant World::shake_hands(std::uint32_t from, std::uint32_t to, Instant met) {
  for (const std::uint32_t end : {to, from}) {  // Each has one thread for it.
    Host& host = *hosts_[end];
    ++host.cost.handshakes;
    host.hands_free = std::max(host.hands_free, met) + options_.handshake;
    met = host.hands_free;
  }
  return met;
}

std::uint64_t World::ask_with_ticket(std::uint32_t from, std::uint32_t to,
                                     const std::string& ticket, Nonce nonce,
                                     agent::Request request) {
  const std::uint64_t client = next_client_++;
  Host& member = *hosts_[to];
  if (member.node == nullptr) {
    return client;
  }
  std::map<std::uint32_t, Instant>& links = hosts_[from]->ticket_links;
  auto link = links.find(to);
  if (link == links.end()) {
    const Instant ready = shake_hands(from, to, now_ + network_.one_way() + network_.one_way());
    if (!member.tickets.contains(ticket)) {
      return client;
    }
    link = links.emplace(to, ready).first;
  }
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = nonce;
  queue_.push(std::max(now_, link->second) + network_.one_way(),
              Deliver{to, member.life,
                      gossip::Received{gossip::Route(kClientRoute | client),
                                       gossip::Channel::kControl,
                                       gossip::encode(envelope, agent::encode(request)),
                                       {},
                                       {gossip::Sender::Kind::kTicket, {}, ticket}}});
  return client;
}

agent::JoinArgs World::introduction(std::uint32_t index, const std::string& ticket) {
  const Host& host = *hosts_[index];
  agent::JoinArgs join;
  join.identity_key = std::string(host.id.bytes());
  join.link_key = host.link_key;
  join.name = name_of(index);
  join.ticket = ticket;
  join.signature = gossip::testing::StandInSigner(host.id, &signed_).sign(agent::join_words(join));
  return join;
}

void World::enter(std::uint32_t index, const agent::JoinInfo& info) {
  Host& host = *hosts_[index];
  CHECK(is_newcomer(index) && host.node == nullptr);
  agent::Credentials papers = keys_of(index);
  papers.authority = info.authority;
  if (!info.authority_secret.empty()) {
    papers.authority_signer = gossip::testing::signer_of(crdt::testing::kAuthority);
    papers.authority_secret = info.authority_secret;
  }
  const auto believe = [&papers](HostId of, const agent::Contact& contact) {
    papers.records.emplace_back(
        of, crdt::Field{{Generation(contact.authority), Sequence(contact.edition)},
                        contact.record,
                        contact.signature});
  };
  believe(host.id, info.own);
  host.seeds.clear();
  for (const agent::Contact& contact : info.contacts) {
    believe(contact.host, contact);
    if (auto row = crdt::decode_row(contact.link_row)) {
      papers.rows.push_back({contact.host, *std::move(row)});
    }
    if (const auto at = gossip::Endpoint::parse(contact.address, kControlPort)) {
      host.seeds.push_back({*at, contact.link_key});
    }
  }
  host.papers = std::move(papers);
  host.ticket_links.clear();
  host.disk.submit(0, crdt::Environment::kId,
                   {{std::string(agent::kClusterKey), std::string(info.cluster.bytes())}});
  host.disk.complete(0);
  start_agent(index);
}

Stopwatch::Stopwatch(Duration* spent) : spent_(spent) {
  began_ = spent_ == nullptr ? Duration(0) : cpu_now();
}

Stopwatch::~Stopwatch() {
  if (spent_ != nullptr) {
    *spent_ += cpu_now() - began_;
  }
}

}  // namespace muster::sim
