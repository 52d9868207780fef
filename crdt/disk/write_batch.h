#pragma once
// WriteBatch is the writes of a machine, as values. Production applies a batch in one LMDB
// transaction; the simulator applies it to an image in memory that can lose its unsynced tail. Both
// use seal() and the root record, so that both check the records that they read back.

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

/// One change of one key. Keys are unique in an environment. By convention they begin with the name
/// of a table and a slash ("log/", "fence/"); numbers inside keys are 8 bytes, big endian.
struct Write {
  std::string key;
  std::optional<std::string> value;  ///< nullopt = delete.
};

using WriteBatch = std::vector<Write>;

/// All records of an environment at the start of the agent, unsealed.
using Records = std::map<std::string, std::string>;

/// The key of a number in a table: big endian, so that byte order is number order.
std::string key_of(std::string_view table, std::uint64_t number);
/// The number behind `table` in `key`; nullopt if the key is not of that table.
std::optional<std::uint64_t> number_of(std::string_view table, std::string_view key);

/// [format][payload][XXH3-64 over key and payload].
std::string seal(std::string_view key, std::string_view payload);
/// Whether a record is whole and has an earlier version of the disk's format.
bool is_of_earlier_build(std::string_view key, std::string_view sealed);
std::optional<std::string> unseal(std::string_view key, std::string_view sealed);

/// Count and digest of the live records of an environment. They are written under kRootKey in the
/// same transaction: a lost or doubled record shows at the next open.
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

/// Unseals an environment as read from disk, and checks it against its root record. kCorrupt names
/// the first wrong key. An empty environment is whole.
Result<Records> check_records(const std::map<std::string, std::string>& sealed);

}  // namespace muster::crdt
