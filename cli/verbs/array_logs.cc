#include "cli/verbs/array_logs.h"

#include <algorithm>

#include "agent/api/job_state.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/verbs/never_started.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

constexpr Duration kTurnInterval = std::chrono::milliseconds(200);
/// How often the array is looked at for tasks that began, and a task for its next attempt.
constexpr Duration kTaskLookInterval = std::chrono::seconds(1);

bool is_over(const std::vector<RankOutput>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const RankOutput& output) { return output.is_over(); });
}

/// nullopt if the node cannot say, or does not keep the job any more.
std::optional<agent::JobDetail> quiet_look(Session& session, JobId job) {
  agent::Request request;
  request.verb = agent::Verb::kShow;
  request.arguments = agent::encode_payload(agent::JobRef{job});
  const Reply reply = session.exchange(request);
  return reply.is_ok() ? agent::decode_payload<agent::JobDetail>(reply.response.payload)
                       : std::nullopt;
}

}  // namespace

std::string ArrayLogs::tasks_text() const {
  const JobId first(wish_.tasks.first);
  return text_of(first) + "-" + std::to_string(index_of_task(JobId(wish_.tasks.last)));
}

/// False: the failure was printed.
bool ArrayLogs::look_for_tasks(Session& session) {
  const JobId array = array_of(JobId(wish_.tasks.first));
  const auto detail = session.read<agent::JobDetail>(agent::Verb::kShow,
                                                     agent::encode_payload(agent::JobRef{array}));
  const auto tasks = detail.has_value() ? read_tasks(session, array) : std::nullopt;
  if (!tasks.has_value()) {
    return false;
  }
  array_ = detail->summary;
  left_out_ = 0;
  for (const agent::JobSummary& task : tasks->jobs) {
    const bool is_meant =
        wish_.tasks.first <= task.id.value() && task.id.value() <= wish_.tasks.last;
    if (!is_meant || known_.contains(task.id) || task.attempt == 0) {
      continue;
    }
    if (!wish_.follow && known_.size() >= kTasksPrinted) {
      first_left_out_ = left_out_++ == 0 ? task.id : first_left_out_;
      continue;
    }
    known_.insert(task.id);
    waiting_.push_back(task.id);
  }
  return true;
}

int ArrayLogs::run(Session& session) {
  if (!look_for_tasks(session)) {
    return session.failed();
  }
  return wish_.follow ? follow(session) : print_one_by_one(session);
}

int ArrayLogs::fail_without_tasks(Session& session) const {
  const std::string array = text_of(array_.id);
  return session.fail(ResponseStatus::kNotFound,
                      "none of the tasks " + tasks_text() + " that are kept has started (" +
                          array_.reason + ")" +
                          (agent::is_ended(array_.state) ? "" : ": wait for them with -f"));
}

int ArrayLogs::print_one_by_one(Session& session) {
  if (waiting_.empty()) {
    return fail_without_tasks(session);
  }
  for (; !waiting_.empty() && session.out().good(); waiting_.pop_front()) {
    Task task{waiting_.front()};
    look_at_attempts(session, task);
    while (!is_over(task.outputs) && session.out().good()) {
      turn(session, task);
    }
    look_at_attempts(session, task);
    session.out() << std::flush;
  }
  if (left_out_ > 0) {
    session.note(std::to_string(left_out_) + " more tasks have begun: `muster logs " +
                 text_of(first_left_out_) + "-" +
                 std::to_string(index_of_task(JobId(wish_.tasks.last))) + "` goes on with them");
  }
  return exit_code_;
}

/// No task will begin that is not known.
bool ArrayLogs::has_all_begun() const {
  return agent::is_ended(array_.state) || known_.size() > wish_.tasks.last - wish_.tasks.first;
}

int ArrayLogs::follow(Session& session) {
  Instant look_at = session.world().clock.now() + kTaskLookInterval;
  while (session.out().good()) {
    while (!waiting_.empty() && open_.size() < kTasksFollowed) {
      open_.push_back(Task{waiting_.front()});
      waiting_.pop_front();
    }
    got_bytes_ = false;
    for (Task& task : open_) {
      turn(session, task);
    }
    std::erase_if(open_, [](const Task& task) { return task.is_over; });
    session.out() << std::flush;
    if (open_.empty() && waiting_.empty() && has_all_begun()) {
      break;
    }
    if (!got_bytes_) {
      session.world().clock.sleep(kTurnInterval);
    }
    if (session.world().clock.now() >= look_at) {
      look_at = session.world().clock.now() + kTaskLookInterval;
      if (!look_for_tasks(session)) {
        return session.failed();
      }
    }
  }
  return known_.empty() ? fail_without_tasks(session) : exit_code_;
}

/// Goes on with its attempt, or looks for the next one.
void ArrayLogs::turn(Session& session, Task& task) {
  for (RankOutput& output : task.outputs) {
    if (output.is_due(session.world().clock.now())) {
      got_bytes_ = output.advance(session, wish_.follow) || got_bytes_;
    }
  }
  const bool is_waiting = std::all_of(
      task.outputs.begin(), task.outputs.end(),
      [](const RankOutput& output) { return output.is_over() || output.is_out_of_reach(); });
  if (wish_.follow && is_waiting && session.world().clock.now() >= task.look_at) {
    task.look_at = session.world().clock.now() + kTaskLookInterval;
    look_at_attempts(session, task);
  }
}

/// Ends the reading of the attempt that was read, and begins with the next one.
void ArrayLogs::look_at_attempts(Session& session, Task& task) {
  const auto detail = quiet_look(session, task.id);
  const agent::AttemptInfo* next = detail.has_value() && (wish_.follow || task.attempt == 0)
                                       ? wish_.attempt_of(*detail, task.attempt)
                                       : nullptr;
  const bool is_last = !detail.has_value() || agent::is_ended(detail->summary.state);
  if (next == nullptr && !is_last && wish_.follow) {
    return;
  }
  for (RankOutput& output : task.outputs) {
    output.finish(session);
    exit_code_ = exit_code_ == 0 ? output.exit_code() : exit_code_;
  }
  if (task.attempt != 0 && detail.has_value()) {
    const int code = tell_never_started(session, *detail, task.attempt, task.outputs);
    exit_code_ = exit_code_ == 0 ? code : exit_code_;
  }
  task.outputs.clear();
  task.is_over = next == nullptr;
  if (next != nullptr) {
    task.attempt = next->number;
    task.outputs = wish_.outputs_of(*detail, *next);
  }
}

}  // namespace muster::cli
