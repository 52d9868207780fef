// Entries and agent messages: what is encoded comes back, what is hostile or unknown is refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "gossip/base/generation.h"
#include "gossip/base/rng.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/raft/codec.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

const Token kToken{3, 77};
const AccessTokenId kAccess = AccessTokenId::from_bytes("access__________");

JobSpec full_spec() {
  JobSpec spec = spec_of(8);
  spec.command.environment = {"A=1", "B="};
  spec.command.directory = "/data";
  spec.priority = -5;
  spec.retry.retries = 2;
  spec.limits.hold = std::chrono::minutes(3);
  spec.limits.keep_when_isolated = true;
  spec.retry.on_lost_host = OnLostHost::kWait;
  spec.limits.time_limit = std::chrono::hours(2);
  spec.command.shell = {077, 4096, SubmitShell::kNoLimit, 1 << 30};
  spec.is_held = true;
  return spec;
}

gossip::SshKeyLine key_line(char letter) {
  return {{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, letter), ""}, "home"};
}

DirectoryChange full_change() {
  UserChange bob{"bob", false, UserRole::kLead, {"vision"}, {"speech"}};
  bob.keys_removed = {key_line('a').key};
  bob.keys_added = {key_line('b'),
                    {{gossip::SshKeyType::kSkEd25519, key_line('c').key.point, "ssh:"}, ""}};
  return {{{"vision", false, 7}, {"speech", true}}, {bob, {"eve", true}}, true, false};
}

JobSpec spec_in_queue() {
  JobSpec spec = spec_of(8);
  spec.queue = "research/nlp";
  spec.tier = Tier::kPremium;
  return spec;
}

/// A Submit may ask for no time limit; the log never keeps that.
JobSpec spec_without_limit() {
  JobSpec spec = spec_of(8);
  spec.limits.time_limit = kNoTimeLimit;
  return spec;
}

JobSpec spec_that_waits() {
  JobSpec spec = spec_of(8);
  spec.eligibility = {{{Ending::kOk, JobId(7)}, {Ending::kAny, task_id(JobId(8), 3)}},
                      std::chrono::hours(2),
                      std::chrono::hours(8)};
  return spec;
}

entry::Edit edit_of_times() {
  entry::Edit edit{JobId(4), 0, {"bob"}, true};
  edit.begin = std::chrono::hours(1);
  return edit;
}

QueueTree full_tree() {
  QueueNode node;
  node.path = "research";
  node.weight = 3;
  node.guaranteed = {{"h100", 8}};
  node.max = {{"gpus", 16}, {"cpus", 9}};
  node.tiers = {Tier::kStandard, Tier::kInference};
  node.members = {"@nlp", "ann"};
  node.is_fifo = true;
  node.time_limit_max = kNoTimeLimit;
  QueueNode below;
  below.path = "research/nlp";
  below.time_limit_max = std::chrono::hours(2);
  below.max_pending = 1000;
  return {kHalfLifeMin, {node, below}};
}

