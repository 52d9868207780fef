// muster events: what a host noticed and did, the newest ones; with --audit what persons did.

#include <algorithm>
#include <optional>

#include "agent/api/events.h"
#include "agent/api/jobs.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/text.h"
#include "cli/verbs/audit_lines.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// How often --follow asks: fast enough for a person, nothing for the node.
constexpr Duration kFollowEventsInterval = std::chrono::milliseconds(500);
constexpr std::uint64_t kEventsShown = 50;
/// Answers asked for; each holds hundreds of events at least.
constexpr std::size_t kEventPagesMax = 1000;
constexpr std::size_t kSeverityColumns = 5;

const std::vector<std::string>& levels() {
  static const std::vector<std::string> names = {"info", "warn", "alarm"};
  return names;
}

class Events final : public Verb {
 public:
  void describe(Options& options) override {
    options.value(
        "-n,--lines", [this](const std::string& given) { return take_lines(given); },
        "Print the N newest events; 0 prints all that are kept (default 50, none with -f)", "N");
    options.flag("-f,--follow", follow_, "Print new events until interrupted");
    options.text("--job", job_, "Print the history of this job instead of the events of an agent",
                 "JOB");
    options.text("--host", host_, "Print the events of this host's agent", "NAME");
    options.duration("--since", since_, "Print only events within this time, as 30m or 2h");
    options.value(
        "--level", [this](const std::string& given) { return take_level(given); },
        "Print only events of this level and worse: " + join(levels()), "LEVEL");
    options.flag("--audit", is_audit_,
                 "Print the changes and refusals of persons in the cluster instead, by the log");
    options.text("--user", audit_.user, "With --audit: print only lines of this user", "NAME");
    options.text("--verb", audit_.verb,
                 "With --audit: print only lines of this verb, as submit or cancel", "VERB");
    options.list("--event", query_.names, "Print only events of this name; repeatable", "NAME");
    common_.describe(options);
    options.example("muster events --host gpu17 --level warn -f");
  }

  int run(Session& session) override {
    if (is_audit_ || audit_ != agent::AuditQuery()) {
      return run_audit(session);
    }
    if (!job_.empty()) {
      return show_job(session);
    }
    if (!host_.empty()) {
      const auto found = find_host(session, host_);
      if (!found.host.has_value()) {
        return found.exit_code;
      }
      target_ = found.host->id;
    }
    query_.since_ms = static_cast<std::uint64_t>(to_ms(since_));
    const bool is_from_now = follow_ && !lines_.has_value() && since_ == Duration(0);
    query_.newest = is_from_now ? 1 : lines_.value_or(kEventsShown);
    const auto page = show(session, is_from_now);
    if (!page.has_value()) {
      return session.failed();
    }
    // An older node does not say which one is its last.
    query_.after = std::max(page->last, page->events.empty() ? 0 : page->events.back().sequence);
    query_.newest = 0;
    query_.since_ms = 0;
    followed_ = session.last().answered_by;
    return follow_ ? go_on(session) : 0;
  }

 private:
  /// From the log, as the history of a job.
  int run_audit(Session& session) {
    const bool has_others = follow_ || !job_.empty() || !host_.empty() || !query_.names.empty() ||
                            !query_.severity.empty();
    if (!is_audit_ || has_others) {
      return session.fail(ResponseStatus::kUsage,
                          is_audit_ ? "--audit works only with --user, --verb, --since and -n"
                                    : "--user and --verb work only with --audit");
    }
    audit_.since_ms = static_cast<std::uint64_t>(to_ms(since_));
    return show_audit(session, audit_, lines_.value_or(kEventsShown));
  }

  /// From the log, so any node says the same.
  int show_job(Session& session) const {
    const auto number = parse_job(job_);
    if (!number || follow_ || !host_.empty() || !query_.names.empty() || !query_.severity.empty()) {
      return session.fail(
          ResponseStatus::kUsage,
          !number ? "--job: " + number.error().text
                  : "--job works only with --since and -n; `muster submit --wait` follows a job");
    }
    const auto detail = session.read<agent::JobDetail>(
        agent::Verb::kShow, agent::encode_payload(agent::JobRef{*number}));
    if (!detail.has_value()) {
      return session.failed();
    }
    std::vector<agent::TransitionInfo> steps = detail->transitions;
    const std::uint64_t age_of_first = detail->summary.age_ms;
    if (since_ > Duration::zero()) {
      std::erase_if(steps, [&](const agent::TransitionInfo& step) {
        const std::uint64_t later =
            step.unix_ms - std::min(step.unix_ms, detail->summary.submit_unix_ms);
        return age_of_first > later + static_cast<std::uint64_t>(to_ms(since_));
      });
    }
    const std::uint64_t shown = lines_.value_or(0) == 0 ? steps.size() : *lines_;
    if (steps.size() > shown) {
      steps.erase(steps.begin(), steps.end() - static_cast<std::ptrdiff_t>(shown));
    }
    if (session.common().is_json) {
      session.out() << to_json(detail->summary.id, steps, session.last()) << "\n";
      return 0;
    }
    if (detail->spec.array.has_value()) {
      session.note("this is the history of the whole array; `muster events --job " +
                   text_of(task_id(detail->summary.id, detail->spec.array->first)) +
                   "` prints that of one task");
    }
    for (const agent::TransitionInfo& step : steps) {
      session.out() << (step.unix_ms == 0 ? "-" : session.world().clock.local_time(step.unix_ms))
                    << "  " << printable(step.state + ": " + in_words(step.cause)) << "\n";
    }
    return 0;
  }

