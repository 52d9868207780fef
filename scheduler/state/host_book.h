#pragma once
// The hosts that ever registered: what each last said of itself, and what was last observed of it.
// Owned by Books; pure.
//
// Invariants: a host is never forgotten, though an operator may remove it from what is shown; the
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

/// Each of 0 to their count was given to one of them.
bool are_numbers_dense(const std::map<HostId, HostRecord>& hosts);

/// For a host that wants the name of `bearer`.
std::string why_taken(const HostRecord& bearer);

class HostBook {
 public:
  HostBook() = default;
  /// Of a snapshot.
  explicit HostBook(std::map<HostId, HostRecord> hosts);

  const std::map<HostId, HostRecord>& all() const { return hosts_.map(); }
  const HostRecord* find(const HostId& id) const;
  /// Why the log would reject that registration; "" = it would not.
  std::string why_not(const entry::Register& fact) const;
  /// Another host than `except` that keeps this name; null = the name is free.
  const HostRecord* bearer(const std::string& name, const HostId& except) const;
  /// What is asked of all of them.
  const HostLists& lists() const { return lists_; }

  /// What a registration changed.
  struct RegisterEffect {
    bool is_new_pair = false;  ///< What its agent held before ends, but for what it lists.
    bool is_rebooted = false;
    bool is_quarantine_changed = false;
  };
  /// Precondition: why_not(fact) == "".
  RegisterEffect on_registered(const entry::Register& fact, std::int64_t unix_ms);
  /// False: no such host is registered.
  bool on_observed(const entry::Observe& fact, std::int64_t unix_ms);
  /// `token` is granted on this host, which is registered.
  void raise_floor(const HostId& id, const Token& token);
  /// Precondition of both: the host is registered. `drain`: nothing = it takes work again.
  void drain(const HostId& id, std::optional<HostDrain> drain);
  void remove(const HostId& id);
  /// The epoch began anew: every host has to register again.
  void await_all();
  /// It is adopted: nobody waits for it.
  void forget_unadopted(const Token& token);
  /// In O(hosts).
  void check() const;

 private:
  /// Lets `change` change the record of a host that is known.
  template <class Change>
  void change(HostRecord& host, Change change);

  IndexedMap<HostId, HostRecord> hosts_;
  HostLists lists_;  ///< Derived.
};

}  // namespace muster::scheduler
