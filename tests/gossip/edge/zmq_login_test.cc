// The socket for all logins: what other logins of the machine may do there, and how much of it.
// Method: child processes with another uid, over real unix sockets.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "gossip/edge/boot_clock.h"
#include "gossip/edge/login_connections.h"
#include "gossip/edge/login_listener.h"
#include "gossip/edge/login_pace.h"
#include "gossip/edge/zmq_client.h"
#include "tests/gossip/edge/peer.h"

namespace muster::gossip {
namespace {

constexpr uid_t kOther = 65'534;

std::string framed(std::uint8_t flags, const std::string& body) {
  return std::string(1, static_cast<char>(flags)) + static_cast<char>(body.size()) + body;
}

std::string property(const std::string& name, const std::string& value) {
  return static_cast<char>(name.size()) + name + std::string(3, '\0') +
         static_cast<char>(value.size()) + value;
}

/// The handshake of a ZeroMQ peer without keys, which claims to be root.
std::string words_of_a_dealer() {
  const std::string greeting = std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16) +
                               std::string(16, '\0') + std::string(32, '\0');
  const std::string ready = std::string("\5READY") + property("Socket-Type", "DEALER") +
                            property("Identity", "") + property("Peer-Address", "localhost:0:0:1") +
                            property("User-Id", "root");
  return greeting + framed(4, ready);
}

/// A connection to the socket; -1 if it is refused.
int connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/// Bytes of a greeting; a command or a short message has two more in front.
constexpr std::size_t kGreetingBytes = 64;

/// A connection whose handshake is over; -1 if it ended before.
int dialled(const std::string& path, const std::string& words) {
  const int fd = connected_to(path);
  if (fd < 0 || write(fd, words.data(), words.size()) < 0) {
    return -1;
  }
  std::array<char, 256> heard{};
  std::size_t got = 0;
  while (got < kGreetingBytes + 2 ||
         got < kGreetingBytes + 2 + static_cast<unsigned char>(heard[kGreetingBytes + 1])) {
    const ssize_t part = read(fd, heard.data() + got, heard.size() - got);
    if (part <= 0) {
      return -1;
    }
    got += static_cast<std::size_t>(part);
  }
  return fd;
}

/// A process of another login that runs `work`, which makes system calls alone: threads are not
/// copied. Its exit code is what `work` returns.
class OtherLogin {
 public:
  explicit OtherLogin(const std::function<int()>& work) : pid_(fork()) {
    if (pid_ == 0) {
      const bool is_other = setgid(kOther) == 0 && setuid(kOther) == 0;
      _exit(is_other ? work() : 99);
    }
  }
  ~OtherLogin() { exit_code(); }
  OtherLogin(const OtherLogin&) = delete;
  OtherLogin& operator=(const OtherLogin&) = delete;
  bool is_over() { return has_ended(WNOHANG); }
  /// Blocks until it has ended.
  int exit_code() {
    has_ended(0);
    return code_;
  }

 private:
  bool has_ended(int options) {
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, options) == pid_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 98;
      pid_ = -1;
    }
    return pid_ < 0;
  }

  pid_t pid_;
  int code_ = -1;
};

class ZmqLoginTest : public DirectoryTest {
 protected:
  void SetUp() override {
    DirectoryTest::SetUp();
    if (geteuid() != 0) {
      GTEST_SKIP() << "only root can be another login";
    }
    ASSERT_EQ(chmod(path().substr(0, path().rfind('/')).c_str(), 0755), 0);
    ASSERT_TRUE(listener_.open(logins(), std::nullopt).has_value());
    options_.ipc_path = path();
    options_.logins = &listener_;
  }
  std::string logins() const { return path() + ".all"; }

  LoginListener listener_;
  ZmqTransport::Options options_;
};

TEST_F(ZmqLoginTest, AnotherLoginIsHeardAndIsNobodyElse) {
  Peer agent(options_);
  const std::string own = path();
  const std::string all = logins();
  const std::string words = words_of_a_dealer();
  const std::string message = framed(0, "hello");
  OtherLogin other([&] {
    if (connected_to(own) >= 0 || errno != EACCES) {
      return 1;
    }
    for (int i = 0; i < 50; ++i) {
      const int fd = dialled(all, words);
      if (fd < 0 || write(fd, message.data(), message.size()) < 0) {
        return 2;
      }
      close(fd);
    }
    return 0;
  });
  ASSERT_TRUE(turn_until({&agent}, [&] { return other.is_over(); }));
  EXPECT_EQ(other.exit_code(), 0);
  ASSERT_TRUE(turn_until({&agent}, [&] { return agent.received_.size() >= 20; }));
  for (const Received& each : agent.received_) {
    EXPECT_EQ(each.sender.kind, Sender::Kind::kLogin);
    EXPECT_EQ(each.sender.uid, kOther);
  }
}

