#pragma once
// What people read, made from what the machines hold. Pure functions; names instead of ids where a
// name is known.

#include <optional>

#include "agent/address_book.h"
#include "agent/client_api.h"
#include "agent/outlook.h"
#include "crdt/host_store.h"
#include "gossip/base/time.h"
#include "membership/membership.h"
#include "scheduler/state.h"

namespace muster::agent {

/// Hosts as the answering node knows them.
struct HostViews {
  const AddressBook& addresses;
  MemberOf member_of;
  Instant now;
};

HostList host_list(const membership::Membership& membership, const crdt::HostStore& store,
                   const AddressBook& addresses, const crdt::QuorumView& quorum, Instant now);
/// At most this many, the newest: one message must hold them.
inline constexpr std::size_t kJobsListedMax = 3000;
JobList job_list(const scheduler::State& state, const AddressBook& addresses);
/// Nothing for an unknown or forgotten job.
std::optional<JobDetail> job_detail(const scheduler::State& state, const HostViews& hosts,
                                    JobId job);
/// Precondition: the job is known.
WhyInfo why_info(const scheduler::State& state, const HostViews& hosts, JobId job);

}  // namespace muster::agent
