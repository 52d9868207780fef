#pragma once
// Checks that DATA/raft is the very directory in which this host voted. A voter whose log was lost
// or copied back would forget what it acknowledged and vote a second time in one term. Therefore
// such a directory is set aside, and the host goes on in a new seat, from which it says nothing for
// the voter that it was; the leader then makes it a voter again.
//
// `raft/marker` is a file that is never written again. Its inode number, its time of birth and the
// id of the host are kept inside raft/ and, the same bytes, in id/. A copy of the file has another
// inode or, where the number was reused, another birth. Device numbers are not kept: they may
// change from one boot to the next. A clone of a whole disk keeps all of it: see id_watch.h.
//
// The disk cannot tell a data directory that was moved to another disk from an image of last week,
// nor both from raft/ alone out of a backup. A copy in which this host votes therefore keeps its
// log and loses its voice (RecoveredLog::is_copy), until an operator says `--moved` or others lead.
//
// The order of the writes makes each crash between them safe: the marker, then raft/, then id/.
// Before the last write this host has promised nothing and given no vote here. A new seat is
// written together with the part of raft/: no crash leaves an empty raft/ that would take itself
// for that of a founder.

#include <string>
#include <string_view>

#include "crdt/disk/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// How to go on where two directories do not belong together.
inline constexpr std::string_view kMoveAside =
    "; move the data directory away and start again: this host then joins as a new one";
inline constexpr std::string_view kRaftMarkerFile = "marker";
inline constexpr std::string_view kRaftHomeInRaft = "home";
inline constexpr std::string_view kRaftHomeInId = "raft_home";

/// Writes that remain, to be synced in this order before the node exists; each batch may be
/// empty.
struct RaftHomeWrites {
  crdt::WriteBatch raft;
  crdt::WriteBatch id;
  bool is_copy = false;  ///< The marker is another file than before: `raft` says so, too.
};

/// `raft_directory` exists; the records are those of the two environments. At the first start, and
/// at the first one of a directory of an earlier release, it makes the marker.
/// kCorrupt: raft/ is missing, or is of another time than id/: set_raft_aside() or discard_raft(),
/// then settle_new_raft().
/// kConflict: it is that of another host; the text says how to go on. kIo: the marker cannot be
/// made or looked at.
Result<RaftHomeWrites> check_raft_home(const std::string& raft_directory, HostId self,
                                       const crdt::Records& id, const crdt::Records& raft);

/// Number of directories that are kept aside.
inline constexpr int kRaftsAsideMax = 4;

/// Renames a raft/ that is not open to raft.lost, raft.lost.2 and so on, durably; where it went. Of
/// kRaftsAsideMax the last one gives way: the first ones are of times when the log was whole.
Result<std::string> set_raft_aside(const std::string& raft_directory);

/// Deletes a raft/ that is not open: one that holds no log, of a start that got no further.
Status discard_raft(const std::string& raft_directory);

/// `raft_directory` exists and is empty but for its environment. `seat` is not a founder's: of real
/// randomness, and not zero.
Result<RaftHomeWrites> settle_new_raft(const std::string& raft_directory, HostId self, SeatId seat);

}  // namespace muster::agent
