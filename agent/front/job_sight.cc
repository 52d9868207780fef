#include "agent/front/job_sight.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "scheduler/access/authorize.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/why/conditions.h"

namespace muster::agent {
namespace {

using scheduler::Right;

/// The number behind `key` in the text of an event; nullopt if it names no job so.
std::optional<JobId> job_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(at + key.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() ? std::optional(JobId(number)) : std::nullopt;
}

}  // namespace

JobSight::JobSight(const scheduler::State& state, const scheduler::Directory& directory,
                   std::string user)
    : state_(state), directory_(directory), user_(std::move(user)) {
  // A job of nobody, in no team that there is: only a user that sees all jobs may see it.
  const scheduler::AccessObject foreign{{}, {}, std::string(kOtherTeams)};
  is_limited_ = directory_.is_founded() && directory_.rules().hides_other_teams &&
                !why_denied(directory_, user_, Right::kMaySeeJobs, foreign).empty();
}

bool JobSight::sees(const scheduler::JobSpec& spec) const {
  return !is_limited_ ||
         why_denied(directory_, user_, Right::kMaySeeJobs, {{}, spec.user, spec.team}).empty();
}

bool JobSight::sees(JobId id) const {
  if (!is_limited_) {
    return true;
  }
  if (const scheduler::Job* job = state_.job(id)) {
    return sees(job->spec);
  }
  const scheduler::TaskArray* array = state_.array(array_of(id));
  return array != nullptr && sees(array->spec);
}

bool JobSight::sees_user(const std::string& user) const {
  if (!is_limited_ || user == user_) {
    return true;
  }
  const scheduler::User other = directory_.user(user);
  return std::any_of(other.teams.begin(), other.teams.end(), [this](const std::string& team) {
    return directory_.is_in_team(user_, team);
  });
}

std::uint64_t JobSight::gpus_of_others() const {
  std::uint64_t gpus = 0;
  for (const Token& token : is_limited_ ? state_.live() : std::set<Token>()) {
    const scheduler::Attempt* attempt = state_.attempt(token);
    if (attempt == nullptr || sees(attempt->job)) {
      continue;
    }
    for (const scheduler::MemberRecord& record : attempt->members) {
      gpus += record.end == scheduler::MemberEnd::kNone ? record.member.gpus.size() : 0;
    }
  }
  return gpus;
}

Status JobSight::check_after(const scheduler::Eligibility& eligibility) const {
  std::size_t number = 0;
  for (const scheduler::Dependency& item : eligibility.after) {
    ++number;
    if (sees(item.job)) {
      continue;
    }
    if (state_.job(item.job) == nullptr && state_.array(array_of(item.job)) == nullptr) {
      return ok();  // The log says so, unless it knows that submit already.
    }
    return scheduler::unknown_error(number, item);
  }
  return ok();
}

const scheduler::JobWait* JobSight::wait_of(JobId id) const {
  if (const scheduler::Job* job = state_.job(id)) {
    return &job->life.wait;
  }
  const scheduler::TaskArray* array = state_.array(id);
  return array == nullptr ? nullptr : &array->wait;
}

std::string JobSight::seen_text(std::string text, const scheduler::JobWait& wait) const {
  return without_standings(std::move(text), wait, [this](JobId job) { return sees(job); });
}

void JobSight::hide_standings(WaitInfo& info, const scheduler::JobWait& wait) const {
  for (std::size_t i = 0; i < info.after.size(); ++i) {
    if (i >= wait.after.size() || !sees(wait.after[i].asked.job)) {
      info.after[i].state.clear();
    }
  }
}

void JobSight::hide_standings(JobSummary& summary, const scheduler::JobWait& wait) const {
  hide_standings(summary.wait, wait);
  summary.reason = seen_text(std::move(summary.reason), wait);
  summary.cause = seen_text(std::move(summary.cause), wait);
}

JobList JobSight::seen(JobList list) const {
  if (!is_limited_) {
    return list;
  }
  std::erase_if(list.jobs, [this](const JobSummary& job) { return !sees(job.id); });
  for (JobSummary& job : list.jobs) {
    if (const scheduler::JobWait* wait = wait_of(job.id)) {
      hide_standings(job, *wait);
    }
  }
  list.gpus_of_others = gpus_of_others();
  return list;
}

JobDetail JobSight::seen(JobDetail detail) const {
  const scheduler::JobWait* wait = is_limited_ ? wait_of(detail.summary.id) : nullptr;
  if (wait != nullptr) {
    hide_standings(detail.summary, *wait);
    for (TransitionInfo& step : detail.transitions) {
      step.cause = seen_text(std::move(step.cause), *wait);
    }
  }
  return detail;
}

HostUse JobSight::seen(HostUse use) const {
  std::erase_if(use.jobs, [this](JobId job) { return !sees(job); });
  return use;
}

HostUseList JobSight::seen(HostUseList list) const {
  for (HostUse& use : list.hosts) {
    use = seen(std::move(use));
  }
  return list;
}

HostDetail JobSight::seen(HostDetail detail) const {
  detail.use = seen(std::move(detail.use));
  for (GpuInfo& gpu : detail.gpus) {
    if (gpu.job != JobId() && !sees(gpu.job)) {
      gpu.job = JobId();
      gpu.token = Token();
      gpu.rank = 0;
      gpu.job_name.clear();
      gpu.user = kOtherTeams;
    }
  }
  return detail;
}

GpuList JobSight::seen(GpuList list, JobId of_job) const {
  if (of_job != JobId()) {
    std::erase_if(list.gpus, [this](const ListedGpu& gpu) { return !sees(gpu.job); });
  }
  for (ListedGpu& gpu : list.gpus) {
    if (gpu.job != JobId() && !sees(gpu.job)) {
      gpu.job = JobId();
      gpu.token = Token();
      gpu.user = kOtherTeams;
    }
  }
  return list;
}

WhyInfo JobSight::seen(WhyInfo why) const {
  if (!is_limited_) {
    return why;
  }
  if (const scheduler::JobWait* wait = wait_of(why.job)) {
    hide_standings(why.wait, *wait);
    why.headline = seen_text(std::move(why.headline), *wait);
  }
  std::erase_if(why.ahead, [this](JobId job) { return !sees(job); });
  why.turn.first = sees(why.turn.first) ? why.turn.first : JobId();
  // Half of a set of jobs whose end would start it says what is not so.
  if (!std::all_of(why.would_start.begin(), why.would_start.end(),
                   [this](JobId job) { return sees(job); })) {
    why.would_start.clear();
  }
  HolderInfo others;
  others.name = kOtherTeams;
  std::erase_if(why.holders, [&](const HolderInfo& holder) {
    const bool is_hidden = !sees(holder.job);
    others.gpus += is_hidden ? holder.gpus : 0;
    others.cpus += is_hidden ? holder.cpus : 0;
    return is_hidden;
  });
  if (others.gpus != 0 || others.cpus != 0) {
    why.holders.push_back(std::move(others));
  }
  return why;
}

bool JobSight::sees_event(const std::string& text) const {
  const auto job = job_behind(text, " job=");
  return !is_limited_ || !job.has_value() || sees(*job);
}

std::string JobSight::seen_event(std::string text) const {
  const auto job = is_limited_ ? job_behind(text, " job=") : std::nullopt;
  const scheduler::JobWait* wait = job.has_value() ? wait_of(*job) : nullptr;
  return wait == nullptr ? text : seen_text(std::move(text), *wait);
}

}  // namespace muster::agent
