#include "agent/edge/disk/data_directory.h"

#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "agent/edge/event_log.h"
#include "scheduler/raft/codec.h"
#include "scheduler/seat/seat_records.h"

namespace muster::agent {
namespace {

using crdt::Environment;
using crdt::LmdbStore;

/// Applies what was just committed to the records in hand, so that the node sees it.
void remember(crdt::Records& records, const crdt::WriteBatch& writes) {
  for (const crdt::Write& write : writes) {
    if (write.value.has_value()) {
      records[write.key] = *write.value;
    } else {
      records.erase(write.key);
    }
  }
}

/// Of what stands at `path`; 0 when nothing does.
mode_t mode_of(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_mode : 0;
}

/// The keys in id/ are this host: who could read them could be it, and who could write into the
/// directory above could put others in their place.
Status check_private(const std::string& path) {
  constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;
  constexpr mode_t kOthersMay = S_IRWXG | S_IRWXO;
  if ((mode_of(path) & kOthersMayWrite) != 0) {
    return Error{ErrorCode::kDenied, path +
                                         " is writable by other users of this machine, who could "
                                         "replace this host's identity: run chmod go-w " +
                                         path};
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path + "/id", error)) {
    const std::string file = entry.path().string();
    if ((mode_of(file) & kOthersMay) != 0) {
      return Error{ErrorCode::kDenied, file +
                                           " holds the keys of this host and is open to other "
                                           "users of this machine: run chmod 600 " +
                                           file +
                                           "; if another user may have read them, revoke this host "
                                           "(muster hosts revoke) and join it as a new one"};
    }
  }
  return ok();
}

}  // namespace

Result<DataDirectory> DataDirectory::open(const std::string& path) {
  DataDirectory data;
  data.path_ = path;
  if (const Status is_private = check_private(path); !is_private) {
    return is_private.error();
  }
  auto id = LmdbStore::open(path + "/id", Environment::kId);
  if (!id) {
    return id.error();
  }
  data.stores_.id = std::move(id).value();
  data.recovered_.id = data.stores_.id->recovered();
  if (const Status opened = data.open_raft(); !opened) {
    return opened.error();
  }
  if (const Status opened = data.open_state(); !opened) {
    return opened.error();
  }
  return data;
}

Status DataDirectory::open_raft() {
  auto raft = LmdbStore::open(path_ + "/raft", Environment::kRaft);
  if (!raft && raft.error().code == ErrorCode::kCorrupt) {
    return replace_raft(raft.error().text);
  }
  if (!raft) {
    return raft.error();
  }
  stores_.raft = std::move(raft).value();
  recovered_.raft = stores_.raft->recovered();
  return ok();
}

Status DataDirectory::open_state() {
  auto state = LmdbStore::open(path_ + "/state", Environment::kState);
  if (!state && state.error().code == ErrorCode::kCorrupt) {
    log_event({Severity::kWarn, "rows_damaged", {{"advice", "dropped; rebuilt from peers"}}});
    if (const Status discarded = LmdbStore::discard(path_ + "/state"); !discarded) {
      return discarded.error();
    }
    state = LmdbStore::open(path_ + "/state", Environment::kState);
  }
  if (!state) {
    return state.error();
  }
  stores_.state = std::move(state).value();
  recovered_.state = stores_.state->recovered();
  return ok();
}

Status DataDirectory::replace_raft(const std::string& why) {
  // Else a crash now would leave an empty raft/ that looks like that of a first start.
  const std::string known(kRaftHomeInId);
  if (!recovered_.id.contains(known)) {
    if (const Status marked = commit_id({{known, std::string()}}); !marked) {
      return marked;
    }
  }
  const bool is_bare = stores_.raft != nullptr && scheduler::is_bare_seat(recovered_.raft);
  stores_.raft.reset();
  recovered_.raft.clear();
  Event event{Severity::kWarn, "raft_discarded", {{"why", why}, {"held", "no log"}}};
  if (is_bare) {
    if (const Status discarded = discard_raft(path_ + "/raft"); !discarded) {
      return discarded;
    }
  } else if (const Result<std::string> aside = set_raft_aside(path_ + "/raft"); aside) {
    event = {Severity::kWarn, "raft_set_aside", {{"why", why}, {"kept_in", *aside}}};
  } else {
    return aside.error();
  }
  event.fields.emplace_back("advice",
                            "this host starts with an empty log; it votes again once the remaining "
                            "voters have sent it theirs");
  log_event(event);
  is_raft_new_ = true;
  return open_raft();
}

Result<RaftHomeWrites> DataDirectory::find_home(HostId self) const {
  const std::string raft = path_ + "/raft";
  const Status sound = scheduler::check_seat(recovered_.raft, self);
  if (!sound && sound.error().code == ErrorCode::kCorrupt) {
    return Error{sound.error().code, raft + ": " + sound.error().text};
  }
  if (!sound) {
    return Error{sound.error().code, raft + ": " + sound.error().text + std::string(kMoveAside)};
  }
  return check_raft_home(raft, self, recovered_.id, recovered_.raft);
}

/// kCorrupt: no host needs its log, and this one takes a new seat.
Status DataDirectory::settle_copy(HostId self, const RaftHomeWrites& home, bool is_moved) {
  if (!is_moved && !scheduler::is_voting_seat(recovered_.raft, self)) {
    return Error{ErrorCode::kCorrupt, path_ + "/raft was copied or restored"};
  }
  if (const Status done = commit_home(home); !done || !is_moved) {
    return done;
  }
  const crdt::WriteBatch votes = {scheduler::write_of_copied(false)};
  remember(recovered_.raft, votes);
  log_event({Severity::kWarn,
             "raft_moved",
             {{"why", "--moved: this host keeps its vote, with the copy of its raft/"}}});
  return stores_.raft->commit(votes);
}

Status DataDirectory::settle(HostId self, SeatId new_seat, bool is_moved) {
  if (!is_raft_new_) {
    const Result<RaftHomeWrites> home = find_home(self);
    const bool is_copy = home && home->is_copy;
    const Status settled = !home     ? Status(home.error())
                           : is_copy ? settle_copy(self, *home, is_moved)
                                     : commit_home(*home);
    if (settled && is_copy && !is_moved) {
      log_event({Severity::kAlarm,
                 "raft_copied",
                 {{"directory", path_},
                  {"advice",
                   "this voter does not vote; once another voter leads, it starts again with an "
                   "empty log by itself; if the directory was moved while its agent was stopped "
                   "and no newer copy exists, start the agent once with --moved; if only old "
                   "copies are left, use muster quorum recover"}}});
    }
    if (settled || settled.error().code != ErrorCode::kCorrupt) {
      return settled;
    }
    if (const Status replaced = replace_raft(settled.error().text); !replaced) {
      return replaced;
    }
  }
  const Result<RaftHomeWrites> home = settle_new_raft(path_ + "/raft", self, new_seat);
  return home ? commit_home(*home) : Status(home.error());
}

Status DataDirectory::commit_id(const crdt::WriteBatch& writes) {
  remember(recovered_.id, writes);
  return stores_.id->commit(writes);
}

/// In the order that raft_home.h asks for.
Status DataDirectory::commit_home(const RaftHomeWrites& home) {
  remember(recovered_.raft, home.raft);
  const Status done = stores_.raft->commit(home.raft);
  return done ? commit_id(home.id) : done;
}

}  // namespace muster::agent
