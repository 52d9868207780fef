// A verb's own process: where it stands, and what its shell left it.

#include "cli/edge/system_world.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster::cli {
namespace {

class SystemWorld : public testing::Test {
 protected:
  SystemWorld() {
    char path[] = "/tmp/muster-world-XXXXXX";
    base_ = mkdtemp(path);
    std::filesystem::create_directory(base_ + "/real");
    std::filesystem::create_directory_symlink(base_ + "/real", base_ + "/link");
  }
  ~SystemWorld() override {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(base_);
  }
  static std::string directory() {
    const Result<std::string> found = system_world().shell.directory();
    return found ? *found : "error: " + found.error().text;
  }

  std::string base_;
};

TEST_F(SystemWorld, ADirectoryIsNamedAsTheShellReachedIt) {
  std::filesystem::current_path(base_ + "/link");
  setenv("PWD", (base_ + "/link").c_str(), 1);
  EXPECT_EQ(directory(), base_ + "/link");
}

TEST_F(SystemWorld, ANameThatLeadsElsewhereIsNotBelieved) {
  std::filesystem::current_path(base_ + "/link");
  for (const std::string& pwd :
       {base_, std::string("."), base_ + "/real/../link", base_ + "/no-such", std::string()}) {
    setenv("PWD", pwd.c_str(), 1);
    EXPECT_EQ(directory(), base_ + "/real") << pwd;
  }
  unsetenv("PWD");
  EXPECT_EQ(directory(), base_ + "/real");
}

TEST_F(SystemWorld, ADirectoryThatIsGoneIsAnError) {
  std::filesystem::current_path(base_ + "/real");
  setenv("PWD", (base_ + "/real").c_str(), 1);
  std::filesystem::remove(base_ + "/real");
  EXPECT_NE(directory().find("was it removed?"), std::string::npos) << directory();
  // Another one of that name is not the one where the shell stands.
  std::filesystem::create_directory(base_ + "/real");
  EXPECT_NE(directory().find("was it removed?"), std::string::npos) << directory();
}

TEST_F(SystemWorld, TheShellsMaskAndSoftLimitsAreTold) {
  const mode_t before = umask(027);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  rlimit fewer = files;
  fewer.rlim_cur = 300;
  setrlimit(RLIMIT_NOFILE, &fewer);
  const scheduler::SubmitShell shell = system_world().shell.settings();
  setrlimit(RLIMIT_NOFILE, &files);
  EXPECT_EQ(umask(before), mode_t{027}) << "asking changes nothing";
  EXPECT_EQ(shell.umask, 027U);
  EXPECT_EQ(shell.open_files, 300U);
}

/// A local clock that is set forward from 02:00 to 03:00 on 2026-03-29, and back in October.
class SystemClock : public testing::Test {
 protected:
  SystemClock() {
    const char* before = std::getenv("TZ");
    before_ = before == nullptr ? std::nullopt : std::optional<std::string>(before);
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
  }
  ~SystemClock() override {
    if (before_.has_value()) {
      setenv("TZ", before_->c_str(), 1);
    } else {
      unsetenv("TZ");
    }
    tzset();
  }

  std::optional<std::string> before_;
};

TEST_F(SystemClock, ShowsTheMinutesThatItReads) {
  const WorldClock clock = system_world().clock;
  for (const auto& [minute, shown] : std::vector<std::pair<LocalMinute, std::string>>{
           {{2026, 2, 28, 23, 59}, "2026-02-28 23:59:00"},
           {{2028, 2, 29, 0, 0}, "2028-02-29 00:00:00"},
           {{2026, 3, 29, 1, 59}, "2026-03-29 01:59:00"},
           {{2026, 3, 29, 3, 0}, "2026-03-29 03:00:00"},
           {{2026, 7, 1, 22, 0}, "2026-07-01 22:00:00"}}) {
    const std::optional<std::int64_t> unix_ms = clock.unix_of(minute);
    ASSERT_TRUE(unix_ms.has_value()) << shown;
    EXPECT_EQ(clock.local_time(static_cast<std::uint64_t>(*unix_ms)), shown);
  }
}

TEST_F(SystemClock, AMinuteThatItNeverShowsIsNone) {
  const WorldClock clock = system_world().clock;
  for (const LocalMinute& minute : {LocalMinute{2026, 2, 31, 8, 0}, LocalMinute{2026, 2, 29, 8, 0},
                                    LocalMinute{2026, 4, 31, 8, 0}, LocalMinute{2026, 3, 29, 2, 0},
                                    LocalMinute{2026, 3, 29, 2, 59}}) {
    EXPECT_FALSE(clock.unix_of(minute).has_value())
        << minute.month << "-" << minute.day << " " << minute.hour << ":" << minute.minute;
  }
}

}  // namespace
}  // namespace muster::cli
