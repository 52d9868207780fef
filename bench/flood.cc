// A stranger that floods one agent: greetings with a HELLO made for its key, which costs the agent
// three operations of the curve before the stranger proved anything; silent sockets; and frames of
// garbage behind a greeting. Ends by itself.
//
//   flood TICKET_FILE SECONDS HELLOS_A_SECOND SILENT FRAMES     to the first door of the ticket

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include <zmq.hpp>

#include "gossip/base/time.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/kernel_address.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/ticket_line.h"

namespace {

using muster::boot_now;
using muster::Duration;
using muster::Instant;
namespace gossip = muster::gossip;

constexpr int kTicksASecond = 1000;
/// One in this many silent sockets connects each second, also again after the agent closed it.
constexpr int kSilentShare = 10;
/// The connection of a HELLO is kept this long if the other end does not close it.
constexpr Duration kHold = std::chrono::seconds(3);
constexpr int kFramesAConnection = 1000;
constexpr std::size_t kFrameBytes = 30;
constexpr std::size_t kHelloFrameBytes = 202;
constexpr rlim_t kDescriptors = 20'000;
constexpr int kPatienceMs = 5000;

/// The greeting of ZMTP 3, with the mechanism CURVE.
std::string greeting(bool is_server) {
  std::string words =
      std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\1", 12) + "CURVE" + std::string(15, '\0');
  words += is_server ? '\1' : '\0';
  return words + std::string(31, '\0');
}

/// A HELLO for this key, as libzmq makes it: captured from a client that dials a server of our own.
/// The same bytes serve any number of connections.
std::string hello_for(const std::string& server_key) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, any, size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, any, &size) != 0) {
    return "";
  }
  zmq::context_t context;
  zmq::socket_t dealer(context, zmq::socket_type::dealer);
  const gossip::LinkKeys own = gossip::LinkKeys::make();
  dealer.set(zmq::sockopt::linger, 0);
  dealer.set(zmq::sockopt::curve_publickey, own.public_key);
  dealer.set(zmq::sockopt::curve_secretkey, own.secret_key);
  dealer.set(zmq::sockopt::curve_serverkey, server_key);
  dealer.connect("tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  const timeval patience{kPatienceMs / 1000, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string own_greeting = greeting(true);
  std::string heard(own_greeting.size() + kHelloFrameBytes, '\0');
  const bool is_said = send(fd, own_greeting.data(), own_greeting.size(), MSG_NOSIGNAL) > 0;
  const bool is_heard = is_said && recv(fd, heard.data(), heard.size(), MSG_WAITALL) ==
                                       static_cast<ssize_t>(heard.size());
  close(fd);
  close(listener);
  return is_heard ? heard.substr(own_greeting.size()) : "";
}

/// Connections that are open or being opened.
class Crowd {
 public:
  explicit Crowd(const gossip::Endpoint& to)
      : epoll_(epoll_create1(EPOLL_CLOEXEC)), size_(gossip::fill_address(to, address_)) {}

  /// Opens a connection that sends only `words`, null for nothing. False if there is no descriptor.
  bool come(const std::string* words) {
    const int fd = socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      return false;
    }
    const linger now{1, 0};  // Closing leaves no port in TIME_WAIT.
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    connect(fd, reinterpret_cast<const sockaddr*>(&address_), size_);
    const auto slot = static_cast<std::size_t>(fd);
    visitors_.resize(std::max(visitors_.size(), slot + 1));
    visitors_[slot] = {words, 0, boot_now() + kHold, true};
    epoll_event event{EPOLLIN | EPOLLOUT | EPOLLRDHUP, {}};
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    silent_ += words == nullptr ? 1 : 0;
    return true;
  }
  /// Handles events since the last call; never waits.
  void look() {
    epoll_event events[1024];
    for (int count = 1024; count == 1024;) {
      count = epoll_wait(epoll_, events, 1024, 0);
      for (int i = 0; i < count; ++i) {
        on_event(events[i]);
      }
    }
  }
  /// Closes connections that sent words and are older than kHold.
  void close_old() {
    const Instant now = boot_now();
    for (std::size_t fd = 0; fd < visitors_.size(); ++fd) {
      if (visitors_[fd].is_open && visitors_[fd].words != nullptr && now > visitors_[fd].until) {
        leave(static_cast<int>(fd));
      }
    }
  }
  int silent() const { return silent_; }
  long ended() const { return ended_; }
  long said() const { return said_; }

 private:
  struct Visitor {
    const std::string* words = nullptr;
    std::size_t written = 0;
    Instant until{};
    bool is_open = false;
  };

  void on_event(const epoll_event& event) {
    const int fd = event.data.fd;
    Visitor& visitor = visitors_[static_cast<std::size_t>(fd)];
    if ((event.events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
      ++ended_;
      leave(fd);
      return;
    }
    char heard[512];
    while ((event.events & EPOLLIN) != 0 && recv(fd, heard, sizeof heard, 0) > 0) {
    }
    if ((event.events & EPOLLOUT) != 0 && !write_on(fd, visitor)) {
      epoll_event only_in{EPOLLIN | EPOLLRDHUP, {}};
      only_in.data.fd = fd;
      epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &only_in);
    }
  }
  /// False if there is nothing left to send.
  bool write_on(int fd, Visitor& visitor) {
    if (visitor.words == nullptr) {
      return false;
    }
    const std::size_t left = visitor.words->size() - visitor.written;
    const ssize_t sent =
        send(fd, visitor.words->data() + visitor.written, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    visitor.written += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
    const bool is_done = visitor.written == visitor.words->size();
    said_ += is_done ? 1 : 0;
    return !is_done;
  }
  void leave(int fd) {
    Visitor& visitor = visitors_[static_cast<std::size_t>(fd)];
    silent_ -= visitor.words == nullptr ? 1 : 0;
    visitor.is_open = false;
    close(fd);
  }

  int epoll_;
  sockaddr_storage address_{};
  socklen_t size_;
  std::vector<Visitor> visitors_;  ///< By descriptor.
  int silent_ = 0;
  long ended_ = 0;
  long said_ = 0;
};

