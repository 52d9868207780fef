#pragma once
// An account of the event loop: each kind of work, how often, and the CPU time that it takes. To
// hear a message includes to decode it, what the machines make of it, and to hand over what they
// say at once. All that the thread does belongs to one kind, so the sum is its CPU time.
//
// The clock of the thread is read once a piece of work: 0.2 us.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/api/stats.h"
#include "gossip/wire/message.h"

namespace muster::agent {

class LoopAccount {
 public:
  enum class Work : std::uint8_t {
    kStart,       ///< Until the loop runs.
    kWait,        ///< For the sockets; and what is looked at each turn.
    kReceive,     ///< To take messages from the transport, of all types.
    kLinks,       ///< News of links.
    kDisk,        ///< News of durable writes.
    kRows,        ///< Rows whose signatures were looked at.
    kSupervisor,  ///< News of ranks.
    kTick,        ///< Timers.
  };

  /// The thread did that since the last of these calls.
  void took(Work work);
  /// That was to hear a message of this type and size.
  void heard(gossip::MessageType type, std::size_t bytes);
  /// A message was handed to the transport, as a part of some work.
  void said(std::string_view bytes);

  /// "loop.tick", "received.rows", "sent.rows" ...; those that are 0 are left out.
  std::vector<Counter> counters() const;

 private:
  struct Count {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t cpu_ns = 0;
  };
  static constexpr std::size_t kWorks = static_cast<std::size_t>(Work::kTick) + 1;
  static constexpr std::size_t kTypes = 256;

  void add(Count& to, std::size_t bytes);

  std::array<Count, kWorks> works_{};
  std::array<Count, kTypes> received_{};  ///< By type of message; 0 = none that is known.
  std::array<Count, kTypes> sent_{};
  std::uint64_t since_ns_ = 0;
};

/// The CPU time of each thread of this process, by name: "thread.muster-loop", and how many of that
/// name there are.
std::vector<Counter> thread_counters();

}  // namespace muster::agent
