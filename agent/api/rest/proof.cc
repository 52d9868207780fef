#include "agent/api/rest/proof.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/api/request.h"
#include "agent/api/rest/http_text.h"
#include "agent/api/rest/problem.h"
#include "agent/api/rest/route.h"
#include "scheduler/access/access_token.h"

namespace muster::agent {
namespace {

/// Names under which clients put proofs into a query.
constexpr std::string_view kProofParameters[] = {"access_token", "access",   "token",
                                                 "bearer",       "password", "authorization"};
constexpr std::string_view kLineBegin = "muster-access-";

std::string small_letters(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return result;
}

HttpAnswer unproven(std::string text) {
  return problem(401, ResponseStatus::kDenied, std::move(text));
}

bool is_proof_parameter(const std::pair<std::string, std::string>& parameter) {
  const std::string name = small_letters(parameter.first);
  const bool has_name = std::find(std::begin(kProofParameters), std::end(kProofParameters), name) !=
                        std::end(kProofParameters);
  return has_name || parameter.first.find(kLineBegin) != std::string::npos ||
         parameter.second.find(kLineBegin) != std::string::npos;
}

/// Bytes that a cookie can have and a line may have.
bool is_cookie_line(std::string_view line) {
  return !line.empty() && line.size() <= scheduler::kAccessLineMax &&
         std::all_of(line.begin(), line.end(), [](char byte) {
           return byte > ' ' && byte < 0x7f && byte != '"' && byte != ',' && byte != ';' &&
                  byte != '\\';
         });
}

/// Whether the page of this node asks, or a person by the bar of addresses, as far as the browser
/// says it. A browser of today always says it over HTTPS.
bool is_of_own_page(const HttpFields& fields) {
  const std::string host = small_letters(field_of(fields, "host").value_or(""));
  return std::all_of(fields.begin(), fields.end(), [&host](const auto& field) {
    const auto& [name, value] = field;
    if (name == "sec-fetch-site") {
      return value == "same-origin" || value == "none";
    }
    return name != "origin" || small_letters(value) == "https://" + host;
  });
}

/// The values of our cookie in a Cookie field.
std::vector<std::string_view> own_cookies(std::string_view text) {
  std::vector<std::string_view> values;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(';', start), text.size());
    std::string_view piece = text.substr(start, end - start);
    start = end + 1;
    piece.remove_prefix(std::min(piece.find_first_not_of(" \t"), piece.size()));
    const std::size_t equals = std::min(piece.find('='), piece.size());
    if (piece.substr(0, equals) == kProofCookie && equals < piece.size()) {
      values.push_back(piece.substr(equals + 1));
    }
  }
  return values;
}

/// "" without a cookie that counts; nullopt: it is not readable.
std::optional<std::string> cookie_line(const HttpFields& fields) {
  std::vector<std::string_view> values;
  for (const auto& [name, value] : fields) {
    if (name == "cookie") {
      const std::vector<std::string_view> found = own_cookies(value);
      values.insert(values.end(), found.begin(), found.end());
    }
  }
  if (values.empty() || !is_of_own_page(fields)) {
    return std::string();
  }
  return values.size() == 1 && is_cookie_line(values.front())
             ? std::optional(std::string(values.front()))
             : std::nullopt;
}

std::string set_cookie(std::string_view line, int seconds) {
  return std::string(kProofCookie) + "=" + std::string(line) +
         "; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=" + std::to_string(seconds);
}

/// The first error of a request for /v1/login or /v1/logout.
std::optional<HttpAnswer> session_refusal(const HttpRequest& request, bool is_https) {
  if (request.method != HttpMethod::kPost) {
    return problem_of(NoRoute{405, request.path + " takes POST", "POST"});
  }
  if (!is_https) {
    return problem(400, ResponseStatus::kUsage,
                   request.path +
                       " is for browsers, over HTTPS: a unix socket knows its client "
                       "by its login");
  }
  return std::nullopt;
}

HttpAnswer logout_answer(const HttpRequest& request) {
  if (!request.query.empty() || !request.body.empty()) {
    return problem(400, ResponseStatus::kUsage, "/v1/logout takes no parameter and no body");
  }
  HttpAnswer answer;
  answer.status = 204;
  answer.content_type.clear();
  answer.fields.emplace_back("set-cookie", set_cookie("", 0));
  return answer;
}

}  // namespace

std::variant<HttpAnswer, Proof> read_proof(const HttpRequest& request, bool is_https) {
  if (std::any_of(request.query.begin(), request.query.end(), is_proof_parameter)) {
    return problem(400, ResponseStatus::kUsage,
                   "an access token does not belong into a URL, which histories and logs keep: "
                   "send it as `Authorization: Bearer LINE`, and end this one (`muster token "
                   "revoke`)");
  }
  const bool is_login = request.path == kLoginPath;
  if (is_login || request.path == kLogoutPath) {
    if (auto refusal = session_refusal(request, is_https)) {
      return *std::move(refusal);
    }
  }
  if (request.path == kLogoutPath) {
    return logout_answer(request);
  }
  Result<std::optional<std::string>> shown = bearer_line(request.fields);
  if (!shown) {
    return unproven(shown.error().text);
  }
  if (is_login) {
    const bool is_line = shown->has_value() && is_cookie_line(**shown);
    return is_line ? std::variant<HttpAnswer, Proof>(Proof{**shown, true})
                   : unproven("show an access token to sign in: `Authorization: Bearer LINE`");
  }
  if (shown->has_value() || !is_https) {
    return Proof{shown->value_or("")};
  }
  std::optional<std::string> line = cookie_line(request.fields);
  return line.has_value() ? std::variant<HttpAnswer, Proof>(Proof{*std::move(line)})
                          : unproven("the cookie of this page is not readable: sign in again");
}

HttpRequest whoami_question(const HttpRequest& login) {
  HttpRequest question = login;
  question.method = HttpMethod::kGet;
  question.path = "/v1/whoami";
  return question;
}

HttpAnswer login_answer(HttpAnswer whoami, std::string_view line) {
  if (whoami.status == 200) {
    whoami.fields.emplace_back("set-cookie", set_cookie(line, kProofCookieSeconds));
  }
  return whoami;
}

}  // namespace muster::agent
