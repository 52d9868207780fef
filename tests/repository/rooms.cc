#include "tests/repository/rooms.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/repository/source_text.h"

namespace muster::repository {
namespace {

/// A room and those right below it; it may know whatever these may know, too.
struct Room {
  std::string_view path;
  std::vector<std::string_view> below;
};

const std::vector<Room>& rooms() {
  static const std::vector<Room> kRooms = {
      {"gossip/base", {}},
      {"gossip/ssh", {"gossip/base"}},
      {"gossip/wire", {"gossip/base"}},
      {"gossip/spread", {"gossip/wire"}},
      {"gossip/edge", {"gossip/spread"}},
      {"crdt/rows", {"gossip/wire"}},
      {"crdt/disk", {"gossip/wire"}},
      {"crdt/store", {"crdt/rows", "crdt/disk", "gossip/spread"}},
      {"crdt/edge", {"crdt/disk"}},
      {"membership", {"crdt/rows", "gossip/spread"}},
      {"scheduler/protocol", {"gossip/wire", "gossip/ssh"}},
      {"scheduler/raft", {"crdt/disk"}},
      {"scheduler/access", {"scheduler/protocol"}},
      {"scheduler/state", {"scheduler/access"}},
      {"scheduler/placement", {"scheduler/state"}},
      {"scheduler/policy", {"scheduler/placement"}},
      {"scheduler/why", {"scheduler/policy"}},
      {"scheduler/leader", {"scheduler/why"}},
      {"scheduler/seat", {"scheduler/leader", "scheduler/raft", "crdt/rows"}},
      {"agent/api", {"scheduler/access"}},
      {"agent/api/json", {"agent/api"}},
      {"agent/api/rest", {"agent/api/json"}},
      {"agent/hardware", {"scheduler/protocol"}},
      {"agent/health", {"agent/hardware"}},
      {"agent/gang", {"scheduler/protocol", "crdt/disk"}},
      {"agent/gang/relay", {"agent/gang"}},
      {"agent/isolation", {"scheduler/protocol"}},
      {"agent/services", {"agent/api", "crdt/disk", "gossip/spread"}},
      {"agent/front",
       {"agent/api", "agent/api/rest", "agent/services", "crdt/store", "membership",
        "scheduler/leader"}},
      {"agent/history", {"agent/api", "scheduler/leader", "crdt/disk"}},
      {"agent/step",
       {"agent/front", "agent/hardware", "agent/health", "agent/history", "agent/gang",
        "agent/isolation", "scheduler/seat"}},
      {"agent/roll", {"agent/step"}},
      {"agent/node", {"agent/roll", "agent/gang/relay"}},
      {"agent/edge", {"agent/node", "gossip/edge", "crdt/edge"}},
      {"agent/edge/host", {"agent/edge"}},
      {"agent/edge/grant", {"agent/edge"}},
      {"agent/edge/isolation", {"agent/edge/grant"}},
      {"agent/edge/ranks", {"agent/edge/isolation"}},
      {"agent/edge/supervisor", {"agent/edge/isolation"}},
      {"agent/edge/gpu", {"agent/edge/grant"}},
      {"agent/edge/disk", {"agent/edge"}},
      {"agent/edge/join", {"agent/edge/disk"}},
      {"agent/edge/door", {"agent/edge", "agent/api/rest"}},
      {"agent/edge/run",
       {"agent/edge/gpu", "agent/edge/host", "agent/edge/ranks", "agent/edge/supervisor",
        "agent/edge/disk", "agent/edge/door", "agent/edge/join"}},
      {"cli/kit", {"agent/api/json"}},
      {"cli/verbs", {"cli/kit"}},
      {"cli/edge", {"cli/verbs", "agent/edge/run"}},
  };
  return kRooms;
}

constexpr std::string_view kProduct[] = {"gossip",    "crdt",  "membership",
                                         "scheduler", "agent", "cli"};

struct LibraryRule {
  std::string_view header;              ///< Or its prefix.
  std::vector<std::string_view> users;  ///< A path or, with a trailing '*', a prefix.
};
const LibraryRule kLibraries[] = {
    {"msgpack", {"gossip/wire/wire.cc"}},
    {"zmq", {"gossip/edge/zmq_*", "tests/*", "bench/*"}},
    {"lmdb", {"crdt/edge/lmdb_store.cc", "tests/crdt/edge/*", "bench/*"}},
    {"sodium",
     {"agent/edge/disk/host_key.cc", "gossip/edge/link_keys.cc", "gossip/edge/ticket_line.cc",
      "bench/curve_session.cc"}},
    {"spdlog/", {"agent/edge/event_log.cc"}},
    {"toml++/", {"cli/edge/config_file.cc", "cli/edge/queues_toml.cc", "cli/edge/users_toml.cc"}},
    {"CLI/", {"cli/kit/options.cc", "tests/sim/scenario/scenario_main.cc"}},
    {"microhttpd", {"agent/edge/door/http_*"}},
    {"gnutls/", {"agent/edge/door/tls_*", "agent/edge/door/certificates.cc", "tests/*"}},
    {"nettle/", {"agent/edge/door/tls_authority.cc"}},
    {"gmp.h", {"agent/edge/door/tls_authority.cc"}},
    {"nlohmann/", {"agent/api/json/dump.h", "agent/api/json/orders.cc", "tests/*", "bench/*"}},
};

constexpr std::string_view kImpureHeaders[] = {
    "thread",     "mutex",    "condition_variable",
    "future",     "fstream",  "iostream",
    "filesystem", "random",   "unordered_map",
    "cstdio",     "ctime",    "unordered_set",
    "sys/",       "netinet/", "unistd.h",
    "fcntl.h",    "poll.h",   "pthread.h",
    "time.h",     "signal.h", "stdio.h",
    "netdb.h",    "dlfcn.h",  "syslog.h",
    "csignal",    "pwd.h",    "sched.h",
};

constexpr std::string_view kImpureWords[] = {
    "unordered_",    "random_device", "_clock::now",  "std::rand(", "_distribution",
    "std::thread",   "std::mutex",    "getenv(",      "std::cout",  "std::cerr",
    "clock_gettime", "spdlog::",      "thread_local", "boot_now(",
};

const Room* find(std::string_view path) {
  const auto found = std::find_if(rooms().begin(), rooms().end(),
                                  [&](const Room& room) { return room.path == path; });
  return found == rooms().end() ? nullptr : &*found;
}

bool may_know(const Room& room, std::string_view other) {
  return room.path == other ||
         std::any_of(room.below.begin(), room.below.end(), [&](std::string_view below) {
           const Room* next = find(below);
           return next != nullptr && may_know(*next, other);
         });
}

bool is_product(std::string_view path) {
  return std::any_of(std::begin(kProduct), std::end(kProduct), [&](std::string_view top) {
    return path.starts_with(std::string(top) + "/");
  });
}

bool is_pure(const std::string& path) {
  return is_product(path) && !is_edge(path);
}

bool matches(std::string_view path, std::string_view pattern) {
  if (pattern.ends_with('*')) {
    return path.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return path == pattern;
}

bool is_library(const std::string& header, std::string_view library) {
  return header == library || header.starts_with(std::string(library) + ".") ||
         (library.ends_with('/') ? header.starts_with(library)
                                 : header.starts_with(std::string(library) + "/"));
}

bool is_code(std::string_view path) {
  return path.ends_with(".cc") || path.ends_with(".h");
}

/// Room -> its nouns: one a name, be it a header, a source or both.
std::map<std::string, std::set<std::string>> nouns_of(const std::set<std::string>& paths) {
  std::map<std::string, std::set<std::string>> nouns;
  for (const std::string& path : paths) {
    if (is_product(path) && is_code(path)) {
      nouns[room_of(path)].insert(path.substr(0, path.rfind('.')));
    }
  }
  return nouns;
}

std::string text_of(const std::map<std::string, std::string>& readmes, const std::string& room) {
  const auto found = readmes.find(room + "/README.md");
  return found == readmes.end() ? "" : found->second;
}

bool is_named_above(const std::string& room, const std::map<std::string, std::string>& readmes) {
  std::size_t end = room.size();
  while ((end = room.rfind('/', end - 1)) != std::string::npos) {
    const std::string name = room.substr(end + 1) + "/";
    if (text_of(readmes, room.substr(0, end)).find("`" + name) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string room_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

bool is_edge(const std::string& path) {
  return path.find("/edge/") != std::string::npos || path == "gossip/base/check.cc";
}

Violations check_floors(const SourceFile& file) {
  if (!is_product(file.path)) {
    return {};
  }
  const Room* own = find(room_of(file.path));
  if (own == nullptr) {
    return {file.path + ": there is no room " + room_of(file.path)};
  }
  Violations found;
  for (const Include& include : includes_of(file)) {
    const bool is_known =
        !include.ours || !is_product(include.header) || may_know(*own, room_of(include.header));
    if (!is_known) {
      found.push_back(
          at(file, include.line, std::string(own->path) + " may not know " + include.header));
    }
  }
  return found;
}

Violations check_purity(const SourceFile& file) {
  Violations found;
  if (!is_pure(file.path)) {
    return found;
  }
  for (const Include& include : includes_of(file)) {
    for (const std::string_view impure : kImpureHeaders) {
      const bool hit =
          impure.ends_with('/') ? include.header.starts_with(impure) : include.header == impure;
      if (hit && !include.ours) {
        found.push_back(
            at(file, include.line, "a pure file may not include <" + include.header + ">"));
      }
    }
  }
  const std::vector<std::string> lines = lines_of(code_of(file.text));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string_view word : kImpureWords) {
      if (lines[i].find(word) != std::string::npos) {
        found.push_back(at(file, i, "a pure file may not use " + std::string(word)));
      }
    }
  }
  return found;
}

Violations check_libraries(const SourceFile& file) {
  Violations found;
  for (const Include& include : includes_of(file)) {
    for (const LibraryRule& rule : kLibraries) {
      const bool allowed =
          include.ours || !is_library(include.header, rule.header) ||
          std::any_of(rule.users.begin(), rule.users.end(),
                      [&](std::string_view user) { return matches(file.path, user); });
      if (!allowed) {
        found.push_back(at(file, include.line, "<" + include.header + "> is fenced in elsewhere"));
      }
    }
  }
  return found;
}

Violations check_mirror(const std::set<std::string>& paths) {
  Violations found;
  for (const std::string& path : paths) {
    const std::string mirrored = path.starts_with("tests/") ? path.substr(6) : "";
    if (is_code(mirrored) && is_product(mirrored) && find(room_of(mirrored)) == nullptr) {
      found.push_back(path + ": tests no room of that path");
    }
  }
  return found;
}

Violations check_readmes(const std::set<std::string>& paths,
                         const std::map<std::string, std::string>& readmes) {
  Violations found;
  for (const auto& [room, nouns] : nouns_of(paths)) {
    const std::string own = text_of(readmes, room);
    if (own.empty() && !is_named_above(room, readmes)) {
      found.push_back(room + ": has no README, and none above it names it");
    }
    if (nouns.size() > kNounsMax && own.find("More than 16 nouns") == std::string::npos) {
      found.push_back(room + ": " + std::to_string(nouns.size()) +
                      " nouns, and its README does not say \"More than 16 nouns\" and why");
    }
  }
  return found;
}

Violations check_verb_lists(const SourceFile& file) {
  static constexpr std::string_view kComparisons[] = {"case Verb::k",      "== Verb::k",
                                                      "!= Verb::k",        "case agent::Verb::k",
                                                      "== agent::Verb::k", "!= agent::Verb::k"};
  Violations found;
  const bool is_judged = file.path != "agent/api/verbs.h" &&
                         (file.path.starts_with("agent/") || file.path.starts_with("cli/"));
  if (!is_judged) {
    return found;
  }
  const std::vector<std::string> lines = lines_of(code_of(file.text));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const std::string_view comparison : kComparisons) {
      if (lines[i].find(comparison) != std::string::npos) {
        found.push_back(at(file, i, "asks for a verb by name: agent/api/verbs.h has columns"));
      }
    }
  }
  return found;
}

}  // namespace muster::repository
