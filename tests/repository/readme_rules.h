#pragma once
// A README says what its folder has, and has what it says. Names stand in backquotes: a file or a
// folder as seen from the README's folder, from one below it or from the root; a noun without its
// ending. `*` stands for anything but a slash, and so does a whole word in CAPITALS between slashes
// and dots, as in `golden/NAME.txt`, where another folder or file is named in full; not in NAME.md.

#include <set>
#include <string>

#include "tests/repository/source_rules.h"

namespace muster::repository {

/// - Each path that the README names is there. A path has a slash, or an ending of a file that
///   people write; `DATA/...` and `id/`, `raft/` and the like, alone, are on a host's disk. In the
///   first column of a table of files, rooms or folders each name is one.
/// - Each folder right below that holds sources, at any depth, is named.
/// - Where there is a table of files, each noun of the folder itself is named.
///
/// `paths`: of all files of the tree, from the root.
Violations check_readme(const SourceFile& readme, const std::set<std::string>& paths);

}  // namespace muster::repository
