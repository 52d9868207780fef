#pragma once
// The charge of a member: its dominant amount in its pool, in thousandths. Pure.

#include <cstdint>
#include <string>

#include "scheduler/protocol/member.h"
#include "scheduler/state/job_record.h"
#include "scheduler/state/share_book.h"

namespace muster::scheduler {

/// Of GPUs: the largest of its GPUs, its CPUs / (CPUs that belong to a GPU on that host), and its
/// memory likewise, rounded up. Without GPUs: its CPUs, or its memory / (memory that belongs to a
/// CPU there) if that is more. At least 1.
std::uint64_t charge_of(const HostRecord& host, const Member& member);
/// The pool of a job's members on such a host.
std::string pool_on(const HostRecord& host, const JobSpec& spec);
/// The charge of a whole job, as far as its request says: what its queues have to have room for.
std::uint64_t least_charge_of(const JobSpec& spec);

}  // namespace muster::scheduler
