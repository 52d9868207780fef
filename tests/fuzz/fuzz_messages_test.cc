// Ten thousand real messages, broken in one way or another, fed to a Node: it never crashes, what
// it keeps and says stays bounded, and it still works afterwards.

#include <gtest/gtest.h>

#include <set>

#include "agent/api/request.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"
#include "tests/agent/node/bare_node.h"
#include "tests/fuzz/corpus.h"

namespace muster::fuzz {
namespace {

using agent::testing::BareNode;
using agent::testing::kCluster;
using agent::testing::kSelf;

constexpr int kMessages = 10'000;
/// Bytes that a node may send because of one message, with answers to the rows it asked for.
constexpr std::size_t kSaidPerMessageMax = 2 << 20;

const std::vector<std::string>& corpus() {
  static const std::vector<std::string> messages = real_messages();
  return messages;
}

/// A message that a node hears, and the host whose connection it came on.
struct Heard {
  HostId from;
  std::string bytes;
};

/// The hosts that said the messages.
std::vector<HostId> speakers() {
  std::set<HostId> hosts;
  for (const std::string& message : corpus()) {
    hosts.insert(gossip::decode(message)->envelope().from);
  }
  return {hosts.begin(), hosts.end()};
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : rng_(seed) {}

  /// A real message, as if said in `cluster`, mutated in its body or anywhere. Half of them name
  /// no host, as those that are said directly do not.
  Heard next(ClusterId cluster) {
    const Result<gossip::Message> message = gossip::decode(some());
    gossip::Envelope envelope = message->envelope();
    envelope.cluster = rng_.chance(20'000) ? envelope.cluster : cluster;
    const HostId from = envelope.from;
    if (rng_.chance(500'000)) {
      envelope.from = {};
    }
    std::string body = body_of(*message);
    const bool in_body = rng_.chance(700'000);
    if (in_body) {
      mutate(body);
    }
    if (rng_.chance(100'000)) {
      envelope.type = gossip::decode(some())->envelope().type;
    }
    std::string bytes = gossip::encode(envelope, body);
    if (!in_body) {
      mutate(bytes);
    }
    return {from, std::move(bytes)};
  }
  Rng& rng() { return rng_; }

 private:
  const std::string& some() { return corpus()[rng_.below(corpus().size())]; }

  void mutate(std::string& bytes) {
    for (std::uint64_t left = 1 + rng_.below(3); left > 0 && !bytes.empty(); --left) {
      const std::size_t at = rng_.below(bytes.size());
      switch (rng_.below(6)) {
        case 0:
          bytes[at] = static_cast<char>(rng_.below(256));
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng_.below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + rng_.below(8));
          break;
        case 3:  // The largest number there is.
          bytes.replace(at, 1, std::string("\xcf") + std::string(8, '\xff'));
          break;
        case 4: {
          const std::string piece = bytes.substr(at, 1 + rng_.below(32));
          bytes.insert(rng_.below(bytes.size()), piece);
          break;
        }
        default: {
          const std::string& other = some();
          const std::size_t from = rng_.below(other.size());
          bytes.replace(at, 1 + rng_.below(16), other.substr(from, 1 + rng_.below(16)));
          break;
        }
      }
    }
  }

  Rng rng_;
};

std::size_t bytes_said(const BareNode& bare) {
  std::size_t said = 0;
  for (const gossip::TransportOutput& each : bare.transport) {
    if (const auto* send = std::get_if<gossip::Send>(&each)) {
      said += send->bytes.size();
    } else if (const auto* reply = std::get_if<gossip::Reply>(&each)) {
      said += reply->bytes.size();
    }
  }
  return said;
}

void expect_bounded(const agent::Node& node) {
  EXPECT_LE(node.store().rows().size(), crdt::kHostsMax);
  for (const auto& [host, slot] : node.store().rows()) {
    EXPECT_LE(slot.row.fields.size(), crdt::kRowFieldsMax);
    EXPECT_LE(crdt::encode_row(slot.row).size(), crdt::kRowBytesMax + crdt::kFieldBytesMax);
  }
  EXPECT_LE(node.membership().members().size(), node.store().rows().size() + 1);
  EXPECT_LE(node.gang_agent().grants().size(), static_cast<std::size_t>(kMessages));
}

/// How many messages it took: fewer than all when the node asked to end.
int fuzz(BareNode& bare, std::uint64_t seed) {
  Mutator mutator(seed);
  int count = 0;
  for (; count < kMessages && !bare.has_exited(); ++count) {
    bare.transport.clear();
    bare.events.clear();
    SCOPED_TRACE("seed " + std::to_string(seed) + " message " + std::to_string(count));
    Heard heard = mutator.next(bare.node().cluster());
    bare.receive_from(heard.from, std::move(heard.bytes));
    EXPECT_LE(bytes_said(bare), kSaidPerMessageMax);
    if (mutator.rng().chance(50'000)) {
      bare.pass(mutator.rng().between(Duration(0), std::chrono::milliseconds(600)));
    }
  }
  expect_bounded(bare.node());
  return count;
}

TEST(Corpus, HoldsAMessageOfEveryImportantType) {
  std::set<gossip::MessageType> types;
  for (const std::string& message : corpus()) {
    types.insert(gossip::decode(message)->envelope().type);
  }
  using enum gossip::MessageType;
  for (const gossip::MessageType type :
       {kProbe,         kAck,         kCall,     kVeto,     kRows,     kVoteRequest, kVoteReply,
        kAppendRequest, kAppendReply, kPropose,  kPromise,  kForm,     kHello,       kHelloReply,
        kAssign,        kReady,       kStart,    kStop,     kFinish,   kFinishAck,   kRenew,
        kRenewAck,      kRequest,     kResponse, kUsersAsk, kUsersPage}) {
    EXPECT_TRUE(types.contains(type)) << static_cast<int>(type);
  }
}

TEST(FuzzMessages, AMemberSurvivesThem) {
  BareNode bare(0, kCluster);
  bare.vouch(speakers());
  EXPECT_EQ(fuzz(bare, 1), kMessages);
  const auto answer = bare.ask(agent::Request());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, agent::ResponseStatus::kOk);
}

/// Nobody but a voter may speak as a leader, and it is the only one.
TEST(FuzzMessages, ALeaderSurvivesThemAndStillLeads) {
  for (const std::uint64_t seed : {2U, 3U, 4U, 5U}) {
    BareNode bare(1);
    bare.pass(std::chrono::seconds(5));
    ASSERT_TRUE(bare.node().seat().leads());
    bare.vouch(speakers());
    EXPECT_EQ(fuzz(bare, seed), kMessages) << seed;
    EXPECT_TRUE(bare.node().seat().leads()) << seed;
  }
}

/// A voter whose colleagues are the hosts that said the messages: it believes more than others do,
/// up to entries it cannot apply, at which it stops by design.
TEST(FuzzMessages, AVoterSurvivesThemOrStopsAtAnEntryItCannotApply) {
  std::set<HostId> voters = {kSelf};
  for (const std::string& message : corpus()) {
    const gossip::Envelope envelope = gossip::decode(message)->envelope();
    if (envelope.type == gossip::MessageType::kAppendRequest && voters.size() < 3) {
      voters.insert(envelope.from);
    }
  }
  crdt::WriteBatch writes = {scheduler::write_of(scheduler::HardState{Term(1), HostId()})};
  scheduler::write_formed_to({kCluster, {voters.begin(), voters.end()}}, writes);
  writes.push_back(scheduler::write_of_voters({voters.begin(), voters.end()}));
  crdt::Records records;
  for (const crdt::Write& write : writes) {
    if (write.value.has_value()) {
      records[write.key] = *write.value;
    }
  }
  int count = 0;
  for (std::uint64_t seed = 10; count < kMessages; ++seed) {
    BareNode bare(0, kCluster, records);
    ASSERT_TRUE(bare.node().seat().is_voter());
    bare.vouch(speakers());
    count += fuzz(bare, seed);
  }
}

}  // namespace
}  // namespace muster::fuzz
