#pragma once
// The rooms of the house: which folder may know which, and what may touch the world. A room is a
// folder with sources; its name is its path. A change that adds a room or moves a floor edits
// the table in rooms.cc and the drawing in ARCHITECTURE.md.

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "tests/repository/source_rules.h"

namespace muster::repository {

/// Nouns (sources of one name) of a room; more of them need a reason in its README.
inline constexpr std::size_t kNounsMax = 16;

/// The folder of a path: "scheduler/raft" of "scheduler/raft/log.cc".
std::string room_of(const std::string& path);

/// A file below a folder named `edge` may touch sockets, clocks, threads, files and processes; so
/// may the one exception, gossip/base/check.cc.
bool is_edge(const std::string& path);

/// A file includes rooms that its own room may know, and nothing outside an edge includes an edge.
Violations check_floors(const SourceFile& file);
/// A pure file has no header and no word by which two runs of a machine would differ.
Violations check_purity(const SourceFile& file);
/// Each library is fenced into a few files.
Violations check_libraries(const SourceFile& file);

/// The tests of a room stand in the folder of the same path below tests/.
Violations check_mirror(const std::set<std::string>& paths);
/// A room has a README, or one above names it; a room of more than kNounsMax nouns says
/// why in a README of its own. `readmes`: path -> text.
Violations check_readmes(const std::set<std::string>& paths,
                         const std::map<std::string, std::string>& readmes);
/// agent/api/verbs.h says what there is to say about a verb: no code of agents or of the CLI
/// compares one with another, or lists them in a switch.
Violations check_verb_lists(const SourceFile& file);

}  // namespace muster::repository
