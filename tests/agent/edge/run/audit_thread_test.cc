// Goal: the audit file gets each line of the log once, whatever hinders it. Method: a real thread
// and real files; a loop in the test feeds it as the event loop does.

#include "agent/edge/run/audit_thread.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>

#include "tests/agent/edge/run/audit_folder.h"

namespace muster::agent {
namespace {

constexpr int kAuditPatienceMs = 20'000;
/// Turns of the loop that a test waits for.
constexpr int kTurnsMax = 10'000;

class AuditThreadFed : public AuditFolder {
 protected:
  void start(const std::string& path) {
    thread_.emplace(AuditThread::Options{path, verifier_, /*retry=*/std::chrono::milliseconds(20)});
  }
  void start() { start(path()); }
  void stop() { thread_.reset(); }

  void take_events() {
    for (const Event& event : thread_->take_events()) {
      ++events_[std::string(event.name)];
    }
  }
  /// Until it was told of something new.
  void rest(int wait_ms) {
    pollfd ready{thread_->fd(), POLLIN, 0};
    poll(&ready, 1, wait_ms);
  }
  /// One turn: the log has lines `first_kept_` to `last_`.
  void turn(int wait_ms = kAuditPatienceMs) {
    take_events();
    const auto after = thread_->wanted(kAuditCluster, last_);
    if (after.has_value() && *after < last_) {
      const std::uint64_t first = std::max(*after + 1, first_kept_);
      const std::uint64_t most = first + kAuditPage - 1;
      thread_->submit(*after, audit_lines(first, std::min(last_, most)));
    }
    rest(wait_ms);
  }
  /// Gives it no lines: those of the log would be taken before those of the test.
  void wait_until_wanted(std::uint64_t after) {
    for (int turns = 0; turns < kTurnsMax && thread_->wanted(kAuditCluster, last_) != after;
         ++turns) {
      take_events();
      rest(1);
    }
    EXPECT_EQ(thread_->wanted(kAuditCluster, last_), after);
  }
  template <class Condition>
  void turn_until(Condition condition) {
    for (int turns = 0; turns < kTurnsMax && !condition(); ++turns) {
      turn(1);
    }
    EXPECT_TRUE(condition());
  }
  void turn_until_written(std::uint64_t lines) {
    turn_until([&] { return thread_->stats().written >= lines; });
    EXPECT_EQ(thread_->stats().written, lines);
  }

  std::uint64_t first_kept_ = 1;
  std::uint64_t last_ = 0;
  std::optional<AuditThread> thread_;
  std::map<std::string, int> events_;
};

TEST_F(AuditThreadFed, WritesAllThatTheLogHas) {
  last_ = 3 * AuditThread::kLinesMax + 7;
  start();
  turn_until_written(last_);
  EXPECT_EQ(check().lines, last_);
  EXPECT_EQ(check().why, "");
  last_ += 2;
  turn_until_written(last_);
  EXPECT_EQ(check().end.number, last_);
  EXPECT_EQ(events_["audit_file_opened"], 1);
}

TEST_F(AuditThreadFed, WritesNoLineTwiceOverRestarts) {
  for (last_ = 5; last_ <= 50; last_ += 5) {
    start();
    turn_until_written(5);
    stop();
  }
  EXPECT_EQ(check().lines, 50U);
  EXPECT_EQ(check().missing, 0U);
}

TEST_F(AuditThreadFed, TheLinesThatWaitAreWrittenBeforeItEnds) {
  start();
  last_ = 5;
  wait_until_wanted(0);
  thread_->submit(0, audit_lines(1, 5));
  stop();
  EXPECT_EQ(check().lines, 5U);
}

TEST_F(AuditThreadFed, StatesAGapWhenTheLogDroppedLines) {
  last_ = 10;
  start();
  turn_until_written(10);
  stop();
  first_kept_ = 21;
  last_ = 30;
  start();
  turn_until_written(10);
  const AuditFileReport report = check();
  EXPECT_EQ(report.why, "");
  EXPECT_EQ(report.missing, 10U);
  EXPECT_EQ(report.lines, 21U);
}

TEST_F(AuditThreadFed, ADirectoryThatIsNotThereIsOneEventAndTriedAgain) {
  const std::string below = folder() + "/later/audit";
  last_ = 10;
  start(below);
  turn_until([&] { return thread_->stats().failures >= 3; });
  EXPECT_EQ(events_["audit_file_failed"], 1);
  std::filesystem::create_directory(folder() + "/later");
  turn_until_written(10);
  turn_until([&] { return events_["audit_file_written_again"] == 1; });
  EXPECT_EQ(events_["audit_file_failed"], 1);
  std::filesystem::rename(below, path());
  EXPECT_EQ(check().lines, 10U);
}

TEST_F(AuditThreadFed, AFullDiskLosesNoLine) {
  last_ = 10;
  start();
  turn_until_written(10);
  // A write above the limit fails as one to a full disk does, and may be done in part.
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit full{text().size() + 100, usual.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  last_ = 20;
  turn_until([&] { return thread_->stats().failures >= 3; });
  EXPECT_EQ(events_["audit_file_failed"], 1);
  EXPECT_EQ(check().lines, 10U) << "the file ends with a whole line meanwhile";
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  turn_until_written(20);
  EXPECT_EQ(check().lines, 20U);
  EXPECT_EQ(check().why, "");
}

TEST_F(AuditThreadFed, AFileThatWasMovedAwayIsMadeAgain) {
  last_ = 10;
  start();
  turn_until_written(10);
  std::filesystem::rename(path(), path() + ".old");
  last_ = 12;
  turn_until_written(22);
  EXPECT_EQ(check().lines, 12U) << "with all lines that the log has";
}

TEST_F(AuditThreadFed, ALogThatWasSetBackGetsAFileOfItsOwn) {
  last_ = 10;
  start();
  turn_until_written(10);
  stop();
  const std::string first = text();
  start();
  wait_until_wanted(9);
  auto others = audit_lines(10, 10);
  others.front().unix_ms += 1;
  thread_->submit(9, others);
  turn_until([&] { return events_["audit_file_set_aside"] == 1; });
  turn_until_written(10);
  EXPECT_EQ(text(".1"), first);
  EXPECT_EQ(check().lines, 10U);
}

TEST_F(AuditThreadFed, LinesThatAreNotWantedAnyMoreAreDropped) {
  last_ = 10;
  start();
  turn_until_written(10);
  thread_->submit(4, audit_lines(5, 8));
  last_ = 11;
  turn_until_written(11);
  EXPECT_EQ(check().lines, 11U);
}

}  // namespace
}  // namespace muster::agent
