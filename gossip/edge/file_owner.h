#pragma once
// The owners whose files are trusted: the user that this process runs as, and root.

#include <sys/stat.h>
#include <unistd.h>

namespace muster::gossip {

/// Nobody else than this user and root can replace or change what is so owned, its mode permitting.
inline bool is_of_us(const struct stat& facts) {
  return facts.st_uid == geteuid() || facts.st_uid == 0;
}

}  // namespace muster::gossip
