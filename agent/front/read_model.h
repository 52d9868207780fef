#pragma once
// What people read, made from what the machines hold. Pure functions; names instead of ids where a
// name is known.

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

/// What a node knows of all hosts.
struct HostsKnown {
  const std::map<HostId, membership::Member>& members;
  std::function<std::vector<membership::Accusation>(HostId subject)> accusations;
  const crdt::HostStore& store;
  const crdt::AddressBook& addresses;
  crdt::QuorumView quorum;
  Instant now;
  membership::StormStatus storm = {};
};
/// The jobs as a voter knows them, where they could go, and in which order they are tried.
struct JobsKnown {
  const scheduler::State& state;
  scheduler::Capacity& capacity;  ///< Of that state.
  const scheduler::Queue& queue;  ///< Of that state.
};
/// In words for people and programs.
StormInfo storm_info(const membership::StormStatus& storm, Instant now);
/// All, for who does not ask for pages: of thousands no message holds them.
HostList host_list(const HostsKnown& known);
/// Hosts in one answer at most, and it ends behind the one that fills it so far.
inline constexpr std::size_t kHostsListedMax = 4096;
inline constexpr std::size_t kHostsPageBytes = 512 << 10;
HostList hosts_page(const HostsKnown& known, HostId after);
/// Without the events, which are the node's. Nothing for a host that it never heard of.
std::optional<WhyHostInfo> why_host_info(const HostsKnown& known, HostId host);
/// Jobs in one answer at most: one message must hold them.
inline constexpr std::size_t kJobsListedMax = 3000;
/// A page ends behind the job that fills it so far.
inline constexpr std::size_t kJobsPageBytes = 512 << 10;
/// The newest, for who does not ask for pages.
JobList newest_jobs(const JobsKnown& known, const HostViews& hosts);
/// Arrays a line each; of `array` the tasks instead, unless it is none.
JobList jobs_page(const JobsKnown& known, const HostViews& hosts, JobId after, JobId array = {});
/// What all of a job's answer takes at most, a little for the envelope left: the members of its
/// attempts are listed, those of the newest first, until it is reached.
inline constexpr std::size_t kJobDetailBytes = (1 << 20) - (32 << 10);
/// Nothing for an unknown or forgotten job.
std::optional<JobDetail> job_detail(const JobsKnown& known, const HostViews& hosts, JobId job);

}  // namespace muster::agent
