#pragma once
// Raft's bytes: message bodies for the wire, and the records of Environment::kRaft.
//
//   raft/hard        [term, vote]
//   raft/voters      [host id, ...]                  the founders
//   raft/seat        [seat id]                       of who joined later; none = a founder's
//   raft/epoch       [counter, lineage]              none = the first
//   raft/configuration   encode(Configuration)       at the snapshot; none = the founders
//   raft/snapshot    [index, term, start index, start term]
//   raft/state       the application's bytes at that snapshot
//   raft/given_up    [why]                           nobody sits here again; none = in use
//   raft/copied      []                              no voter speaks from here; none = it may
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
/// Nothing when `type` is none of Raft's, the body does not fit, a number is out of range, or the
/// terms of the entries fall. Trailing elements are ignored. Unknown entry kinds decode.
std::optional<RaftMessage> decode_raft_message(gossip::MessageType type, gossip::Reader body);

crdt::Write write_of(const HardState& hard_state);
crdt::Write write_of(LogIndex index, const LogEntry& entry);
crdt::Write erase_of(LogIndex index);
crdt::Write write_of_voters(const std::vector<HostId>& voters);
crdt::Write write_of(SeatId seat);
crdt::Write write_of(const ClusterEpoch& epoch);
/// No seat sits in this log any more, and none may again. `why` is for people.
crdt::Write write_of_given_up(const std::string& why);
/// Why; an unreadable record counts as one.
std::optional<std::string> recover_given_up(const crdt::Records& records);
/// The directory was copied: its voter says nothing (RecoveredLog::is_copy). False: an operator
/// says that it was moved, or the log is another's.
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
