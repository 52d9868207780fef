#include "agent/api/rest/call_step.h"

#include "agent/api/rest/problem.h"
#include "agent/api/verbs.h"
#include "gossip/base/result.h"

namespace muster::agent {
namespace {

/// About one job, which the node may not have heard of yet.
bool is_about_a_job(Verb verb) {
  const VerbRow* row = find_verb(verb);
  return row != nullptr && row->right == Right::kMaySeeJobs && !row->is_readable("");
}

/// The leader is asked for what this node does not know.
CallStep look_at_leader(Request question, const Response& unknown, const CallNext& take) {
  question.consistent = true;
  return ask(std::move(question), [unknown, take](const Response& sure) -> CallStep {
    if (sure.status == ResponseStatus::kOk) {
      return take(sure);
    }
    Response failed = unknown;
    failed.text += sure.status == ResponseStatus::kNotFound
                       ? ""
                       : " (as far as this node knows: the leader could not be asked)";
    return refused(failed);
  });
}

}  // namespace

CallStep ended(HttpAnswer answer) {
  CallStep step;
  step.answer = std::move(answer);
  return step;
}

CallStep refused(const Response& response) {
  return ended(problem_of(response));
}

CallStep refused(ResponseStatus status, std::string text) {
  return ended(problem(http_status_of(status), status, std::move(text)));
}

CallStep told(const CallFrame& frame, std::string document, const Response& from) {
  HttpAnswer answer;
  answer.status = frame.status;
  answer.fields = {{"muster-answered-by", from.answered_by},
                   {"muster-age-ms", std::to_string(from.age_ms)}};
  answer.body = std::move(document) + "\n";
  return ended(std::move(answer));
}

Request request_of(const CallFrame& frame, Verb verb, std::string arguments) {
  Request request;
  request.verb = verb;
  request.arguments = std::move(arguments);
  request.access = frame.access;
  return request;
}

CallStep ask(Request question, CallNext next) {
  CallStep step;
  step.question = std::move(question);
  step.next = std::move(next);
  return step;
}

CallStep look_up_raw(Request question, CallNext take) {
  Request asked = question;
  return ask(std::move(asked),
             [question = std::move(question),
              take = std::move(take)](const Response& response) -> CallStep {
               if (response.status == ResponseStatus::kOk) {
                 return take(response);
               }
               return response.status == ResponseStatus::kNotFound && !question.consistent &&
                              is_about_a_job(question.verb)
                          ? look_at_leader(question, response, take)
                          : refused(response);
             });
}

CallStep order(const CallFrame& frame, Verb verb, std::string arguments, CallNext done,
               OrderWords words) {
  return ask(request_of(frame, verb, std::move(arguments)),
             [done = std::move(done), words = std::move(words)](const Response& response) {
               if (response.status == ResponseStatus::kOk) {
                 return done(response);
               }
               Response failed = response;
               failed.text = words.subject + response.text;
               if (response.status == ResponseStatus::kUnknown && !words.repeat.empty()) {
                 failed.text += "; " + words.repeat;
               }
               return refused(failed);
             });
}

}  // namespace muster::agent
