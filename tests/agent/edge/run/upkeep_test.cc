// A HUP, and a cleaner of old files: the log is there again, the configuration counts.

#include "agent/edge/run/upkeep.h"

#include <gtest/gtest.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "agent/edge/event_log.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;  // NOLINT: literals only.

class UpkeepTest : public testing::Test {
 protected:
  UpkeepTest() {
    std::string name = testing::TempDir() + "muster_upkeep_XXXXXX";
    home_ = mkdtemp(name.data());
    EXPECT_TRUE(open_event_log(false, "info", log()));
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &hangup, nullptr);
    hup_fd_ = signalfd(-1, &hangup, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~UpkeepTest() override {
    EXPECT_TRUE(open_event_log(false, "info", ""));
    close(hup_fd_);
    fs::remove_all(home_);
  }

  std::string log() const { return home_ / "muster.log"; }
  std::string logged() const {
    std::ifstream file(log());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool turn() { return upkeep_->turn(now_ += 1s); }
  void begin(Result<Reread> news) {
    upkeep_.emplace(Upkeep::Options{hup_fd_, &links_, OutputRule(), [news] { return news; }});
  }

  fs::path home_;
  int hup_fd_ = -1;
  SocketLinks links_;
  Instant now_{1000s};
  std::optional<Upkeep> upkeep_;
};

TEST_F(UpkeepTest, ALogThatWasTakenAwayIsMadeAgain) {
  begin(Reread{"info", OutputRule(), {}});
  fs::remove(log());
  log_event({Severity::kInfo, "lost", {}});
  EXPECT_FALSE(turn());
  log_event({Severity::kInfo, "kept", {}});
  EXPECT_NE(logged().find("event=kept"), std::string::npos);
}

TEST_F(UpkeepTest, ASocketThatWasTakenAwayIsMadeAgain) {
  gossip::LoginListener logins;
  ASSERT_TRUE(logins.open(home_ / "a.sock", std::nullopt));
  upkeep_.emplace(Upkeep::Options{hup_fd_, &links_, OutputRule(),
                                  [] {
                                    return Reread{"info", OutputRule(), {}};
                                  },
                                  &logins});
  EXPECT_FALSE(turn());
  EXPECT_EQ(logged().find("event=socket_renewed"), std::string::npos);
  fs::remove(home_ / "a.sock");
  EXPECT_FALSE(turn());
  EXPECT_TRUE(gossip::is_listening(home_ / "a.sock"));
  EXPECT_NE(logged().find("event=socket_renewed"), std::string::npos);
}

TEST_F(UpkeepTest, ALinkOfAnotherUserInTheLogsPlaceIsNotFollowed) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root gives files away";
  }
  begin(Reread{"info", OutputRule(), {}});
  fs::remove(log());
  fs::create_symlink(home_ / "victim", log());
  ASSERT_EQ(lchown(log().c_str(), 65'534, 65'534), 0);
  reopen_event_log();
  log_event({Severity::kInfo, "kept", {}});
  EXPECT_FALSE(fs::exists(home_ / "victim"));
  fs::remove(log());
  reopen_event_log();
  log_event({Severity::kInfo, "again", {}});
  EXPECT_NE(logged().find("event=again"), std::string::npos);
}

TEST_F(UpkeepTest, AHangupOpensTheLogAnewAndReadsTheConfiguration) {
  begin(Reread{"warn", OutputRule{5, 6}, {"gpus", "rack"}});
  EXPECT_FALSE(turn());
  fs::rename(log(), log() + ".1");
  std::ofstream(log()) << "";  // As rotators that make the new file themselves.
  raise(SIGHUP);
  raise(SIGHUP);
  EXPECT_TRUE(turn());
  EXPECT_FALSE(turn()) << "several are one";
  EXPECT_EQ(upkeep_->output_rule(), (OutputRule{5, 6}));
  EXPECT_NE(logged().find("at_next_start=\"gpus, rack\""), std::string::npos) << logged();
  log_event({Severity::kInfo, "below_the_level", {}});
  EXPECT_EQ(logged().find("below_the_level"), std::string::npos);
}

TEST_F(UpkeepTest, AConfigurationThatIsWrongChangesNothing) {
  begin(Error{ErrorCode::kInvalid, "muster.toml:3: nonsense"});
  raise(SIGHUP);
  EXPECT_FALSE(turn());
  EXPECT_EQ(upkeep_->output_rule(), OutputRule());
  EXPECT_NE(logged().find("muster.toml:3: nonsense"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
