#pragma once
// Who uses the GPUs and what operators said of hosts, as the log has it, for people to read. Pure
// functions over State.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "crdt/rows/address_book.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// Hosts in one answer at most, and it ends behind the one that fills it so far.
inline constexpr std::size_t kUsesListedMax = 4096;
inline constexpr std::size_t kUsesPageBytes = 512 << 10;
/// Jobs named of one host.
inline constexpr std::size_t kUseJobsMax = 64;
/// Rows of one answer about usage.
inline constexpr std::size_t kUsageRowsListedMax = 2000;

/// How long ago `then` was by the wall clock that shows `now`; 0 when either is not known.
std::uint64_t wall_age_ms(std::int64_t now_unix_ms, std::int64_t then_unix_ms);

HostUseList host_uses(const scheduler::State& state, const crdt::AddressBook& addresses,
                      std::int64_t now_unix_ms, HostId after);
/// Nothing for a host that never registered.
std::optional<HostDetail> host_detail(const scheduler::State& state,
                                      const crdt::AddressBook& addresses, std::int64_t now_unix_ms,
                                      HostId host);
/// Nothing when `by` is none of its words.
std::optional<UsageList> usage_list(const scheduler::State& state, const UsageQuery& query);
/// The use in the job's record, and that of its attempts up to now.
std::uint64_t gpu_ms_of(const scheduler::State& state, const scheduler::Job& job);

}  // namespace muster::agent
