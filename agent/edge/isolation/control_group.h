#pragma once
// Control groups of version 2, as directories: those of grants lie under one root, each named by
// its token and with two groups in it, "supervisor" and "ranks". The kernel kills a group at once,
// says when it is empty, and removes none that has processes. Version 1 is not used.

#include <optional>
#include <string>

#include "gossip/base/result.h"

namespace muster::agent {

/// The mount point of version 2, as /proc/self/mountinfo of this process says; "" = there is no.
std::string mount_of_groups();

/// Makes the directory; one that is there is taken.
Status make_group(const std::string& group);
/// Puts this process into the group.
Status join_group(const std::string& group);
/// Whether no process is in the group or below it; nullopt if that cannot be read. A group that is
/// not there is empty.
std::optional<bool> is_group_empty(const std::string& group);
/// KILL to every process in the group and below it.
void kill_group(const std::string& group);
/// Removes the group of a grant with what is below it. False if processes are in it, or it cannot
/// be removed.
bool remove_group_of_grant(const std::string& group);
/// The same for each group below `root` that is empty: what agents left that ended at a bad moment.
void remove_empty_groups(const std::string& root);

}  // namespace muster::agent
