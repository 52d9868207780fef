// The count of waiting jobs and the list of ended jobs follow the moves of jobs.

#include "scheduler/state/job_book.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

Job& add_job(JobBook& book) {
  Job job;
  job.id = book.give_number();
  Job& placed = book.add(std::move(job));
  book.move(placed, JobEvent::kSubmitted);
  return placed;
}

void end_job(JobBook& book, Job& job, std::uint64_t index) {
  job.life.ended_index = LogIndex(index);
  book.move(job, JobEvent::kCancel);
}

TEST(JobBook, PendingAreExactlyTheQueuedJobs) {
  JobBook book;
  Job& job = add_job(book);
  EXPECT_EQ(book.pending(), 1U);
  for (const JobEvent event : {JobEvent::kDecided, JobEvent::kStarted, JobEvent::kStopLogged}) {
    book.move(job, event);
    EXPECT_EQ(book.pending(), 0U);
    book.check_everything();
  }
  book.move(job, JobEvent::kQueuedAgain);
  EXPECT_EQ(book.pending(), 1U);
  book.check_everything();
}

TEST(JobBook, ASuspendedJobWaitsAndIsNotPending) {
  JobBook book;
  Job& job = add_job(book);
  book.move(job, JobEvent::kSuspend);
  EXPECT_EQ(book.pending(), 0U);
  EXPECT_EQ(book.waiting(), 1U);
  book.move(job, JobEvent::kResume);
  EXPECT_EQ(book.pending(), 1U);
  book.check_everything();
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
  EXPECT_EQ(copy.pending(), book.pending());
  EXPECT_EQ(copy.waiting(), 2U);
  EXPECT_EQ(copy.first_ended().id, JobId(3));
  EXPECT_EQ(copy.give_number(), JobId(4));
}

}  // namespace
}  // namespace muster::scheduler