std::vector<Entry> every_entry() {
  const Member member = member_of(1, 0, 4);
  const HostId host = host_id(1);
  entry::Register registered = registration(1, 8);
  registered.live = {{kToken, true}, {Token{1, 2}, false}};
  std::vector<RankResult> results = results_of(member, 3, true);
  results[0].detail = "why";
  return {
      registered,
      entry::Submit{"key", full_spec(), {"alice@a", "alice", host}},
      entry::Submit{"key", spec_in_queue(), "alice"},
      entry::Submit{"key", spec_without_limit(), "alice"},
      entry::Submit{"key", spec_that_waits(), "alice"},
      edit_of_times(),
      entry::Cancel{JobId(4), "bob"},
      entry::Observe{host, pair_of(2), Verdict::kRefused, Health::kCordoned, {"a"}, {"b", "c"}},
      entry::Tick{std::chrono::seconds(1)},
      entry::Decide{
          JobId(4), 2, {member, member_of(2, 0, 1, 4)}, Duration(5), Duration(6), Duration(7)},
      entry::Ready{kToken, host, pair_of(1), gossip::Endpoint::ipv4(10, 0, 0, 1, 99)},
      entry::Start{kToken},
      entry::Stop{kToken, Cause::kTimeLimit},
      entry::Finish{kToken, host, pair_of(1), results, false},
      entry::Finish{kToken, host, pair_of(1), results, true, {"GPU-1", "GPU-2"}},
      entry::Abort{kToken, Cause::kRefused, host},
      entry::Condemn{host, {kToken, Token{1, 1}}},
      entry::Pardon{host, {kToken}},
      entry::Expire{host, kToken, LogIndex(90)},
      entry::Suspend{JobId(4), "bob"},
      entry::Resume{JobId(4), "bob"},
      entry::Requeue{JobId(4), 2, "bob"},
      entry::Fence{host, {"bob"}, true, {kToken}},
      entry::Edit{JobId(4), -3, "bob"},
      entry::Edit{JobId(4), 0, {"bob"}, true, "research/nlp", Tier::kBatch, std::chrono::hours(8)},
      entry::Edit{JobId(4), 7, {"bob"}, false, "", Tier::kNone, kNoTimeLimit},
      entry::Edit{JobId(4), 0, {"bob"}, true, "", Tier::kNone, std::chrono::hours(4), true},
      entry::Edit{JobId(4), 0, {"bob"}, true, "default"},
      entry::Drain{host, {"bob"}, "disk", true, Duration(8)},
      entry::Undrain{host, "bob"},
      entry::RemoveHost{host, "bob"},
      entry::MakeTicket{"key", 3, Duration(9), true, false, "gpu7", {"bob"}, host},
      entry::EndTicket{"key", "bob"},
      entry::Enrol{host, 1, 2, "record", "signature", "key", "gpu7", true, {"ann@a"}, true},
      entry::RotateKeys{3, "ann@a"},
      entry::ReplaceAuthority{2, "key", "signature", {{host, "sealed"}}, "ann@a"},
      entry::FoundDirectory{"ann"},
      entry::FoundDirectory{"ann", ClusterId::from_bytes(std::string(ClusterId::kSizeBytes, 'c')),
                            key_line('a')},
      entry::ChangeDirectory{full_change(), {"ann@a", "ann", host}},
      entry::RotateKeys{3,
                        {"ann@a", "ann", host, {}, PersonSignature{7, "a signature", "an order"}}},
      entry::MakeAccessToken{kAccess, "hash", "ci", {true, true}, "nlp", Duration(9), {"ann"}},
      entry::EndAccessToken{kAccess, {"ann@a", "ann", host, kAccess}},
      entry::ResetAdmin{"ann", key_line('k'), {"root@a", "root", host}},
      entry::GpuOrder{host, "GPU-a", true, "fan 3", {"ann@a", "ann", host}},
      entry::SetQueues{7, full_tree(), {{"old", "research/nlp"}}, {"ann@a", "ann", host}},
      entry::NoteRequests{host,
                          3,
                          4,
                          {{{"ann@a", "ann", host}, "drain", "host b", false, "only operators"},
                           {{}, "", "", true, "7 more requests"}}}};
}

