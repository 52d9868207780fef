#pragma once
// Every process of a grant, also one in another session or process group, and orphans: TERM and
// KILL reach all of them, not only the ranks. A rank is often a shell, and the program under it has
// the checkpoint to write.
//
// With a PID namespace the kernel knows them all, and one call reaches each exactly once. Without
// one they are the descendants of this process, which is their subreaper. It looks through /proc
// until no new process is there: TERM misses a process that forks faster than that, or that may not
// be signalled, and KILL ends it.

#include <sys/types.h>

#include <vector>

namespace muster::agent {

class GrantProcesses {
 public:
  /// `has_namespace`: this process is PID 1 of a PID namespace, else a subreaper.
  explicit GrantProcesses(bool has_namespace) : has_namespace_(has_namespace) {}

  /// TERM to each, and CONT behind it: a process that is stopped acts on TERM only when it goes on.
  void ask_to_end() const;
  /// KILL to each. Without a namespace what they leave behind becomes a child of this process: to
  /// be called again until none is left.
  void kill() const;

 private:
  const bool has_namespace_;
};

/// The processes under `root` as /proc of this process shows them now, parents first.
std::vector<pid_t> descendants_of(pid_t root);

}  // namespace muster::agent
