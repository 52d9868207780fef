#pragma once
// Checkers: the properties of every simulated schedule, one a class. They see messages, events and
// disks; they never ask a machine for its opinion.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "scheduler/raft/raft.h"

namespace muster::scheduler::sim {

/// One host's disk: records that survive a crash, and writes handed over that are not synced.
struct Disk {
  crdt::Records durable;
  std::deque<Raft::Persist> pending;
};

struct View {
  Instant now;
  const std::vector<HostId>& hosts;
  const std::vector<Disk>& disks;
};

/// A committed entry as a host's application saw it; `digest` covers all entries applied so far.
struct Applied {
  LogIndex index;
  Term term;
  LogEntryKind kind = LogEntryKind::kNoop;
  const std::string& command;
  std::uint64_t digest = 0;
};

class Checker {
 public:
  virtual ~Checker() = default;
  virtual std::string_view name() const = 0;
  virtual void on_sent(const View&, std::size_t /*from*/, std::size_t /*to*/, const RaftMessage&) {}
  /// `followed`: the receiver took the sender for its leader.
  virtual void on_delivered(const View&, std::size_t /*to*/, const RaftMessage&,
                            bool /*followed*/) {}
  virtual void on_event(const View&, std::size_t /*host*/, const Event&) {}
  virtual void on_durable(const View&, std::size_t /*host*/, const crdt::WriteBatch&) {}
  virtual void on_applied(const View&, std::size_t /*host*/, const Applied&) {}
  virtual void on_read(const View&, std::uint64_t /*context*/) {}
  virtual void on_confirmed(const View&, const ConfirmedRead&) {}
  /// The host restarted, or lost its link to a leader.
  virtual void on_forgets_leader(const View&, std::size_t /*host*/) {}

  const std::optional<std::string>& violation() const { return violation_; }

 protected:
  void violate(std::string text) {
    if (!violation_.has_value()) {
      violation_ = std::move(text);
    }
  }

 private:
  std::optional<std::string> violation_;
};

/// One new checker of each kind.
std::vector<std::unique_ptr<Checker>> all_checkers();

}  // namespace muster::scheduler::sim
