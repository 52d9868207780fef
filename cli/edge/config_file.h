#pragma once
// The agent's config file, /etc/muster/muster.toml: a flat list of settings, named as the flags
// with underscores. Read once, at start.

#include <string>
#include <string_view>
#include <vector>

#include "cli/kit/settings.h"
#include "gossip/base/result.h"

namespace muster::cli {

inline constexpr std::size_t kConfigBytesMax = 1 << 20;

/// The text of a file. kNotFound if there is no such file, kIo if it cannot be read, kInvalid if it
/// is larger than `bytes_max`: then it is no file of that `kind`, in words for people.
Result<std::string> read_text(const std::string& path, std::size_t bytes_max,
                              const std::string& kind);

/// kInvalid names the place, or the unknown setting together with the known ones: a misspelt
/// setting that is silently ignored is found out too late.
Result<Settings> parse_config(std::string_view text, const std::string& path,
                              const std::vector<std::string>& known);
/// kNotFound when there is no such file.
Result<Settings> read_config_file(const std::string& path, const std::vector<std::string>& known);

}  // namespace muster::cli
