// The cost of a proven link for the dialled host: CPU of a handshake, bytes of a frame. Also the
// cost of the check of one signed field.
//
//   handshakes COUNT     prints "handshake_us N", "plain_bytes N", "curve_bytes N", "verify_us N"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <variant>

#include <zmq.hpp>

#include "agent/edge/disk/host_key.h"
#include "gossip/base/time.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/zmq_transport.h"

namespace {

using muster::Duration;
namespace agent = muster::agent;
namespace gossip = muster::gossip;

constexpr Duration kTurn = std::chrono::milliseconds(100);
/// The first handshakes allocate what later ones use again.
constexpr int kWarmUp = 100;
/// Dials under way: a host that many dial at once is not woken for each step of each dial.
constexpr int kAtOnce = 32;
/// An end that hears nothing for this long gives up.
constexpr Duration kSilence = std::chrono::seconds(10);
constexpr std::size_t kFrameBytes = 100;
constexpr int kFrames = 1000;
/// About the size of what a host publishes once a minute.
constexpr std::size_t kFieldBytes = 300;
constexpr int kFields = 5000;

const gossip::Endpoint kAnyAddress = gossip::Endpoint::ipv4(0, 0, 0, 0, 0);
const gossip::Endpoint kAnyPort = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);

double micros_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
}

/// CPU time of all threads of this process.
double cpu_us() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return micros_of(used.ru_utime) + micros_of(used.ru_stime);
}

gossip::ZmqTransport::Options options_with(const gossip::LinkKeys& keys,
                                           const gossip::Endpoint& listen) {
  gossip::ZmqTransport::Options options;
  options.control = listen;
  options.bulk = listen;
  options.link = keys;
  return options;
}

/// Answers every message, each the first of its connection, and reports the CPU time for one.
int serve(const gossip::LinkKeys& own, const std::string& guest, int count, int out) {
  auto transport = gossip::ZmqTransport::open(options_with(own, kAnyAddress));
  if (!transport) {
    return 1;
  }
  gossip::Sender sender;
  sender.kind = gossip::Sender::Kind::kHost;
  (*transport)->admit({guest, sender});
  const std::uint16_t port = (*transport)->control_endpoint().port;
  if (write(out, &port, sizeof port) != sizeof port) {
    return 1;
  }
  double began = 0;
  int heard = 0;
  for (muster::Instant last = muster::boot_now();
       heard < kWarmUp + count && muster::boot_now() - last < kSilence;) {
    (*transport)->wait(kTurn);
    for (gossip::TransportInput& input : (*transport)->take_inputs()) {
      if (const auto* received = std::get_if<gossip::Received>(&input)) {
        (*transport)->reply({received->route, "hello"});
        last = muster::boot_now();
        began = ++heard == kWarmUp ? cpu_us() : began;
      }
    }
  }
  const double each = (cpu_us() - began) / count;
  return heard >= kWarmUp + count && write(out, &each, sizeof each) == sizeof each ? 0 : 1;
}

/// An address of the same host, one for each dial under way.
gossip::Endpoint address(int number, std::uint16_t port) {
  return gossip::Endpoint::ipv4(127, 0, 0, static_cast<std::uint8_t>(1 + number), port);
}

/// Keeps many connections, each for a question and its answer, then dials again, until `is_over`
/// can be read. False if the host does not answer any more.
bool dial(const gossip::LinkKeys& own, const std::string& host_key, std::uint16_t port,
          int is_over) {
  auto transport = gossip::ZmqTransport::open(options_with(own, kAnyPort));
  if (!transport) {
    return false;
  }
  const auto ask = [&](const gossip::Endpoint& at) {
    (*transport)->send({at, gossip::Channel::kControl, "hello"});
  };
  for (int i = 0; i < kAtOnce; ++i) {
    (*transport)->expect({address(i, port), host_key});
    ask(address(i, port));
  }
  for (muster::Instant last = muster::boot_now(); muster::boot_now() - last < kSilence;) {
    (*transport)->wait(kTurn, {&is_over, 1});
    if ((*transport)->readable(is_over)) {
      return true;
    }
    for (gossip::TransportInput& input : (*transport)->take_inputs()) {
      if (const auto* received = std::get_if<gossip::Received>(&input)) {
        last = muster::boot_now();
        (*transport)->drop({received->link});
        ask(received->link);
      } else if (const auto* down = std::get_if<gossip::LinkDown>(&input)) {
        ask(down->peer);
      }
    }
  }
  return false;
}