std::vector<AgentMessage> every_message() {
  const Member member = member_of(1, 0, 4);
  Hello hello;
  hello.start = pair_of(3);
  hello.boot_id = "boot";
  hello.name = "host1";
  hello.gpu_type = "H100";
  hello.gpus = uuids_of(1, 4);
  hello.cpus = 96;
  hello.memory_mb = 1 << 20;
  hello.grants = {{kToken, GrantState::kEnded, results_of(member, 1), {}}};
  return {hello,
          HelloReply{StartId(5), true, Generation(6), kToken, {kToken}},
          HelloReply{StartId(5), false, Generation(6), kToken, {}, "no machine has so much"},
          HelloReply{StartId(5), false, Generation(), kToken, {}, "its name is taken", true},
          Assign{kToken, pair_of(1), JobId(3), 2, full_spec(), {member}, Duration(9)},
          Ready{kToken, pair_of(1), gossip::Endpoint::ipv4(10, 0, 0, 1, 99)},
          Refuse{kToken, pair_of(1), "stuck"},
          Start{kToken, pair_of(1), gossip::Endpoint::ipv4(10, 0, 0, 1, 99)},
          Stop{kToken, pair_of(1), Duration(8), "cancelled"},
          Finish{kToken, pair_of(1), results_of(member, -1), false},
          Finish{kToken, pair_of(1), results_of(member, -1), true, {"GPU-1"}},
          FinishAck{kToken},
          Renew{pair_of(1), {kToken}},
          Renew{pair_of(1), {kToken}, std::vector<Token>{kToken}},
          RenewAck{{kToken}},
          RelayedRenews{{{host_id(1), Nonce(5), Renew{pair_of(1), {kToken}}}}},
          RelayedAcks{{{host_id(1), Nonce(5), RenewAck{{kToken}}}}},
          GpuOrders{pair_of(1), {{"GPU-a", true, "fan 3", "ann@a", 7, kToken}}},
          GpuOrdersAck{pair_of(1), kToken}};
}

std::optional<AgentMessage> decode_body(gossip::MessageType type, const std::string& bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(bytes);
  return document ? decode_agent_message(type, document->root()) : std::nullopt;
}

void mutate(std::string& bytes, Rng& rng) {
  for (std::uint64_t i = rng.below(4) + 1; i > 0; --i) {
    bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
  }
}

TEST(Entries, RoundTrip) {
  for (const Entry& entry : every_entry()) {
    const Result<LoggedEntry> copy = decode_entry(encode(entry, -5));
    ASSERT_TRUE(copy.has_value()) << static_cast<int>(kind_of(entry)) << copy.error().text;
    EXPECT_EQ(copy->entry, entry) << static_cast<int>(kind_of(entry));
    EXPECT_EQ(copy->unix_ms, -5);
  }
}

TEST(Entries, ASpecOfBeforeThereWereQueuesNamesNone) {
  const auto read = [](const std::string& bytes) {
    const auto document = gossip::Document::parse(bytes);
    EXPECT_TRUE(document.has_value());
    gossip::Reader in = document->root();
    JobSpec spec = read_job_spec(in);
    return std::pair(std::move(spec), in.ok());
  };
  const auto written = [](const JobSpec& spec) {
    gossip::Encoder out;
    write(out.array(1), spec);
    return out.take();
  };
  const auto [plain, is_plain_good] = read(written(spec_of(8)));
  EXPECT_TRUE(is_plain_good);
  EXPECT_EQ(plain.queue, "");
  EXPECT_EQ(plain.tier, Tier::kNone);
  // Elements that an earlier reader does not know are last: there 0 is no limit.
  const std::string for_ever = "\x7f" + std::string(7, '\xff');
  EXPECT_EQ(written(spec_without_limit()).find(for_ever), std::string::npos);
  JobSpec long_path = spec_of(8);
  long_path.queue = std::string(kQueuePathBytesMax + 1, 'q');
  EXPECT_FALSE(read(written(long_path)).second);
}

TEST(Entries, OnlyOneThatWaitsIsOfTheHighestVersionAndLevel) {
  const auto version_of = [](const Entry& entry) {
    const auto document = gossip::Document::parse(encode(entry));
    gossip::Reader in = document->root();
    in.u64();
    return in.u64();
  };
  const Entry plain = entry::Submit{"key", full_spec(), "alice"};
  EXPECT_EQ(version_of(plain), kEntryVersion);
  EXPECT_EQ(level_needed(plain), level_needed(EntryKind::kSubmit));
  for (const Entry& entry :
       {Entry(entry::Submit{"key", spec_that_waits(), "alice"}), Entry(edit_of_times())}) {
    EXPECT_EQ(version_of(entry), kEntryVersionLast);
    EXPECT_EQ(level_needed(entry), kWaitsLevel);
  }
}

