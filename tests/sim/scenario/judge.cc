#include "tests/sim/scenario/judge.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tests/sim/scenario/parser.h"
#include "tests/sim/scenario/sets.h"
#include "tests/sim/scenario/views.h"

namespace muster::sim::scenario {
namespace {

/// Of a mode that is told of.
constexpr Duration kModeLasts = std::chrono::seconds(1);

std::string text_of(Duration time) {
  return std::to_string(to_ms(time) / 1000) + "." +
         std::to_string(1000 + to_ms(time) % 1000).substr(1) + " s";
}

/// The moment of an act; nullopt if it was not played.
std::optional<Duration> moment_of(const Mark& mark, const Scenario& scenario,
                                  const Timeline& timeline) {
  if (!mark.verb.has_value()) {
    return Duration(0);
  }
  std::uint32_t nth = 0;
  for (const Act& act : scenario.acts) {
    const bool is_meant = act.verb == mark.verb && (mark.name.empty() || act.name == mark.name);
    if (!is_meant || ++nth < mark.nth) {
      continue;
    }
    const std::string line = std::to_string(act.line);
    for (const Told& told : timeline) {
      if (told.host == Told::kDriver && told.name == "act" && told.field("line") == line) {
        return told.at;
      }
    }
    return std::nullopt;
  }
  return std::nullopt;
}

class Matcher {
 public:
  Matcher(const EventMatch& match, const Scenario& scenario) : match_(match) {
    for (const std::uint32_t host : resolve(match.about, scenario)) {
      about_.insert(host_name(host));
    }
    for (const std::uint32_t host : resolve(match.on, scenario)) {
      on_.insert(static_cast<std::int32_t>(host));
    }
  }
  bool matches(const Told& told) const {
    if (told.host == Told::kDriver || told.name != match_.event ||
        (!on_.empty() && !on_.contains(told.host)) ||
        (!about_.empty() && !about_.contains(std::string(told.field("host")))) ||
        (!match_.job.empty() && told.field("job") != match_.job)) {
      return false;
    }
    return std::all_of(match_.fields.begin(), match_.fields.end(),
                       [&](const auto& field) { return told.field(field.first) == field.second; });
  }
  const std::set<std::string>& about() const { return about_; }

 private:
  const EventMatch& match_;
  std::set<std::string> about_;
  std::set<std::int32_t> on_;
};

bool holds(const Condition& condition, const Views& views, const Scenario& scenario) {
  const auto everyone_up = [&](const HostSet& set, const auto& is_so) {
    bool is_any = false;
    for (const std::uint32_t host : resolve(set, scenario)) {
      if (views.is_up(host)) {
        is_any = true;
        if (!is_so(host)) {
          return false;
        }
      }
    }
    return is_any;
  };
  switch (condition.kind) {
    case Condition::Kind::kAllAlive:
      return views.are_all_alive();
    case Condition::Kind::kMode:
      return everyone_up(condition.on,
                         [&](std::uint32_t host) { return views.mode(host) == condition.word; });
    case Condition::Kind::kUnreachable: {
      const std::vector<std::uint32_t> lost = resolve(condition.who, scenario);
      return everyone_up(condition.on, [&](std::uint32_t host) {
        return std::all_of(lost.begin(), lost.end(), [&](std::uint32_t each) {
          return each == host || views.seen(host, each) == Seen::kUnreachable;
        });
      });
    }
    case Condition::Kind::kJob:
      return condition.word == "again" ? views.starts(condition.job) > 1
                                       : views.job(condition.job) == condition.word;
  }
  return false;
}

class Judge {
 public:
  Judge(const Scenario& scenario, const Timeline& timeline)
      : scenario_(scenario), timeline_(timeline) {}

  Judgement run() {
    for (const Expectation& each : scenario_.expectations) {
      const auto from = moment_of(each.from, scenario_, timeline_);
      if (!from.has_value()) {
        say(each, "its act was never played");
        continue;
      }
      switch (each.kind) {
        case Expectation::Kind::kWithin:
          within(each, *from);
          break;
        case Expectation::Kind::kNever:
          never(each, *from);
          break;
        case Expectation::Kind::kFigure:
          figure(each, *from);
          break;
      }
    }
    outcome();
    return std::move(made_);
  }

 private:
  void say(const Expectation& each, const std::string& what) {
    made_.broken.push_back({each.line, each.text + ": " + what});
  }

