#pragma once
// The directory as documents of a snapshot: one for its version and rules, one a user, one a team,
// one an access token, and one for the last reset of the administrators.

#include <cstdint>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/access/directory.h"

namespace muster::scheduler {

/// A directory as it is read, document by document.
struct DirectoryParts {
  std::uint64_t version = 0;
  Directory::Users users;
  Directory::Teams teams;
  AccessRules rules;
  TokenBook::Records tokens;
  ClusterId cluster;
  AdminReset last_reset;
  Directory whole() &&;
};

/// Each begins with `section`. None if it is not founded.
std::vector<gossip::Encoder> directory_documents(const Directory& directory, std::uint64_t section);
/// One document, behind its section.
void read_directory(gossip::Reader& in, DirectoryParts& parts);

}  // namespace muster::scheduler