/// Number of connections of `tries` that are open after the agent has looked at them.
int open_of(const std::string& path, int tries) {
  std::array<int, 300> fds{};
  const std::string words = words_of_a_dealer();
  for (int i = 0; i < tries; ++i) {
    fds[static_cast<std::size_t>(i)] = connected_to(path);
  }
  int open = 0;
  for (int i = 0; i < tries; ++i) {
    const int fd = fds[static_cast<std::size_t>(i)];
    std::array<char, 64> greeting{};
    const std::string first = words.substr(0, kGreetingBytes);
    const bool is_said = write(fd, first.data(), first.size()) == kGreetingBytes;
    // A connection that stays gets the whole greeting, and READY, in answer.
    std::size_t got = 0;
    ssize_t part = 0;
    while (is_said && got <= kGreetingBytes &&
           (part = read(fd, greeting.data(), greeting.size())) > 0) {
      got += static_cast<std::size_t>(part);
    }
    open += got > kGreetingBytes ? 1 : 0;
  }
  return open;
}

TEST_F(ZmqLoginTest, ALoginThatDialsWithoutEndKeepsItsShareAndRootIsAnswered) {
  ASSERT_GE(connections_of_logins_max(), 200U);
  Peer agent(options_);
  const std::string all = logins();
  OtherLogin other([&] {
    signal(SIGPIPE, SIG_IGN);
    return open_of(all, 200);
  });
  ASSERT_TRUE(turn_until(
      {&agent}, [&] { return other.is_over(); }, milliseconds(20'000)));
  EXPECT_EQ(other.exit_code(), static_cast<int>(kConnectionsOfLoginMax));
  EXPECT_EQ(agent.transport().stats().refused_logins, 200 - kConnectionsOfLoginMax);
  auto root = ZmqClient::connect("ipc://" + all);
  ASSERT_TRUE(root.has_value());
  ASSERT_TRUE(root->send("hello").has_value());
  ASSERT_TRUE(turn_until({&agent}, [&] { return !agent.received_.empty(); }));
  EXPECT_EQ(agent.received_[0].sender.uid, 0U);
}

TEST_F(ZmqLoginTest, ALoginThatTalksWithoutEndWaitsAndNobodyElse) {
  Peer agent(options_);
  const std::string all = logins();
  const std::string words = words_of_a_dealer();
  std::string flood;
  for (int i = 0; i < 100'000; ++i) {
    flood += framed(0, "hello");
  }
  constexpr unsigned kTalksSeconds = 1;
  const Instant began = boot_now();
  OtherLogin other([&] {
    const int fd = dialled(all, words);
    alarm(kTalksSeconds);  // It ends the process.
    for (std::size_t at = 0; at < flood.size();) {
      const ssize_t said = write(fd, flood.data() + at, flood.size() - at);
      if (said <= 0) {
        return 1;
      }
      at += static_cast<std::size_t>(said);
    }
    pause();
    return 2;
  });
  const auto burst = static_cast<std::size_t>(LoginPace::kMessages.burst);
  ASSERT_TRUE(turn_until({&agent}, [&] { return agent.received_.size() >= burst; }));
  auto root = ZmqClient::connect("ipc://" + all);
  ASSERT_TRUE(root.has_value());
  ASSERT_TRUE(root->send("hello").has_value());
  ASSERT_TRUE(turn_until({&agent}, [&] {
    return std::any_of(agent.received_.begin(), agent.received_.end(),
                       [](const Received& each) { return each.sender.uid == 0; });
  }));
  ASSERT_TRUE(turn_until(
      {&agent}, [&] { return other.is_over(); }, milliseconds(20'000)));
  EXPECT_EQ(other.exit_code(), 98) << "it was still talking, and had not been ended";
  EXPECT_GE(agent.transport().stats().held_logins, 1U);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(boot_now() - began).count() + 1;
  EXPECT_LT(agent.received_.size(),
            burst + static_cast<std::size_t>(seconds * LoginPace::kMessages.per_second) + 10);
}

TEST_F(ZmqLoginTest, AnAnswerOfManyBlocksReachesAnotherLogin) {
  Peer agent(options_);
  const std::string all = logins();
  const std::string words = words_of_a_dealer();
  const std::string message = framed(0, "hello");
  constexpr std::size_t kAnswerBytes = 900'000;
  OtherLogin other([&] {
    const int fd = dialled(all, words);
    if (fd < 0 || write(fd, message.data(), message.size()) < 0) {
      return 1;
    }
    std::size_t got = 0;
    std::array<char, 4096> part{};
    for (ssize_t count = 0; (count = read(fd, part.data(), part.size())) > 0;) {
      got += static_cast<std::size_t>(count);
      if (got >= kAnswerBytes + 9) {
        return 0;
      }
    }
    return 2;
  });
  ASSERT_TRUE(turn_until({&agent}, [&] { return !agent.received_.empty(); }));
  agent.transport().reply({agent.received_[0].route, std::string(kAnswerBytes, 'a')});
  ASSERT_TRUE(turn_until(
      {&agent}, [&] { return other.is_over(); }, milliseconds(20'000)));
  EXPECT_EQ(other.exit_code(), 0);
}

TEST_F(ZmqLoginTest, ASocketThatWasTakenAwayIsThereAgain) {
  Peer agent(options_);
  for (int times = 0; times < 2; ++times) {
    std::filesystem::remove(logins());
    ASSERT_TRUE(listener_.renew());
    EXPECT_FALSE(listener_.renew());
    agent.received_.clear();
    auto root = ZmqClient::connect("ipc://" + logins());
    ASSERT_TRUE(root.has_value());
    ASSERT_TRUE(root->send("hello").has_value());
    ASSERT_TRUE(turn_until({&agent}, [&] { return !agent.received_.empty(); }));
  }
}

TEST_F(ZmqLoginTest, TheNextTransportTakesWhatWaits) {
  auto early = ZmqClient::connect("ipc://" + logins());
  ASSERT_TRUE(early.has_value());
  ASSERT_TRUE(early->send("hello").has_value());
  for (int life = 0; life < 2; ++life) {
    Peer agent(options_);
    auto client = ZmqClient::connect("ipc://" + logins());
    ASSERT_TRUE(client.has_value());
    ASSERT_TRUE(client->send("hello").has_value());
    const std::size_t wanted = life == 0 ? 2 : 1;
    EXPECT_TRUE(turn_until({&agent}, [&] { return agent.received_.size() >= wanted; }));
  }
  EXPECT_TRUE(is_listening(logins()));
}

class LoginListenerTest : public DirectoryTest {
 protected:
  mode_t mode() const {
    struct stat found {};
    return lstat(path().c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
  }
};

TEST_F(LoginListenerTest, AllMayConnectOrAGroup) {
  const mode_t before = umask(0077);
  {
    LoginListener all;
    ASSERT_TRUE(all.open(path(), std::nullopt).has_value());
    EXPECT_EQ(mode(), 0666U);
    EXPECT_TRUE(is_listening(path()));
    LoginListener other;
    EXPECT_EQ(other.open(path(), std::nullopt).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(is_listening(path())) << "nothing was taken away";
  }
  EXPECT_EQ(mode(), 0U) << "it is removed";
  LoginListener group;
  ASSERT_TRUE(group.open(path(), getegid()).has_value());
  EXPECT_EQ(mode(), 0660U);
  umask(before);
}

TEST_F(LoginListenerTest, ItReplacesWhatNobodyListensAtAndNoFile) {
  ASSERT_EQ(symlink("/nowhere/agent.sock", path().c_str()), 0);
  {
    LoginListener first;
    ASSERT_TRUE(first.open(path(), std::nullopt).has_value());
    EXPECT_EQ(mode(), 0666U);
    std::filesystem::remove(path());
    std::filesystem::create_directory(path());
    EXPECT_FALSE(first.renew()) << "it is no socket";
    EXPECT_TRUE(first.is_open());
  }
  EXPECT_TRUE(std::filesystem::is_directory(path())) << "it is another's";
  LoginListener second;
  EXPECT_EQ(second.open(path(), std::nullopt).error().code, ErrorCode::kConflict);
  EXPECT_EQ(second.open(std::string(200, 'x'), std::nullopt).error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(second.is_open());
}

}  // namespace
}  // namespace muster::gossip
