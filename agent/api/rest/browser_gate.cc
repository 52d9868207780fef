#include "agent/api/rest/browser_gate.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/api/request.h"
#include "agent/api/rest/field_text.h"
#include "agent/api/rest/problem.h"

namespace muster::agent {
namespace {

/// Fields of which a second one would leave it open which counts.
constexpr std::string_view kOnceFields[] = {
    "host",         "content-length", "transfer-encoding", "authorization",
    "content-type", "origin",         "idempotency-key",   "cookie"};

constexpr int kMisdirected = 421;

std::string folded(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return result;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char digit) {
    return digit >= '0' && digit <= '9';
  });
}

bool writes(HttpMethod method) {
  return method != HttpMethod::kGet && method != HttpMethod::kHead;
}

HttpAnswer bad_framing(std::string why) {
  return problem(400, ResponseStatus::kUsage, std::move(why));
}

std::optional<HttpAnswer> framing_refusal(const HttpFields& fields) {
  for (const std::string_view name : kOnceFields) {
    const auto count = std::count_if(fields.begin(), fields.end(),
                                     [name](const auto& field) { return field.first == name; });
    if (count > 1) {
      return bad_framing("the header has more than one " + std::string(name) + ": send it once");
    }
  }
  const auto coding = field_of(fields, "transfer-encoding");
  if (coding.has_value() && field_of(fields, "content-length").has_value()) {
    return bad_framing("the header has content-length beside transfer-encoding: send one of them");
  }
  if (coding.has_value() && folded(*coding) != "chunked") {
    return bad_framing("transfer-encoding can only be chunked, not " + shown(*coding));
  }
  return std::nullopt;
}

std::optional<HttpAnswer> host_refusal(const HttpFields& fields, const BrowserRules& rules) {
  if (rules.may_be_any_name) {
    return std::nullopt;
  }
  const auto host = field_of(fields, "host");
  const auto name = host.has_value() ? host_name_of(*host) : std::nullopt;
  if (!name.has_value()) {
    return bad_framing("the header needs a host: the name of this node, and its port");
  }
  const bool is_ours =
      std::any_of(rules.names.begin(), rules.names.end(),
                  [&name](const std::string& ours) { return folded(ours) == *name; });
  if (is_ours) {
    return std::nullopt;
  }
  return problem(kMisdirected, ResponseStatus::kDenied,
                 shown(*name) +
                     " is not a name of this node: use the name or address that it was started "
                     "with, or have the operator add this one");
}

std::optional<HttpAnswer> writer_refusal(const HttpFields& fields) {
  if (!field_of(fields, kClientField).has_value()) {
    return problem(403, ResponseStatus::kDenied,
                   "a request that changes something needs the header muster-client, with any "
                   "value: curl -H 'muster-client: curl'");
  }
  const auto origin = field_of(fields, "origin");
  const auto host = field_of(fields, "host");
  if (origin.has_value() && (!host.has_value() || folded(*origin) != "https://" + folded(*host))) {
    return problem(403, ResponseStatus::kDenied,
                   "pages of " + shown(*origin) + " may not change anything here");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> host_name_of(std::string_view host) {
  std::string_view name = host;
  std::string_view rest;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    name = host.substr(1, end - 1);
    rest = host.substr(end + 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    name = host.substr(0, colon);
    rest = host.substr(colon);
  }
  if (name.empty() || (!rest.empty() && !(rest.front() == ':' && is_port(rest.substr(1))))) {
    return std::nullopt;
  }
  return folded(name);
}

std::optional<HttpAnswer> browser_refusal(const HttpRequest& request, const BrowserRules& rules) {
  if (auto refusal = framing_refusal(request.fields)) {
    return refusal;
  }
  if (auto refusal = host_refusal(request.fields, rules)) {
    return refusal;
  }
  return writes(request.method) ? writer_refusal(request.fields) : std::nullopt;
}

}  // namespace muster::agent
