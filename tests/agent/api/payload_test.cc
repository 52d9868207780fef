// Arguments and payloads: what is encoded comes back, what is hostile is refused.

#include "agent/api/payload.h"

#include <gtest/gtest.h>

#include "agent/api/audit.h"
#include "agent/api/certify.h"
#include "agent/api/enrolment.h"
#include "agent/api/events.h"
#include "agent/api/gpus.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/output.h"
#include "agent/api/queues.h"
#include "agent/api/quorum.h"
#include "agent/api/stats.h"
#include "agent/api/users.h"
#include "gossip/base/rng.h"
#include "gossip/wire/wire.h"
#include "tests/agent/api/filled.h"
#include "tests/cli/kit/samples.h"

namespace muster::agent {
namespace {

template <class T>
void expect_round_trip(const T& value) {
  const std::string bytes = encode_payload(value);
  const std::optional<T> decoded = decode_payload<T>(bytes);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_TRUE(*decoded == value);
}

template <class... Types>
void expect_round_trips_of_filled() {
  (
      [] {
        SCOPED_TRACE(::testing::internal::GetTypeName<Types>());
        EXPECT_FALSE(testing::filled<Types>() == Types());
        expect_round_trip(testing::filled<Types>());
      }(),
      ...);
}

/// A field that is added to one of them is filled as well, and found where nobody encodes it.
TEST(Payload, EachFieldOfEachPayloadComesBack) {
  expect_round_trips_of_filled<
      VersionInfo, HostsQuery, HostList, QuorumInfo, EventsQuery, EventsPage, HostRef, FoundArgs,
      EnterArgs, JoinArgs, JoinInfo, TicketArgs, TicketMade, TicketRef, TicketList, SetHostArgs,
      RotateArgs, KeysInfo, WhyHostInfo, LeaveArgs, SubmitArgs, JobRef, JobRun, RequeueArgs,
      QuorumWish, FenceArgs, RecoverArgs, RecoveryInfo, JobsQuery, JobList, JobDetail, WhyInfo,
      DrainArgs, EditArgs, HostUseList, HostDetail, UsageQuery, UsageList, OutputQuery, OutputChunk,
      StatsInfo, HostInfo, MemberInfo, HolderInfo, HostUse, SignatureWanted, WhoamiInfo, UsersQuery,
      UserList, TokenArgs, TokenRef, TokensQuery, TokenList, AuditQuery, AuditPage, GpusQuery,
      GpuList, ListedGpu, GpuOrderArgs, GpuBoard, QueueList, SetQueuesArgs, SharesQuery, ShareList,
      RetryAfter, CertifyArgs, CertifiedInfo, HttpRootInfo>();
}

TEST(Payload, QueuesOfANewerVersionAreRead) {
  const std::string bytes = gossip::Encoder().array(2).text("research").text("newer").take();
  const auto query = decode_payload<SharesQuery>(bytes);
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->path, "research");
  EXPECT_FALSE(decode_payload<SetQueuesArgs>(bytes).has_value());
}

TEST(Payload, AJobOfAnOlderVersionHasNoQueue) {
  JobSummary job = cli::sample_job(3, "queued");
  job.queue = "research";
  job.tier = "batch";
  std::string bytes = encode_payload(JobList{{job}, {}});
  // With a WaitInfo without conditions.
  const std::string trailing = gossip::Encoder()
                                   .bytes(job.queue)
                                   .bytes(job.tier)
                                   .array(4)
                                   .array(0)
                                   .u64(0)
                                   .u64(0)
                                   .boolean(false)
                                   .take();
  const std::size_t at = bytes.find(trailing);
  ASSERT_NE(at, std::string::npos);
  bytes.erase(at, trailing.size());
  const std::size_t count = bytes.find(std::string("\xdc\x00\x1c", 3));
  ASSERT_NE(count, std::string::npos) << "28 elements";
  bytes[count + 2] = '\x19';
  const auto read = decode_payload<JobList>(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->jobs.at(0).name, "llama");
  EXPECT_EQ(read->jobs.at(0).queue, "");
  EXPECT_EQ(read->jobs.at(0).tier, "");
}

TEST(Payload, SpecificationsAndBytesThatAreNoTextComeBack) {
  expect_round_trip(cli::sample_detail());
  expect_round_trip(SubmitArgs{"key", cli::sample_detail().spec});
  expect_round_trip(
      OutputChunk{std::string("\0\xff", 2), 9, true, 6, {{5, 7, kStderr}, {8, 9, ""}}});
}

TEST(Payload, TrailingElementsOfANewerVersionAreIgnored) {
  const std::string bytes = gossip::Encoder().array(2).u64(17).text("newer").take();
  const auto job = decode_payload<JobRef>(bytes);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->job, JobId(17));
}

TEST(Payload, TrailingElementsThatAnOlderVersionDoesNotSendAreDefaults) {
  const std::string bytes = encode_payload(cli::sample_detail());
  std::string shortened = bytes;
  // The member's five trailing elements are "", "", 0, 0 and 0 here: take them off its array.
  const std::string trailing = std::string("\xc4\x00\xc4\x00\x00\x00\x00", 7);
  for (std::size_t at = shortened.find(trailing); at != std::string::npos;
       at = shortened.find(trailing)) {
    shortened.erase(at, trailing.size());
  }
  ASSERT_LT(shortened.size(), bytes.size());
  for (char& byte : shortened) {
    byte = byte == '\x9b' ? '\x96' : byte;
  }
  const auto read = decode_payload<JobDetail>(shortened);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->attempts.at(0).members.at(1).host_name, "b");
  EXPECT_EQ(read->attempts.at(0).members.at(1).host_state, "");
}

TEST(Payload, AListOfAnOlderVersionIsComplete) {
  const auto list = decode_payload<JobList>(gossip::Encoder().array(1).array(0).take());
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->next, JobId());
}

TEST(Payload, TruncatedAndMutatedPayloadsNeverCrash) {
  const std::string bytes = encode_payload(cli::sample_detail());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_payload<JobDetail>(bytes.substr(0, size)).has_value()) << size;
  }
  Rng rng(1);
  for (int round = 0; round < 5'000; ++round) {
    std::string mutated = bytes;
    for (std::uint64_t i = rng.below(4) + 1; i > 0; --i) {
      mutated[rng.below(mutated.size())] = static_cast<char>(rng.below(256));
    }
    decode_payload<JobDetail>(mutated);
  }
}

}  // namespace
}  // namespace muster::agent
