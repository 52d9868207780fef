#pragma once
// EpilogNotes remembers on disk which grants of this host an epilog is due for, with the facts that
// the programs of the site are told: a file for each token in a directory of its own. Therefore an
// agent that starts again runs the epilogs of grants that ended meanwhile, and an epilog that its
// death cut off. A file need not survive a crash of the host: neither do ranks and mounts. Owned by
// GrantHooks.

#include <map>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"

namespace muster::agent {

/// The facts about a grant that a prolog and an epilog are told.
struct GrantNote {
  JobId job;
  std::string user;
  std::vector<std::string> gpus;  ///< uuids.
  bool operator==(const GrantNote&) const = default;
};

class EpilogNotes {
 public:
  static constexpr std::size_t kNotesMax = 1024;  ///< More are not read.

  explicit EpilogNotes(std::string directory) : directory_(std::move(directory)) {}

  Status write(Token token, const GrantNote& note) const;
  void remove(Token token) const;
  /// Removes those that cannot be read.
  std::map<Token, GrantNote> read_all() const;

 private:
  std::string path_of(Token token) const;

  std::string directory_;
};

}  // namespace muster::agent