  Status take_lines(const std::string& given) {
    const auto parsed = parse_number(given);
    if (!parsed) {
      return parsed.error();
    }
    lines_ = *parsed;
    return ok();
  }

  Status take_level(const std::string& given) {
    if (std::find(levels().begin(), levels().end(), given) == levels().end()) {
      return Error{ErrorCode::kInvalid,
                   "'" + given + "' is not a level; the levels are: " + join(levels())};
    }
    query_.severity = given;
    return ok();
  }

  std::optional<agent::EventsPage> ask(Session& session) const {
    return session.read<agent::EventsPage>(agent::Verb::kEvents, agent::encode_payload(query_),
                                           target_);
  }

  /// Page by page; `is_silent`: only to know which is the last one. nullopt after a failure
  /// that was printed.
  std::optional<agent::EventsPage> show(Session& session, bool is_silent) {
    agent::EventsPage all;
    for (std::size_t pages = 0; pages < kEventPagesMax; ++pages) {
      auto page = ask(session);
      if (!page.has_value()) {
        return std::nullopt;
      }
      all.lost += page->lost;
      all.last = std::max(all.last, page->last);
      const bool is_end = page->events.empty() || page->events.back().sequence >= page->last;
      query_.after = page->events.empty() ? query_.after : page->events.back().sequence;
      query_.newest = 0;
      std::move(page->events.begin(), page->events.end(), std::back_inserter(all.events));
      if (is_end) {
        break;
      }
    }
    if (!is_silent) {
      print(session, all);
    }
    return all;
  }

  int go_on(Session& session) {
    while (session.out().good()) {
      session.world().clock.sleep(kFollowEventsInterval);
      const auto page = ask(session);
      if (!page.has_value()) {
        return session.failed();
      }
      if (session.last().answered_by != followed_) {
        // Another host counts its events by itself.
        session.note("host " + followed_ + " does not answer: from here on the events of host " +
                     session.last().answered_by + ", as they come");
        followed_ = session.last().answered_by;
        query_.after =
            std::max(page->last, page->events.empty() ? 0 : page->events.back().sequence);
        continue;
      }
      if (page->last != 0 && page->last < query_.after) {
        session.note("host " + session.last().answered_by +
                     " lost the events that it had kept, and starts to count again");
        query_.after = 0;
        continue;
      }
      print(session, *page);
      query_.after =
          page->events.empty() ? std::max(query_.after, page->last) : page->events.back().sequence;
    }
    return 0;
  }

  void print(Session& session, const agent::EventsPage& page) const {
    if (session.common().is_json && !follow_) {
      session.out() << to_json(page, session.last()) << "\n";
      return;
    }
    if (page.lost > 0) {
      session.note(std::to_string(page.lost) + " events are no longer kept by the node");
    }
    if (!follow_) {
      const std::size_t count = page.events.size();
      session.note((count == 0   ? "no such event is kept by host "
                    : count == 1 ? "the newest event of host "
                                 : "the newest " + std::to_string(count) + " events of host ") +
                   session.last().answered_by);
    }
    for (const agent::EventInfo& event : page.events) {
      session.out() << (session.common().is_json ? to_json(event) : line_of(session, event))
                    << "\n";
    }
    session.out() << std::flush;
  }

  /// An older node gives no time of day.
  static std::string line_of(Session& session, const agent::EventInfo& event) {
    const std::string when = event.unix_ms == 0 ? format_age(event.age_ms) + " ago"
                                                : session.world().clock.local_time(event.unix_ms);
    const std::string severity = printable(event.severity);
    return when + "  " + severity +
           std::string(kSeverityColumns - std::min(kSeverityColumns, severity.size()), ' ') + "  " +
           printable(event.text);
  }

  bool follow_ = false;
  std::optional<std::uint64_t> lines_;
  std::string host_;
  std::string job_;
  Duration since_{0};
  HostId target_;
  std::string followed_;  ///< The host whose events were shown.
  agent::EventsQuery query_;
  bool is_audit_ = false;
  agent::AuditQuery audit_;
};

}  // namespace

std::unique_ptr<Verb> make_events() {
  return std::make_unique<Events>();
}

}  // namespace muster::cli
