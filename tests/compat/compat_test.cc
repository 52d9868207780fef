// Bytes that were written once can be read for good. Golden bytes of every format: a changed line
// is a changed format and needs a new version; a new line is a new format. And fields of a newer
// version that this one does not know pass through a Node whole.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/agent/node/bare_node.h"
#include "tests/compat/samples.h"

namespace muster::compat {
namespace {

using agent::testing::BareNode;
using agent::testing::kCluster;
using agent::testing::kPeer;
using gossip::Encoder;
using gossip::MessageType;

std::string hex_of(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string golden_path() {
  return std::string(MUSTER_SOURCE_DIR) + "/tests/compat/golden/protocol9_disk10.txt";
}

/// Lines of `name = hex`.
std::map<std::string, std::string> golden() {
  std::map<std::string, std::string> lines;
  std::ifstream file(golden_path());
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(" = ");
    if (at != std::string::npos) {
      lines[line.substr(0, at)] = line.substr(at + 3);
    }
  }
  return lines;
}

std::vector<Sample> all_samples() {
  std::vector<Sample> all;
  for (const auto& chapter :
       {message_samples, entry_samples, state_samples, wait_samples, row_samples, disk_samples}) {
    for (Sample& sample : chapter()) {
      all.push_back(std::move(sample));
    }
  }
  return all;
}

TEST(Formats, AreTheGoldenBytes) {
  if (std::getenv("MUSTER_REWRITE") != nullptr) {
    std::ofstream file(golden_path());
    for (const Sample& sample : all_samples()) {
      file << sample.name << " = " << hex_of(sample.bytes) << "\n";
    }
  }
  const std::map<std::string, std::string> lines = golden();
  EXPECT_EQ(lines.size(), all_samples().size());
  for (const Sample& sample : all_samples()) {
    const auto line = lines.find(sample.name);
    ASSERT_NE(line, lines.end()) << sample.name;
    EXPECT_EQ(line->second, hex_of(sample.bytes)) << sample.name;
  }
}

TEST(Formats, GoldenBytesAreUnderstood) {
  const std::map<std::string, std::string> lines = golden();
  for (const Sample& sample : all_samples()) {
    const auto line = lines.find(sample.name);
    ASSERT_NE(line, lines.end()) << sample.name;
    const auto again = sample.reread(bytes_of(line->second));
    ASSERT_TRUE(again.has_value()) << sample.name;
    EXPECT_EQ(hex_of(*again), line->second) << sample.name;
  }
}

// ---- what an older version said ----

/// The fixarray without its last element, whose encoding is `last`.
std::string without(std::string array, const std::string& last) {
  EXPECT_TRUE(array.ends_with(last));
  array[0] = static_cast<char>(array[0] - 1);
  return array.substr(0, array.size() - last.size());
}

TEST(Older, ARequestNeedNotNameANode) {
  agent::Request request;
  request.verb = agent::Verb::kHosts;
  request.node = "host-two";
  const std::string older = without(encode(request), Encoder().text(request.node).take());
  const auto document = gossip::Document::parse(older);
  ASSERT_TRUE(document.has_value());
  const auto read = agent::decode_request(document->root());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->node, "");
}

TEST(Older, AnAnswerToAVoterThatStartsNeedNotNameVoters) {
  for (const Sample& sample : all_samples()) {
    if (sample.name == "message/append_reply") {
      EXPECT_TRUE(sample.reread(bytes_of("9b040902c200cd012c044d0297cd012c04c304cd012c04c390"))
                      .has_value());
      EXPECT_TRUE(sample
                      .reread(bytes_of("9b040902c200cd012c044d0298cd012c04c304cd012c04c392"
                                       "c410686f73742d6f6e655f5f5f5f5f5f5f5fc410"
                                       "686f73742d74776f5f5f5f5f5f5f5f5f90"))
                      .has_value())
          << "nor learners";
      return;
    }
  }
  FAIL() << "no such sample";
}

// ---- what a newer version says ----

crdt::Row newer_row() {
  crdt::Identity identity;
  identity.name = "peer";
  identity.control = agent::testing::kPeerControl;
  identity.start_id = StartId(1);
  crdt::Row row;
  row.full_from = Generation(1);
  row.fields[1] = {{Generation(1), Sequence(1)}, crdt::encode(identity)};
  row.fields[99] = {{Generation(1), Sequence(2)}, Encoder().map(1).u64(7).text("new").take()};
  return crdt::testing::signed_row({kPeer, row}).row;
}

std::string rows_message(const crdt::RowsBody& body) {
  return gossip::encode(BareNode::envelope(MessageType::kRows), crdt::encode(body));
}

/// The row of the peer in the messages of the node, whatever their receiver.
std::optional<crdt::Row> told_row(const BareNode& bare) {
  for (const gossip::TransportOutput& each : bare.transport) {
    const std::string* bytes = nullptr;
    if (const auto* send = std::get_if<gossip::Send>(&each)) {
      bytes = &send->bytes;
    } else if (const auto* reply = std::get_if<gossip::Reply>(&each)) {
      bytes = &reply->bytes;
    }
    const Result<gossip::Message> message = gossip::decode(bytes == nullptr ? "" : *bytes);
    const auto body = message && message->envelope().type == MessageType::kRows
                          ? crdt::decode_rows(message->body())
                          : std::nullopt;
    for (const crdt::RowOf& row : body ? body->rows : std::vector<crdt::RowOf>()) {
      if (row.host == kPeer) {
        return row.row;
      }
    }
  }
  return std::nullopt;
}

TEST(Newer, AFieldNobodyKnowsPassesThroughANodeWhole) {
  BareNode bare(0, kCluster);
  crdt::RowsBody news;
  news.rows = {{kPeer, newer_row()}};
  bare.receive(rows_message(news));
  bare.transport.clear();
  crdt::RowsBody question;
  question.want = {kPeer};
  bare.receive(rows_message(question));
  EXPECT_EQ(told_row(bare), newer_row());
}

TEST(Newer, AFieldNobodyKnowsSurvivesARestart) {
  std::string stored;
  {
    BareNode bare(0, kCluster);
    crdt::RowsBody news;
    news.rows = {{kPeer, newer_row()}};
    bare.receive(rows_message(news));
    for (const auto& [key, value] : bare.records(crdt::Environment::kState)) {
      stored += key.find(kPeer.bytes()) != std::string::npos ? value : "";
    }
  }
  EXPECT_EQ(crdt::decode_row(stored), newer_row());
}

TEST(Newer, TrailingElementsOfAnEnvelopeComeBackWithTheAnswer) {
  BareNode bare(0, kCluster);
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = MessageType::kRequest;
  envelope.nonce = Nonce(4);
  envelope.trailing = Encoder().map(1).u64(1).text("new").u64(42).take();
  envelope.trailing_count = 2;
  bare.transport.clear();
  bare.receive(gossip::encode(envelope, agent::encode(agent::Request())));
  ASSERT_EQ(bare.transport.size(), 1U);
  const Result<gossip::Message> answer =
      gossip::decode(std::get<gossip::Reply>(bare.transport.front()).bytes);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->envelope().trailing, envelope.trailing);
  EXPECT_EQ(answer->envelope().trailing_count, 2U);
}

