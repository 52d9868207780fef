#pragma once
// Jobs as clients submit them and as nodes describe them.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/output.h"
#include "gossip/base/ids.h"
#include "scheduler/protocol/job.h"

namespace muster::agent {

struct SubmitArgs {
  std::string key;  ///< The client makes it before its first try: 32 hex digits.
  scheduler::JobSpec spec;
  bool operator==(const SubmitArgs&) const = default;
};

struct JobRef {
  JobId job;
  bool operator==(const JobRef&) const = default;
};

/// A job to cancel, or a run of tasks of one array.
struct JobRun {
  JobId job;
  /// The number of the last task of a run that begins with `job`. A number not above it means
  /// `job` alone.
  std::uint64_t last = 0;
  bool operator==(const JobRun&) const = default;
};

struct RequeueArgs {
  JobId job;
  /// The attempt that makes way. If a later attempt was decided, this does nothing.
  /// 0 = the newest attempt.
  std::uint64_t attempt = 0;
  bool operator==(const RequeueArgs&) const = default;
};

/// A condition of a job about another one.
struct WaitItem {
  std::string item;  ///< "ok:7"
  /// How that job stands; "" = the condition is met or was given up, the job that waited has ended,
  /// or the asker does not see that job.
  std::string state;
  bool operator==(const WaitItem&) const = default;
};

/// The conditions under which a job, or an array as a whole, begins.
struct WaitInfo {
  std::vector<WaitItem> after{};  ///< As submitted.
  // On the leader's wall clock; 0 = there is no such time, or it is not known.
  std::uint64_t begin_unix_ms = 0;
  std::uint64_t deadline_unix_ms = 0;
  bool is_before_begin = false;  ///< It waits, and its begin is all that it waits for.
  bool operator==(const WaitInfo&) const = default;
};

struct JobSummary {
  JobId id;
  std::string name;
  std::string user;
  std::string state;
  std::uint64_t gpus = 0;
  std::string gpu_type;  ///< "" = any; several in the order of preference, "H100|A100".
  std::uint64_t attempt = 0;
  std::int64_t priority = 0;
  std::int64_t exit_code = 0;      ///< Exit code of `submit --wait` once the job has ended.
  std::string cause;               ///< The cause of the last transition.
  std::vector<std::string> hosts;  ///< Names of the hosts of the attempt in force.
  // Older nodes do not send the fields below. A wall clock is that of the leader which logged the
  // step; 0 = the step has not come, or its time is unknown.
  std::uint64_t submit_unix_ms = 0;
  std::uint64_t start_unix_ms = 0;  ///< Start of the last attempt that was started.
  std::uint64_t end_unix_ms = 0;
  std::uint64_t age_ms = 0;  ///< Since it was submitted, by those clocks.
  std::uint64_t run_ms = 0;  ///< Duration of the last attempt, in cluster time.
  std::uint64_t gpu_ms = 0;  ///< GPU time of all its attempts so far.
  bool is_doubtful = false;  ///< It counts as running, but some of its hosts do not answer.
  std::string reason{};      ///< For people: what it waits for, what is wrong, how it ended.
  std::uint64_t ranks = 0;   ///< Set for a job without GPUs.
  // The counts of an array; `tasks` is 0 for a job that is no array.
  std::uint64_t tasks = 0;
  std::uint64_t tasks_running = 0;  ///< Tasks that began and have not ended.
  std::uint64_t tasks_completed = 0;
  std::uint64_t tasks_failed = 0;
  std::uint64_t tasks_cancelled = 0;  ///< Includes tasks that were cancelled before they began.
  std::string queue{};                ///< The path of its queue; "" = it names no queue.
  std::string tier{};                 ///< scheduler::text_of(Tier); "" = it has no tier.
  WaitInfo wait{};
  bool operator==(const JobSummary&) const = default;
};

/// EditArgs: the time stays.
inline constexpr std::uint64_t kKeepsTime = UINT64_MAX;

/// Changes of a job; the rest stays.
struct EditArgs {
  JobId job;
  std::int64_t priority = 0;  ///< Not looked at if `keeps_priority`.
  // Older clients do not send the fields below.
  bool keeps_priority = false;
  std::string queue{};                            ///< "" = it stays in its queue.
  scheduler::Tier tier = scheduler::Tier::kNone;  ///< kNone = it keeps its tier.
  std::uint64_t time_limit_ms = 0;                ///< 0 = it keeps its limit.
  bool has_no_limit = false;  ///< The job loses its limit, whatever `time_limit_ms` says.
  bool adds_time = false;     ///< `time_limit_ms` is added to the limit in force.
  // From now on; 0 = the job has none any more.
  std::uint64_t begin_ms = kKeepsTime;
  std::uint64_t deadline_ms = kKeepsTime;
  bool operator==(const EditArgs&) const = default;
};

struct UsageQuery {
  std::string by = "user";  ///< "user", "type", "name"
  std::uint64_t since_ms =
      0;  ///< In cluster time, in whole days; 0 = all that is kept. Not by name.
  bool operator==(const UsageQuery&) const = default;
};

struct UsageRow {
  std::string key;             ///< The user, GPU type or name of jobs.
  std::uint64_t gpus_now = 0;  ///< GPUs held now.
  std::uint64_t jobs_now = 0;  ///< Jobs that hold them.
  std::uint64_t gpu_ms = 0;    ///< GPU time, including that of the GPUs held now.
  bool operator==(const UsageRow&) const = default;
};

struct UsageList {
  std::vector<UsageRow> rows;       ///< The row with most GPU time first.
  std::uint64_t days = 0;           ///< Days that the rows cover, today included; 0 = by name,
                                    ///< over all jobs that are still kept.
  std::uint64_t rows_left_out = 0;  ///< Rows with less GPU time than the listed ones.
  bool operator==(const UsageList&) const = default;
};

struct JobsQuery {
  JobId after;  ///< The page begins with the first job above; 0 = the first page.
  /// Asks for the tasks of this array that are jobs by now; 0 = all jobs, with one line per array.
  JobId array{};
  bool operator==(const JobsQuery&) const = default;
};

struct JobList {
  std::vector<JobSummary> jobs;  ///< Sorted by id.
  JobId next;                    ///< JobsQuery::after of the next page; 0 = this is the last page.
  /// GPUs that jobs hold which the rule jobs=team hides from this user.
  std::uint64_t gpus_of_others = 0;
  bool operator==(const JobList&) const = default;
};

struct RankInfo {
  std::uint64_t rank = 0;
  std::string state;  ///< "running", "exited 0", "killed by 9", "never ran", "lost", ...
  std::string detail;
  std::uint64_t output_bytes = 0;   ///< Kept of an ended rank; 0 from an older node.
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
  // The host as the answering node sees it; "" from an older node.
  std::string host_state;           ///< HostInfo::state
  std::string host_detail;          ///< HostInfo::detail
  std::uint64_t host_since_ms = 0;  ///< HostInfo::since_ms
  std::uint64_t cpus = 0;           ///< Thousandths of a CPU, given with its ranks.
  std::uint64_t memory_mb = 0;
  bool operator==(const MemberInfo&) const = default;
};

struct AttemptInfo {
  std::uint64_t number = 0;
  Token token;
  std::string state;  ///< "reserved", "started", "stopping", "ended"
  std::string cause;
  std::vector<MemberInfo> members;
  /// Number of members, the last ones, that did not fit into the answer. Members of old attempts
  /// are left out first.
  std::uint64_t members_left_out = 0;
  bool operator==(const AttemptInfo&) const = default;
};

struct TransitionInfo {
  LogIndex index;
  std::uint64_t cluster_ms = 0;  ///< Cluster time, which stands still without a leader.
  std::string state;
  std::string cause;
  std::uint64_t unix_ms = 0;  ///< The leader's wall clock; 0 from an older node.
  bool operator==(const TransitionInfo&) const = default;
};

/// A failed task of an array that is still kept.
struct TaskFailure {
  JobId task;
  std::int64_t exit_code = 0;
  std::string reason;
  std::vector<std::string> hosts;  ///< Names of the hosts of its last attempt.
  bool operator==(const TaskFailure&) const = default;
};

/// The counts of an array that JobSummary does not hold.
struct ArrayInfo {
  std::uint64_t waiting = 0;  ///< Tasks that are no jobs yet, without cancelled ones.
  std::uint64_t queued = 0;
  std::uint64_t suspended = 0;
  std::vector<TaskFailure> failures{};  ///< Sorted by number; at most kTaskFailuresListed.
  std::uint64_t failures_more = 0;      ///< Failures that are not listed, or not kept any more.
  bool operator==(const ArrayInfo&) const = default;
};
inline constexpr std::size_t kTaskFailuresListed = 20;

struct JobDetail {
  JobSummary summary;
  scheduler::JobSpec spec;
  std::vector<AttemptInfo> attempts;
  std::vector<TransitionInfo> transitions;
  OutputRule output_rule{};  ///< The rule of the answering host.
  ArrayInfo array{};         ///< Set for an array.
  /// The asker may not read the command, its directory and its environment: they are left out.
  bool is_private = false;
  bool operator==(const JobDetail&) const = default;
};

struct HolderInfo {
  JobId job;  ///< 0 = all jobs of other teams together, which the rule jobs=team hides.
  std::string name;
  std::uint64_t gpus = 0;
  std::vector<std::string> hosts;
  std::uint64_t cpus = 0;  ///< CPUs that it holds there, in thousandths.
  bool operator==(const HolderInfo&) const = default;
};

struct WithheldInfo {
  std::string reason;  ///< "masked", "quarantined", "unhealthy", "host suspect", ...
  std::uint64_t gpus = 0;
  bool operator==(const WithheldInfo&) const = default;
};

/// Hosts that can hold no part of the job now, for the same first reason.
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

/// The share of the job that one host would hold.
struct WhyPlace {
  std::string host;
  std::uint64_t units = 0;
  bool operator==(const WhyPlace&) const = default;
};

/// A queue, or a user of a queue, where the ways to two jobs part.
struct WhySide {
  std::string queue;       ///< "" = there is no such side.
  bool is_user = false;    ///< A user of that queue, who is not named.
  std::uint64_t held = 0;  ///< Thousandths of a GPU or of a CPU, in the pool.
  std::uint64_t weight = 0;
  std::uint64_t credit_permille = 0;
  bool operator==(const WhySide&) const = default;
};

/// Which job starts next in a pool of the job, and what decided.
struct WhyTurn {
  std::string pool;  ///< Folded GPU type, or "no gpu"; "" = nothing is said, as by older nodes.
  JobId first;       ///< The first job there; 0 = no job, or the asker does not see it.
  /// "next" (this job), "leaf", "guarantee", "tier", "share", "path", "max".
  std::string rule;
  std::string text;       ///< For people; "" if `ahead` says it all.
  std::string next_with;  ///< A change that makes this job the first one: "priority 4"; or "".
  WhySide own;            ///< With the rule "max" the queue that has no room.
  WhySide other;
  // Of the first job, if it does not fit; older nodes do not send them.
  std::uint64_t starts_in_ms = 0;  ///< At the latest; 0 = not known.
  std::uint64_t planned_hosts = 0;
  bool operator==(const WhyTurn&) const = default;
};

struct WhyInfo {
  JobId job;
  std::string state;
  std::string headline;      ///< The answer in one sentence.
  std::uint64_t wanted = 0;  ///< GPUs asked for.
  std::uint64_t free = 0;    ///< Usable and free now for this job.
  std::uint64_t lacking = 0;
  std::vector<JobId> ahead;         ///< Jobs that go first.
  std::vector<HolderInfo> holders;  ///< Jobs with GPUs that it could use; most GPUs first.
  std::vector<JobId> would_start;   ///< The smallest set of jobs whose end starts it now.
  std::uint64_t fits_now = 0;       ///< The largest size of it that would start now.
  // Older nodes do not send the fields below. A node that does sets the two above only if the job
  // is first in the queue.
  std::uint64_t ahead_count = 0;         ///< Jobs that go first; `ahead` lists the first of them.
  std::vector<std::string> left_out{};   ///< Hosts that refused it or were late.
  std::vector<WithheldInfo> withheld{};  ///< GPUs of its type that no end of a job frees for it.
  bool awaits_hosts = false;             ///< After a recovery the queue waits for hosts.
  std::uint64_t holders_more = 0;        ///< Holders not listed: they have no more GPUs.
  StormInfo storm{};                     ///< The answering node's view of silent hosts.
  bool has_gpus = true;                  ///< False: the numbers are ranks.
  std::uint64_t open_hosts = 0;          ///< Hosts that can hold a part of it now.
  std::vector<WhyFilter> filters{};      ///< The other hosts; the most frequent reason first.
  std::vector<WhyLevel> largest{};       ///< The sizes that fit now; the closest level first.
  std::vector<std::string> would_fit{};  ///< Changes of the request with which it fits now.
  // Set by a dry run of a job that would start now.
  std::vector<WhyPlace> places{};  ///< The first hosts it would get, in the order of ranks.
  std::uint64_t places_more = 0;   ///< Further hosts.
  std::string queue{};             ///< As JobSummary::queue.
  std::string tier{};              ///< As JobSummary::tier.
  /// The queue whose max keeps the job out: its own, or one above it; "" = no queue does.
  std::string full_queue{};
  std::string full_text{};  ///< That max in words: "64 H100", "16 GPUs"; "" without such a queue.
  /// Jobs of other queues and users that wait for a pool of it: by their shares they may go first.
  std::uint64_t others_wait = 0;
  WhyTurn turn{};
  WaitInfo wait{};  ///< As JobSummary::wait.
  bool operator==(const WhyInfo&) const = default;
};

}  // namespace muster::agent