/// Both ends are separate processes, so that each has its own CPU time.
bool measure_handshakes(int count) {
  const gossip::LinkKeys host = gossip::LinkKeys::make();
  const gossip::LinkKeys guest = gossip::LinkKeys::make();
  int ends[2];
  if (pipe(ends) != 0) {
    return false;
  }
  const pid_t child = fork();
  if (child == 0) {
    _exit(serve(host, guest.public_key, count, ends[1]));
  }
  std::uint16_t port = 0;
  double each = 0;
  const bool done = read(ends[0], &port, sizeof port) == sizeof port &&
                    dial(guest, host.public_key, port, ends[0]) &&
                    read(ends[0], &each, sizeof each) == sizeof each;
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("handshake_us %.1f\n", each);
  return done && status == 0;
}

std::uint64_t received_bytes(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info.tcpi_bytes_received;
}

/// Bytes of one frame on the wire of a link that is up.
double frame_bytes(bool is_curve) {
  zmq::context_t context;
  zmq::socket_t in(context, zmq::socket_type::router);
  zmq::socket_t out(context, zmq::socket_type::dealer);
  if (is_curve) {
    const gossip::LinkKeys host = gossip::LinkKeys::make();
    const gossip::LinkKeys guest = gossip::LinkKeys::make();
    in.set(zmq::sockopt::curve_server, true);
    in.set(zmq::sockopt::curve_secretkey, host.secret_key);
    out.set(zmq::sockopt::curve_publickey, guest.public_key);
    out.set(zmq::sockopt::curve_secretkey, guest.secret_key);
    out.set(zmq::sockopt::curve_serverkey, host.public_key);
  }
  in.bind("tcp://127.0.0.1:*");
  out.connect(in.get(zmq::sockopt::last_endpoint));
  const std::string words(kFrameBytes, 'x');
  std::uint64_t before = 0;
  int fd = -1;
  for (int i = 0; i <= kFrames; ++i) {
    zmq::message_t id;
    zmq::message_t frame;
    out.send(zmq::buffer(words), zmq::send_flags::none);
    if (!in.recv(id) || !in.recv(frame)) {
      return 0;
    }
    fd = zmq_msg_get(frame.handle(), ZMQ_SRCFD);
    before = i == 0 ? received_bytes(fd) : before;
  }
  return static_cast<double>(received_bytes(fd) - before) / kFrames;
}

/// CPU of the real verifier for one field.
bool measure_verify() {
  const agent::HostKey key =
      agent::HostKey::from_seed(std::string(agent::HostKey::kSeedBytes, 's'));
  const std::string words(kFieldBytes, 'w');
  const std::string signature = key.sign(words);
  const agent::HostKeyVerifier verifier;
  const double before = cpu_us();
  int right = 0;
  for (int i = 0; i < kFields; ++i) {
    right += verifier.verify(key.public_key(), words, signature) ? 1 : 0;
  }
  std::printf("verify_us %.2f\n", (cpu_us() - before) / kFields);
  return right == kFields;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 2 ? std::atoi(argv[1]) : 0;
  if (count <= 0) {
    std::fprintf(stderr, "usage: see the head of bench/handshakes.cc\n");
    return 2;
  }
  if (!measure_handshakes(count) || !measure_verify()) {
    std::fprintf(stderr, "handshakes: no answer\n");
    return 1;
  }
  std::printf("plain_bytes %.2f\ncurve_bytes %.2f\n", frame_bytes(false), frame_bytes(true));
  return 0;
}
