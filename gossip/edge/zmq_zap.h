#pragma once
// ZmqZap decides which TCP connections are let in. It answers libzmq's questions about handshakes
// (ZAP, ZeroMQ RFC 27) in a thread of its own, by the admitted keys. ZmqZap accepts a connection
// that proves an admitted key, with the User-Id of gossip/edge/proof_text.h, and refuses all
// others. Sockets that enforce the domain refuse all connections if no ZmqZap answers. The same
// thread reads the events of the sockets that hosts come in on: a socket has one monitor.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <zmq.hpp>

#include "gossip/edge/accepted_connections.h"
#include "gossip/edge/admitted_keys.h"
#include "gossip/edge/join_pace.h"
#include "gossip/edge/plain_peers.h"

namespace muster::gossip {

/// The ZAP domain of the sockets that hosts come in on.
inline constexpr char kZapDomain[] = "muster";

class ZmqZap {
 public:
  /// Handshakes that failed, by reason.
  struct Refused {
    std::uint64_t unknown_key = 0;  ///< Proven, but not admitted.
    std::uint64_t no_curve = 0;     ///< A peer without keys: another mechanism.
    std::uint64_t malformed = 0;    ///< Broken, or made for another key than ours.
    std::uint64_t early_tickets =
        0;  ///< Admitted, but more of them a second than JoinPace lets in.
  };

  /// A context has one ZmqZap. All arguments outlive it. Throws zmq::error_t.
  ZmqZap(zmq::context_t& context, const AdmittedKeys& keys, AcceptedConnections& connections);
  /// Ends the thread; from then on all connections are refused.
  ~ZmqZap();
  ZmqZap(const ZmqZap&) = delete;
  ZmqZap& operator=(const ZmqZap&) = delete;

  /// Counts the failures that libzmq decides on this socket without asking, and tells `connections`
  /// its events: the first socket is listener 0, the next one 1. Call it before start() and before
  /// the socket is bound. Throws zmq::error_t.
  void watch(zmq::socket_t& listener);
  void start();
  Refused refused() const;
  /// The addresses of peers without keys that no earlier call returned.
  std::vector<std::string> take_plain_peers() { return plain_peers_.take(); }

 private:
  void run();
  bool answer_one();
  /// The frames of the answer, behind the version, to the frames of a question.
  std::vector<std::string> decide(const std::vector<std::string>& request);
  zmq::socket_t make_monitor(zmq::socket_t& listener, const std::string& name, int kinds);
  bool read_event(std::size_t listener);
  void on_failure(std::size_t listener, std::uint32_t reason);
  void on_ended(std::size_t listener, int fd);

  zmq::context_t& context_;
  const AdmittedKeys& keys_;
  AcceptedConnections& connections_;
  zmq::socket_t questions_;
  std::vector<zmq::socket_t> monitors_;  ///< By listener.
  std::atomic<std::uint64_t> unknown_key_ = 0;
  std::atomic<std::uint64_t> no_curve_ = 0;
  std::atomic<std::uint64_t> malformed_ = 0;
  std::atomic<std::uint64_t> early_tickets_ = 0;
  JoinPace joins_;
  PlainPeers plain_peers_;
  /// By listener: the next connection reported as ended came without keys. Both events come from
  /// one step of one io thread, and only the second has the descriptor.
  std::array<bool, AcceptedConnections::kListeners> is_plain_{};
  int is_over_fd_ = -1;
  std::thread thread_;
};

}  // namespace muster::gossip
