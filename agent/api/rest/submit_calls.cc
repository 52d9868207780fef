#include "agent/api/rest/submit_calls.h"

// A job enters the queue, once under its key; and the same without a job.

#include <optional>
#include <string>
#include <utility>

#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/json/view.h"
#include "agent/api/rest/submit_body.h"

namespace muster::agent {
namespace {

constexpr char kKeyField[] = "idempotency-key";
/// Of a dry run, which no node keeps.
constexpr char kNoKey[] = "00000000000000000000000000000000";

Result<std::string> key_of(const CallInput& input) {
  if (const auto given = field_of(input.fields, kKeyField)) {
    return submit_key_of(*given);
  }
  if (input.chance.submit_key == nullptr) {
    return Error{ErrorCode::kInvalid,
                 "give an Idempotency-Key, so that the request may be repeated: 32 digits of 0-9 "
                 "and a-f, or a UUID"};
  }
  return input.chance.submit_key();
}

/// The failures of a submit say what became of the job.
CallStep refused_submit(const Response& response, const std::string& key) {
  Response failed = response;
  if (response.status == ResponseStatus::kUnknown) {
    failed.text = "the job may or may not have been accepted (" + response.text +
                  "); repeat the request with Idempotency-Key: " + key;
  } else if (response.status == ResponseStatus::kNoQuorum) {
    failed.text = "the job was surely not accepted: " + response.text;
  }
  return refused(failed);
}

}  // namespace

CallStep submit_job(CallInput& input) {
  const Result<std::string> key = key_of(input);
  Result<scheduler::JobSpec> spec = job_of_body(input.body);
  if (const Status status = input.end(); !status || !key || !spec) {
    return refused(!status ? status.error() : !spec ? spec.error() : key.error());
  }
  const SubmitArgs submit{*key, *std::move(spec)};
  return ask(request_of(input.frame, Verb::kSubmit, encode_payload(submit)),
             [frame = input.frame, key = *key](const Response& response) -> CallStep {
               if (response.status != ResponseStatus::kOk) {
                 return refused_submit(response, key);
               }
               const auto accepted = decode_payload<JobRef>(response.payload);
               return accepted.has_value()
                          ? told(frame, submitted_json(accepted->job, key), response)
                          : refused(ResponseStatus::kUnknown,
                                    std::string(kUnreadableAnswer) +
                                        "; repeat the request with Idempotency-Key: " + key);
             });
}

CallStep dry_run_job(CallInput& input) {
  Result<scheduler::JobSpec> spec = job_of_body(input.body);
  if (const Status status = input.end(); !status || !spec) {
    return refused(!status ? status.error() : spec.error());
  }
  const SubmitArgs submit{kNoKey, *std::move(spec)};
  return look_up<WhyInfo>(input.frame, Verb::kDryRun, encode_payload(submit),
                          [frame = input.frame](const WhyInfo& why, const Response& response) {
                            return told(frame, dry_run_json(why, response), response);
                          });
}

}  // namespace muster::agent
