#pragma once
// Raft's bytes: message bodies for the wire, and the records of Environment::kRaft.
//
//   raft/hard        [term, vote]
//   raft/voters      [host id, ...]                  the founders
//   raft/seat        [seat id]                       of a later voter; absent: a founder's seat
//   raft/epoch       [counter, lineage]              absent: the first epoch
//   raft/configuration   encode(Configuration)       at the snapshot; absent: the founders
//   raft/snapshot    [index, term, start index, start term]
//   raft/state       the application's bytes at that snapshot
//   raft/given_up    [why]                           no seat is here again; absent: in use
//   raft/copied      []                              no voter speaks from here; absent: it may
//   log/<index>      [term, kind, command]

#include <optional>
#include <string>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "gossip/wire/message.h"
#include "gossip/wire/wire.h"
#include "scheduler/raft/types.h"

namespace muster::scheduler {

inline constexpr std::string_view kHardStateKey = "raft/hard";
inline constexpr std::string_view kVotersKey = "raft/voters";
inline constexpr std::string_view kSeatKey = "raft/seat";
inline constexpr std::string_view kEpochKey = "raft/epoch";
inline constexpr std::string_view kConfigurationKey = "raft/configuration";
inline constexpr std::string_view kSnapshotKey = "raft/snapshot";
inline constexpr std::string_view kSnapshotStateKey = "raft/state";
inline constexpr std::string_view kGivenUpKey = "raft/given_up";
inline constexpr std::string_view kCopiedKey = "raft/copied";
inline constexpr std::string_view kLogTable = "log/";

gossip::MessageType type_of(const RaftMessage& message);
/// One positional array.
std::string encode(const RaftMessage& message);
/// nullopt if `type` is not a Raft message, the body is invalid, a number is out of range, or the
/// terms of the entries fall. Ignores trailing elements. Unknown entry kinds decode.
std::optional<RaftMessage> decode_raft_message(gossip::MessageType type, gossip::Reader body);

crdt::Write write_of(const HardState& hard_state);
crdt::Write write_of(LogIndex index, const LogEntry& entry);
crdt::Write erase_of(LogIndex index);
crdt::Write write_of_voters(const std::vector<HostId>& voters);
crdt::Write write_of(SeatId seat);
crdt::Write write_of(const ClusterEpoch& epoch);
/// The seat of this log is given up; no seat may use the log again. `why` is for people.
crdt::Write write_of_given_up(const std::string& why);
/// The reason, also if the record is unreadable. nullopt if there is no record.
std::optional<std::string> recover_given_up(const crdt::Records& records);
/// True: the directory was copied, and its voter is silent (RecoveredLog::is_copy). False: an
/// operator says that the directory was moved, or another log replaces this one.
crdt::Write write_of_copied(bool is_copy);
void write_snapshot_to(const Snapshot& snapshot, LogPosition start, crdt::WriteBatch& batch);

/// Reads raft/ back. Records of other tables are ignored. kCorrupt names the record that is missing
/// or unreadable; the caller starts no voter from such a disk.
Result<RecoveredLog> recover_log(const crdt::Records& records);

/// Host ids as one array, shared with the first quorum. Reading fails the reader on more than
/// kVotersMax, on doubles and on disorder.
void write_voters(gossip::Encoder& out, const std::vector<HostId>& voters);
std::vector<HostId> read_voters(gossip::Reader& in);

}  // namespace muster::scheduler