/// `[1, 2]` -> `[1, 2, "newer"]`: an array of fewer than 15 elements, one more at its end.
std::string with_one_more(std::string array) {
  array[0] = static_cast<char>(array[0] + 1);
  return array + Encoder().text("newer").take();
}

TEST(Newer, TrailingElementsOfABodyAreIgnored) {
  std::size_t tried = 0;
  for (const auto& chapter : {message_samples, entry_samples}) {
    for (const Sample& sample : chapter()) {
      const auto first = static_cast<unsigned char>(sample.bytes[0]);
      // Written as by older versions: what comes next in them is known by now.
      const bool is_older = sample.name == "message/renew" || sample.name == "message/renew_ack" ||
                            sample.name == "message/finish" || sample.name == "entry/finish" ||
                            sample.name == "entry/edit" ||
                            sample.name.starts_with("message/hello_reply");
      if (first < 0x90 || first >= 0x9f || sample.name == "envelope" || is_older) {
        continue;
      }
      ++tried;
      const auto read = sample.reread(with_one_more(sample.bytes));
      ASSERT_TRUE(read.has_value()) << sample.name;
      EXPECT_EQ(hex_of(*read), hex_of(sample.bytes)) << sample.name;
    }
  }
  EXPECT_GT(tried, 30U);
}

TEST(Newer, AnEntryOfAnUnknownKindStopsInsteadOfBeingSkipped) {
  EXPECT_FALSE(scheduler::decode_entry(Encoder().array(2).u64(200).u64(2).take()).has_value());
}

}  // namespace
}  // namespace muster::compat
