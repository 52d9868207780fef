#pragma once
// The owners of a path. The files of an agent decide who this host is, so no other user may be able
// to put something else in their place.

#include <string>

#include "gossip/base/result.h"

namespace muster::agent {

/// kDenied: the file or directory at `path`, or a directory on the way to it, belongs to a user
/// that is neither this one nor root, or everybody may write into one on the way, and it is not
/// sticky. The text says which. Links are followed; parts that are not there yet are not looked at.
Status check_own_path(const std::string& path);
/// The same of a file that is written: a link at `path` itself has to be of this user or root, too.
Status check_own_file(const std::string& path);

}  // namespace muster::agent