  void within(const Expectation& each, Duration from) {
    const Matcher matcher(each.match, scenario_);
    std::set<std::string> missing = matcher.about();
    bool is_seen = false;
    for (const Told& told : timeline_) {
      if (told.at >= from && told.at <= from + each.limit && matcher.matches(told)) {
        is_seen = true;
        missing.erase(std::string(told.field("host")));
      }
    }
    if (!missing.empty()) {
      say(each,
          "not about " + *missing.begin() +
              (missing.size() == 1 ? "" : " and " + std::to_string(missing.size() - 1) + " more"));
    } else if (!is_seen) {
      say(each, "no such event");
    }
  }

  void never(const Expectation& each, Duration from) {
    const Matcher matcher(each.match, scenario_);
    for (const Told& told : timeline_) {
      if (told.at >= from && matcher.matches(told)) {
        std::string fields;
        for (const auto& [key, value] : told.fields) {
          fields += " " + key + "=" + value;
        }
        say(each, "at " + text_of(told.at) + " " +
                      host_name(static_cast<std::uint32_t>(told.host)) + " said " + told.name +
                      fields);
        return;
      }
    }
  }

  void figure(const Expectation& each, Duration from) {
    Views views(scenario_.hosts);
    std::size_t next = 0;
    for (; next < timeline_.size() && timeline_[next].at <= from; ++next) {
      views.follow(timeline_[next]);
    }
    Duration at = from;
    while (!holds(each.until, views, scenario_)) {
      if (next == timeline_.size()) {
        say(each, "never so");
        return;
      }
      at = timeline_[next].at;
      views.follow(timeline_[next++]);
    }
    made_.figures.push_back({each.figure, static_cast<double>((at - from).count()) / 1e9});
    if (each.max.has_value() && at - from > *each.max) {
      say(each, "it took " + text_of(at - from));
    }
  }

  /// The first moment counts, though modes are told of in another order.
  void note(const std::string& what, Duration at) {
    const auto [found, is_new] = made_.outcome.try_emplace(what, at);
    found->second = std::min(found->second, at);
  }

  /// A mode that lasts less than kModeLasts, on the way to a more cautious one, is not noted.
  void note_mode(std::int32_t host, const std::string& next, Duration now) {
    ModeSince& mode = modes_[host];
    if (mode.name != "normal" && now - mode.since >= kModeLasts) {
      note("mode " + mode.name, mode.since);
    }
    mode = {next, now};
  }

  void outcome() {
    std::map<std::string, std::set<std::string>> attempts;
    for (const Told& told : timeline_) {
      if (told.host == Told::kDriver) {
        continue;
      }
      const std::string job(told.field("job"));
      if (told.name == "unreachable") {
        note("verdict " + std::string(told.field("host")), told.at);
      } else if (told.name == "storm_mode") {
        note_mode(told.host, std::string(told.field("mode")), told.at);
      } else if (told.name == "host_condemned") {
        note("condemned " + std::string(told.field("host")), told.at);
      } else if (told.name == "job_stopping") {
        note("stopped " + job, told.at);
      } else if (told.name == "job_scheduled") {
        attempts[job].insert(std::string(told.field("token")));
        if (attempts[job].size() > 1) {
          note("placed anew " + job, told.at);
        }
      } else if (told.name == "job_ended") {
        note(std::string(told.field("state")) + " " + job, told.at);
      }
    }
    for (const auto& [host, mode] : std::map(modes_)) {
      note_mode(host, "normal", scenario_.length);
    }
  }

  const Scenario& scenario_;
  struct ModeSince {
    std::string name = "normal";
    Duration since{0};
  };

  const Timeline& timeline_;
  Judgement made_;
  std::map<std::int32_t, ModeSince> modes_;  ///< By host.
};

}  // namespace

Judgement judge(const Scenario& scenario, const Timeline& timeline) {
  return Judge(scenario, timeline).run();
}

std::vector<std::string> differences(const Outcome& left, const Outcome& right, Duration apart) {
  std::vector<std::string> found;
  for (const auto& [what, at] : left) {
    const auto other = right.find(what);
    if (other == right.end()) {
      found.push_back("only in the first: " + what + " at " + text_of(at));
    } else if (at - other->second > apart || other->second - at > apart) {
      found.push_back(what + ": at " + text_of(at) + " and at " + text_of(other->second));
    }
  }
  for (const auto& [what, at] : right) {
    if (!left.contains(what)) {
      found.push_back("only in the second: " + what + " at " + text_of(at));
    }
  }
  return found;
}

}  // namespace muster::sim::scenario
