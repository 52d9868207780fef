#pragma once
// The owners whose files are trusted: the user that this process runs as, and root.

#include <sys/stat.h>
#include <unistd.h>

namespace muster::gossip {

/// Whether the file belongs to this user or root. No other user can change it, if its mode says so.
inline bool is_of_us(const struct stat& facts) {
  return facts.st_uid == geteuid() || facts.st_uid == 0;
}

}  // namespace muster::gossip
