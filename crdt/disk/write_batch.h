#pragma once
// What a machine wants on disk, as values. Production applies a batch in one LMDB transaction, the
// simulator to an image in memory that can lose its unsynced tail; both use seal() and the root
// record, so what is read back is checked the same way.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::crdt {

/// The environments (directories) of an agent's data. Durability differs: see ARCHITECTURE.md.
enum class Environment : std::uint8_t {
  kId,     ///< Keys, generation, fences, grants. Synced commits.
  kRaft,   ///< Log, term, vote, snapshot. Synced commits.
  kState,  ///< Rows of all hosts, which peers have, and own events. Not synced.
};

/// One change of one key. Keys are unique over the whole environment; by convention they begin with
/// a table's name and a slash ("log/", "fence/"), numbers inside keys are 8 bytes big endian.
struct Write {
  std::string key;
  std::optional<std::string> value;  ///< Empty = delete.
};

using WriteBatch = std::vector<Write>;

/// Everything an environment held when the agent started, unsealed.
using Records = std::map<std::string, std::string>;

/// Big endian, so that byte order is number order.
std::string key_of(std::string_view table, std::uint64_t number);
/// The number behind `table` in `key`, or nothing when the key is not of that table.
std::optional<std::uint64_t> number_of(std::string_view table, std::string_view key);

/// [format][payload][XXH3-64 over key and payload].
std::string seal(std::string_view key, std::string_view payload);
/// It is whole and bears a version of the disk's format that was given up.
bool is_of_earlier_build(std::string_view key, std::string_view sealed);
std::optional<std::string> unseal(std::string_view key, std::string_view sealed);

/// Count and digest of an environment's live records, kept with them under kRootKey in the same
/// transaction: a lost or doubled record shows at open.
struct Root {
  std::uint64_t count = 0;
  std::uint64_t digest = 0;  ///< XOR of the records' XXH3-64.
  bool operator==(const Root&) const = default;
  void add(std::string_view key, std::string_view sealed);
  void remove(std::string_view key, std::string_view sealed);
  std::string encode() const;
  static std::optional<Root> decode(std::string_view payload);
};
inline constexpr std::string_view kRootKey = "root";

/// Unseals a whole environment as read from disk and checks it against its root record. kCorrupt
/// names the first wrong key. An empty environment is whole.
Result<Records> check_records(const std::map<std::string, std::string>& sealed);

}  // namespace muster::crdt
