#include "tests/sim/single_copy.h"

#include <algorithm>
#include <set>

namespace muster::sim {
namespace {

using scheduler::JobEvent;
using scheduler::JobOrder;
using scheduler::JobRule;
using scheduler::JobState;

constexpr JobEvent kByItself[] = {
    JobEvent::kDecided,      JobEvent::kStarted,      JobEvent::kStopLogged,  JobEvent::kCompleted,
    JobEvent::kEndCancelled, JobEvent::kEndSuspended, JobEvent::kQueuedAgain, JobEvent::kFailed,
};

/// True if the order in force lets an attempt end by this event. Completion beats every order.
bool suits(JobOrder order, JobEvent event) {
  switch (event) {
    case JobEvent::kEndCancelled:
      return order == JobOrder::kCancel;
    case JobEvent::kEndSuspended:
      return order == JobOrder::kSuspend;
    case JobEvent::kQueuedAgain:
      return order == JobOrder::kNone || order == JobOrder::kRequeue;
    case JobEvent::kFailed:
      return order == JobOrder::kNone;
    case JobEvent::kCancel:
    case JobEvent::kSuspend:
    case JobEvent::kResume:
    case JobEvent::kRequeue:
    case JobEvent::kSubmitted:
    case JobEvent::kDecided:
    case JobEvent::kStarted:
    case JobEvent::kStopLogged:
    case JobEvent::kCompleted:
      return true;
  }
  return true;
}

/// An order lasts as long as the attempt it is about.
bool has_attempt(JobState state) {
  return state == JobState::kScheduled || state == JobState::kRunning ||
         state == JobState::kStopping;
}

/// The point behind a move; nullopt if the job's life is known and went elsewhere.
std::optional<LifePoint> moved(LifePoint point, JobState to, const JobTold& told) {
  if (point.moves < told.life.size() && told.life[point.moves] != to) {
    return std::nullopt;
  }
  const auto beyond = static_cast<std::uint32_t>(told.life.size()) + 1;
  point.moves = std::min(point.moves + 1, beyond);
  point.attempts =
      std::min(point.attempts + (to == JobState::kScheduled ? 1U : 0U), told.attempts + 1);
  point.state = to;
  point.order = has_attempt(to) ? point.order : JobOrder::kNone;
  return point;
}

/// The point behind a word; nullopt if the word cannot have that answer here.
std::optional<LifePoint> heard(LifePoint point, JobEvent word, Answered answered,
                               const JobTold& told) {
  const auto [rule, to] = scheduler::job_step(point.state, point.order, word);
  const bool is_refused = rule == JobRule::kRefused;
  if ((answered == Answered::kDone && is_refused) ||
      (answered == Answered::kConflict && !is_refused)) {
    return std::nullopt;
  }
  if (rule == JobRule::kMove) {
    return moved(point, to, told);
  }
  if (rule == JobRule::kOrder) {
    point.order = word == JobEvent::kCancel    ? JobOrder::kCancel
                  : word == JobEvent::kSuspend ? JobOrder::kSuspend
                                               : JobOrder::kRequeue;
  } else if (rule == JobRule::kWithdraw && point.order == JobOrder::kSuspend) {
    point.order = JobOrder::kNone;
  }
  return point;
}

bool is_life(const std::vector<JobState>& life) {
  if (life.front() != JobState::kQueued) {
    return false;
  }
  for (std::size_t i = 1; i < life.size(); ++i) {
    if (!scheduler::is_job_edge(life[i - 1], life[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Told> gather(const std::vector<Operation>& history, std::string& why) {
  Told told;
  for (const Operation& operation : history) {
    for (const Sighting& seen : operation.seen) {
      JobTold& job = told[seen.job];
      job.attempts = std::max(job.attempts, seen.attempt);
      if (seen.life.empty()) {
        continue;
      }
      const auto& shorter = seen.life.size() < job.life.size() ? seen.life : job.life;
      const auto& longer = seen.life.size() < job.life.size() ? job.life : seen.life;
      const bool goes_on = std::equal(shorter.begin(), shorter.end(), longer.begin());
      if (!is_life(seen.life) || seen.life.back() != seen.state || !goes_on) {
        why = "job " + std::to_string(seen.job.value()) + " has " +
              (goes_on ? "a life that no job can have" : "two different lives");
        return std::nullopt;
      }
      job.life = std::vector<JobState>(longer);
    }
  }
  return told;
}

const JobTold& SingleCopy::told(JobId job) const {
  static const JobTold kNothing;
  const auto found = told_->find(job);
  return found == told_->end() ? kNothing : found->second;
}

SingleCopy::Points SingleCopy::closure(JobId job) const {
  const JobTold& known = told(job);
  Points open = jobs_[job.value() - 1].points;
  std::set<LifePoint> reached(open.begin(), open.end());
  while (!open.empty()) {
    const LifePoint from = open.back();
    open.pop_back();
    for (const JobEvent event : kByItself) {
      const auto [rule, to] = scheduler::job_step(from.state, from.order, event);
      if (rule != JobRule::kMove || !suits(from.order, event)) {
        continue;
      }
      const std::optional<LifePoint> next = moved(from, to, known);
      if (next.has_value() && reached.insert(*next).second) {
        open.push_back(*next);
      }
    }
  }
  return {reached.begin(), reached.end()};
}

bool SingleCopy::submit(const SubmitAsked& asked, const Operation& operation) {
  const auto known = std::find_if(jobs_.begin(), jobs_.end(),
                                  [&](const JobCopy& job) { return job.name == asked.key; });
  const auto number = static_cast<std::uint64_t>(known - jobs_.begin()) + 1;
  if (known == jobs_.end()) {
    jobs_.push_back({asked.key, {LifePoint()}});
  }
  return operation.answered == Answered::kNothing || operation.job == JobId(number);
}

bool SingleCopy::word(const WordAsked& asked, Answered answered) {
  if (!knows(asked.job)) {
    return answered == Answered::kNothing || answered == Answered::kNotFound;
  }
  std::set<LifePoint> after;
  for (const LifePoint& point : closure(asked.job)) {
    if (const auto next = heard(point, asked.word, answered, told(asked.job))) {
      after.insert(*next);
    }
  }
  jobs_[asked.job.value() - 1].points.assign(after.begin(), after.end());
  return !after.empty() && answered != Answered::kNotFound;
}

bool SingleCopy::see(const Sighting& sighting) {
  if (!knows(sighting.job) || jobs_[sighting.job.value() - 1].name != sighting.name) {
    return false;
  }
  Points points = closure(sighting.job);
  std::erase_if(points, [&](const LifePoint& point) {
    return point.state != sighting.state || point.attempts != sighting.attempt ||
           (!sighting.life.empty() && point.moves != sighting.life.size());
  });
  jobs_[sighting.job.value() - 1].points = std::move(points);
  return !jobs_[sighting.job.value() - 1].points.empty();
}

bool SingleCopy::apply(const Operation& operation) {
  if (const auto* asked = std::get_if<SubmitAsked>(&operation.asked)) {
    return submit(*asked, operation);
  }
  if (const auto* asked = std::get_if<WordAsked>(&operation.asked)) {
    return word(*asked, operation.answered);
  }
  const auto* shown = std::get_if<ShowAsked>(&operation.asked);
  if (operation.answered == Answered::kNotFound) {
    return shown != nullptr && !knows(shown->job);
  }
  if (operation.seen.size() != (shown != nullptr ? 1 : jobs_.size())) {
    return false;
  }
  for (std::size_t i = 0; i < operation.seen.size(); ++i) {
    const JobId wanted = shown != nullptr ? shown->job : JobId(i + 1);
    if (operation.seen[i].job != wanted || !see(operation.seen[i])) {
      return false;
    }
  }
  return true;
}

std::string SingleCopy::key() const {
  std::string key;
  const auto put = [&key](std::uint32_t value) {
    key.push_back(static_cast<char>(value & 0xff));
    key.push_back(static_cast<char>(value >> 8 & 0xff));
  };
  for (const JobCopy& job : jobs_) {
    key += job.name;
    put(static_cast<std::uint32_t>(job.points.size()));
    for (const LifePoint& point : job.points) {
      put(static_cast<std::uint32_t>(point.state) | static_cast<std::uint32_t>(point.order) << 4);
      put(point.attempts);
      put(point.moves);
    }
    key.push_back('\n');
  }
  return key;
}

}  // namespace muster::sim
