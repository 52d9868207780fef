// Arrays: one record whatever their length, tasks that become jobs as others leave the queue, and
// orders about one task, a run of tasks and all tasks.

#include <map>

#include <gtest/gtest.h>

#include "gossip/base/rng.h"
#include "scheduler/state/array_snapshot.h"
#include "scheduler/state/job_moves.h"
#include "tests/scheduler/policy/queue_of.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs

entry::Submit array_of_tasks(std::uint32_t first, std::uint32_t last, std::uint32_t at_once = 0) {
  entry::Submit fact = submission("array", 1);
  fact.spec.array = ArrayRange{first, last, at_once};
  return fact;
}

class ArrayTest : public ::testing::Test {
 protected:
  ArrayTest() { log.apply(registration(1, 8)); }

  const TaskArray& array() const { return *log.state.array(id); }
  JobId task(std::uint32_t index) const { return task_id(id, index); }
  std::size_t waiting() const { return log.state.pending(); }
  /// The first task that waits runs on that GPU.
  Token run_next(std::uint32_t gpu) {
    return log.run(queue_of(log.state).front(), {member_of(1, gpu, 1)});
  }
  void end(const Token& token, std::uint32_t gpu, std::int32_t code = 0) {
    log.finish(token, member_of(1, gpu, 1), code);
    if (code != 0) {
      log.apply(entry::Stop{token, Cause::kRankFailed});
    }
  }

  Log log;
  JobId id;
};

