#include "agent/api/rest/job_orders_calls.h"

// Orders about jobs: cancel, suspend, resume, requeue, edit. Each may be said again but an edit
// that adds time.

#include <cstdint>
#include <string>
#include <utility>

#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/rest/job_ids.h"

namespace muster::agent {
namespace {

constexpr char kTierChoices[] =
    "is not a tier: give interactive, batch, standard, premium or inference";

/// The text of the leader about a job names the job.
std::string subject_of(JobId job, const std::string& text) {
  const std::string number = text_of(job);
  const bool is_named =
      text.starts_with("job " + number + " ") || text.starts_with("there is no job " + number);
  return is_named ? "" : "job " + number + ": ";
}

/// `done`: the key of the document.
CallStep order_job(const CallFrame& frame, Verb verb, std::string arguments, JobId job,
                   const std::string& done) {
  return ask(request_of(frame, verb, std::move(arguments)),
             [frame, job, done](const Response& response) -> CallStep {
               if (response.status == ResponseStatus::kOk) {
                 return told(frame, to_json(done, {JobOutcome{job, 0, ""}}), response);
               }
               Response failed = response;
               failed.text = subject_of(job, response.text) + response.text;
               if (response.status == ResponseStatus::kUnknown) {
                 failed.text += "; " + OrderWords().repeat;
               }
               return refused(failed);
             });
}

CallStep order_plainly(CallInput& input, Verb verb, const std::string& done) {
  const Result<JobId> job = job_of(input);
  if (const Status status = input.end(); !status || !job) {
    return refused(!job ? job.error() : status.error());
  }
  return order_job(input.frame, verb, encode_payload(JobRef{*job}), *job, done);
}

/// The last task of a run: its index, or "7.99".
Result<JobId> last_of_run(JobId first, const std::string& text) {
  const Result<JobId> whole =
      text.find('.') == std::string::npos
          ? parse_job_id(std::to_string(array_of(first).value()) + "." + text)
          : parse_job_id(text);
  if (!whole) {
    return whole.error();
  }
  if (!is_task(first) || array_of(*whole) != array_of(first) || *whole < first) {
    return Error{ErrorCode::kInvalid,
                 "the path names the first task and this the last one of the same array"};
  }
  return whole;
}

void take_queue_and_tier(JsonFields& body, EditArgs& edit) {
  if (const auto queue = body.text("queue")) {
    edit.queue = *queue;
    if (const Status status = scheduler::check_queue_path(*queue); !status) {
      body.refuse("queue", status.error().text);
    }
  }
  if (const auto tier = body.text("tier")) {
    edit.tier = scheduler::tier_of(*tier).value_or(scheduler::Tier::kNone);
    if (edit.tier == scheduler::Tier::kNone) {
      body.refuse("tier", "'" + *tier + "' " + kTierChoices);
    }
  }
  if (const auto priority = body.integer("priority", INT32_MIN, INT32_MAX)) {
    edit.keeps_priority = false;
    edit.priority = *priority;
  }
}

/// Whether the member is there as null, by either of its names.
bool is_null_span(JsonFields& body, const std::string& name) {
  const bool is_null_ms = body.is_null(name + "_ms");
  return body.is_null(name + "_s") || is_null_ms;
}

void take_time_limit(JsonFields& body, EditArgs& edit) {
  constexpr Duration kLeast = std::chrono::milliseconds(1);
  edit.has_no_limit = is_null_span(body, "time_limit");
  const auto limit = span_of(body, "time_limit", kLeast);
  const auto added = span_of(body, "time_limit_added", kLeast);
  edit.adds_time = added.has_value();
  if (limit.has_value() || added.has_value()) {
    edit.time_limit_ms = static_cast<std::uint64_t>(to_ms(added.has_value() ? *added : *limit));
  }
  if (added.has_value() && (limit.has_value() || edit.has_no_limit)) {
    body.refuse("time_limit_added_ms", "give a time limit, or what is added to it");
  }
}

/// The span from now on; 0 = null was given.
std::uint64_t edited_span(JsonFields& body, const std::string& name) {
  constexpr Duration kLeast = std::chrono::milliseconds(1);
  const bool is_none = is_null_span(body, name);
  const auto span = span_of(body, name, kLeast);
  return is_none ? 0 : span.has_value() ? static_cast<std::uint64_t>(to_ms(*span)) : kKeepsTime;
}

bool is_edited(const EditArgs& edit) {
  return !edit.queue.empty() || edit.tier != scheduler::Tier::kNone || !edit.keeps_priority ||
         edit.time_limit_ms != 0 || edit.has_no_limit || edit.begin_ms != kKeepsTime ||
         edit.deadline_ms != kKeepsTime;
}

Result<EditArgs> edit_of(CallInput& input) {
  EditArgs edit{JobId(), 0, true};
  const Result<JobId> job = job_of(input);
  take_queue_and_tier(input.body, edit);
  take_time_limit(input.body, edit);
  edit.begin_ms = edited_span(input.body, "begin_in");
  edit.deadline_ms = edited_span(input.body, "deadline_in");
  if (const Status status = input.end(); !status || !job) {
    return !job ? job.error() : status.error();
  }
  edit.job = *job;
  const bool has_both = edit.begin_ms != kKeepsTime && edit.deadline_ms != kKeepsTime;
  if (has_both && edit.deadline_ms != 0 && edit.deadline_ms <= edit.begin_ms) {
    return Error{ErrorCode::kInvalid,
                 "deadline_in_ms: it is not after the begin: the job could never start"};
  }
  return is_edited(edit) ? Result<EditArgs>(edit)
                         : Error{ErrorCode::kInvalid,
                                 "give at least one of queue, tier, priority, time_limit_ms, "
                                 "time_limit_added_ms, begin_in_ms and deadline_in_ms"};
}

}  // namespace

CallStep cancel_job(CallInput& input) {
  const Result<JobId> job = job_of(input);
  const auto text = input.body.text("last");
  if (const Status status = input.end(); !status || !job) {
    return refused(!job ? job.error() : status.error());
  }
  if (!text.has_value()) {
    return order_job(input.frame, Verb::kCancel, encode_payload(JobRef{*job}), *job, "cancelled");
  }
  const Result<JobId> last = last_of_run(*job, *text);
  if (!last) {
    return refused(Error{last.error().code, "last: " + last.error().text});
  }
  return order_job(input.frame, Verb::kCancel, encode_payload(JobRun{*job, last->value()}), *job,
                   "cancelled");
}

CallStep suspend_job(CallInput& input) {
  return order_plainly(input, Verb::kSuspend, "suspended");
}

CallStep resume_job(CallInput& input) {
  return order_plainly(input, Verb::kResume, "resumed");
}

/// The attempt that makes way is named, so that the order, if it is said again, never stops the
/// attempt after it.
CallStep requeue_job(CallInput& input) {
  const Result<JobId> job = job_of(input);
  const auto attempt = input.body.number("attempt", 1, UINT64_MAX);
  if (const Status status = input.end(); !status || !job) {
    return refused(!job ? job.error() : status.error());
  }
  const auto requeue = [frame = input.frame, id = *job](std::uint64_t number) {
    return order_job(frame, Verb::kRequeue, encode_payload(RequeueArgs{id, number}), id,
                     "requeued");
  };
  if (attempt.has_value()) {
    return requeue(*attempt);
  }
  Request look = request_of(input.frame, Verb::kShow, encode_payload(JobRef{*job}));
  look.consistent = true;
  return ask(std::move(look), [id = *job, requeue](const Response& response) -> CallStep {
    if (response.status != ResponseStatus::kOk) {
      Response failed = response;
      // No order was given yet.
      const bool is_open = response.status == ResponseStatus::kUnknown;
      failed.status = is_open ? ResponseStatus::kNoQuorum : response.status;
      failed.text = subject_of(id, response.text) + response.text;
      return refused(failed);
    }
    const auto detail = decode_payload<JobDetail>(response.payload);
    return detail.has_value() ? requeue(detail->summary.attempt)
                              : refused(ResponseStatus::kFailed, kUnreadableAnswer);
  });
}

CallStep edit_job(CallInput& input) {
  const Result<EditArgs> edit = edit_of(input);
  if (!edit) {
    return refused(edit.error());
  }
  OrderWords words;
  if (edit->adds_time) {
    words.repeat = "look at the job before you repeat the request, for it may add the time twice";
  }
  return order(
      input.frame, Verb::kEdit, encode_payload(*edit),
      [frame = input.frame, made = *edit](const Response& response) {
        return told(frame, edited_json(made), response);
      },
      std::move(words));
}

}  // namespace muster::agent