TEST(Entries, ConditionsOutOfBoundsAreNotRead) {
  const auto is_read = [](const Eligibility& eligibility) {
    gossip::Encoder out;
    write(out.array(1), eligibility);
    const auto document = gossip::Document::parse(out.take());
    gossip::Reader in = document->root();
    const Eligibility read = read_eligibility(in);
    return in.ok() && read == eligibility;
  };
  const std::vector<Dependency> most(kDependenciesMax, {Ending::kFail, JobId(7)});
  const std::vector<Dependency> more(kDependenciesMax + 1, {Ending::kFail, JobId(7)});
  EXPECT_TRUE(is_read({most, kSpanMax - Duration(1), kSpanMax}));
  EXPECT_TRUE(is_read({most, kSpanMax, Duration(0)}));
  EXPECT_FALSE(is_read({more, Duration(0), Duration(0)}));
  EXPECT_FALSE(is_read({{}, Duration(-1), Duration(0)}));
  EXPECT_FALSE(is_read({{}, kSpanMax + Duration(1), Duration(0)}));
  EXPECT_FALSE(is_read({{}, Duration(0), kSpanMax + Duration(1)}));
  EXPECT_FALSE(is_read({{}, Duration(2), Duration(1)}));
  EXPECT_FALSE(is_read({{}, Duration(2), Duration(2)})) << "it would be late when it may begin";
  EXPECT_FALSE(is_read({{{static_cast<Ending>(3), JobId(7)}}, Duration(0), Duration(0)}));
}

TEST(Entries, UnknownKindOrVersionSaysSo) {
  using gossip::Encoder;
  EXPECT_FALSE(
      decode_entry(Encoder().array(4).u64(99).u64(kEntryVersion).u64(0).u64(0).take()).has_value());
  EXPECT_FALSE(
      decode_entry(Encoder().array(4).u64(6).u64(kEntryVersionLast + 1).u64(0).u64(0).take())
          .has_value());
  const auto earlier = decode_entry(Encoder().array(3).u64(6).u64(3).u64(0).take());
  ASSERT_FALSE(earlier.has_value());
  EXPECT_NE(earlier.error().text.find("start with an empty data directory"), std::string::npos);
  EXPECT_TRUE(
      decode_entry(Encoder().array(5).u64(6).u64(kEntryVersion).u64(0).u64(0).text("new").take())
          .has_value())
      << "trailing elements of a newer writer";
}

