// Links to agents' sockets in a directory of the machine: who gets which, and who loses one.

#include "agent/edge/run/socket_links.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

/// Listens at a path, as an agent would.
class Listener {
 public:
  explicit Listener(const fs::path& path) : path_(path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 4), 0);
  }
  ~Listener() { close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  std::string path() const { return path_; }

 private:
  fs::path path_;
  int fd_ = socket(AF_UNIX, SOCK_STREAM, 0);
};

class SocketLinksTest : public testing::Test {
 protected:
  SocketLinksTest() {
    std::string name = testing::TempDir() + "muster_links_XXXXXX";
    home_ = mkdtemp(name.data());
  }
  ~SocketLinksTest() override { fs::remove_all(home_); }

  std::string links() const { return home_ / "run"; }
  std::string target(const std::string& link) const {
    const fs::path path = home_ / "run" / link;
    return fs::is_symlink(path) ? fs::read_symlink(path).string() : "";
  }

  fs::path home_;
};

TEST_F(SocketLinksTest, TheFirstAgentHasTheCommonNameToo) {
  const Listener a(home_ / "a");
  const Listener b(home_ / "b");
  std::optional<SocketLinks> first(std::in_place);
  SocketLinks second;
  ASSERT_TRUE(first->make(links(), "a", a.path()).has_value());
  ASSERT_TRUE(second.make(links(), "b", b.path()).has_value());
  EXPECT_EQ(target("agent.sock"), a.path());
  EXPECT_EQ(target("a.sock"), a.path());
  EXPECT_EQ(target("b.sock"), b.path());
  EXPECT_EQ(second.paths(), std::vector<std::string>{links() + "/b.sock"});
  first.reset();
  EXPECT_EQ(target("agent.sock"), "");
  EXPECT_EQ(target("a.sock"), "");
  EXPECT_EQ(target("b.sock"), b.path());
}

TEST_F(SocketLinksTest, ALinkOfADeadAgentIsTakenOver) {
  const Listener b(home_ / "b");
  SocketLinks dead;
  SocketLinks living;
  ASSERT_TRUE(dead.make(links(), "a", home_ / "nobody").has_value());
  ASSERT_TRUE(living.make(links(), "a", b.path()).has_value());
  EXPECT_EQ(target("agent.sock"), b.path());
  EXPECT_EQ(target("a.sock"), b.path());
}

TEST_F(SocketLinksTest, ANameIsTakenFromNoLivingAgent) {
  const Listener a(home_ / "a");
  SocketLinks living;
  SocketLinks other;
  ASSERT_TRUE(living.make(links(), "a", a.path()).has_value());
  const Status made = other.make(links(), "a", home_ / "b");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kConflict);
  EXPECT_EQ(target("a.sock"), a.path());
}

TEST_F(SocketLinksTest, ADirectoryThatOthersMayWriteIsNotUsed) {
  fs::create_directory(links());
  ASSERT_EQ(chmod(links().c_str(), 0777), 0);
  SocketLinks made;
  const Status status = made.make(links(), "a", home_ / "a");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kDenied);
  EXPECT_TRUE(made.paths().empty());
}

TEST_F(SocketLinksTest, BesideASocketForAllLoginsOnlyTheCommonNameIsALink) {
  const mode_t before = umask(0077);
  ASSERT_TRUE(make_runtime_directory(links()));
  umask(before);
  struct stat found {};
  ASSERT_EQ(stat(links().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0755U);
  const Listener a(fs::path(links()) / "a.sock");
  {
    SocketLinks made;
    ASSERT_TRUE(made.make(links(), "a", a.path()));
    EXPECT_EQ(target("agent.sock"), a.path());
    EXPECT_EQ(made.paths(), std::vector<std::string>{links() + "/agent.sock"});
    fs::remove(home_ / "run/agent.sock");
    made.renew();
    EXPECT_EQ(target("agent.sock"), a.path());
  }
  EXPECT_EQ(target("agent.sock"), "");
  EXPECT_TRUE(fs::is_socket(a.path()));
}

TEST_F(SocketLinksTest, WhatIsNoLinkStays) {
  fs::create_directory(links());
  const Listener a(fs::path(links()) / "a.sock");
  SocketLinks made;
  EXPECT_FALSE(made.make(links(), "a", home_ / "a").has_value());
  EXPECT_TRUE(fs::is_socket(fs::path(links()) / "a.sock"));
}

TEST_F(SocketLinksTest, WhatACleanerTookAwayIsMadeAgain) {
  const Listener a(home_ / "a");
  SocketLinks kept;
  ASSERT_TRUE(kept.make(links(), "a", a.path()));
  fs::remove(home_ / "run/a.sock");
  kept.renew();
  EXPECT_EQ(target("a.sock"), a.path());
  fs::remove_all(home_ / "run");
  kept.renew();
  EXPECT_EQ(target("a.sock"), a.path());
  EXPECT_EQ(target("agent.sock"), a.path());
}

TEST_F(SocketLinksTest, TheCommonNameGoesToWhoIsLeft) {
  const Listener a(home_ / "a");
  const Listener b(home_ / "b");
  SocketLinks second;
  {
    SocketLinks first;
    ASSERT_TRUE(first.make(links(), "a", a.path()));
    ASSERT_TRUE(second.make(links(), "b", b.path()));
    second.renew();
    EXPECT_EQ(target("agent.sock"), a.path());
  }
  second.renew();
  EXPECT_EQ(target("agent.sock"), b.path());
}

}  // namespace
}  // namespace muster::agent
