#pragma once
// The use of the GPUs and the orders of operators about hosts, as the log has them, for people to
// read. Pure functions over State.

#include <cstddef>
#include <cstdint>
#include <optional>

#include "agent/api/gpus.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/front/job_sight.h"
#include "crdt/rows/address_book.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// The most hosts of one answer. An answer also ends behind the host with which it reaches
/// kUsesPageBytes.
inline constexpr std::size_t kUsesListedMax = 4096;
inline constexpr std::size_t kUsesPageBytes = 512 << 10;
/// The most jobs that are named for one host.
inline constexpr std::size_t kUseJobsMax = 64;
/// The most rows of one answer about usage.
inline constexpr std::size_t kUsageRowsListedMax = 2000;

/// Time from `then` to `now` by the wall clock; 0 if one of them is not known.
std::uint64_t wall_age_ms(std::int64_t now_unix_ms, std::int64_t then_unix_ms);

HostUseList host_uses(const scheduler::State& state, const crdt::AddressBook& addresses,
                      std::int64_t now_unix_ms, HostId after);
/// nullopt if the host never registered.
std::optional<HostDetail> host_detail(const scheduler::State& state,
                                      const crdt::AddressBook& addresses, std::int64_t now_unix_ms,
                                      HostId host);
/// A page of the GPUs that fit `query`, of hosts that have not left. Limits as for host_uses().
GpuList gpu_list(const scheduler::State& state, const crdt::AddressBook& addresses,
                 std::int64_t now_unix_ms, const GpusQuery& query);
/// nullopt if `query.by` is not "user", "type" or "name". Users and names of jobs that `sight`
/// hides share one row.
std::optional<UsageList> usage_list(const scheduler::State& state, const UsageQuery& query,
                                    const JobSight& sight);
/// The GPU time in the record of the job plus that of its live attempts up to now.
std::uint64_t gpu_ms_of(const scheduler::State& state, const scheduler::Job& job);

}  // namespace muster::agent
