#pragma once
// JobSight is what one user sees of the jobs. Under the rule jobs=team, a viewer, a user or a lead
// sees own jobs and those of own teams; all other jobs appear only as sums. It takes the rest out
// of answers that were made for everybody. Pure; the state outlives it.

#include <string>

#include "agent/api/events.h"
#include "agent/api/gpus.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "scheduler/access/directory.h"
#include "scheduler/state/state.h"

namespace muster::agent {

/// It stands in place of the users and names of jobs that are not seen.
inline constexpr char kOtherTeams[] = "(other teams)";

class JobSight {
 public:
  /// `directory` is that of `state`, or the copy of a host without the log.
  JobSight(const scheduler::State& state, const scheduler::Directory& directory, std::string user);

  /// False: the user sees all.
  bool is_limited() const { return is_limited_; }
  /// Jobs and arrays that the state does not know are not seen: it cannot say whose they are.
  bool sees(JobId job) const;
  bool sees(const scheduler::JobSpec& spec) const;
  /// The user itself, and users that share a team with it.
  bool sees_user(const std::string& user) const;

  /// kNotFound, in the words of the log about jobs that there are not, if a condition is about a
  /// job that is not seen.
  Status check_after(const scheduler::Eligibility& eligibility) const;

  JobList seen(JobList list) const;
  JobDetail seen(JobDetail detail) const;
  HostUse seen(HostUse use) const;
  HostUseList seen(HostUseList list) const;
  HostDetail seen(HostDetail detail) const;
  /// `of_job`: the list is of the GPUs of that job; 0 = of any GPUs.
  GpuList seen(GpuList list, JobId of_job) const;
  WhyInfo seen(WhyInfo why) const;
  /// The GPUs that jobs hold which are not seen; O(live attempts).
  std::uint64_t gpus_of_others() const;
  /// Whether the text of an event names no job, or one that is seen.
  bool sees_event(const std::string& text) const;
  /// The text of an event that is seen, without how jobs stand that are not.
  std::string seen_event(std::string text) const;

 private:
  /// The conditions of the job or array; null if the state does not know it.
  const scheduler::JobWait* wait_of(JobId job) const;
  /// A text about the job with these conditions, without how jobs stand that are not seen.
  std::string seen_text(std::string text, const scheduler::JobWait& wait) const;
  void hide_standings(WaitInfo& info, const scheduler::JobWait& wait) const;
  void hide_standings(JobSummary& summary, const scheduler::JobWait& wait) const;

  const scheduler::State& state_;
  const scheduler::Directory& directory_;
  std::string user_;
  bool is_limited_;
};

}  // namespace muster::agent
