#pragma once
// Files that hold a secret, as a ticket does: readable for their owner alone.

#include <cstddef>
#include <string>

#include "gossip/base/result.h"

namespace muster::gossip {

/// The text of the file, at most `bytes_max` of it; of stdin for "-". kDenied: it is a regular
/// file of a user that is neither this one nor root, or one that its group or others can read or
/// write, and no directory of this user or root above it is closed to them.
/// kInvalid: it cannot be read. Other files than regular ones, as pipes, are read as they come.
Result<std::string> read_secret(const std::string& path, std::size_t bytes_max);
/// Makes the file with mode 0600, whatever stood at its path before. kInvalid says why not; what
/// stood there is left.
Status write_secret(const std::string& path, const std::string& text);
/// Why what is written to that descriptor can be read by others; "" = it is no regular file, or one
/// of this user (or root) alone.
std::string why_not_secret(int descriptor);

}  // namespace muster::gossip
