#include "scheduler/state/job_life.h"

#include "scheduler/protocol/entry.h"

namespace muster::scheduler {
namespace {

constexpr JobRule kMove = JobRule::kMove;
constexpr JobRule kNote = JobRule::kOrder;
constexpr JobRule kBack = JobRule::kWithdraw;
constexpr JobRule kDone = JobRule::kDone;
constexpr JobRule kNo = JobRule::kRefused;
constexpr JobRule kXxx = JobRule::kNever;

/// Where each event leads when it moves a job: the heads of the table's columns.
constexpr JobState kTargets[kJobEventCount] = {
    // cancel, suspend, resume, requeue
    JobState::kCancelled, JobState::kSuspended, JobState::kQueued, JobState::kQueued,
    // submitted, decided, started, stop logged
    JobState::kQueued, JobState::kScheduled, JobState::kRunning, JobState::kStopping,
    // its attempt ended: completed, cancelled, suspended, queued again, failed
    JobState::kCompleted, JobState::kCancelled, JobState::kSuspended, JobState::kQueued,
    JobState::kFailed};

// clang-format off
constexpr JobRule kTable[kJobStateCount][kJobEventCount] = {
    //  cancel susp  resume requeue submit decide start stop   compl cancel susp  queue fail
    // queued: it fails if its deadline passes
    {kMove, kMove, kDone, kDone, kMove, kMove, kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kMove},
    // scheduled: its attempt is RESERVED, which can only start or be aborted
    {kNote, kNote, kBack, kNote, kXxx,  kXxx,  kMove, kXxx,  kXxx,  kMove, kMove, kMove, kXxx},
    // running: without a logged Stop an attempt ends by completion alone
    {kNote, kNote, kBack, kNote, kXxx,  kXxx,  kXxx,  kMove, kMove, kXxx,  kXxx,  kXxx,  kXxx},
    // stopping, for whatever cause: an order given meanwhile holds all the same
    {kNote, kNote, kBack, kNote, kXxx,  kXxx,  kXxx,  kXxx,  kMove, kMove, kMove, kMove, kMove},
    // suspended: it has no attempt, and a requeue is a resume
    {kMove, kDone, kMove, kMove, kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kMove},
    // completed
    {kNo,   kNo,   kNo,   kNo,   kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx},
    // failed
    {kNo,   kNo,   kNo,   kNo,   kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx},
    // cancelled: a repeated cancel finds what it wants
    {kDone, kNo,   kNo,   kNo,   kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx,  kXxx},
};
// clang-format on

JobRule rule_of(JobState from, JobEvent event) {
  return kTable[static_cast<std::size_t>(from)][static_cast<std::size_t>(event)];
}

bool is_word(JobEvent event) {
  return event <= JobEvent::kRequeue;
}

}  // namespace

JobStep job_step(JobState from, JobOrder order, JobEvent event) {
  // A cancel was answered with yes: nothing else is promised beside it.
  const bool is_late = order == JobOrder::kCancel && is_word(event) && event != JobEvent::kCancel;
  return {is_late ? JobRule::kRefused : rule_of(from, event),
          kTargets[static_cast<std::size_t>(event)]};
}

bool is_job_edge(JobState from, JobState to) {
  for (std::size_t event = 0; event < kJobEventCount; ++event) {
    if (kTargets[event] == to && rule_of(from, static_cast<JobEvent>(event)) == JobRule::kMove) {
      return true;
    }
  }
  return false;
}

std::string refusal_text(JobId job, JobState from, JobOrder order, JobEvent event) {
  const std::string name = "job " + text_of(job);
  const bool has_ended = from >= JobState::kCompleted;
  if (order == JobOrder::kCancel && !has_ended) {
    return name + " is being cancelled: no " + std::string(text_of(event)) + " any more";
  }
  const bool was_cancelled = from == JobState::kCancelled;
  const std::string text =
      name + (was_cancelled ? " was " : " has ") + std::string(text_of(from)) + ": ";
  return text + (event == JobEvent::kRequeue
                     ? "a job that has ended never runs again; submit it again with `muster submit`"
                     : "nothing to " + std::string(text_of(event)));
}

void JobStepCounts::merge(const JobStepCounts& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
}

std::vector<std::string> JobStepCounts::unreached() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto from = static_cast<JobState>(i / kJobEventCount);
    const auto event = static_cast<JobEvent>(i % kJobEventCount);
    if (counts_[i] == 0 && rule_of(from, event) != JobRule::kNever) {
      names.push_back(std::string(text_of(from)) + "/" + std::string(text_of(event)));
    }
  }
  return names;
}

std::string_view text_of(JobEvent event) {
  switch (event) {
    case JobEvent::kCancel:
      return "cancel";
    case JobEvent::kSuspend:
      return "suspend";
    case JobEvent::kResume:
      return "resume";
    case JobEvent::kRequeue:
      return "requeue";
    case JobEvent::kSubmitted:
      return "submitted";
    case JobEvent::kDecided:
      return "decided";
    case JobEvent::kStarted:
      return "started";
    case JobEvent::kStopLogged:
      return "stop_logged";
    case JobEvent::kCompleted:
      return "completed";
    case JobEvent::kEndCancelled:
      return "end_cancelled";
    case JobEvent::kEndSuspended:
      return "end_suspended";
    case JobEvent::kQueuedAgain:
      return "queued_again";
    case JobEvent::kFailed:
      return "failed";
  }
  return "";
}

std::string_view text_of(JobRule rule) {
  switch (rule) {
    case JobRule::kMove:
      return "move";
    case JobRule::kOrder:
      return "order";
    case JobRule::kWithdraw:
      return "withdraw";
    case JobRule::kDone:
      return "done";
    case JobRule::kRefused:
      return "refused";
    case JobRule::kNever:
      return "never";
  }
  return "";
}

}  // namespace muster::scheduler
