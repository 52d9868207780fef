#pragma once
// A node for calls of REST: it answers by verb, and keeps what it was asked.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/payload.h"
#include "agent/api/rest/call.h"

namespace muster::agent::rest_testing {

inline Response good(std::string payload = "") {
  return {ResponseStatus::kOk, "", "b", 12, std::move(payload)};
}
template <class T>
Response good_with(const T& value) {
  return good(encode_payload(value));
}
inline Response bad(ResponseStatus status, std::string text) {
  return {status, std::move(text), "b", 12, ""};
}

class CallNode {
 public:
  using Answer = std::function<Response(const Request&)>;

  CallNode& on(Verb verb, Answer answer) {
    answers_[verb] = std::move(answer);
    return *this;
  }
  CallNode& on(Verb verb, Response response) {
    return on(verb, [response](const Request&) { return response; });
  }
  HttpAnswer run(const HttpRequest& request, const RestChance& chance = {}) {
    asked.clear();
    auto begun = RestCall::begin(request, "line", chance);
    if (auto* answer = std::get_if<HttpAnswer>(&begun)) {
      return std::move(*answer);
    }
    RestCall call = std::get<RestCall>(std::move(begun));
    for (int questions = 0; questions < 100; ++questions) {
      asked.push_back(call.question());
      const auto found = answers_.find(call.question().verb);
      EXPECT_NE(found, answers_.end()) << static_cast<int>(call.question().verb);
      const Response response = found == answers_.end()
                                    ? bad(ResponseStatus::kFailed, "not expected")
                                    : found->second(call.question());
      if (auto answer = call.on_answer(response)) {
        return *std::move(answer);
      }
    }
    ADD_FAILURE() << "the call does not end";
    return {};
  }

  std::vector<Request> asked;

 private:
  std::map<Verb, Answer> answers_;
};

inline HttpRequest get(std::string path, HttpFields query = {}) {
  return {HttpMethod::kGet, std::move(path), std::move(query), {}, ""};
}
inline HttpRequest send(HttpMethod method, std::string path, std::string body = "") {
  HttpRequest request{method, std::move(path), {}, {}, std::move(body)};
  if (!request.body.empty()) {
    request.fields.emplace_back("content-type", "application/json");
  }
  return request;
}
inline std::string field(const HttpAnswer& answer, std::string_view name) {
  return std::string(field_of(answer.fields, name).value_or("absent"));
}

}  // namespace muster::agent::rest_testing