/// Every number and text of it as long as it may be.
JobSpec longest_spec() {
  JobSpec spec = full_spec();
  spec.request.gpus = kGangUnitsMax;
  for (std::string* text : {&spec.name, &spec.user}) {
    *text = std::string(kTextBytesMax, 'x');
  }
  spec.command.directory = std::string(kDirectoryBytesMax, '/');
  // As many texts as there may be, and as many as can be of the least length that costs two bytes.
  constexpr std::size_t kLong = 32;
  spec.command.argv.assign(kTextsMax, "");
  spec.command.environment.assign(kTextsMax, "");
  std::fill_n(spec.command.argv.begin(), kCommandBytesMax / kLong, std::string(kLong, 'x'));
  spec.priority = INT32_MIN;
  spec.retry.retries = UINT32_MAX;
  for (Duration* span :
       {&spec.limits.hold, &spec.limits.grace, &spec.limits.patience, &spec.limits.time_limit}) {
    *span = kSpanMax;
  }
  spec.command.shell = {SubmitShell::kUmaskMax, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  for (std::size_t depth = 0; depth < 4; ++depth) {
    spec.queue += (depth == 0 ? "" : "/") + std::string(kQueueSegmentBytesMax - 1, 'q');
  }
  spec.tier = kTierLast;
  return spec;
}

/// A host for each GPU.
std::vector<Member> longest_members() {
  std::vector<Member> members;
  for (std::uint32_t rank = 0; rank < kGangUnitsMax; ++rank) {
    Member member;
    member.host = host_id(rank);
    member.start = {Generation(kGenerationMax), StartId(UINT64_MAX - rank)};
    member.gpus = {{std::string(kUuidBytesMax - 4, 'u') + std::to_string(1000 + rank), UINT32_MAX}};
    member.first_rank = rank;
    members.push_back(std::move(member));
  }
  return members;
}

TEST(Entries, AnEditWithATimeLimitOutOfBoundsIsNotRead) {
  entry::Edit fact{JobId(4), 0, {"bob"}, true};
  const std::pair<Duration, bool> limits[] = {
      {Duration(0), true},   {kSpanMax, true},     {kSpanMax + Duration(1), false},
      {Duration(-2), false}, {kNoTimeLimit, true}, {kNoTimeLimit - Duration(1), false}};
  for (const auto& [limit, is_read] : limits) {
    fact.time_limit = limit;
    EXPECT_EQ(decode_entry(encode(fact)).has_value(), is_read) << limit.count();
  }
}

TEST(Entries, TheLargestGangFitsIntoOneEntryAndThatIntoOneMessage) {
  ASSERT_TRUE(validate(longest_spec()).has_value());
  constexpr JobId kJob(kNumberMax);
  constexpr std::uint32_t kAttempt = UINT32_MAX;
  GrantDetail detail{kJob, kAttempt, longest_spec(), longest_members(), kSpanMax};
  const AgentStart start = detail.members.back().start;
  const Token token{gossip::kEpochCounterMax, kNumberMax};
  const Entry entries[] = {
      entry::Decide{kJob, kAttempt, longest_members(), kSpanMax, kSpanMax, kSpanMax},
      entry::Adopt{host_id(1), start, token, std::move(detail)},
      entry::Preempt{kJob, kAttempt, longest_members(), std::vector<Token>(kVictimsMax, token),
                     LogIndex(kNumberMax), UINT32_MAX}};
  for (const Entry& entry : entries) {
    const std::string bytes = encode(entry);
    EXPECT_LE(bytes.size(), kEntryBytesMax);
    const Result<LoggedEntry> back = decode_entry(bytes);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->entry, entry);
  }
  constexpr std::size_t kEnvelopeBytes = 4096;
  AppendRequest append;
  append.entries = {{Term(kNumberMax), LogEntryKind::kCommand, std::string(kEntryBytesMax, 'x')}};
  EXPECT_LT(encode(RaftMessage(append)).size() + kEnvelopeBytes, gossip::kMessageBytesMax);
}

TEST(Entries, CutOrMutatedBytesNeverCrash) {
  Rng rng(11);
  for (const Entry& entry : every_entry()) {
    const std::string bytes = encode(entry);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_entry(bytes.substr(0, size)).has_value());
    }
    for (int round = 0; round < 2'000; ++round) {
      std::string mutated = bytes;
      mutate(mutated, rng);
      const Result<LoggedEntry> decoded = decode_entry(mutated);
      if (decoded) {
        State state;
        state.apply(LogIndex(1), decoded->entry);
      }
    }
  }
}

TEST(AgentMessages, RoundTrip) {
  for (const AgentMessage& message : every_message()) {
    const std::optional<AgentMessage> copy = decode_body(type_of(message), encode(message));
    ASSERT_TRUE(copy.has_value()) << message.index();
    EXPECT_EQ(*copy, message) << message.index();
  }
}

TEST(AgentMessages, ForeignTypesAndHostileBytesAreRefused) {
  Rng rng(12);
  for (const AgentMessage& message : every_message()) {
    const std::string bytes = encode(message);
    EXPECT_FALSE(decode_body(gossip::MessageType::kProbe, bytes).has_value());
    EXPECT_FALSE(decode_body(type_of(message), gossip::Encoder().array(0).take()).has_value());
    for (int round = 0; round < 2'000; ++round) {
      std::string mutated = bytes;
      mutate(mutated, rng);
      (void)decode_body(type_of(message), mutated);
    }
  }
}

}  // namespace
}  // namespace muster::scheduler
