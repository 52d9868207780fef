// The unix socket of HTTP: where people find it, and what comes back when it is taken away.

#include "agent/edge/run/http_socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

class HttpSocketTest : public testing::Test {
 protected:
  HttpSocketTest() {
    std::string name = testing::TempDir() + "muster_http_XXXXXX";
    home_ = mkdtemp(name.data());
    fs::create_directory(data());
    socket_.emplace();
  }
  ~HttpSocketTest() override {
    socket_.reset();
    fs::remove_all(home_);
  }

  std::string data() const { return home_ / "data"; }
  std::string runtime() const { return home_ / "run"; }
  std::string own() const { return data() + "/http.sock"; }
  std::string link(const std::string& name) const { return runtime() + "/http/" + name; }
  HttpSocket::Place place(bool is_for_all_logins) const {
    return {data(), runtime(), "a", is_for_all_logins, std::nullopt};
  }
  mode_t mode_of(const std::string& path) const {
    struct stat facts {};
    EXPECT_EQ(stat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 0777U;
  }

  fs::path home_;
  std::optional<HttpSocket> socket_;
};

TEST_F(HttpSocketTest, ItLiesBesideTheDataAndLinksLeadToIt) {
  ASSERT_TRUE(socket_->open(place(false)));
  EXPECT_EQ(socket_->path(), own());
  for (const char* name : {"a.sock", "agent.sock"}) {
    EXPECT_EQ(fs::read_symlink(link(name)), own()) << name;
    EXPECT_TRUE(gossip::is_listening(link(name))) << name;
  }
  socket_.reset();
  EXPECT_FALSE(fs::exists(fs::symlink_status(own())));
  EXPECT_FALSE(fs::exists(fs::symlink_status(link("a.sock"))));
}

TEST_F(HttpSocketTest, OneForAllLoginsLiesWhereTheyReachIt) {
  ASSERT_TRUE(socket_->open(place(true)));
  EXPECT_EQ(socket_->path(), link("a.sock"));
  EXPECT_EQ(mode_of(link("a.sock")), 0666U);
  EXPECT_EQ(mode_of(runtime() + "/http"), 0755U);
  EXPECT_EQ(fs::read_symlink(own()), link("a.sock"));
  EXPECT_EQ(fs::read_symlink(link("agent.sock")), link("a.sock"));
  socket_.reset();
  EXPECT_FALSE(fs::exists(fs::symlink_status(own())));
  EXPECT_FALSE(fs::exists(fs::symlink_status(link("a.sock"))));
}

TEST_F(HttpSocketTest, OneForAllLoginsFallsBackToTheDataDirectory) {
  fs::create_directory(runtime());
  fs::permissions(runtime(), fs::perms::all);  // Others may write there.
  ASSERT_TRUE(socket_->open(place(true)));
  EXPECT_EQ(socket_->path(), own());
}

TEST_F(HttpSocketTest, NoDirectoryForLinksIsNoError) {
  ASSERT_TRUE(socket_->open({data(), "", "a", true, std::nullopt}));
  EXPECT_EQ(socket_->path(), own());
  EXPECT_TRUE(gossip::is_listening(own()));
}

TEST_F(HttpSocketTest, ItTakesTheNameThatAnEarlierLifeLeft) {
  fs::create_symlink("/nowhere", own());
  ASSERT_TRUE(socket_->open(place(true)));
  EXPECT_EQ(fs::read_symlink(own()), link("a.sock"));
}

TEST_F(HttpSocketTest, RemovedOnesAreMadeAgain) {
  ASSERT_TRUE(socket_->open(place(true)));
  EXPECT_FALSE(socket_->renew());
  const std::uint64_t before = socket_->edition();
  fs::remove(link("a.sock"));
  fs::remove(own());
  EXPECT_TRUE(socket_->renew());
  EXPECT_NE(socket_->edition(), before);
  EXPECT_TRUE(gossip::is_listening(link("a.sock")));
  EXPECT_TRUE(gossip::is_listening(own()));
}

}  // namespace
}  // namespace muster::agent
