#include "agent/edge/disk/raft_home.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>

#include "gossip/wire/wire.h"
#include "scheduler/raft/codec.h"

namespace muster::agent {
namespace {

constexpr mode_t kMarkerMode = 0600;
constexpr std::string_view kMarkerText =
    "This directory knows the inode of this file. A copied raft/ must not vote.\n";
constexpr std::uint64_t kNanosPerSecond = 1'000'000'000;
constexpr std::string_view kLostSuffix = ".lost";

struct RaftHome {
  HostId host;
  std::uint64_t inode = 0;
  std::uint64_t born_ns = 0;  ///< 0: the file system does not say.
};

std::string encode(const RaftHome& home) {
  return gossip::Encoder().array(3).id(home.host).u64(home.inode).u64(home.born_ns).take();
}

std::optional<RaftHome> decode(const std::string& bytes) {
  Result<gossip::Document> document = gossip::Document::parse(bytes);
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader reader = document->root();
  RaftHome home;
  home.host = reader.id<HostId>();
  home.inode = reader.u64();
  home.born_ns = reader.u64();
  return reader.ok() ? std::optional(home) : std::nullopt;
}

Error lost(const std::string& directory, const std::string& why) {
  return {ErrorCode::kCorrupt, directory + " " + why};
}

Error io_error(const std::string& path, const char* what) {
  return {ErrorCode::kIo, path + ": " + what + ": " + std::strerror(errno)};
}

bool sync_directory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0) {
    close(fd);
  }
  return synced;
}

/// Durable before it is spoken of. One that a crash left is taken as it is.
Status make_marker(const std::string& directory, const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kMarkerMode);
  if (fd < 0) {
    return io_error(path, "cannot create the marker");
  }
  const bool written = write(fd, kMarkerText.data(), kMarkerText.size()) ==
                           static_cast<ssize_t>(kMarkerText.size()) &&
                       fsync(fd) == 0;
  close(fd);
  return written && sync_directory(directory) ? ok()
                                              : Status(io_error(path, "cannot sync the marker"));
}

/// nullopt if there is no marker.
Result<std::optional<RaftHome>> look(const std::string& path, HostId self) {
  struct statx found {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &found) != 0) {
    if (errno == ENOENT) {
      return std::optional<RaftHome>();
    }
    return io_error(path, "cannot read the marker");
  }
  RaftHome home{self, found.stx_ino, 0};
  if ((found.stx_mask & STATX_BTIME) != 0) {
    home.born_ns = static_cast<std::uint64_t>(found.stx_btime.tv_sec) * kNanosPerSecond +
                   found.stx_btime.tv_nsec;
  }
  return std::optional(home);
}

bool is_same_file(const RaftHome& one, const RaftHome& other) {
  const bool both_born = one.born_ns != 0 && other.born_ns != 0;
  return one.inode == other.inode && (!both_born || one.born_ns == other.born_ns);
}

Result<RaftHomeWrites> settle_in(const std::string& directory, const std::string& path,
                                 HostId self) {
  const Status made = make_marker(directory, path);
  if (!made) {
    return made.error();
  }
  const auto marker = look(path, self);
  if (!marker || !marker->has_value()) {
    return marker ? io_error(path, "the marker is gone") : marker.error();
  }
  const std::string home = encode(**marker);
  return RaftHomeWrites{{{std::string(kRaftHomeInRaft), home}},
                        {{std::string(kRaftHomeInId), home}}};
}

}  // namespace

Result<RaftHomeWrites> check_raft_home(const std::string& raft_directory, HostId self,
                                       const crdt::Records& id, const crdt::Records& raft) {
  const std::string path = raft_directory + "/" + std::string(kRaftMarkerFile);
  const auto known = id.find(std::string(kRaftHomeInId));
  const auto stored = raft.find(std::string(kRaftHomeInRaft));
  if (stored == raft.end()) {
    return known == id.end() ? settle_in(raft_directory, path, self)
                             : lost(raft_directory, "is missing or was emptied");
  }
  const std::optional<RaftHome> home = decode(stored->second);
  if (!home.has_value()) {
    return lost(raft_directory, "is damaged (its home does not decode)");
  }
  if (home->host != self) {
    return Error{ErrorCode::kConflict, raft_directory + " belongs to host " +
                                           home->host.short_hex() + ", and id/ belongs to " +
                                           self.short_hex() + std::string(kMoveAside)};
  }
  const auto marker = look(path, self);
  if (!marker) {
    return marker.error();
  }
  const bool is_new_here = !marker->has_value() || !is_same_file(**marker, *home);
  const bool is_known_copy = !is_new_here && raft.contains(std::string(scheduler::kCopiedKey));
  if (known != id.end() && known->second != stored->second && !is_known_copy) {
    return lost(raft_directory, "is older than id/, and may have forgotten its votes");
  }
  if (is_new_here || is_known_copy) {
    Result<RaftHomeWrites> writes = settle_in(raft_directory, path, self);
    if (writes) {
      writes->is_copy = true;
      writes->raft.push_back(scheduler::write_of_copied(true));
    }
    return writes;
  }
  // Written again, so that a raft/ that takes no write shows at the start.
  RaftHomeWrites writes{{{std::string(kRaftHomeInRaft), stored->second}}, {}};
  if (known == id.end()) {
    writes.id.push_back({std::string(kRaftHomeInId), stored->second});
  }
  return writes;
}

Result<std::string> set_raft_aside(const std::string& raft_directory) {
  const std::filesystem::path from(raft_directory);
  const std::string first = raft_directory + std::string(kLostSuffix);
  std::string to = first;
  for (int number = 2; number <= kRaftsAsideMax && std::filesystem::exists(to); ++number) {
    to = first + "." + std::to_string(number);
  }
  std::error_code error;
  std::filesystem::remove_all(to, error);
  if (!error) {
    std::filesystem::rename(from, to, error);
  }
  if (error) {
    return Error{ErrorCode::kIo, "cannot set " + raft_directory + " aside: " + error.message()};
  }
  if (!sync_directory(from.parent_path())) {
    return io_error(from.parent_path(), "cannot sync the data directory");
  }
  return to;
}

Status discard_raft(const std::string& raft_directory) {
  std::error_code error;
  std::filesystem::remove_all(raft_directory, error);
  return error ? Status(Error{ErrorCode::kIo,
                              "cannot remove " + raft_directory + ": " + error.message()})
               : ok();
}

Result<RaftHomeWrites> settle_new_raft(const std::string& raft_directory, HostId self,
                                       SeatId seat) {
  const std::string path = raft_directory + "/" + std::string(kRaftMarkerFile);
  Result<RaftHomeWrites> writes = settle_in(raft_directory, path, self);
  if (writes) {
    writes->raft.push_back(scheduler::write_of(seat));
  }
  return writes;
}

}  // namespace muster::agent
