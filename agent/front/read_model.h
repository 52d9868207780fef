#pragma once
// Answers about hosts and jobs, made from the state of the machines. Pure functions. A name stands
// in place of an id if it is known.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/front/outlook.h"
#include "crdt/rows/address_book.h"
#include "crdt/store/host_store.h"
#include "gossip/base/time.h"
#include "membership/membership.h"
#include "scheduler/placement/capacity.h"
#include "scheduler/policy/queue_key.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// All hosts as a node knows them.
struct HostsKnown {
  const std::map<HostId, membership::Member>& members;
  std::function<std::vector<membership::Accusation>(HostId subject)> accusations;
  const crdt::HostStore& store;
  const crdt::AddressBook& addresses;
  crdt::QuorumView quorum;
  Instant now;
  membership::StormStatus storm = {};
};
/// The jobs as a voter knows them, the capacity for them, and the order in which the jobs of each
/// leaf are tried.
struct JobsKnown {
  const scheduler::State& state;
  scheduler::Capacity& capacity;       ///< The capacity in `state`.
  const scheduler::LeafQueues& queue;  ///< The waiting jobs of `state`.
};
StormInfo storm_info(const membership::StormStatus& storm, Instant now);
/// All hosts, for a client that does not ask for pages: no message holds thousands of them.
HostList host_list(const HostsKnown& known);
/// The most hosts of one answer. An answer also ends behind the host with which it reaches
/// kHostsPageBytes.
inline constexpr std::size_t kHostsListedMax = 4096;
inline constexpr std::size_t kHostsPageBytes = 512 << 10;
HostList hosts_page(const HostsKnown& known, HostId after);
/// The evidence for the view of a host, without events: the Node adds those. nullopt if the node
/// never heard of the host.
std::optional<WhyHostInfo> why_host_info(const HostsKnown& known, HostId host);
/// The most jobs of one answer: one message has to hold them.
inline constexpr std::size_t kJobsListedMax = 3000;
/// A page ends behind the job with which it reaches this size.
inline constexpr std::size_t kJobsPageBytes = 512 << 10;
/// The newest jobs, for a client that does not ask for pages.
JobList newest_jobs(const JobsKnown& known, const HostViews& hosts);
/// A page of jobs, with one line per array. If `array` is not 0, a page of its tasks.
JobList jobs_page(const JobsKnown& known, const HostViews& hosts, JobId after, JobId array = {});
/// The largest answer about one job; it leaves some space for the envelope. The answer lists the
/// members of the newest attempts first, until it reaches this size.
inline constexpr std::size_t kJobDetailBytes = (1 << 20) - (32 << 10);
/// nullopt if the job is unknown or forgotten.
std::optional<JobDetail> job_detail(const JobsKnown& known, const HostViews& hosts, JobId job);

}  // namespace muster::agent
