#include "tests/sim/scenario/views.h"

#include <charconv>
#include <optional>

namespace muster::sim::scenario {
namespace {

std::optional<std::uint32_t> host_of(std::string_view name, std::size_t hosts) {
  std::uint32_t number = 0;
  if (!name.starts_with('h')) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
  const bool is_host = error == std::errc() && end == name.data() + name.size() && number < hosts;
  return is_host ? std::optional(number) : std::nullopt;
}

const std::map<std::string, Seen>& seen_by_event() {
  static const std::map<std::string, Seen> kEvents = {
      {"member_joined", Seen::kAlive},     {"member_restarted", Seen::kAlive},
      {"alive_again", Seen::kAlive},       {"suspect", Seen::kSuspect},
      {"unreachable", Seen::kUnreachable}, {"member_left", Seen::kLeft}};
  return kEvents;
}

const std::map<std::string, std::string>& state_by_event() {
  static const std::map<std::string, std::string> kEvents = {
      {"job_queued", "queued"},     {"job_scheduled", "scheduled"}, {"job_started", "running"},
      {"job_stopping", "stopping"}, {"job_suspended", "suspended"}, {"job_ended", ""}};
  return kEvents;
}

}  // namespace

Views::Views(std::uint32_t hosts)
    : up_(hosts, false),
      seen_(hosts, std::vector<Seen>(hosts, Seen::kUnknown)),
      modes_(hosts, "normal") {}

bool Views::is_wrong(std::uint32_t by, std::uint32_t about) const {
  return by != about && up_[by] && up_[about] && seen_[by][about] != Seen::kAlive;
}

std::uint64_t Views::wrong_of(std::uint32_t host) const {
  std::uint64_t wrong = 0;
  for (std::uint32_t other = 0; other < up_.size(); ++other) {
    wrong += (is_wrong(host, other) ? 1U : 0U) + (is_wrong(other, host) ? 1U : 0U);
  }
  return wrong;
}

void Views::set(std::uint32_t by, std::uint32_t about, Seen seen) {
  wrong_ -= is_wrong(by, about) ? 1U : 0U;
  seen_[by][about] = seen;
  wrong_ += is_wrong(by, about) ? 1U : 0U;
}

void Views::set_up(std::uint32_t host, bool up) {
  wrong_ -= wrong_of(host);
  up_[host] = up;
  if (!up) {
    // Its next life begins with what is on its disk, and tells of each host there.
    seen_[host].assign(seen_.size(), Seen::kUnknown);
    modes_[host] = "normal";
  }
  wrong_ += wrong_of(host);
}

void Views::follow(const Told& told) {
  const auto about = host_of(told.field("host"), up_.size());
  if (told.host == Told::kDriver) {
    if (told.name == "whole") {
      seen_.assign(up_.size(), std::vector<Seen>(up_.size(), Seen::kAlive));
      wrong_ = 0;
    } else if (about.has_value() && (told.name == "up" || told.name == "down")) {
      set_up(*about, told.name == "up");
    }
    return;
  }
  const auto by = static_cast<std::uint32_t>(told.host);
  if (told.name == "storm_mode") {
    modes_[by] = told.field("mode");
  } else if (const auto seen = seen_by_event().find(told.name);
             seen != seen_by_event().end() && about.has_value()) {
    set(by, *about, seen->second);
  }
  follow_job(told);
}

void Views::follow_job(const Told& told) {
  const auto state = state_by_event().find(told.name);
  if (state == state_by_event().end()) {
    return;
  }
  const std::string_view text = told.field("index");
  std::uint64_t index = 0;
  std::from_chars(text.data(), text.data() + text.size(), index);
  JobSeen& job = jobs_[std::string(told.field("job"))];
  if (index >= job.index) {
    job.index = index;
    job.state = state->second.empty() ? std::string(told.field("state")) : state->second;
  }
  if (told.name == "job_started") {
    job.starts.insert(index);
  }
}

const std::string& Views::job(const std::string& name) const {
  static const std::string kNone;
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? kNone : found->second.state;
}

std::size_t Views::starts(const std::string& name) const {
  const auto found = jobs_.find(name);
  return found == jobs_.end() ? 0 : found->second.starts.size();
}

}  // namespace muster::sim::scenario
