#pragma once
// The words that may be names. One rule for every door by which names come in: the command line,
// the configuration, the node that is asked, the leader that enrols. A name that passes can be
// typed, listed in a table and named to `--node` again.

#include <cstddef>
#include <string>
#include <string_view>

#include "gossip/base/result.h"

namespace muster {

/// Of a host, rack, spine, GPU type.
inline constexpr std::size_t kWordNameBytesMax = 64;
inline constexpr std::size_t kLabelBytesMax = 127;

/// Letters, digits and ._- of ASCII, at most kWordNameBytesMax; the first one is a letter, a digit
/// or _. It is no IPv4 address.
bool is_word_name(std::string_view name);
/// "key" or "key=value" of letters, digits and ._-/; a key is not empty.
bool is_label(std::string_view text);
/// One line for a terminal: UTF-8 without control characters, line or paragraph separators, or
/// characters that change the direction of what follows. It does not begin or end with a blank.
bool is_line_name(std::string_view text);
/// Whether the bytes are whole characters.
bool is_utf8(std::string_view bytes);

/// kInvalid: "'a b' is no name for a host: ...", with what is allowed.
Status check_word_name(std::string_view name, std::string_view what);
/// kInvalid: that it holds what a name of `what` may not hold. Bytes that a terminal obeys are
/// shown as '?'.
Status check_line_name(std::string_view name, std::string_view what);

}  // namespace muster
