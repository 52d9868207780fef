#pragma once
// Checks the owners of a path. The files of an agent are the identity of this host, so no other
// user may be able to put another file in their place.

#include <string>

#include "gossip/base/result.h"

namespace muster::agent {

/// kDenied: the file or directory at `path`, or a directory on the way to it, belongs to a user
/// that is neither this one nor root, or every user may write into a directory on the way that is
/// not sticky. The text says which. Links are followed; missing parts are not checked.
Status check_own_path(const std::string& path);
/// The same for a file to write: a link at `path` itself must belong to this user or root, too.
Status check_own_file(const std::string& path);

}  // namespace muster::agent
