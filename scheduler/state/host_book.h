#pragma once
// The hosts that ever registered: the last registration of each, and the last observation of it.
// Owned by Books; pure.
//
// Invariants: a host is never forgotten, though an operator may hide it (HostBook::remove); the
// generation of its pair never falls; its floor (HostRecord::highest) never falls; numbers are
// dense.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "gossip/base/indexed_map.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/host_lists.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

inline constexpr std::size_t kHostGpusMax = 1024;
inline constexpr std::uint32_t kHostCpusMax = 1'000'000;  ///< Thousandths of them fit 32 bits.

/// Whether the hosts have the numbers from 0 to their count, each once.
bool are_numbers_dense(const std::map<HostId, HostRecord>& hosts);

/// The refusal for a host that wants the name of `bearer`.
std::string why_taken(const HostRecord& bearer);

class HostBook {
 public:
  HostBook() = default;
  /// From a snapshot.
  explicit HostBook(std::map<HostId, HostRecord> hosts);

  const std::map<HostId, HostRecord>& all() const { return hosts_.map(); }
  const HostRecord* find(const HostId& id) const;
  /// Why the log would reject that registration; "" = it would not.
  std::string why_not(const entry::Register& fact) const;
  /// Another host than `except` that keeps this name; null = the name is free.
  const HostRecord* bearer(const std::string& name, const HostId& except) const;
  /// Answers about all hosts together.
  const HostLists& lists() const { return lists_; }

  /// The changes of a registration.
  struct RegisterEffect {
    bool is_new_pair = false;  ///< Earlier grants end, except those that its agent lists.
    bool is_rebooted = false;
    bool is_quarantine_changed = false;
  };
  /// Precondition: why_not(fact) == "".
  RegisterEffect on_registered(const entry::Register& fact, std::int64_t unix_ms);
  /// False if no such host is registered.
  bool on_observed(const entry::Observe& fact, std::int64_t unix_ms);
  /// Adds to the quarantined GPUs of the host. False, and no change, if another start of its agent
  /// is registered by now, whose hello told all of them.
  bool withhold(const HostId& id, const AgentStart& start, const std::vector<std::string>& uuids);
  /// Raises HostRecord::highest to `token`. Precondition: the host is registered.
  void raise_floor(const HostId& id, const Token& token);
  /// Precondition of both: the host is registered. `drain`: nullopt = it takes work again.
  void drain(const HostId& id, std::optional<HostDrain> drain);
  void remove(const HostId& id);
  /// Replaces the last order about that GPU. Precondition: the host is registered.
  void order(const HostId& id, GpuOrder order);
  /// A new epoch began: every host has to register again.
  void await_all();
  /// The attempt is adopted: no host waits for that any more.
  void forget_unadopted(const Token& token);
  /// In O(hosts).
  void check() const;

 private:
  /// Applies `change` to the record of a known host, and keeps the lists in step.
  template <class Change>
  void change(HostRecord& host, Change change);

  IndexedMap<HostId, HostRecord> hosts_;
  HostLists lists_;  ///< Derived.
};

}  // namespace muster::scheduler
