#pragma once
// Pieces of HTTP as text: queries, proofs and media types.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "agent/api/rest/http_message.h"
#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr std::size_t kQueryBytesMax = 16 * 1024;
inline constexpr std::size_t kParametersMax = 256;

/// The bytes that "%2F" and the like stand for. nullopt if a '%' has no two hexadecimal digits
/// behind it, or if the result is not UTF-8 or has a zero byte.
std::optional<std::string> percent_decoded(std::string_view text);

/// The parameters of "a=1&b=x+y", which has no '?': decoded, '+' is a blank, in their order. One
/// without '=' has the value "". kInvalid: too long, too many, or not decodable.
Result<HttpFields> query_of(std::string_view text);

/// The line of `Authorization: Bearer LINE`; nullopt without that field. The line is a secret, and
/// no error shows it. kInvalid: another scheme, a blank in the line, no line or a line of more than
/// scheduler::kAccessLineMax bytes, or two such fields.
Result<std::optional<std::string>> bearer_line(const HttpFields& fields);

/// Whether a Content-Type says JSON: "application/json", in any case, without parameters but
/// charset=utf-8.
bool is_json_type(std::string_view content_type);

}  // namespace muster::agent
