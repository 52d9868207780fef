#pragma once
// LoginListener is a listening unix socket that other logins of the machine may connect to. A
// LoginRelay accepts at copies of its descriptor; between two of them a client waits in the kernel.
// LoginListener owns one descriptor and its path, and never blocks. Used by one thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "gossip/base/result.h"

namespace muster::gossip {

/// True if a process listens at the unix socket `path`, or a link to one; also in doubt, as when
/// its queue is full.
bool is_listening(const std::string& path);

class LoginListener {
 public:
  LoginListener() = default;
  LoginListener(const LoginListener&) = delete;
  LoginListener& operator=(const LoginListener&) = delete;
  /// Removes the socket from its path, if it is still the one there.
  ~LoginListener();

  /// Binds and listens at `path`, whose directory only this user may write to. Every login may
  /// connect (mode 0666), or with a group its members alone (0660). It replaces a socket or a link
  /// that no process listens at. Call it once. kConflict: a process listens there, or it is another
  /// kind of file. kInvalid: the path is too long. kIo: any other failure; nothing is left there.
  Status open(const std::string& path, std::optional<gid_t> group);
  bool is_open() const { return fd_ >= 0; }
  /// Listens again if another process removed the socket from its path. True if it did. Call it
  /// about once a second.
  bool renew();
  /// "" unless it was opened.
  const std::string& path() const { return path_; }
  /// Another descriptor of the socket, which the caller closes; -1 if no descriptor is left.
  int copy() const;
  /// Differs from that of an earlier call if copies made then no longer belong to the path.
  std::uint64_t edition() const { return edition_; }

 private:
  Status listen_at_path();
  bool is_at_path() const;

  int fd_ = -1;
  std::string path_;
  std::optional<gid_t> group_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t edition_ = 0;
};

}  // namespace muster::gossip
