#pragma once
// The one agent that a supervisor obeys, from its first word to its hanging up, and the socket at
// which the next one waits. An order that lies unread when its agent dies is obeyed before the next
// agent asks how things stand.

#include <poll.h>

#include <optional>
#include <string>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::agent {

class AgentLine {
 public:
  /// `socket`: to the agent that started this supervisor.
  explicit AgentLine(int socket);

  /// Listens for later agents at `sock` in the present directory.
  Status open();
  /// The descriptors that wake the supervisor: for a newcomer, unless one waits already, and for
  /// the words of the agent.
  pollfd newcomer() const;
  pollfd words() const;
  /// When an agent that waits is heard, whatever the one before does; kNever while none waits.
  Instant turn_at() const { return turn_at_; }

  /// Gives each order that has arrived to `obey(const SupervisorFrame&)`, in order, and hangs up on
  /// what is no agent.
  template <class Obey>
  void hear(Obey obey) {
    for (int i = 0; i < kReadsMax && socket_.is_open(); ++i) {
      const std::size_t known = buffer_.size();
      const bool is_open = receive_some(socket_.get(), buffer_);
      const bool has_more = is_open && buffer_.size() > known;
      if (!take_frames(obey) || !is_open) {
        socket_.reset();
      }
      if (!has_more) {
        return;
      }
    }
  }
  /// Turns to the agent that waits, once the one before hung up or had kLastWords for it. True: it
  /// wants to be told how things stand.
  bool accept(Instant now);
  /// An agent that does not take it, dead or too slow, sees the end of what we say. It is heard
  /// until it hangs up: its orders may lie here unread.
  void tell(const SupervisorStatus& status);

 private:
  /// Reads of one turn of the loop: more than a socket buffers, so all that a dead agent left.
  static constexpr int kReadsMax = 64;

  template <class Obey>
  bool take_frames(Obey& obey) {
    while (true) {
      const Result<std::optional<SupervisorFrame>> frame = take_frame(buffer_);
      if (!frame || !frame->has_value()) {
        return frame.has_value();
      }
      obey(**frame);
    }
  }

  Fd listener_;
  Fd socket_;
  std::string buffer_;
  bool is_told_ = true;  ///< False: the agent reads no more statuses. Its orders still count.
  Instant turn_at_ = kNever;
};

}  // namespace muster::agent
