#include "agent/api/rest/http_text.h"

#include <algorithm>

#include "gossip/base/name.h"
#include "scheduler/access/access_token.h"

namespace muster::agent {
namespace {

constexpr std::string_view kHttpBlanks = " \t";

char lower_letter(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string lower_case(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), lower_letter);
  return low;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kHttpBlanks), text.size());
  const std::size_t end = text.find_last_not_of(kHttpBlanks);
  return begin == text.size() ? std::string_view() : text.substr(begin, end - begin + 1);
}

/// -1 if it is no hexadecimal digit.
int hex_value(char digit) {
  const char low = lower_letter(digit);
  return low >= '0' && low <= '9' ? low - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/// As percent_decoded(), where '+' is a blank.
std::optional<std::string> form_decoded(std::string_view text) {
  std::string blanks(text);
  std::replace(blanks.begin(), blanks.end(), '+', ' ');
  return percent_decoded(blanks);
}

Error bad_query(const std::string& why) {
  return Error{ErrorCode::kInvalid, "the query " + why};
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    decoded.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  const bool is_text = is_utf8(decoded) && decoded.find('\0') == std::string::npos;
  return is_text ? std::optional(std::move(decoded)) : std::nullopt;
}

Result<HttpFields> query_of(std::string_view text) {
  if (text.size() > kQueryBytesMax) {
    return bad_query("is longer than " + std::to_string(kQueryBytesMax) + " bytes");
  }
  HttpFields query;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('&', start), text.size());
    const std::string_view piece = text.substr(start, end - start);
    start = end + 1;
    if (piece.empty()) {
      continue;
    }
    if (query.size() == kParametersMax) {
      return bad_query("has more than " + std::to_string(kParametersMax) + " parameters");
    }
    const std::size_t equals = std::min(piece.find('='), piece.size());
    auto name = form_decoded(piece.substr(0, equals));
    auto value = form_decoded(piece.substr(std::min(equals + 1, piece.size())));
    if (!name.has_value() || !value.has_value()) {
      return bad_query("has a parameter that is not percent-encoded UTF-8: parameter " +
                       std::to_string(query.size() + 1));
    }
    if (name->empty()) {
      return bad_query("has a parameter without a name: parameter " +
                       std::to_string(query.size() + 1));
    }
    query.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

Result<std::optional<std::string>> bearer_line(const HttpFields& fields) {
  const auto is_proof = [](const auto& field) { return field.first == "authorization"; };
  const auto found = std::find_if(fields.begin(), fields.end(), is_proof);
  if (found == fields.end()) {
    return std::optional<std::string>();
  }
  const Error error{ErrorCode::kInvalid,
                    "give Authorization once, as \"Bearer LINE\" with the line of an access token "
                    "(`muster token create` makes one)"};
  if (std::count_if(fields.begin(), fields.end(), is_proof) != 1) {
    return error;
  }
  const std::string_view text = without_blanks(found->second);
  const std::size_t blank = std::min(text.find_first_of(kHttpBlanks), text.size());
  const std::string_view line = without_blanks(text.substr(blank));
  const bool is_line =
      !line.empty() && line.size() <= scheduler::kAccessLineMax &&
      std::all_of(line.begin(), line.end(), [](char byte) { return byte > ' ' && byte < 0x7f; });
  if (lower_case(text.substr(0, blank)) != "bearer" || !is_line) {
    return error;
  }
  return std::optional(std::string(line));
}

bool is_json_type(std::string_view content_type) {
  const std::string type = lower_case(content_type);
  const std::size_t end = std::min(type.find(';'), type.size());
  if (without_blanks(std::string_view(type).substr(0, end)) != "application/json") {
    return false;
  }
  const std::string_view parameter =
      without_blanks(std::string_view(type).substr(std::min(end + 1, type.size())));
  return parameter.empty() || parameter == "charset=utf-8" || parameter == "charset=\"utf-8\"";
}

}  // namespace muster::agent