struct Load {
  int seconds = 0;
  int hellos = 0;  ///< Per second.
  int silent = 0;
  int frames = 0;  ///< In all.
};

/// How many of `all` are due at this tick if they are spread evenly.
int due(long all, long tick, long ticks) {
  return static_cast<int>(all * (tick + 1) / ticks - all * tick / ticks);
}

void flood(Crowd& crowd, const Load& load, const std::string& hello) {
  const std::string hello_words = greeting(false) + hello;
  std::string garbage = greeting(false);
  for (int i = 0; i < kFramesAConnection; ++i) {
    garbage += std::string("\0", 1) + static_cast<char>(kFrameBytes) +
               std::string(kFrameBytes, static_cast<char>(i));
  }
  const Instant began = boot_now();
  const long ticks = static_cast<long>(load.seconds) * kTicksASecond;
  const Duration tick_length = Duration(std::chrono::seconds(1)) / kTicksASecond;
  long refused = 0;
  for (long tick = 0; tick < ticks; ++tick) {
    for (int i = due(load.hellos * static_cast<long>(load.seconds), tick, ticks); i > 0; --i) {
      refused += crowd.come(&hello_words) ? 0 : 1;
    }
    for (int i = due(load.frames / kFramesAConnection, tick, ticks); i > 0; --i) {
      refused += crowd.come(&garbage) ? 0 : 1;
    }
    const long comers = static_cast<long>(load.silent) * load.seconds / kSilentShare;
    for (int i = due(comers, tick, ticks); i > 0 && crowd.silent() < load.silent; --i) {
      refused += crowd.come(nullptr) ? 0 : 1;
    }
    crowd.look();
    while (boot_now() < began + tick * tick_length) {
      poll(nullptr, 0, 1);
      crowd.look();
    }
    if (tick % kTicksASecond == 0) {
      crowd.close_old();
    }
  }
  const double took = std::chrono::duration<double>(boot_now() - began).count();
  std::printf("took %.1f said %ld ended %ld silent_at_the_end %d no_descriptor %ld\n", took,
              crowd.said(), crowd.ended(), crowd.silent(), refused);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 || std::atoi(argv[2]) < 0) {
    std::fprintf(stderr, "usage: see the head of bench/flood.cc\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  std::string line;
  std::getline(file, line);
  const auto ticket = gossip::ticket_in(line);
  if (!ticket || ticket->doors.empty()) {
    std::fprintf(stderr, "flood: that is no ticket\n");
    return 1;
  }
  const rlimit descriptors{kDescriptors, kDescriptors};
  setrlimit(RLIMIT_NOFILE, &descriptors);
  const std::string hello = hello_for(ticket->doors[0].link_key);
  if (hello.empty()) {
    std::fprintf(stderr, "flood: no HELLO was made\n");
    return 1;
  }
  std::printf("at %s\n", ticket->doors[0].at.ip_text().c_str());
  std::fflush(stdout);
  Crowd crowd(ticket->doors[0].at);
  flood(crowd, {std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])},
        hello);
  return 0;
}
