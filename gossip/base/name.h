#pragma once
// The rules for names, the same at every door by which names come in: the command line, the
// configuration, the node that is asked, the leader that enrols. A name that passes can be typed,
// listed in a table and given to `--node`.

#include <cstddef>
#include <string>
#include <string_view>

#include "gossip/base/result.h"

namespace muster {

/// Limit of the name of a host, rack, spine or GPU type.
inline constexpr std::size_t kWordNameBytesMax = 64;
inline constexpr std::size_t kLabelBytesMax = 127;

/// 1 to kWordNameBytesMax ASCII letters, digits and ._-; the first one is a letter, a digit or _.
/// An IPv4 address is not a name.
bool is_word_name(std::string_view name);
/// "key" or "key=value" of letters, digits and ._-/, at most kLabelBytesMax; the key is not empty.
bool is_label(std::string_view text);
/// One line for a terminal: UTF-8 without control characters, line or paragraph separators, or
/// characters that change the direction of the text. It does not begin or end with a blank.
bool is_line_name(std::string_view text);
/// Whether the bytes are whole characters.
bool is_utf8(std::string_view bytes);

/// kInvalid: "'a b' is not a valid name for a host: ...", with the characters that are allowed.
Status check_word_name(std::string_view name, std::string_view what);
/// kInvalid if is_line_name() is false, with the characters that are allowed. The text shows
/// control characters as '?'.
Status check_line_name(std::string_view name, std::string_view what);

}  // namespace muster
