#pragma once
// RestCall is one request of a client of HTTP on its way: it says what to ask the node, one
// question at a time, and gives the HTTP answer in the end. The answer of a route is the document
// that the verb of the CLI prints with --json for the same wishes, and a line feed. Pure: the door
// asks the node, and answers for it if it cannot be asked.

#include <optional>
#include <string>
#include <variant>

#include "agent/api/request.h"
#include "agent/api/rest/call_input.h"
#include "agent/api/rest/call_step.h"
#include "agent/api/rest/http_message.h"

namespace muster::agent {

/// The first step of the rule of the route that matched.
CallStep begin_rule(CallInput& input);

class RestCall {
 public:
  /// The answer at once (a refusal, /healthz), or a call with its first question. `access`: the
  /// line of the access token that the request shows; "" = the client asks as a login.
  static std::variant<HttpAnswer, RestCall> begin(const HttpRequest& request, std::string access,
                                                  const RestChance& chance = {});

  /// To be asked now.
  const Request& question() const { return step_.question; }
  /// The call has an answer without this question, too: it waits a second for it at most.
  bool is_addition() const { return step_.is_addition; }
  /// `response` answers question(). nullopt: question() is the next one.
  std::optional<HttpAnswer> on_answer(const Response& response);

 private:
  explicit RestCall(CallStep step) : step_(std::move(step)) {}

  CallStep step_;
};

}  // namespace muster::agent