TEST_F(ArrayTest, AMillionTasksAreOneSmallRecord) {
  const std::size_t before = log.state.encode().size();
  const entry::Submit fact = array_of_tasks(0, 999'999);
  id = log.apply(fact).job;
  EXPECT_LT(encode(Entry(fact)).size() + log.state.encode().size() - before, 4096U);
  EXPECT_EQ(waiting(), 1U) << "one task at first";
  EXPECT_EQ(array().folded(), 999'999U);
  EXPECT_EQ(log.state.job(task(0))->spec.command.environment.back(), "MUSTER_ARRAY_INDEX=0");
  EXPECT_EQ(log.apply(fact).job, id) << "the same key";
  EXPECT_EQ(log.state.arrays().size(), 1U);
}

TEST_F(ArrayTest, TasksBecomeJobsAsOthersLeaveTheQueue) {
  id = log.apply(array_of_tasks(5, 9)).job;
  const Token first = run_next(0);
  EXPECT_EQ(log.state.job(task(5))->life.state, JobState::kRunning);
  EXPECT_EQ(waiting(), 2U) << "two may wait once one was tried";
  EXPECT_EQ(array().state(), JobState::kRunning);
  end(first, 0);
  std::uint32_t gpu = 1;
  while (waiting() != 0) {
    end(run_next(gpu), gpu, gpu == 2 ? 1 : 0);
    ++gpu;
  }
  EXPECT_EQ(array().completed, 4U);
  EXPECT_EQ(array().failed, 1U);
  EXPECT_EQ(array().state(), JobState::kFailed);
  EXPECT_TRUE(array().has_ended());
  EXPECT_EQ(log.state.kept().unfinished_jobs, 0U);
}

TEST_F(ArrayTest, AtMostSoManyAreAtWork) {
  id = log.apply(array_of_tasks(0, 9, 2)).job;
  const Token first = run_next(0);
  run_next(1);
  EXPECT_EQ(waiting(), 0U);
  end(first, 0);
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(ArrayTest, TheyStandInTheQueueWhereTheirArrayDoes) {
  id = log.apply(array_of_tasks(0, 9)).job;
  const JobId behind = log.submit(1);
  run_next(0);
  EXPECT_EQ(queue_of(log.state).front(), task(1));
  log.apply(entry::Edit{behind, 5, "ann"});
  EXPECT_EQ(queue_of(log.state).front(), behind);
  log.apply(entry::Edit{id, 6, "ann"});
  EXPECT_EQ(queue_of(log.state).front(), task(1)) << "a word about all that wait";
}

TEST_F(ArrayTest, OneTaskARunOfThemAndAllAreCancelled) {
  id = log.apply(array_of_tasks(0, 99)).job;
  const Token token = run_next(0);
  log.apply(entry::Cancel{task(0), "ann"});
  EXPECT_TRUE(log.state.job(task(0))->orders.cancel_requested);
  log.apply(entry::Cancel{task(50), {"ann"}, 59});
  log.apply(entry::Cancel{task(55), {"ann"}, 69});
  log.apply(entry::Cancel{task(99), "ann"});
  EXPECT_EQ(array().skipped,
            (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{50, 69}, {99, 99}}));
  EXPECT_EQ(log.apply(entry::Cancel{task(100), "ann"}).rejected_as, ErrorCode::kNotFound);
  EXPECT_EQ(log.apply(entry::Suspend{id, "ann"}).rejected_as, ErrorCode::kConflict);
  EXPECT_FALSE(log.apply(entry::Suspend{task(80), "ann"}).rejected.empty()) << "it is no job yet";
  log.apply(entry::Cancel{id, "bob"});
  EXPECT_EQ(array().cancelled, 99U) << "all but the one that runs";
  EXPECT_FALSE(array().has_ended());
  log.apply(entry::Stop{token, Cause::kCancelled});
  log.finish(token, member_of(1, 0, 1), 143, true);
  EXPECT_EQ(array().cancelled, 100U);
  EXPECT_EQ(array().state(), JobState::kCancelled);
}

TEST_F(ArrayTest, TooManyRunsAreRefused) {
  id = log.apply(array_of_tasks(0, 99'999)).job;
  for (std::uint32_t i = 0; i < kSkippedRunsMax; ++i) {
    ASSERT_EQ(log.apply(entry::Cancel{task(100 + 2 * i), "ann"}).rejected, "");
  }
  EXPECT_EQ(log.apply(entry::Cancel{task(50'000), "ann"}).rejected_as, ErrorCode::kUnavailable);
  EXPECT_EQ(log.apply(entry::Cancel{id, "ann"}).rejected, "") << "all of it";
}

TEST_F(ArrayTest, WhatIsNoRangeIsNoArray) {
  EXPECT_FALSE(validate(array_of_tasks(9, 3).spec));
  EXPECT_FALSE(validate(array_of_tasks(0, kTasksMax).spec));
  EXPECT_FALSE(validate(array_of_tasks(kTaskIndexMax, kTaskIndexMax + 1).spec));
  EXPECT_TRUE(validate(array_of_tasks(kTaskIndexMax, kTaskIndexMax).spec));
}

TEST_F(ArrayTest, ASuspendedTaskHoldsUpNoOther) {
  id = log.apply(array_of_tasks(0, 9)).job;
  log.apply(entry::Suspend{task(0), "ann"});
  EXPECT_EQ(queue_of(log.state).front(), task(1));
  EXPECT_EQ(array().state(), JobState::kQueued) << "none is at work";
  EXPECT_EQ(array().running(), 0U);
}

TEST_F(ArrayTest, WhatHasEndedIsNotCancelled) {
  id = log.apply(array_of_tasks(0, 0)).job;
  end(run_next(0), 0);
  ASSERT_EQ(array().state(), JobState::kCompleted);
  EXPECT_EQ(log.apply(entry::Cancel{id, "ann"}).rejected_as, ErrorCode::kConflict);
  EXPECT_EQ(log.apply(entry::Cancel{task(5), {"ann"}, 9}).rejected_as, ErrorCode::kNotFound);
  EXPECT_EQ(array().state(), JobState::kCompleted);
}

TEST_F(ArrayTest, TheirTasksKeepToTheBytesThatJobsMayTake) {
  log = Log();
  log.state = State(1, KeptBytesMax{.unfinished_jobs = 3000});
  log.apply(registration(1, 8));
  id = log.apply(array_of_tasks(0, 99)).job;
  std::vector<Token> running;
  while (waiting() != 0) {
    running.push_back(run_next(static_cast<std::uint32_t>(running.size())));
  }
  EXPECT_LE(log.state.kept().unfinished_jobs, 3000U);
  ASSERT_LT(running.size(), 8U);
  for (std::uint32_t gpu = 0; gpu < running.size(); ++gpu) {
    end(running[gpu], gpu);
  }
  EXPECT_GE(waiting(), 1U) << "it goes on";
}

TEST_F(ArrayTest, AnAdoptedTaskIsNotBegunAgain) {
  TaskArray array;
  array.spec.array = ArrayRange{0, 99, 0};
  array.next = 3;
  EXPECT_FALSE(array.may_adopt(2));
  EXPECT_TRUE(array.may_adopt(7));
  array.adopt(7);
  array.adopt(5);
  EXPECT_FALSE(array.may_adopt(7));
  array.skip(0, 9);
  EXPECT_EQ(array.skipped_count(), 5U) << "3 to 9 without the two that are jobs";
  EXPECT_FALSE(array.may_adopt(4)) << "it was cancelled";
  array.pass_skipped();
  EXPECT_EQ(array.next, 10U);
  EXPECT_EQ(array.cancelled, 5U);
  EXPECT_TRUE(array.adopted.empty());
}

TEST_F(ArrayTest, ManyAdoptedTasksFitIntoASnapshot) {
  id = log.apply(array_of_tasks(0, 99'999)).job;
  TaskArray many = array();
  for (std::uint32_t index = 1; index < 20'000; index += 2) {
    many.adopt(index);
  }
  gossip::Encoder out;
  out.array(kArrayElements);
  write_array(out, many);
  const auto document = gossip::Document::parse(out.take());
  ASSERT_TRUE(document.has_value());
  gossip::Reader in = document->root();
  EXPECT_EQ(read_array(in).adopted, many.adopted);
  EXPECT_TRUE(in.ok());
}

TEST_F(ArrayTest, EndedOnesKeepTheirCommandAndToTheirBytes) {
  for (int i = 0; i < 200; ++i) {
    entry::Submit fact = array_of_tasks(0, 0);
    fact.key += std::to_string(i);
    fact.spec.command.argv = {"sh", std::string(60'000, 'x')};
    id = log.apply(fact).job;
    log.apply(entry::Cancel{id, "ann"});
    ASSERT_TRUE(array().has_ended());
    ASSERT_EQ(array().spec.command.argv.size(), 2U);
  }
  EXPECT_LT(log.state.arrays().size(), 150U);
  EXPECT_GT(log.state.arrays().size(), 100U);
}

TEST_F(ArrayTest, TwoVariablesMoreMustFit) {
  entry::Submit fact = array_of_tasks(0, 9);
  fact.spec.command.environment = {std::string(kCommandBytesMax - 100, 'x')};
  EXPECT_TRUE(validate(fact.spec));
  fact.spec.command.environment = {std::string(kCommandBytesMax - 50, 'x')};
  EXPECT_FALSE(validate(fact.spec));
}

TEST_F(ArrayTest, NumbersMayHaveGaps) {
  entry::Submit fact = array_of_tasks(0, 8);
  fact.spec.array->runs = {{0, 8, 4}};
  id = log.apply(fact).job;
  EXPECT_EQ(array().length(), 3U);
  std::vector<std::string> ran;
  while (waiting() != 0) {
    const JobId job = queue_of(log.state).front();
    ran.push_back(text_of(job));
    EXPECT_EQ(log.state.job(job)->spec.command.environment.back(),
              "MUSTER_ARRAY_INDEX=" + std::to_string(index_of_task(job)));
    end(run_next(0), 0);
  }
  const std::string name = text_of(id);
  EXPECT_EQ(ran, (std::vector<std::string>{name + ".0", name + ".4", name + ".8"}));
  EXPECT_EQ(array().completed, 3U);
  EXPECT_EQ(log.apply(entry::Cancel{task(3), "ann"}).rejected.empty(), false);
}

/// An array with events of a cluster that are drawn from a seed.
class DrawnArray : public ArrayTest {
 protected:
  void begin(std::uint64_t seed) {
    rng_ = Rng(seed);
    running_.clear();
    log = Log();
    log.apply(registration(1, 8));
    entry::Submit fact = array_of_tasks(3, 3 + static_cast<std::uint32_t>(rng_.below(30)),
                                        static_cast<std::uint32_t>(rng_.below(6)));
    fact.spec.retry.retries = 1;
    if (rng_.chance(500'000)) {
      std::vector<std::uint32_t> numbers;
      for (std::uint32_t number = 3; number < 33; ++number) {
        if (numbers.empty() || rng_.chance(400'000)) {
          numbers.push_back(number);
        }
      }
      const std::uint32_t at_once = fact.spec.array->at_once;
      fact.spec.array = range_of(numbers);
      fact.spec.array->at_once = at_once;
    }
    id = log.apply(fact).job;
  }
  std::uint32_t some() { return static_cast<std::uint32_t>(3 + rng_.below(30)); }

  void step() {
    const auto gpu = static_cast<std::uint32_t>(rng_.below(8));
    switch (rng_.below(8)) {
      case 0:
        log.apply(entry::Cancel{task(some()), {"ann"}, some()});
        return;
      case 1:
        log.apply(entry::Suspend{task(some()), "ann"});
        return;
      case 2:
        log.apply(entry::Resume{task(some()), "ann"});
        return;
      case 3:
        if (running_.contains(gpu)) {
          end(running_.extract(gpu).mapped(), gpu, rng_.chance(300'000) ? 1 : 0);
        }
        return;
      case 4:
        restore();
        return;
      default:
        if (!running_.contains(gpu) && waiting() != 0) {
          running_[gpu] = run_next(gpu);
        }
        obey();
        log.apply(entry::Tick{kFirstPause});
        if (running_.empty() && waiting() == 0) {  // Only suspended tasks are left.
          log.apply(entry::Cancel{id, "ann"});
        }
    }
  }

 private:
  void restore() {
    const std::string bytes = log.state.encode();
    Result<State> copy = State::decode(bytes);
    ASSERT_TRUE(copy.has_value());
    copy->check_everything();
    ASSERT_EQ(copy->encode(), bytes);
    ASSERT_EQ(copy->array(id)->queued, array().queued);
    log.state = std::move(*copy);
  }
  /// Carries out orders about running tasks, as a leader would.
  void obey() {
    for (auto item = running_.begin(); item != running_.end();) {
      const auto [gpu, token] = *item;
      const Attempt* attempt = log.state.attempt(token);
      const bool is_over = attempt == nullptr || attempt->state == AttemptState::kEnded;
      const bool is_ordered =
          !is_over && log.state.job(attempt->job)->order_in_force() != JobOrder::kNone;
      if (is_ordered) {
        log.apply(entry::Stop{token, Cause::kCancelled});
        end(token, gpu);
      }
      item = is_over || is_ordered ? running_.erase(item) : std::next(item);
    }
  }

  Rng rng_{1};
  std::map<std::uint32_t, Token> running_;
};

/// The counts add up (Log checks all after each entry); a snapshot has the same state and goes on
/// in the same way.
TEST_F(DrawnArray, CountsAddUpWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    begin(seed);
    while (!array().has_ended()) {
      step();
    }
    EXPECT_EQ(array().completed + array().failed + array().cancelled, array().length());
  }
}

}  // namespace
}  // namespace muster::scheduler
