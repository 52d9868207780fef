#pragma once
// The spaces of the kernel that a grant has for itself: its processes, and its mounts with a /proc
// of its processes and shared memory of its own. A supervisor enters them before it makes the room;
// the agent enters them in a trial at its start.

#include <string>

namespace muster::agent {

struct OwnProcesses {
  bool are_own = false;
  std::string failure;  ///< For people: what is wrong with the user namespace; "" = all is well.
};

/// Children of this process are in a PID namespace of their own afterwards; the first is its PID 1.
/// A process that may not make one makes a user namespace, too, in which it stays the user that it
/// is, unless its ranks become other users (`become_users`).
OwnProcesses enter_own_processes(bool become_users);

/// For the first child after enter_own_processes(): /proc of the new namespace in place of the
/// host's, for this process and its ranks alone, where a rank finds itself under its own number. A
/// file system that the host mounts later still appears; what is mounted here appears nowhere else.
/// Shared memory, semaphores and message queues of System V and POSIX are those of the grant, and
/// the kernel removes them with its last process; limits of the host for them do not count in it.
bool enter_own_mounts();

}  // namespace muster::agent
