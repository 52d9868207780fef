#pragma once
// Files that hold a secret, such as a ticket: only their owner can read them.

#include <cstddef>
#include <string>
#include <string_view>

#include "gossip/base/result.h"

namespace muster::gossip {

/// The text of the file, at most `bytes_max` of it; of stdin for "-". kDenied: the file is regular
/// and why_not_secret() has a reason. kInvalid: it cannot be read. Other files than regular ones,
/// such as pipes, are read as they come. `harm` is what others can do with the secret, for people.
Result<std::string> read_secret(const std::string& path, std::size_t bytes_max,
                                std::string_view harm = "anyone who read it can join");
/// Why write_secret() cannot replace what is there; "" = it may, or nothing is there.
std::string why_not_replaced(const std::string& path);
/// Makes the file with mode 0600, or replaces a regular file. kInvalid says why not; a file that
/// was at the path stays.
Status write_secret(const std::string& path, const std::string& text);
/// Why the file of that descriptor is not secret: its owner is neither this user nor root, or its
/// mode is open to others and no directory of this user or root above it is closed to them. "" if
/// it is secret or no regular file.
std::string why_not_secret(int descriptor);

}  // namespace muster::gossip
