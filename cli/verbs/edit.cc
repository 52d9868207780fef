// muster edit: the queue, tier and priority of a job that waits, and the time limit of one that
// also runs.
//
// An order may be said again, for what is so already is a success. Time that is added is the
// exception: such an order goes to the next node only while no node can have heard it.

#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/duration.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/quote.h"
#include "cli/kit/retry.h"
#include "cli/kit/wall_time.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

class Edit final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("JOB", job_, "Number of the job");
    options.value(
        "--queue", [this](const std::string& text) { return set_queue(text); },
        "Move the job, which waits, to this queue", "PATH");
    options.value(
        "--tier", [this](const std::string& text) { return set_tier(text); },
        "Give the job, which waits, this tier: inference, premium, standard, batch or interactive",
        "TIER");
    options.value(
        "--priority", [this](const std::string& text) { return set_priority(text); },
        "Give the job, which waits, this priority, as 10 or -5; higher runs first", "N");
    options.value(
        "--time-limit", [this](const std::string& text) { return set_time_limit(text); },
        "Stop an attempt of the job after this long, as 90m or 8h; +4h adds to the limit; none "
        "removes it",
        "SPAN|+SPAN|none");
    options.value(
        "--begin",
        [this](const std::string& text) {
          return take_time(text, times_.may_be_none, times_.begin);
        },
        "Begin the job, which had no attempt yet, no earlier than this: 22:00, 2026-12-01T08:00 or "
        "+2h; none: at once",
        "TIME|none");
    options.value(
        "--deadline",
        [this](const std::string& text) {
          return take_time(text, times_.may_be_none, times_.deadline);
        },
        "Fail the job, which had no attempt yet, if it has not started by this time; a time of "
        "day is the first one after --begin; none removes the deadline",
        "TIME|none");
    common_.describe(options);
    options.example("muster edit 17 --time-limit +4h");
  }

  int run(Session& session) override {
    const auto job = parse_job(job_);
    if (!job) {
      return session.fail(ResponseStatus::kUsage, job.error().text);
    }
    edit_.job = *job;
    if (!has_change()) {
      return session.fail(ResponseStatus::kUsage,
                          "give at least one of --queue, --tier, --priority, --time-limit, --begin "
                          "and --deadline");
    }
    if (const Status times = take_times(session.world().clock); !times) {
      return session.fail(ResponseStatus::kUsage, times.error().text);
    }
    agent::Request request;
    request.verb = agent::Verb::kEdit;
    request.arguments = agent::encode_payload(edit_);
    request.user = session.world().user_name();
    Reply reply = edit_.adds_time ? exchange_once(session, request)
                                  : exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      reply.text += reply.status == ResponseStatus::kUnknown ? repeat_text() : "";
      return session.fail(reply);
    }
    session.out() << (session.common().is_json ? agent::edited_json(edit_)
                                               : "job " + job_ + ": " + changes_text())
                  << "\n";
    return 0;
  }

 private:
  Status set_queue(const std::string& text) {
    edit_.queue = text;
    return scheduler::check_queue_path(text);
  }

  Status set_tier(const std::string& text) {
    const auto tier = scheduler::tier_of(text);
    edit_.tier = tier.value_or(scheduler::Tier::kNone);
    return edit_.tier != scheduler::Tier::kNone
               ? ok()
               : Status(Error{ErrorCode::kInvalid,
                              "'" + text +
                                  "' is not a tier: give interactive, batch, standard, premium or "
                                  "inference"});
  }

  Status set_priority(const std::string& text) {
    const auto priority = parse_integer(text);
    if (!priority) {
      return priority.error();
    }
    if (*priority < INT32_MIN || *priority > INT32_MAX) {
      return Error{ErrorCode::kInvalid, "'" + text + "' does not fit into 32 bits"};
    }
    edit_.keeps_priority = false;
    edit_.priority = *priority;
    return ok();
  }

  Status set_time_limit(const std::string& text) {
    time_limit_ = text;
    edit_.has_no_limit = text == "none";
    edit_.adds_time = text.starts_with('+');
    if (edit_.has_no_limit) {
      return ok();
    }
    const auto span = parse_duration(text.substr(edit_.adds_time ? 1 : 0));
    if (!span) {
      return span.error();
    }
    edit_.time_limit_ms = static_cast<std::uint64_t>(to_ms(*span));
    return edit_.time_limit_ms != 0
               ? ok()
               : Status(Error{ErrorCode::kInvalid, "'" + text +
                                                       "' is no time: write none for no "
                                                       "limit"});
  }

  bool has_change() const {
    return !edit_.queue.empty() || edit_.tier != scheduler::Tier::kNone || !edit_.keeps_priority ||
           !time_limit_.empty() || !times_.begin.empty() || !times_.deadline.empty();
  }

  /// The times are given by the local wall clock; the cluster is told spans.
  Status take_times(const WorldClock& clock) {
    const Result<JobTimes> times = read_times(times_, clock);
    if (!times) {
      return times.error();
    }
    const auto sent = [](const std::optional<Duration>& span) {
      return span.has_value() ? static_cast<std::uint64_t>(to_ms(*span)) : agent::kKeepsTime;
    };
    edit_.begin_ms = sent(times->begin);
    edit_.deadline_ms = sent(times->deadline);
    return ok();
  }

  /// One try with each node, until one can have heard it.
  static Reply exchange_once(Session& session, const agent::Request& request) {
    Reply reply = session.exchange(request);
    for (std::size_t tries = 1; tries < session.nodes_count() && !reply.is_from_node &&
                                reply.status == ResponseStatus::kNoQuorum;
         ++tries) {
      reply = session.exchange(request);
    }
    return reply;
  }

  /// "queue research/nlp, tier batch, time limit 8h"
  std::string changes_text() const {
    std::string text;
    const auto add = [&text](bool is_changed, const std::string& part) {
      text += is_changed ? (text.empty() ? "" : ", ") + part : "";
    };
    add(!edit_.queue.empty(), "queue " + edit_.queue);
    add(edit_.tier != scheduler::Tier::kNone, "tier " + std::string(text_of(edit_.tier)));
    add(!edit_.keeps_priority, "priority " + std::to_string(edit_.priority));
    add(!time_limit_.empty(), edit_.has_no_limit ? std::string("no time limit") : limit_text());
    add(!times_.begin.empty(), times_.begin == "none" ? "no begin" : "begin " + times_.begin);
    add(!times_.deadline.empty(),
        times_.deadline == "none" ? "no deadline" : "deadline " + times_.deadline);
    return text;
  }

  std::string limit_text() const {
    const Duration span = std::chrono::milliseconds(static_cast<std::int64_t>(edit_.time_limit_ms));
    return "time limit " + std::string(edit_.adds_time ? "+" : "") + format_duration(span);
  }

  std::string repeat_text() const {
    if (edit_.adds_time) {
      return "; look before you repeat it, for it may add the time twice: muster show " + job_;
    }
    std::string line = "; repeat with: muster edit " + job_;
    const auto add = [&line](bool is_given, const char* option, const std::string& value) {
      line += is_given ? std::string(" ") + option + "=" + shell_quoted(value) : "";
    };
    add(!edit_.queue.empty(), "--queue", edit_.queue);
    add(edit_.tier != scheduler::Tier::kNone, "--tier", std::string(text_of(edit_.tier)));
    add(!edit_.keeps_priority, "--priority", std::to_string(edit_.priority));
    add(!time_limit_.empty(), "--time-limit", time_limit_);
    add(!times_.begin.empty(), "--begin", times_.begin);
    add(!times_.deadline.empty(), "--deadline", times_.deadline);
    return line;
  }

  std::string job_;
  std::string time_limit_;  ///< As given; "" = it stays.
  TimeTexts times_{"", "", true};
  agent::EditArgs edit_{JobId(), 0, true};
};

}  // namespace

std::unique_ptr<Verb> make_edit() {
  return std::make_unique<Edit>();
}

}  // namespace muster::cli
