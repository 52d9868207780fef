// The documents of errors.

#include "agent/api/rest/problem.h"

#include <gtest/gtest.h>

#include "agent/api/payload.h"
#include "agent/api/queues.h"

namespace muster::agent {
namespace {

Response refused_with(ResponseStatus status, std::string text, std::string payload = "") {
  Response response;
  response.status = status;
  response.text = std::move(text);
  response.payload = std::move(payload);
  return response;
}

TEST(ProblemTest, IsTheDocumentOfRfc9457) {
  const HttpAnswer answer = problem(404, ResponseStatus::kNotFound, "there is no job 7");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.content_type, "application/problem+json");
  EXPECT_TRUE(answer.fields.empty());
  EXPECT_EQ(answer.body,
            "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404,"
            "\"detail\":\"there is no job 7\",\"exit_code\":6,\"retry_after_ms\":null}\n");
}

TEST(ProblemTest, HasAStatusForEachAnswer) {
  const std::pair<ResponseStatus, int> cases[] = {
      {ResponseStatus::kFailed, 500},     {ResponseStatus::kUsage, 400},
      {ResponseStatus::kImpossible, 422}, {ResponseStatus::kDenied, 403},
      {ResponseStatus::kNoQuorum, 503},   {ResponseStatus::kNotFound, 404},
      {ResponseStatus::kConflict, 409},   {ResponseStatus::kUnknown, 504},
  };
  for (const auto& [status, wanted] : cases) {
    const HttpAnswer answer = problem_of(refused_with(status, "why"));
    EXPECT_EQ(answer.status, wanted);
    EXPECT_NE(title_of(wanted), "Error") << wanted;
    EXPECT_NE(answer.body.find("\"exit_code\":" + std::to_string(static_cast<int>(status)) + ","),
              std::string::npos)
        << answer.body;
  }
}

TEST(ProblemTest, SaysWhenToComeBack) {
  const std::string payload = encode_payload(RetryAfter{1500});
  const HttpAnswer late = problem_of(refused_with(ResponseStatus::kNoQuorum, "too early", payload));
  EXPECT_EQ(field_of(late.fields, "retry-after"), "2");
  EXPECT_NE(late.body.find("\"retry_after_ms\":1500}"), std::string::npos) << late.body;
  const HttpAnswer open = problem_of(refused_with(ResponseStatus::kNoQuorum, "no leader"));
  EXPECT_EQ(field_of(open.fields, "retry-after"), "1");
  EXPECT_NE(open.body.find("\"retry_after_ms\":null}"), std::string::npos) << open.body;
  EXPECT_EQ(field_of(problem(429, ResponseStatus::kNoQuorum, "", 3000).fields, "retry-after"), "3");
  EXPECT_EQ(field_of(problem(429, ResponseStatus::kNoQuorum, "", 3001).fields, "retry-after"), "4");
  // The payload of any other answer is not a time.
  EXPECT_EQ(retry_after_ms(refused_with(ResponseStatus::kConflict, "", payload)), std::nullopt);
  EXPECT_EQ(retry_after_ms(refused_with(ResponseStatus::kNoQuorum, "", "\xff")), std::nullopt);
  EXPECT_EQ(
      retry_after_ms(refused_with(ResponseStatus::kNoQuorum, "", encode_payload(RetryAfter{0}))),
      1U);
  EXPECT_EQ(retry_after_ms(refused_with(ResponseStatus::kNoQuorum, "",
                                        encode_payload(RetryAfter{UINT64_MAX}))),
            31'536'000'000U);
}

TEST(ProblemTest, CarriesTheFieldsOfItsStatus) {
  EXPECT_EQ(field_of(problem(401, ResponseStatus::kDenied, "").fields, "www-authenticate"),
            "Bearer");
  NoRoute none;
  none.status = 405;
  none.text = "not this";
  none.allow = "GET, HEAD";
  EXPECT_EQ(field_of(problem_of(none).fields, "allow"), "GET, HEAD");
  EXPECT_EQ(problem_of(none).status, 405);
  Response response = refused_with(ResponseStatus::kDenied, "no");
  response.answered_by = "n1";
  response.age_ms = 7;
  EXPECT_EQ(field_of(problem_of(response).fields, "muster-answered-by"), "n1");
  EXPECT_EQ(field_of(problem_of(response).fields, "muster-age-ms"), "7");
  EXPECT_EQ(problem_of(Error{ErrorCode::kInvalid, "x"}).status, 400);
}

TEST(ProblemTest, BytesThatAreNoTextDoNotBreakIt) {
  const HttpAnswer answer = problem_of(refused_with(ResponseStatus::kFailed, "a\xff\n\"b"));
  EXPECT_NE(answer.body.find("\"detail\":\"a\xef\xbf\xbd\\n\\\"b\""), std::string::npos)
      << answer.body;
  EXPECT_NE(problem(409, ResponseStatus::kConflict, "").body.find("\"detail\":\"Conflict\""),
            std::string::npos);
}

}  // namespace
}  // namespace muster::agent
