// Goal: whatever users submit, the state stays within the limit of a snapshot. Method: the counted
// size of each part is compared with its encoded size; then the largest possible jobs reach the
// limits, one after the other.

#include "scheduler/state/kept_bytes.h"

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/raft/types.h"
#include "scheduler/state/state.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

/// Every text has its maximum length.
entry::Submit largest(std::uint64_t number) {
  entry::Submit fact = submission(std::to_string(number), 1);
  fact.key.resize(kClientKeyBytesMax, 'k');
  fact.by.name = std::string(kTextBytesMax, 'b');
  fact.spec.name = std::string(kTextBytesMax, 'n');
  fact.spec.user = std::string(kTextBytesMax, 'u');
  fact.spec.request.gpu_types = {std::string(64, 't')};
  fact.spec.command.directory = std::string(kDirectoryBytesMax, 'd');
  fact.spec.command.argv = {std::string(kCommandBytesMax, 'x')};
  fact.spec.command.shell = {SubmitShell::kUmaskMax, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  return fact;
}

std::size_t encoded_bytes(const Log& log) {
  return log.state.encode().size();
}

TEST(KeptBytes, TheRunsOfAnArrayCount) {
  const entry::Submit plain = submission("array", 1);
  entry::Submit fact = plain;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < kTaskRunsMax; ++i) {
    numbers.push_back(100'000 + 10 * i);
    numbers.push_back(100'001 + 10 * i);
  }
  fact.spec.array = range_of(numbers);
  ASSERT_EQ(fact.spec.array->runs.size(), kTaskRunsMax);
  const auto counted = [](const entry::Submit& submit) {
    return kept_bytes_of_job(submit.spec, submit.key, submit.by.name);
  };
  EXPECT_GE(counted(fact) - counted(plain),
            encode(Entry(fact)).size() - encode(Entry(plain)).size());
}

TEST(KeptBytes, APartIsCountedAsNoLessThanItIsEncodedAs) {
  Log log;
  log.apply(registration(1, 4));
  log.apply(registration(2, 4));
  for (const bool is_large : {false, true}) {
    const std::size_t before = encoded_bytes(log);
    entry::Submit fact = is_large ? largest(7) : submission("small", 2);
    fact.spec.command.environment = std::vector<std::string>(is_large ? 0 : 1000, "A=B");
    const JobId id = log.apply(fact).job;
    const Job& job = *log.state.job(id);
    const std::size_t counted =
        kept_bytes(job) + kept_bytes_of_history(job) + kept_bytes_of_key(job.key);
    EXPECT_GE(counted, encoded_bytes(log) - before);
    EXPECT_LE(counted, 2 * (encoded_bytes(log) - before)) << "nor as far more";
  }
  const Member first = member_of(1, 0, 1);
  const Member second = member_of(2, 0, 1, 1);
  const std::size_t before = encoded_bytes(log);
  const std::size_t history = kept_bytes_of_history(*log.state.job(JobId(1)));
  const Token token = log.run(JobId(1), {first, second});
  for (const Member& member : {first, second}) {
    entry::Finish finish{token, member.host, member.start, results_of(member, 127), true};
    finish.results[0].kind = RankResult::Kind::kNotStarted;
    finish.results[0].detail = std::string(kDetailBytesMax, 'd');
    finish.results[0].output_bytes = UINT64_MAX;
    finish.results[0].lost_bytes = UINT64_MAX;
    finish.results[0].surplus_bytes = UINT64_MAX;
    log.apply(finish);
    log.apply(entry::Stop{token, Cause::kRankFailed});
  }
  const Job& job = *log.state.job(JobId(1));
  ASSERT_EQ(job.life.state, JobState::kFailed);
  const std::size_t counted =
      kept_bytes(*log.state.attempt(token)) + kept_bytes_of_history(job) - history;
  EXPECT_GE(counted, encoded_bytes(log) - before);
  EXPECT_LE(counted, 2 * (encoded_bytes(log) - before));
  log.state.check_everything();
}

TEST(KeptBytes, SubmitsAreRefusedWhileUnfinishedJobsTakeTooMuch) {
  Log log;
  std::uint64_t number = 0;
  ApplyResult result;
  do {
    result = log.apply(largest(++number));
  } while (result.rejected.empty() && number < kJobsQueuedMax);
  EXPECT_EQ(result.rejected_as, ErrorCode::kUnavailable);
  EXPECT_EQ(result.rejected,
            "the commands of all jobs that have not ended take 64 MiB: wait until some end, or put "
            "what is long into a file");
  EXPECT_LE(log.state.kept().unfinished_jobs, KeptBytesMax().unfinished_jobs);
  EXPECT_GT(number, 900U);
  EXPECT_LT(encoded_bytes(log), KeptBytesMax().unfinished_jobs + (1 << 20));
  // The first job that ends makes room.
  log.apply(entry::Cancel{JobId(1), "ann"});
  EXPECT_TRUE(log.apply(largest(number)).rejected.empty());
  log.state.check_everything();
}

TEST(KeptBytes, EndedJobsAreForgottenFromTheOldestOnWhenTheyTakeTooMuch) {
  Log log;
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    const JobId id = log.apply(largest(number)).job;
    log.apply(entry::Cancel{id, "ann"});
  }
  EXPECT_EQ(log.state.job(JobId(1)), nullptr);
  EXPECT_NE(log.state.job(JobId(1000)), nullptr);
  EXPECT_GT(log.state.jobs().size(), 500U);
  EXPECT_LE(log.state.kept().ended_jobs, KeptBytesMax().ended_jobs);
  EXPECT_EQ(log.apply(largest(1)).job, JobId(1)) << "its key is kept";
  log.state.check_everything();
}

TEST(KeptBytes, KeysAreForgottenFromTheOldestOnWhenTheyTakeTooMuch) {
  Log log;
  log.state = State(1, KeptBytesMax{.client_keys = 10'000});
  const JobId first = log.apply(submission("first", 1)).job;
  log.apply(entry::Tick{std::chrono::hours(1)});
  for (std::uint64_t number = 1; number <= 500; ++number) {
    log.apply(submission("key" + std::to_string(number), 1));
    log.apply(entry::Tick{std::chrono::seconds(1)});
  }
  EXPECT_EQ(log.state.job_of_key("first"), std::nullopt);
  EXPECT_TRUE(log.state.job_of_key("key500").has_value());
  EXPECT_LE(log.state.kept().client_keys, 10'000U);
  EXPECT_NE(log.state.job(first), nullptr) << "the job is";
  log.state.check_everything();
}

TEST(KeptBytes, AllLimitsTogetherFitIntoASnapshot) {
  const KeptBytesMax all;
  EXPECT_LE(
      all.unfinished_jobs + all.ended_jobs + all.earlier_attempts + all.histories + all.client_keys,
      kSnapshotBytesMax - (std::size_t{56} << 20));
}

}  // namespace
}  // namespace muster::scheduler
