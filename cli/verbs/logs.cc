// muster logs: what the ranks of a job wrote, read from the hosts that hold it.

#include <algorithm>
#include <optional>

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/rank_output.h"
#include "cli/verbs/array_logs.h"
#include "cli/verbs/dropped_output.h"
#include "cli/verbs/never_started.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

constexpr Duration kFollowInterval = std::chrono::milliseconds(200);
/// How often the job is looked at while all ranks that are left are out of reach.
constexpr Duration kLookInterval = std::chrono::seconds(1);

class Logs final : public Verb {
 public:
  void describe(Options& options) override {
    options.words(
        "JOB", [this](const std::string& text) { return accept(text); },
        "Number of the job (7) or array task (7.12); lines of a whole array or a range (7.0-99) "
        "begin with [task]",
        1);
    options.flag(
        "-f,--follow", follow_,
        "Follow the output until the ranks end, across attempts unless --attempt is given");
    options.value(
        "-r,--rank", [this](const std::string& text) { return accept_ranks(text); },
        "Print these ranks; lines of more than one begin with [rank] (default 0)",
        "N[,N-M...]|all");
    options.value(
        "-n,--tail",
        [this](const std::string& text) -> Status {
          const auto number = parse_number(text);
          tail_ = number ? std::optional(*number) : std::nullopt;
          return number ? ok() : Status(number.error());
        },
        "Print only the last N lines of each rank, and with -f what follows", "N");
    options.duration("--since", since_,
                     "Print only output written within this time, to the second");
    options.flag("--stdout", stdout_, "Print only stdout");
    options.flag("--stderr", stderr_, "Print only stderr");
    options.number("--attempt", attempt_, "Print this attempt, counted from 1; 0 means the last");
    common_.describe(options);
    options.example("muster logs 17 -f --rank all");
  }

  int run(Session& session) override {
    if (job_ == JobId()) {
      return session.fail(agent::ResponseStatus::kUsage, "no job given: give its number");
    }
    if (tasks_.has_value()) {
      return ArrayLogs(of_tasks(*tasks_)).run(session);
    }
    int exit_code = 0;
    std::uint64_t shown = 0;
    do {
      const auto detail = job_detail(session, shown);
      if (!detail.has_value()) {
        return session.failed();
      }
      if (detail->summary.tasks != 0 && detail->spec.array.has_value()) {
        return ArrayLogs(of_tasks(all_tasks(*detail))).run(session);
      }
      const agent::AttemptInfo* attempt = chosen_attempt(*detail, shown);
      if (attempt == nullptr && shown > 0) {
        return exit_code;  // The job ended with what was shown.
      }
      if (attempt == nullptr) {
        return session.fail(agent::ResponseStatus::kNotFound, no_attempt_text(*detail));
      }
      if (shown > 0) {
        session.note("attempt " + std::to_string(attempt->number) + " begins");
      }
      std::vector<RankOutput> outputs = ranks_of(detail->summary.id, *attempt);
      if (outputs.empty()) {
        return fail_without_rank(session, *detail, *attempt);
      }
      note_missing(session, outputs);
      shown = attempt->number;
      int code = copy(session, outputs, shown);
      for (const RankOutput& output : outputs) {
        const int missing = tell_dropped(session, *attempt, output.rank());
        code = code == 0 ? missing : code;
      }
      code = code == 0 ? tell_never_started_of(session, *detail, shown, outputs) : code;
      if (code == 0 && !follow_) {
        note_silence(session, *detail, shown, outputs);
      }
      exit_code = exit_code == 0 ? code : exit_code;
    } while (follow_ && attempt_ == 0 && session.out().good());
    return exit_code;
  }

 private:
  struct RankRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  Status accept(const std::string& text) {
    const Result<JobRange> given = parse_job_range(text);
    if (!given) {
      return given.error();
    }
    if (given->first < given->last && !given->is_task_run()) {
      return Error{ErrorCode::kInvalid, "'" + text + "' is more than one job"};
    }
    job_ = JobId(given->first);
    tasks_ = given->is_task_run() ? std::optional(*given) : std::nullopt;
    return ok();
  }

