// The queue, and the list of those that ended, follow a job's moves.

#include "scheduler/state/job_book.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

Job& add_job(JobBook& book, std::int32_t priority = 0) {
  Job job;
  job.id = book.give_number();
  job.priority = priority;
  Job& placed = book.add(std::move(job));
  book.move(placed, JobEvent::kSubmitted);
  return placed;
}

void end_job(JobBook& book, Job& job, std::uint64_t index) {
  job.ended_index = LogIndex(index);
  book.move(job, JobEvent::kCancel);
}

TEST(JobBook, TheQueueHoldsExactlyTheQueuedJobs) {
  JobBook book;
  Job& job = add_job(book);
  EXPECT_EQ(book.queue().size(), 1U);
  for (const JobEvent event : {JobEvent::kDecided, JobEvent::kStarted, JobEvent::kStopLogged}) {
    book.move(job, event);
    EXPECT_TRUE(book.queue().empty());
    book.check_everything();
  }
  book.move(job, JobEvent::kQueuedAgain);
  EXPECT_EQ(book.queue().size(), 1U);
  book.check_everything();
}

TEST(JobBook, ASuspendedJobWaitsOutsideTheQueue) {
  JobBook book;
  Job& job = add_job(book);
  book.move(job, JobEvent::kSuspend);
  EXPECT_TRUE(book.queue().empty());
  EXPECT_EQ(book.waiting(), 1U);
  book.move(job, JobEvent::kResume);
  EXPECT_EQ(book.queue().size(), 1U);
  book.check_everything();
}

TEST(JobBook, HigherPriorityIsTriedFirstThenTheOlder) {
  JobBook book;
  add_job(book, 1);
  add_job(book, 5);
  add_job(book, 5);
  std::vector<std::uint64_t> order;
  for (const QueueKey& place : book.queue()) {
    order.push_back(place.job.value());
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 3, 1}));
}

TEST(JobBook, TheFirstToEndIsForgottenFirst) {
  JobBook book;
  Job& first = add_job(book);
  Job& second = add_job(book);
  end_job(book, second, 20);
  end_job(book, first, 21);
  EXPECT_EQ(book.first_ended().id, JobId(2));
  book.forget_first_ended();
  EXPECT_EQ(book.find(JobId(2)), nullptr);
  EXPECT_EQ(book.first_ended().id, JobId(1));
  book.check_everything();
}

TEST(JobBook, ASnapshotsJobsFindTheirPlaces) {
  JobBook book;
  add_job(book);
  book.move(add_job(book), JobEvent::kSuspend);
  end_job(book, add_job(book), 9);
  JobBook copy(book.all(), book.last());
  copy.check_everything();
  EXPECT_EQ(copy.queue(), book.queue());
  EXPECT_EQ(copy.waiting(), 2U);
  EXPECT_EQ(copy.first_ended().id, JobId(3));
  EXPECT_EQ(copy.give_number(), JobId(4));
}

}  // namespace
}  // namespace muster::scheduler
