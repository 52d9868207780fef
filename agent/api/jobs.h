#pragma once
// Jobs as clients submit them and as a node tells of them.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/output.h"
#include "gossip/base/ids.h"
#include "scheduler/protocol/job.h"

namespace muster::agent {

struct SubmitArgs {
  std::string key;  ///< Made by the client before its first try: 32 hex digits.
  scheduler::JobSpec spec;
  bool operator==(const SubmitArgs&) const = default;
};

struct JobRef {
  JobId job;
  bool operator==(const JobRef&) const = default;
};

/// What to cancel.
struct JobRun {
  JobId job;
  /// That of the last task of a run which `job` begins; not above it: `job` alone.
  std::uint64_t last = 0;
  bool operator==(const JobRun&) const = default;
};

struct RequeueArgs {
  JobId job;
  /// The attempt that is to make way: repeated after a later one was decided, this does nothing.
  /// 0 = whichever is the newest.
  std::uint64_t attempt = 0;
  bool operator==(const RequeueArgs&) const = default;
};

struct JobSummary {
  JobId id;
  std::string name;
  std::string user;
  std::string state;
  std::uint64_t gpus = 0;
  std::string gpu_type;  ///< "" = any; several by preference, "H100|A100".
  std::uint64_t attempt = 0;
  std::int64_t priority = 0;
  std::int64_t exit_code = 0;      ///< Of an ended job, as `submit --wait` exits.
  std::string cause;               ///< Of the last transition.
  std::vector<std::string> hosts;  ///< Names, of the attempt in force.
  // From a node that says so. Wall clocks are the leader's when it was logged; 0 = it has not come
  // to that, or nobody knew.
  std::uint64_t submit_unix_ms = 0;
  std::uint64_t start_unix_ms = 0;  ///< Of the last attempt that was started.
  std::uint64_t end_unix_ms = 0;
  std::uint64_t age_ms = 0;  ///< Since it was submitted, by those clocks.
  std::uint64_t run_ms = 0;  ///< Of the last attempt, in cluster time.
  std::uint64_t gpu_ms = 0;  ///< GPU time that all its attempts took, so far.
  bool is_doubtful = false;  ///< It counts as running, and some of its hosts do not answer.
  std::string reason{};      ///< For people: what it waits for, what is wrong, how it ended.
  std::uint64_t ranks = 0;   ///< Of a job without GPUs.
  // Of an array, and what its line counts; 0 = it is one job.
  std::uint64_t tasks = 0;
  std::uint64_t tasks_running = 0;  ///< Have begun and not ended.
  std::uint64_t tasks_completed = 0;
  std::uint64_t tasks_failed = 0;
  std::uint64_t tasks_cancelled = 0;  ///< Among them such as are not to begin any more.
  bool operator==(const JobSummary&) const = default;
};

struct EditArgs {
  JobId job;
  std::int64_t priority = 0;
  bool operator==(const EditArgs&) const = default;
};

struct UsageQuery {
  std::string by = "user";  ///< "user", "type", "name"
  std::uint64_t since_ms =
      0;  ///< Of cluster time, in whole days; 0 = all that is kept. Not by name.
  bool operator==(const UsageQuery&) const = default;
};

struct UsageRow {
  std::string key;             ///< The user, GPU type or name of jobs.
  std::uint64_t gpus_now = 0;  ///< Held at the moment.
  std::uint64_t jobs_now = 0;  ///< Which hold them.
  std::uint64_t gpu_ms = 0;    ///< GPU time, what is held among it.
  bool operator==(const UsageRow&) const = default;
};

struct UsageList {
  std::vector<UsageRow> rows;       ///< Most GPU time first.
  std::uint64_t days = 0;           ///< That the rows are about, today among them; 0 = by name,
                                    ///< of all jobs that are still kept.
  std::uint64_t rows_left_out = 0;  ///< With less GPU time than those that are listed.
  bool operator==(const UsageList&) const = default;
};

struct JobsQuery {
  JobId after;  ///< The page begins with the first job above; 0 = the first page.
  /// The tasks of this array that are jobs by now; 0 = all jobs, arrays a line each.
  JobId array{};
  bool operator==(const JobsQuery&) const = default;
};

struct JobList {
  std::vector<JobSummary> jobs;  ///< By id.
  JobId next;  ///< Not 0: there are more, to be asked for with this as JobsQuery::after.
  bool operator==(const JobList&) const = default;
};

struct RankInfo {
  std::uint64_t rank = 0;
  std::string state;  ///< "running", "exited 0", "killed by 9", "never ran", "lost", ...
  std::string detail;
  std::uint64_t output_bytes = 0;   ///< Kept of an ended rank; 0 from a node that does not say.
  std::uint64_t lost_bytes = 0;     ///< RankResult::lost_bytes
  std::uint64_t surplus_bytes = 0;  ///< RankResult::surplus_bytes
  bool operator==(const RankInfo&) const = default;
};

struct MemberInfo {
  HostId host;
  std::string host_name;
  std::uint64_t first_rank = 0;
  std::vector<std::string> gpus;
  std::string state;  ///< "assigned", "ready", "finished", "expired", ...
  std::vector<RankInfo> ranks;
  // As the answering node sees the host; "" from a node that does not say.
  std::string host_state;           ///< HostInfo::state
  std::string host_detail;          ///< HostInfo::detail
  std::uint64_t host_since_ms = 0;  ///< How long it has been so.
  std::uint64_t cpus = 0;           ///< Thousandths, given with its ranks.
  std::uint64_t memory_mb = 0;
  bool operator==(const MemberInfo&) const = default;
};

struct AttemptInfo {
  std::uint64_t number = 0;
  Token token;
  std::string state;  ///< "reserved", "started", "stopping", "ended"
  std::string cause;
  std::vector<MemberInfo> members;
  /// So many more, the last ones, did not fit into the answer: those of old attempts go first.
  std::uint64_t members_left_out = 0;
  bool operator==(const AttemptInfo&) const = default;
};

struct TransitionInfo {
  LogIndex index;
  std::uint64_t cluster_ms = 0;  ///< Cluster time: stands still without a leader.
  std::string state;
  std::string cause;
  std::uint64_t unix_ms = 0;  ///< The leader's wall clock; 0 = from a node that does not say.
  bool operator==(const TransitionInfo&) const = default;
};

/// A task of an array that failed, as far as it is still kept.
struct TaskFailure {
  JobId task;
  std::int64_t exit_code = 0;
  std::string reason;
  std::vector<std::string> hosts;  ///< Names, of its last attempt.
  bool operator==(const TaskFailure&) const = default;
};

/// The counts that the line of an array lacks (JobSummary::tasks and on).
struct ArrayInfo {
  std::uint64_t waiting = 0;  ///< Tasks whose turn has not come, those that were cancelled aside.
  std::uint64_t queued = 0;
  std::uint64_t suspended = 0;
  std::vector<TaskFailure> failures{};  ///< By number, at most kTaskFailuresListed.
  std::uint64_t failures_more = 0;      ///< Not listed, or not kept any more.
  bool operator==(const ArrayInfo&) const = default;
};
inline constexpr std::size_t kTaskFailuresListed = 20;

struct JobDetail {
  JobSummary summary;
  scheduler::JobSpec spec;
  std::vector<AttemptInfo> attempts;
  std::vector<TransitionInfo> transitions;
  OutputRule output_rule{};  ///< Of the host that answers.
  ArrayInfo array{};         ///< Of an array.
  bool operator==(const JobDetail&) const = default;
};

struct HolderInfo {
  JobId job;
  std::string name;
  std::uint64_t gpus = 0;
  std::vector<std::string> hosts;
  std::uint64_t cpus = 0;  ///< Thousandths, there.
  bool operator==(const HolderInfo&) const = default;
};

struct WithheldInfo {
  std::string reason;  ///< "quarantined", "unhealthy", "host suspect", "host cordoned", ...
  std::uint64_t gpus = 0;
  bool operator==(const WithheldInfo&) const = default;
};

/// Hosts that can hold nothing of the job now, by the first thing that stands against them.
struct WhyFilter {
  std::string reason;
  std::uint64_t hosts = 0;
  bool operator==(const WhyFilter&) const = default;
};

struct WhyLevel {
  std::string level;  ///< "island", "host", "rack", "spine", "any"
  std::uint64_t units = 0;
  bool operator==(const WhyLevel&) const = default;
};

/// What one host would give.
struct WhyPlace {
  std::string host;
  std::uint64_t units = 0;
  bool operator==(const WhyPlace&) const = default;
};

struct WhyInfo {
  JobId job;
  std::string state;
  std::string headline;      ///< One sentence: the answer.
  std::uint64_t wanted = 0;  ///< GPUs asked for.
  std::uint64_t free = 0;    ///< Usable and free now for this job.
  std::uint64_t lacking = 0;
  std::vector<JobId> ahead;         ///< Jobs that go first.
  std::vector<HolderInfo> holders;  ///< Who has GPUs it could use, most first.
  std::vector<JobId> would_start;   ///< Smallest set of jobs whose end starts it now.
  std::uint64_t fits_now = 0;       ///< Largest size of it that would start now.
  // From a node that says so; the two fields above are then empty unless it is first in the queue.
  std::uint64_t ahead_count = 0;         ///< All that go first: `ahead` is the first of them.
  std::vector<std::string> left_out{};   ///< Hosts that refused it or were late.
  std::vector<WithheldInfo> withheld{};  ///< GPUs of its type that no end of a job frees for it.
  bool awaits_hosts = false;             ///< After a recovery the queue waits for hosts.
  std::uint64_t holders_more = 0;        ///< Not listed; none has more GPUs than those that are.
  StormInfo storm{};     ///< What silent hosts look like: it says what their silence may end.
  bool has_gpus = true;  ///< Else the numbers are ranks.
  std::uint64_t open_hosts = 0;          ///< That can hold some of it now.
  std::vector<WhyFilter> filters{};      ///< The other hosts, most first.
  std::vector<WhyLevel> largest{};       ///< That would fit now, the closest level first.
  std::vector<std::string> would_fit{};  ///< With what, asked for instead, it fits now.
  // Of a dry run that would start now.
  std::vector<WhyPlace> places{};  ///< The first of the hosts it would get, in rank order.
  std::uint64_t places_more = 0;   ///< Hosts beyond.
  bool operator==(const WhyInfo&) const = default;
};

}  // namespace muster::agent
