#pragma once
// The file of `muster users apply`: TOML with the tables [access], [team."NAME"] and [user."NAME"].

#include <string>
#include <string_view>

#include "cli/kit/users_file.h"
#include "gossip/base/result.h"

namespace muster::cli {

inline constexpr std::size_t kUsersFileBytesMax = 16 << 20;

/// kInvalid names the place, and the key or value that is unknown there.
Result<UsersFile> parse_users_file(std::string_view text, const std::string& path);
/// kNotFound if there is no such file.
Result<UsersFile> read_users_file(const std::string& path);

}  // namespace muster::cli
