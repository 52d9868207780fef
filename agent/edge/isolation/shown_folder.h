#pragma once
// A folder of the host's /tmp that appears at the same place in the /tmp of a room, because the
// ranks start there. Its path comes from a job, and users own what lies on it, so it is walked name
// by name below a descriptor of /tmp: no symbolic link is followed, and the kernel finds the folder
// with the rights of the ranks' user. The places for it are made in the new /tmp alone. Whatever is
// wrong with the path is the job's: then nothing is shown, and its ranks say that their directory
// is not there.

#include <optional>
#include <string>
#include <vector>

#include "agent/edge/grant/rank_user.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/result.h"

namespace muster::agent {

class ShownFolder {
 public:
  /// Names on the way; a longer one is not shown.
  static constexpr std::size_t kNamesMax = 64;

  /// `below`: "a/b", plain names between single slashes. `identity`: the user of the ranks; nullopt
  /// = that of this process. kIo: this process is short of descriptors or memory, or cannot take
  /// the user's rights.
  Status open(const std::string& below, const std::optional<RankIdentity>& identity);
  /// To be called when the new /tmp is there. kIo as above.
  Status show() const;

 private:
  std::vector<std::string> names_;
  Fd folder_;  ///< Not open: nothing is shown.
};

}  // namespace muster::agent
