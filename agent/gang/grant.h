#pragma once
// Grant is an attempt's share of this host, from its Assign until it is forgotten: its durable
// record, and what this life of the agent knows beside it. It is a value. Grants decides its life,
// GrantSteps takes the steps, grant_life.h lists them.
//
// Invariant: the state in the record is that of the phase.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/gang/end_report.h"
#include "agent/gang/grant_life.h"
#include "agent/gang/grant_record.h"
#include "gossip/base/time.h"
#include "gossip/wire/endpoint.h"
#include "scheduler/protocol/agent_messages.h"

namespace muster::agent {

struct Grant {
  GrantRecord record;
  std::optional<scheduler::GrantState> durable;  ///< The state on disk; nullopt = not there yet.
  GrantPhase phase = GrantPhase::kAssigned;

  scheduler::GrantState state() const { return record.state; }
  bool is_durable() const { return durable == record.state; }
  /// True if it is neither ABORTED nor ENDED.
  bool is_live() const { return agent::is_live(phase); }
  /// True if processes may exist under it.
  bool has_ranks() const { return agent::has_ranks(phase); }
  /// True if the leader has to send Start, or send it again: an earlier life of this agent heard it
  /// and never obeyed.
  bool waits_for_start() const;
  /// True if its ranks did not die, or are unknown: its GPUs are withheld.
  bool is_out_of_hand() const { return is_stuck || is_silent; }

  /// Takes a step of its life. Precondition: the table allows it.
  void move(GrantEvent event);
  /// Its report in a hello of an agent that obeys `epoch`. Precondition: its record is on disk.
  scheduler::GrantReport report_to(std::uint64_t epoch) const;
  /// The next time at which time alone changes it.
  Instant next_deadline() const;

  bool is_stuck = false;
  bool is_silent = false;       ///< Its supervisor does not answer: ranks may run.
  Instant hold_until = kNever;  ///< kNever before the first Ready is sent.
  Instant stuck_at = kNever;    ///< The time from which a terminated grant counts as stuck.
  /// Of an ended one: its GPUs that are not seen clean yet, sorted. Its Finish tells them.
  std::vector<std::string> withheld{};
  gossip::Endpoint master;
  EndReport report;
};

}  // namespace muster::agent
