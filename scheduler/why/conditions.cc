#include "scheduler/why/conditions.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace muster::scheduler {
namespace {

bool has_open_item(const JobWait& wait) {
  return std::any_of(wait.after.begin(), wait.after.end(),
                     [&](const JobWait::Item& each) { return wait.is_open(each); });
}

/// Behind " and " at `begin`: where "job 7 failed", "job 7 was cancelled" or "a task of it failed"
/// ends; `begin` if it says something else.
std::size_t end_of_ending(std::string_view text, std::size_t begin, JobId job) {
  for (const std::string& subject : {"job " + text_of(job), std::string("a task of it")}) {
    if (!text.substr(begin).starts_with(subject + " ")) {
      continue;
    }
    std::size_t verb = begin + subject.size() + 1;
    constexpr std::string_view kWas = "was ";
    verb += text.substr(verb).starts_with(kWas) ? kWas.size() : 0;
    return std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", verb), text.size());
  }
  return begin;
}

std::string without_standing(std::string text, const Dependency& item) {
  constexpr std::string_view kAnd = ", and ";
  const std::string condition = "job " + condition_text(item);
  for (std::size_t at = text.find(condition); at != std::string::npos;
       at = text.find(condition, at)) {
    at += condition.size();
    const std::string_view rest = std::string_view(text).substr(at);
    if (rest.starts_with(" (")) {
      text.erase(at, std::min(rest.find(')'), rest.size() - 1) + 1);
    } else if (rest.starts_with(kAnd)) {
      const std::size_t begin = at + kAnd.size();
      const std::size_t end = end_of_ending(text, begin, item.job);
      text.replace(begin, end - begin, end == begin ? "" : "that can never be");
    }
  }
  return text;
}

}  // namespace

std::string left_text(Duration left) {
  std::int64_t seconds =
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(left).count());
  constexpr std::array<std::pair<std::int64_t, const char*>, 4> kUnits = {
      {{86'400, "d"}, {3'600, "h"}, {60, "m"}, {1, "s"}}};
  std::string text;
  int shown = 0;
  for (const auto& [length, unit] : kUnits) {
    if (seconds >= length && shown < 2) {
      text += (text.empty() ? "" : " ") + std::to_string(seconds / length) + unit;
      seconds %= length;
      ++shown;
    } else if (shown == 1) {
      break;
    }
  }
  return text;
}

std::string conditions_brief(const State& state, const JobWait& wait) {
  std::string jobs;
  for (const JobWait::Item& each : wait.after) {
    if (wait.is_open(each)) {
      jobs += (jobs.empty() ? "after " : ", ") + text_of(each.asked.job);
    }
  }
  if (!jobs.empty() || wait.begin_at == Duration::zero()) {
    return jobs;
  }
  return "begins in " + left_text(wait.begin_at - state.cluster_time());
}

std::string conditions_text(const State& state, const JobWait& wait) {
  if (!wait.is_open()) {
    return "";
  }
  std::string text;
  for (const JobWait::Item& each : wait.after) {
    if (wait.is_open(each)) {
      text += (text.empty() ? "it waits until job " : " and job ") + condition_text(each.asked) +
              " (" + state.standing(each.asked.job) + ")";
    }
  }
  if (wait.begin_at != Duration::zero()) {
    text += (has_open_item(wait) ? "; " : "") + std::string("it begins in ") +
            left_text(wait.begin_at - state.cluster_time());
  }
  if (wait.deadline_at != Duration::zero()) {
    text +=
        "; it fails unless it has started in " + left_text(wait.deadline_at - state.cluster_time());
  }
  return text;
}

std::string without_standings(std::string text, const JobWait& wait,
                              const std::function<bool(JobId)>& sees) {
  for (const JobWait::Item& each : wait.after) {
    if (!sees(each.asked.job)) {
      text = without_standing(std::move(text), each.asked);
    }
  }
  return text;
}

}  // namespace muster::scheduler
