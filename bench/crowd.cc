// One login that crowds the socket for all logins: many connections, and on each that stays
// requests without end, as fast as the socket takes them. Half of them never read an answer. Runs
// as the login that starts it.
//
//   bench_crowd CONNECTIONS SECONDS SOCKET
//
// A connection that the agent ended is dialled again after kRedial. Prints
//   dialled N ended N open N messages N heard BYTES
// `open` at the end, `messages` whole ones that the kernel took; 1 when no connection was made.

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "agent/api/request.h"
#include "gossip/base/version.h"
#include "gossip/wire/message.h"

namespace {

namespace agent = muster::agent;
namespace gossip = muster::gossip;
using Clock = std::chrono::steady_clock;
using agent::Verb;

constexpr auto kRedial = std::chrono::seconds(1);
constexpr Verb kVerbs[] = {Verb::kJobs, Verb::kHosts, Verb::kWhoami, Verb::kUsers};
constexpr int kEventsMax = 256;
constexpr int kWaitMs = 10;
/// One connection must not keep the others waiting.
constexpr std::size_t kHeardMax = 64 * 1024;
constexpr rlim_t kOtherDescriptors = 64;

std::string big_endian(std::uint64_t size) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[7 - i] = static_cast<char>((size >> (8 * i)) & 0xff);
  }
  return bytes;
}

/// The words of a ZeroMQ peer without keys in front of its first message.
std::string handshake() {
  const std::string ready = std::string("\x05READY\x0bSocket-Type") + std::string(
                                                                          "\0\0\0\x06"
                                                                          "DEALER",
                                                                          10);
  return std::string("\xff") + std::string(8, '\0') + "\x7f\x03" + std::string(1, '\0') + "NULL" +
         std::string(48, '\0') + std::string("\x04") + static_cast<char>(ready.size()) + ready;
}

/// One request of each verb, as frames.
std::string requests() {
  std::string frames;
  std::uint64_t nonce = 0;
  for (const Verb verb : kVerbs) {
    gossip::Envelope envelope;
    envelope.version = muster::kProtocolVersion;
    envelope.type = gossip::MessageType::kRequest;
    envelope.nonce = muster::Nonce(++nonce);
    agent::Request request;
    request.verb = verb;
    const std::string bytes = gossip::encode(envelope, agent::encode(request));
    frames += "\x02" + big_endian(bytes.size()) + bytes;
  }
  return frames;
}

struct Connection {
  int fd = -1;
  bool reads = false;
  std::uint64_t sent_bytes = 0;  ///< Since it was dialled.
  Clock::time_point ended{};     ///< It is dialled again kRedial later.
};

class Crowd {
 public:
  Crowd(std::size_t count, const std::string& path)
      : poll_(epoll_create1(EPOLL_CLOEXEC)), connections_(count), block_(requests()) {
    address_.sun_family = AF_UNIX;
    std::strncpy(address_.sun_path, path.c_str(), sizeof address_.sun_path - 1);
    while (block_.size() < kHeardMax) {
      block_ += block_;
    }
    for (std::size_t i = 0; i < count; ++i) {
      connections_[i].reads = i % 2 == 0;
    }
  }

  void run(std::chrono::seconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
      dial_all();
      epoll_event events[kEventsMax];
      const int count = epoll_wait(poll_, events, kEventsMax, kWaitMs);
      for (int i = 0; i < count; ++i) {
        serve(connections_[events[i].data.u64]);
      }
    }
  }

  bool has_dialled() const { return dialled_ > 0; }

  void print() const {
    const auto open = std::count_if(connections_.begin(), connections_.end(),
                                    [](const Connection& each) { return each.fd >= 0; });
    std::uint64_t bytes = sent_bytes_;
    for (const Connection& each : connections_) {
      bytes += each.sent_bytes;
    }
    const std::uint64_t of_one = requests().size() / std::size(kVerbs);
    std::printf("dialled %llu ended %llu open %ld messages %llu heard %llu\n", dialled_, ended_,
                static_cast<long>(open), static_cast<unsigned long long>(bytes / of_one), heard_);
  }

 private:
  void dial_all() {
    const auto now = Clock::now();
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& each = connections_[i];
      if (each.fd < 0 && now - each.ended >= kRedial && !dial(each, i)) {
        return;  // The backlog is full: the next turn goes on.
      }
    }
  }

  bool dial(Connection& each, std::size_t index) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0) {
      close(fd);
      return false;
    }
    ++dialled_;
    each.fd = fd;
    each.sent_bytes = 0;
    const std::string words = handshake();
    if (send(fd, words.data(), words.size(), MSG_NOSIGNAL) < 0) {
      end(each);
      return true;
    }
    epoll_event event{};
    event.events = EPOLLOUT | (each.reads ? EPOLLIN : 0U);
    event.data.u64 = index;
    epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event);
    return true;
  }

  void end(Connection& each) {
    close(each.fd);
    each.fd = -1;
    each.ended = Clock::now();
    sent_bytes_ += each.sent_bytes;
    each.sent_bytes = 0;
    ++ended_;
  }

  void serve(Connection& each) {
    const std::size_t at = each.sent_bytes % block_.size();
    const ssize_t sent = send(each.fd, block_.data() + at, block_.size() - at, MSG_NOSIGNAL);
    if (sent > 0) {
      each.sent_bytes += static_cast<std::uint64_t>(sent);
    }
    bool is_over = sent < 0 && errno != EAGAIN;
    if (each.reads && !is_over) {
      char heard[kHeardMax];
      const ssize_t count = recv(each.fd, heard, sizeof heard, 0);
      is_over = count == 0 || (count < 0 && errno != EAGAIN);
      heard_ += count > 0 ? static_cast<unsigned long long>(count) : 0;
    }
    if (is_over) {
      end(each);
    }
  }

  int poll_;
  std::vector<Connection> connections_;
  std::string block_;  ///< Whole messages.
  sockaddr_un address_{};
  unsigned long long dialled_ = 0;
  unsigned long long ended_ = 0;
  unsigned long long heard_ = 0;
  std::uint64_t sent_bytes_ = 0;  ///< On connections that ended.
};

bool allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < count + kOtherDescriptors) {
    return false;
  }
  limit.rlim_cur = count + kOtherDescriptors;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench_crowd CONNECTIONS SECONDS SOCKET\n");
    return 2;
  }
  const auto count = static_cast<std::size_t>(std::atol(argv[1]));
  if (!allow_descriptors(count)) {
    std::fprintf(stderr, "bench_crowd: too few descriptors are allowed here\n");
    return 1;
  }
  Crowd crowd(count, argv[3]);
  crowd.run(std::chrono::seconds(std::atol(argv[2])));
  crowd.print();
  return crowd.has_dialled() ? 0 : 1;
}
