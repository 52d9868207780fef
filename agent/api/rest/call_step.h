#pragma once
// The steps of a call of REST. A call asks the node a question, is told the answer, and then asks
// the next one or has the answer for its client. Pure: a step is a value, and what comes next is a
// function of the answer of the node.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/api/rest/http_message.h"

namespace muster::agent {

struct CallStep;
/// Is told the answer of the node, whatever its status.
using CallNext = std::function<CallStep(const Response&)>;

struct CallStep {
  Request question{};        ///< Valid if `next` is set.
  CallNext next{};           ///< Empty: the call is over.
  bool is_addition = false;  ///< The call has an answer without this question, too.
  HttpAnswer answer{};       ///< Valid if the call is over.
};

/// The parts that all questions of one call share.
struct CallFrame {
  std::string access;          ///< Request::access
  bool is_consistent = false;  ///< Of questions that change nothing.
  int status = 200;            ///< Of the HTTP answer, if all goes well.
};

/// The text of the error of an answer that does not decode.
inline constexpr char kUnreadableAnswer[] =
    "cannot read the node's answer: compare `muster version` here and there";

/// The call is over.
CallStep ended(HttpAnswer answer);
/// The node refused, or could not be asked: the answer says so as RFC 9457 does.
CallStep refused(const Response& response);
CallStep refused(ResponseStatus status, std::string text);
/// One document as `--json` prints it, a line feed behind it.
CallStep told(const CallFrame& frame, std::string document, const Response& from);

/// A question, or an order, in the name of the client.
Request request_of(const CallFrame& frame, Verb verb, std::string arguments);
CallStep ask(Request question, CallNext next);

/// Asks a question without effects. A failure is the answer of the call. A job that this node does
/// not know is looked up at the leader: it may have just been accepted.
CallStep look_up_raw(Request question, CallNext take);
/// As look_up_raw(): gives `take` the value, and the answer that held it. `target`:
/// Request::target.
template <class T>
CallStep look_up(const CallFrame& frame, Verb verb, std::string arguments,
                 std::function<CallStep(T, const Response&)> take, HostId target = {}) {
  Request question = request_of(frame, verb, std::move(arguments));
  question.consistent = frame.is_consistent;
  question.target = target;
  return look_up_raw(std::move(question), [take = std::move(take)](const Response& response) {
    std::optional<T> value = decode_payload<T>(response.payload);
    return value.has_value() ? take(*std::move(value), response)
                             : refused(ResponseStatus::kFailed, kUnreadableAnswer);
  });
}

/// Words in the errors of an order, beside the text of the node.
struct OrderWords {
  std::string subject{};                                    ///< Before it: "job 7: ".
  std::string repeat = "it is safe to repeat the request";  ///< If it may have been done.
};
/// Gives an order. A failure is the answer of the call; `done` is told of a success.
CallStep order(const CallFrame& frame, Verb verb, std::string arguments, CallNext done,
               OrderWords words = {});

}  // namespace muster::agent
