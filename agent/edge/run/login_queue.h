#pragma once
// LoginQueue gives the messages of guests their names before a Node hears them: a message whose uid
// is not known waits until LoginNames has an answer, which is "no name" after 2 s. A guest may only
// ask: it drops and counts any other message, by which a Node would complain of the host that the
// message names. All messages of others pass. Limited, because any login of the machine may send.
// Owned by EventLoop.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "agent/edge/host/login_names.h"
#include "gossip/base/time.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

class LoginQueue {
 public:
  /// Messages that wait, of all logins and of one: a name takes a millisecond, and each connection
  /// of a login has one question open. Beyond, a message is dropped and counted.
  static constexpr std::size_t kWaitingMax = 512;
  static constexpr std::size_t kWaitingOfOneMax = 64;
  /// Bytes of all of them; a request has up to 1 MiB.
  static constexpr std::size_t kWaitingBytesMax = std::size_t{16} << 20;

  /// `own`: the user of the agent. The Node of an agent that does not run as root answers no guest,
  /// whatever the name: then all messages pass. `names` outlives this.
  LoginQueue(LoginNames& names, std::uint32_t own) : names_(names), own_(own) {}

  /// The messages that the Node hears now: those that waited first, then `inputs` without those
  /// that wait. Each login's stay in order.
  std::vector<gossip::TransportInput> pass(std::vector<gossip::TransportInput> inputs, Instant now);
  /// The caller calls pass() then, or when LoginNames::fd() is readable. kNever if no message
  /// waits.
  Instant next_deadline() const { return waiting_.empty() ? kNever : names_.next_deadline(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  bool is_named(gossip::Received& message, Instant now) const;
  void wait(gossip::Received message, Instant now);

  LoginNames& names_;
  std::uint32_t own_;
  std::deque<gossip::Received> waiting_;
  std::map<std::uint32_t, std::size_t> counts_;  ///< Of waiting_, by uid; none is 0.
  std::size_t bytes_ = 0;                        ///< Of waiting_.
  std::uint64_t dropped_ = 0;
};

}  // namespace muster::agent
