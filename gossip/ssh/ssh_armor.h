#pragma once
// The armor of OpenSSH's files: bytes as base64 in lines, between a line that says what begins and
// one that says what ends (PROTOCOL.sshsig, section 1; PROTOCOL.key uses the same form).

#include <optional>
#include <string>
#include <string_view>

namespace muster::gossip {

/// "-----BEGIN label-----", the base64 in lines of 70 letters, as ssh-keygen breaks them, and
/// "-----END label-----", each with a line break behind it.
std::string to_armor(std::string_view bytes, std::string_view label);
/// Whether the text begins like the armor of that label, blanks and line breaks apart.
bool is_armor(std::string_view text, std::string_view label);
/// The bytes. Blanks and line breaks around the text, and line breaks of any kind and at any place
/// inside, do not count. nullopt if the text is cut off, holds anything else, or has more than one
/// such part. The caller limits the size of the text; the result is shorter.
std::optional<std::string> from_armor(std::string_view text, std::string_view label);

}  // namespace muster::gossip
