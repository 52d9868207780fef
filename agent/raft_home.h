#pragma once
// Whether DATA/raft is the very directory in which this host voted (design 7). A voter whose log
// was lost or copied back would forget what it acknowledged and vote a second time in one term, so
// such a directory is refused.
//
// `raft/marker` is a file that is never written again. Its inode number, its time of birth and the
// id of the host are kept inside raft/ and, the same bytes, in id/. A copy of the file has another
// inode or, where the number was reused, another birth. Device numbers are not kept: they may
// change from one boot to the next. A clone of a whole disk keeps all of it: see id_watch.h.
//
// The order of the writes makes each crash between them safe: the marker, then raft/, then id/.
// Before the last one nothing was ever promised or voted here.

#include <string>
#include <string_view>

#include "crdt/write_batch.h"
#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr std::string_view kRaftMarkerFile = "marker";
inline constexpr std::string_view kRaftHomeInRaft = "home";
inline constexpr std::string_view kRaftHomeInId = "raft_home";

/// What is still to be written, to be synced in this order before the node exists; each may be
/// empty.
struct RaftHomeWrites {
  crdt::WriteBatch raft;
  crdt::WriteBatch id;
};

/// `raft_directory` exists; the records are those of the two environments. At the first start, and
/// at the first one of a directory of an earlier release, it makes the marker.
/// kCorrupt: raft/ is missing, is a copy, or is that of another host; the text says how to go on.
/// kIo: the marker cannot be made or looked at.
Result<RaftHomeWrites> check_raft_home(const std::string& raft_directory, HostId self,
                                       const crdt::Records& id, const crdt::Records& raft);

}  // namespace muster::agent