  static JobRange all_tasks(const agent::JobDetail& array) {
    const JobId id = array.summary.id;
    return {task_id(id, array.spec.array->first).value(),
            task_id(id, array.spec.array->last).value()};
  }

  ArrayLogsWish of_tasks(JobRange tasks) const {
    return {tasks, follow_,
            [this](const agent::JobDetail& task, std::uint64_t shown) {
              return chosen_attempt(task, shown);
            },
            [this](const agent::JobDetail& task, const agent::AttemptInfo& attempt) {
              return ranks_of(task.summary.id, attempt, text_of(task.summary.id));
            }};
  }

  Status accept_ranks(const std::string& text) {
    ranks_.clear();
    all_ = text == "all";
    for (std::size_t start = 0; !all_ && start <= text.size();) {
      const std::size_t end = std::min(text.find(',', start), text.size());
      const std::string word = text.substr(start, end - start);
      const std::size_t dash = word.find('-');
      const auto first = parse_number(word.substr(0, dash));
      const auto last = dash == std::string::npos ? first : parse_number(word.substr(dash + 1));
      if (!first || !last || *last < *first) {
        return Error{ErrorCode::kInvalid,
                     "'" + word + "' is neither a rank's number, a range as 4-7, nor all"};
      }
      ranks_.push_back({*first, *last});
      start = end + 1;
    }
    return ok();
  }

  bool is_wanted(std::uint64_t rank) const {
    return all_ || std::any_of(ranks_.begin(), ranks_.end(), [rank](const RankRange& range) {
             return range.first <= rank && rank <= range.last;
           });
  }
  bool is_of_several() const {
    return all_ || ranks_.size() > 1 || ranks_.front().last > ranks_.front().first;
  }
  std::string ranks_text() const {
    if (ranks_.empty()) {
      return "at all";
    }
    return std::to_string(ranks_.front().first) + (ranks_.front().last == ranks_.front().first
                                                       ? ""
                                                       : "-" + std::to_string(ranks_.front().last));
  }

  /// With --follow, waits until the job has an attempt above `shown` to read from, or ended without
  /// one.
  std::optional<agent::JobDetail> job_detail(Session& session, std::uint64_t shown) const {
    const std::string arguments = agent::encode_payload(agent::JobRef{job_});
    std::string told;
    while (true) {
      auto detail = session.read<agent::JobDetail>(agent::Verb::kShow, arguments);
      if (!detail.has_value() || !follow_ || agent::is_ended(detail->summary.state) ||
          detail->summary.tasks != 0) {
        return detail;
      }
      if (chosen_attempt(*detail, shown) != nullptr) {
        return detail;
      }
      const std::string& state = detail->summary.state;
      const bool is_between = state == "queued" || state == "suspended";
      if (shown > 0 && is_between && state != told) {
        told = state;
        session.note("attempt " + std::to_string(shown) + " is over and the job is " + state +
                     " (" + detail->summary.cause + "): waiting for the next attempt");
      }
      session.world().clock.sleep(kFollowInterval);
    }
  }

  int fail_without_rank(Session& session, const agent::JobDetail& detail,
                        const agent::AttemptInfo& attempt) const {
    if (attempt.members_left_out > 0) {
      return session.fail(agent::ResponseStatus::kFailed,
                          "the answer has no room for the hosts of rank " + ranks_text() +
                              " in attempt " + std::to_string(attempt.number));
    }
    return session.fail(agent::ResponseStatus::kNotFound,
                        "attempt " + std::to_string(attempt.number) + " of job " +
                            text_of(detail.summary.id) + " has no rank " + ranks_text());
  }

