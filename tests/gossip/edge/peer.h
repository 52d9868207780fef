#pragma once
// Transports that know each other, for tests with real loopback sockets, and hostile sockets to put
// beside them. Each wait is for an event, with a limit; the kernel chooses the ports.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <zmq.hpp>

#include "gossip/edge/link_keys.h"
#include "gossip/edge/zmq_transport.h"
#include "gossip/wire/message.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

inline constexpr milliseconds kPatience(5000);
/// A refusal or an end is noticed within this: long before a dial or a handshake would time out.
inline constexpr milliseconds kSoon(1000);

inline Endpoint any_port() {
  return Endpoint::ipv4(127, 0, 0, 1, 0);
}

/// A transport and all its reports. Unless it is a stranger, it and all other live peers know each
/// other's keys.
class Peer {
 public:
  enum class Kind { kMember, kStranger };

  explicit Peer(ZmqTransport::Options options = {}, Kind kind = Kind::kMember) {
    options.control = options.control.ip == Endpoint().ip ? any_port() : options.control;
    options.bulk = any_port();
    options.link = LinkKeys::make();
    key_ = options.link.public_key;
    id_ = HostId::from_bytes(std::string_view(key_).substr(0, HostId::kSizeBytes));
    auto opened = ZmqTransport::open(std::move(options));
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().text);
    transport_ = std::move(opened).value();
    if (kind == Kind::kMember) {
      for (Peer* other : members()) {
        meet(*other);
        other->meet(*this);
      }
      members().push_back(this);
    }
  }
  ~Peer() { std::erase(members(), this); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const std::string& key() const { return key_; }
  Sender host() const {
    Sender sender;
    sender.kind = Sender::Kind::kHost;
    sender.host = id_;
    return sender;
  }
  /// Admits the other peer, and expects its key where it listens.
  void meet(const Peer& other) {
    transport_->admit({other.key_, other.host()});
    expect(other);
  }
  void expect(const Peer& other) {
    transport_->expect({other.control(), other.key_});
    transport_->expect({other.transport_->bulk_endpoint(), other.key_});
  }
  /// Expects a key there that no peer has.
  void expect_anything(const Endpoint& at) {
    transport_->expect({at, LinkKeys::make().public_key});
  }
  /// Proves itself with these keys from now on; no other peer is told. Waits until it may.
  void rekey(const LinkKeys& keys) {
    const std::uint64_t before = transport_->stats().rekeys;
    transport_->rekey(keys);
    key_ = keys.public_key;
    const auto limit = Clock::now() + kPatience;
    while (transport_->stats().rekeys == before && Clock::now() < limit) {
      turn();
    }
    EXPECT_EQ(transport_->stats().rekeys, before + 1);
  }
  void revoke(const std::string& key) { transport_->admit({key, Sender()}); }

  ZmqTransport& transport() { return *transport_; }
  Endpoint control() const { return transport_->control_endpoint(); }
  void say(const Endpoint& to, std::string bytes, Channel channel = Channel::kControl) {
    transport_->send({to, channel, std::move(bytes)});
  }
  void turn(Duration timeout = milliseconds(1)) {
    transport_->wait(timeout);
    const std::size_t before = received_.size();
    for (TransportInput& input : transport_->take_inputs()) {
      if (auto* received = std::get_if<Received>(&input)) {
        received_.push_back(std::move(*received));
      } else if (auto* up = std::get_if<LinkUp>(&input)) {
        ups_.push_back(up->peer);
      } else if (auto* down = std::get_if<LinkDown>(&input)) {
        downs_.push_back(*down);
      }
    }
    most_in_a_turn_ = std::max(most_in_a_turn_, received_.size() - before);
  }

  std::vector<Received> received_;
  std::vector<Endpoint> ups_;
  std::vector<LinkDown> downs_;
  std::size_t most_in_a_turn_ = 0;

 private:
  static std::vector<Peer*>& members() {
    static std::vector<Peer*> all;
    return all;
  }

  std::string key_;
  HostId id_;
  std::unique_ptr<ZmqTransport> transport_;
};

/// Turns all peers until `done`. False if the limit passed first.
inline bool turn_until(std::initializer_list<Peer*> peers, const std::function<bool()>& done,
                       milliseconds patience = kPatience) {
  const auto limit = Clock::now() + patience;
  while (!done()) {
    if (Clock::now() > limit) {
      return false;
    }
    for (Peer* peer : peers) {
      peer->turn();
    }
  }
  return true;
}

/// A plain TCP socket of the test's own.
class RawSocket {
 public:
  RawSocket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~RawSocket() { close(fd_); }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }
  Endpoint bind_any() {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    return Endpoint::ipv4(127, 0, 0, 1, ntohs(address.sin_port));
  }
  void listen_on() { EXPECT_EQ(listen(fd_, 8), 0); }
  void connect_to(const Endpoint& to) {
    const sockaddr_in address = loopback(to.port);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  /// Waits for a first byte.
  bool hears() {
    char byte = 0;
    return receive(byte) == 1;
  }
  /// Waits for the other end to close.
  bool is_ended() {
    char byte = 0;
    for (;;) {
      const ssize_t got = receive(byte);
      if (got <= 0) {
        return got == 0 || errno == ECONNRESET;
      }
    }
  }
  void write_all(const std::string& bytes) {
    ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

 private:
  ssize_t receive(char& byte) {
    timeval patience{kPatience.count() / 1000, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return recv(fd_, &byte, 1, 0);
  }

  int fd_;
};

/// A socket that is bound but does not listen: its port refuses, and no other socket can take it.
struct RefusedPort {
  RawSocket socket;
  Endpoint endpoint = socket.bind_any();
};

inline milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - start);
}

/// A message of so many bytes that begins as messages do, as a large one must.
inline std::string message_of(std::size_t bytes) {
  const std::string head = encode(Envelope(), "");
  return head + std::string(bytes - head.size(), 'x');
}

/// Brings up the link from `a` to `b` with one message.
inline void link_up(Peer& a, Peer& b) {
  const std::size_t before = b.received_.size();
  a.say(b.control(), "hello");
  ASSERT_TRUE(turn_until({&a, &b}, [&] { return b.received_.size() > before && !a.ups_.empty(); }));
}

/// A ZeroMQ client of the test's own that speaks CURVE and never redials.
struct CurveDealer {
  /// When it becomes writable: at once, or after the handshake.
  enum class When { kAtOnce, kUp };

  /// As a member that `to` lets in.
  explicit CurveDealer(Peer& to, const LinkKeys& own = LinkKeys::make(), When when = When::kAtOnce)
      : socket(context, zmq::socket_type::dealer) {
    Sender sender;
    sender.kind = Sender::Kind::kHost;
    sender.host = HostId::from_bytes(own.public_key.substr(0, HostId::kSizeBytes));
    to.transport().admit({own.public_key, sender});
    socket.set(zmq::sockopt::immediate, when == When::kUp);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::reconnect_ivl, -1);
    socket.set(zmq::sockopt::curve_publickey, own.public_key);
    socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
    socket.set(zmq::sockopt::curve_serverkey, to.key());
    socket.connect("tcp://" + to.control().text());
  }

  zmq::context_t context;
  zmq::socket_t socket;
};

/// A directory of the test's own, removed at its end.
class DirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/muster_zmq_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ + "/agent.sock"; }

 private:
  std::string directory_;
};

}  // namespace muster::gossip
