#pragma once
// The file of `muster queue import`: TOML with half-life and the tables [queue."PATH"].

#include <string>
#include <string_view>

#include "gossip/base/result.h"
#include "scheduler/protocol/queues.h"

namespace muster::cli {

/// 1,024 queues of 1,000 members each would be larger; a team stands for many members.
inline constexpr std::size_t kQueuesFileBytesMax = 4 << 20;

/// A valid tree. kInvalid names the line, and the key or value that is wrong there; if two queues
/// contradict each other, it names them.
Result<scheduler::QueueTree> parse_queues_file(std::string_view text, const std::string& path);
/// kNotFound if there is no such file.
Result<scheduler::QueueTree> read_queues_file(const std::string& path);

}  // namespace muster::cli