  /// The one asked for, or the newest; of those that follow what was `shown`, the first.
  const agent::AttemptInfo* chosen_attempt(const agent::JobDetail& detail,
                                           std::uint64_t shown) const {
    const agent::AttemptInfo* chosen = nullptr;
    for (const agent::AttemptInfo& attempt : detail.attempts) {
      const bool is_nearer = chosen == nullptr || (shown == 0 ? attempt.number > chosen->number
                                                              : attempt.number < chosen->number);
      const bool matches =
          attempt_ == 0 ? attempt.number > shown && is_nearer : attempt.number == attempt_;
      chosen = matches ? &attempt : chosen;
    }
    return chosen;
  }

  std::string no_attempt_text(const agent::JobDetail& detail) const {
    const std::string job = "job " + text_of(detail.summary.id);
    if (attempt_ != 0) {
      return job + " has no attempt " + std::to_string(attempt_);
    }
    return job + " is " + detail.summary.state + " and never started, so it wrote nothing" +
           (agent::is_ended(detail.summary.state) ? "" : ": wait for it with -f");
  }

  /// Of several that were asked for some may not be there: those that are there are shown.
  void note_missing(Session& session, const std::vector<RankOutput>& outputs) const {
    for (const RankRange& range : ranks_) {
      const bool is_there = std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) {
        return range.first <= output.rank() && output.rank() <= range.last;
      });
      if (!all_ && !is_there) {
        session.note("there is no rank " + std::to_string(range.first) +
                     (range.last == range.first ? "" : "-" + std::to_string(range.last)));
      }
    }
  }

  /// Else an empty answer could be taken for the whole of what a job ever wrote.
  void note_silence(Session& session, const agent::JobDetail& detail, std::uint64_t attempt,
                    const std::vector<RankOutput>& outputs) const {
    if (!std::all_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.is_empty(); })) {
      return;
    }
    const bool is_at_work = !agent::is_ended(detail.summary.state) &&
                            attempt == detail.summary.attempt && attempt_ == 0;
    const std::string who = outputs.size() == 1 ? "rank " + std::to_string(outputs.front().rank())
                                                : "each of these ranks";
    session.note(is_at_work ? who + " has written nothing yet: wait for it with -f"
                            : who + " wrote nothing in attempt " + std::to_string(attempt));
  }

  /// `task`: what each line names beside the rank; "" = the rank alone.
  std::vector<RankOutput> ranks_of(JobId job, const agent::AttemptInfo& attempt,
                                   const std::string& task = "") const {
    std::vector<RankOutput> outputs;
    for (const agent::MemberInfo& member : attempt.members) {
      for (std::uint64_t local = 0; local < member.ranks.size(); ++local) {
        const std::uint64_t rank = member.first_rank + local;
        if (is_wanted(rank)) {
          RankSource source{job,
                            attempt.number,
                            attempt.token,
                            member.host,
                            member.host_name,
                            rank,
                            output_bytes(member, rank),
                            rank_state(member, rank)};
          outputs.emplace_back(std::move(source), wish(task, rank));
        }
      }
    }
    return outputs;
  }

  OutputWish wish(const std::string& task, std::uint64_t rank) const {
    const std::string stream = stdout_ == stderr_ ? "" : stdout_ ? agent::kStdout : agent::kStderr;
    const std::string number = is_of_several() ? std::to_string(rank) : "";
    const std::string named = task + (task.empty() || number.empty() ? "" : ":") + number;
    return {named.empty() ? "" : "[" + named + "] ", tail_,
            static_cast<std::uint64_t>(to_ms(since_)), stream};
  }

  static std::uint64_t output_bytes(const agent::MemberInfo& member, std::uint64_t rank) {
    for (const agent::RankInfo& info : member.ranks) {
      if (info.rank == rank) {
        return info.output_bytes;
      }
    }
    return 0;
  }

  static std::string rank_state(const agent::MemberInfo& member, std::uint64_t rank) {
    for (const agent::RankInfo& info : member.ranks) {
      if (info.rank == rank) {
        return info.detail.empty() ? info.state : info.state + ", " + info.detail;
      }
    }
    return member.state;
  }

  int copy(Session& session, std::vector<RankOutput>& outputs, std::uint64_t attempt) const {
    Instant look_at{};
    bool is_going_on = true;
    while (is_going_on && session.out().good()) {
      const Turn turn = advance(session, outputs);
      session.out() << std::flush;
      is_going_on = turn.is_going_on;
      if (!is_going_on && turn.is_waiting) {
        const bool is_early = session.world().clock.now() < look_at;
        is_going_on = is_early || is_in_force(session, attempt);
        look_at = is_early ? look_at : session.world().clock.now() + kLookInterval;
      }
      if (is_going_on && !turn.got_bytes) {
        session.world().clock.sleep(kFollowInterval);
      }
    }
    int exit_code = 0;
    for (RankOutput& output : outputs) {
      output.finish(session);
      exit_code = exit_code == 0 ? output.exit_code() : exit_code;
    }
    return exit_code;
  }

  struct Turn {
    bool is_going_on = false;  ///< Some rank that is in reach is not over.
    bool is_waiting = false;   ///< Some rank is out of reach.
    bool got_bytes = false;
  };
  /// Each rank once; of those out of reach one, which may take its time.
  Turn advance(Session& session, std::vector<RankOutput>& outputs) const {
    Turn turn;
    bool has_tried = false;
    for (RankOutput& output : outputs) {
      const bool was_out_of_reach = output.is_out_of_reach();
      if (output.is_due(session.world().clock.now()) && !(was_out_of_reach && has_tried)) {
        has_tried = has_tried || was_out_of_reach;
        turn.got_bytes = output.advance(session, follow_) || turn.got_bytes;
      }
      turn.is_waiting = turn.is_waiting || output.is_out_of_reach();
      turn.is_going_on = turn.is_going_on || (!output.is_over() && !output.is_out_of_reach());
    }
    return turn;
  }

  /// Whether a rank that is out of reach may yet go on with that attempt, as the node knew not
  /// longer ago than the timeout.
  bool is_in_force(Session& session, std::uint64_t number) const {
    agent::Request request;
    request.verb = agent::Verb::kShow;
    request.arguments = agent::encode_payload(agent::JobRef{job_});
    const Reply reply = session.exchange(request);
    const auto detail = agent::decode_payload<agent::JobDetail>(reply.response.payload);
    const auto age = std::chrono::milliseconds(reply.response.age_ms);
    if (!reply.is_ok() || !detail.has_value() || age > session.common().timeout) {
      return false;
    }
    const std::string& state = detail->summary.state;
    return !agent::is_ended(state) && state != "queued" && state != "suspended" &&
           detail->summary.attempt == number;
  }

  /// The end of followed ranks is told by a newer answer than the one that the reading began
  /// with.
  int tell_never_started_of(Session& session, const agent::JobDetail& detail, std::uint64_t attempt,
                            const std::vector<RankOutput>& outputs) const {
    const bool is_silent =
        std::any_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.is_empty(); });
    if (!is_silent || !follow_) {
      return is_silent ? tell_never_started(session, detail, attempt, outputs) : 0;
    }
    const auto now = session.read<agent::JobDetail>(agent::Verb::kShow,
                                                    agent::encode_payload(agent::JobRef{job_}));
    return now.has_value() ? tell_never_started(session, *now, attempt, outputs) : session.failed();
  }

  JobId job_;
  std::optional<JobRange> tasks_;
  bool follow_ = false;
  bool all_ = false;
  std::vector<RankRange> ranks_ = {{0, 0}};
  std::optional<std::uint64_t> tail_;
  Duration since_{0};
  bool stdout_ = false;
  bool stderr_ = false;
  std::uint64_t attempt_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_logs() {
  return std::make_unique<Logs>();
}

}  // namespace muster::cli
