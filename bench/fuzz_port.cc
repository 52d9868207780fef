// Hostile messages of a member: a host that joined with a ticket sends every kind of message of the
// protocol, as its own codec writes it, then mutated; deep nests; random bytes. No other host gets
// as far as a message. It never sends a valid request to leave: that one is meant to end the agent.
//
//   fuzz_port IP:PORT SOCKET TICKET COUNT SEED     0 when the agent still answers at the end

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/api/verbs.h"
#include "agent/edge/disk/host_key.h"
#include "agent/edge/join/joiner.h"
#include "crdt/rows/codec.h"
#include "gossip/base/rng.h"
#include "gossip/base/version.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/zmq_client.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/message.h"
#include "membership/codec.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/raft/codec.h"

namespace {

using muster::Duration;
using muster::Rng;
using muster::gossip::MessageType;
using muster::gossip::ZmqClient;
namespace agent = muster::agent;
namespace crdt = muster::crdt;
namespace gossip = muster::gossip;
namespace membership = muster::membership;
namespace scheduler = muster::scheduler;

constexpr int kMessagesPerConnection = 250;
constexpr std::uint64_t kGarbageMax = 2000;
constexpr std::uint64_t kNestMax = 100'000;
constexpr Duration kAnswer = std::chrono::seconds(10);
constexpr Duration kBreath = std::chrono::microseconds(500);

struct Sample {
  MessageType type;
  std::string body;
};

muster::HostId random_host(Rng& rng) {
  std::string bytes(muster::HostId::kSizeBytes, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(rng.below(256));
  }
  return muster::HostId::from_bytes(bytes);
}

std::vector<Sample> samples(Rng& rng) {
  std::vector<Sample> all;
  for (const agent::VerbRow& row : agent::verbs::kTable) {
    agent::Request request;
    request.verb = row.verb;
    request.consistent = rng.chance(500'000);
    if (request.verb == agent::Verb::kLeave) {
      continue;
    }
    request.arguments = agent::encode_payload(agent::JobRef{muster::JobId(rng.below(5))});
    if (request.verb == agent::Verb::kSubmit) {
      scheduler::JobSpec spec;
      spec.name = "fuzz";
      spec.command.argv = {"/bin/true"};
      request.arguments = agent::encode_payload(agent::SubmitArgs{std::string(32, 'a'), spec});
    }
    all.push_back({MessageType::kRequest, agent::encode(request)});
  }
  const muster::HostId host = random_host(rng);
  for (const membership::Body& body :
       {membership::Body(membership::Probe{}), membership::Body(membership::Ack{}),
        membership::Body(membership::Call{}), membership::Body(membership::Veto{}),
        membership::Body(membership::Accuse{})}) {
    all.push_back({membership::type_of(body), membership::encode(body)});
  }
  crdt::RowsBody rows;
  rows.want_all = true;
  rows.want = {host};
  rows.digests = {{host, rng.next()}};
  all.push_back({MessageType::kRows, crdt::encode(rows)});
  for (const scheduler::AgentMessage& message :
       {scheduler::AgentMessage(scheduler::Hello{}), scheduler::AgentMessage(scheduler::Assign{}),
        scheduler::AgentMessage(scheduler::Start{}), scheduler::AgentMessage(scheduler::Stop{}),
        scheduler::AgentMessage(scheduler::Finish{}), scheduler::AgentMessage(scheduler::Renew{}),
        scheduler::AgentMessage(scheduler::RenewAck{})}) {
    all.push_back({scheduler::type_of(message), scheduler::encode(message)});
  }
  for (const scheduler::RaftMessage& message :
       {scheduler::RaftMessage(scheduler::VoteRequest{}),
        scheduler::RaftMessage(scheduler::VoteReply{}),
        scheduler::RaftMessage(scheduler::AppendRequest{}),
        scheduler::RaftMessage(scheduler::AppendReply{}),
        scheduler::RaftMessage(scheduler::SnapshotChunk{})}) {
    all.push_back({scheduler::type_of(message), scheduler::encode(message)});
  }
  for (const MessageType type :
       {MessageType::kPropose, MessageType::kPromise, MessageType::kForm}) {
    all.push_back({type, gossip::Encoder().array(2).id(host).u64(rng.next()).take()});
  }
  return all;
}

std::string garbage(Rng& rng) {
  std::string bytes(rng.below(kGarbageMax), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(rng.below(256));
  }
  return bytes;
}

std::string mutate(Rng& rng, std::string bytes) {
  for (std::uint64_t edits = rng.below(6); edits > 0 && !bytes.empty(); --edits) {
    const std::size_t at = rng.below(bytes.size());
    switch (rng.below(5)) {
      case 0:
        bytes[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.insert(at, garbage(rng).substr(0, 40));
        break;
      default:
        bytes.insert(at, rng.chance(500'000) ? "\xdd\xff\xff\xff\xff" : "\xdb\xff\xff\xff\xff");
        break;
    }
  }
  return bytes;
}

std::string hostile(Rng& rng, muster::ClusterId cluster, muster::HostId self) {
  switch (rng.below(10)) {
    case 0:
      return garbage(rng);
    case 1:
      return std::string(rng.below(kNestMax), rng.chance(500'000) ? '\x91' : '\x81');
    default:
      break;
  }
  const std::vector<Sample> all = samples(rng);
  const Sample& sample = all[rng.below(all.size())];
  gossip::Envelope envelope;
  envelope.version = muster::kProtocolVersion;
  envelope.type = sample.type;
  envelope.cluster = cluster;
  envelope.from = rng.chance(100'000) ? random_host(rng) : self;
  envelope.generation = muster::Generation(rng.below(100));
  envelope.nonce = muster::Nonce(rng.next());
  const std::string body = rng.chance(500'000) ? mutate(rng, sample.body) : sample.body;
  return mutate(rng, gossip::encode(envelope, body));
}

bool is_leave(const std::string& bytes) {
  const auto message = gossip::decode(bytes);
  if (!message || message->envelope().type != MessageType::kRequest) {
    return false;
  }
  const auto request = agent::decode_request(message->body());
  return request.has_value() && request->verb == agent::Verb::kLeave;
}

/// The cluster that the agent says it is in; nullopt if it does not answer.
std::optional<agent::VersionInfo> version_of(const std::string& address) {
  auto client = ZmqClient::connect(address);
  if (!client) {
    return std::nullopt;
  }
  gossip::Envelope envelope;
  envelope.version = muster::kProtocolVersion;
  envelope.type = MessageType::kRequest;
  envelope.nonce = muster::Nonce(1);
  agent::Request request;
  request.verb = agent::Verb::kVersion;
  (void)client->send(gossip::encode(envelope, agent::encode(request)));
  auto bytes = client->receive(kAnswer);
  if (!bytes || !bytes->has_value()) {
    return std::nullopt;
  }
  const auto message = gossip::decode(std::move(**bytes));
  const auto response = message ? agent::decode_response(message->body()) : std::nullopt;
  return response ? agent::decode_payload<agent::VersionInfo>(response->payload) : std::nullopt;
}

/// A link to `at`, as the member that `joined` says; null if there is no connection.
std::unique_ptr<gossip::ZmqTransport> link_of(const agent::MembershipRecord& joined,
                                              const gossip::Endpoint& at) {
  gossip::ZmqTransport::Options options;
  options.listens = false;
  options.link = gossip::LinkKeys::from_seed(joined.link_seed);
  auto transport = gossip::ZmqTransport::open(options);
  if (!transport) {
    return nullptr;
  }
  (*transport)->expect({at, joined.contacts.at(0).link_key});
  return std::move(transport).value();
}

int fuzz(const gossip::Endpoint& at, const std::string& socket, const std::string& ticket,
         int count, std::uint64_t seed) {
  const auto before = version_of(socket);
  if (!before.has_value()) {
    std::fprintf(stderr, "fuzz_port: no agent at %s\n", socket.c_str());
    return 1;
  }
  const auto key = agent::HostKey::load_or_make({});
  const auto joined = key ? agent::join_with(*key, "fuzzer", ticket)
                          : muster::Result<agent::MembershipRecord>(key.error());
  if (!joined || joined->contacts.empty()) {
    std::fprintf(stderr, "fuzz_port: %s\n", joined ? "no contact" : joined.error().text.c_str());
    return 1;
  }
  Rng rng(seed);
  int sent = 0;
  std::size_t heard = 0;
  while (sent < count) {
    const auto link = link_of(*joined, at);
    if (link == nullptr) {
      std::fprintf(stderr, "fuzz_port: after %d messages: no link\n", sent);
      return 1;
    }
    for (int i = 0; i < kMessagesPerConnection && sent < count; ++i) {
      std::string bytes = hostile(rng, before->cluster, key->host_id());
      if (!bytes.empty() && !is_leave(bytes)) {
        link->send({at, gossip::Channel::kControl, std::move(bytes)});
        ++sent;
      }
      link->wait(kBreath);
      heard += link->take_inputs().size();
    }
  }
  if (heard == 0) {
    std::fprintf(stderr, "fuzz_port: nothing came back: was any of it heard?\n");
    return 1;
  }
  std::printf("sent %d\n", sent);
  return version_of(socket).has_value() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto at = argc == 6 ? gossip::Endpoint::parse(argv[1], 0) : std::nullopt;
  if (!at.has_value()) {
    std::fprintf(stderr, "usage: fuzz_port IP:PORT SOCKET TICKET COUNT SEED\n");
    return 2;
  }
  std::string ticket;
  std::ifstream(argv[3]) >> ticket;
  return fuzz(*at, std::string("ipc://") + argv[2], ticket, std::atoi(argv[4]),
              std::strtoull(argv[5], nullptr, 10));
}
