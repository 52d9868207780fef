#pragma once
// A process that is root becomes a person, for good: ids, groups, no capability in any set, and no
// way back by a program that is set-user-ID. To be called between fork and exec: it makes system
// calls alone. The groups were resolved before the fork, so setgroups() takes the place of
// initgroups(), which would ask the name service here.

#include <linux/capability.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>

#include "agent/edge/grant/rank_user.h"

namespace muster::agent {

/// In this order.
enum class DropStep : int {
  kBounding = 0,
  kAmbient = 1,
  kGroups = 2,
  kGid = 3,
  kUid = 4,
  kCapabilities = 5,
  kNoNewPrivileges = 6,
  kProof = 7,  ///< The kernel says that the process is not what it should have become.
};

struct DropFailure {
  DropStep step{};
  int code = 0;  ///< errno
};

/// The calls that it makes; a test gives others, each of which can fail.
struct DropCalls {
  int (*prctl)(int option, unsigned long argument, unsigned long second);
  int (*setgroups)(std::size_t count, const gid_t* groups);
  int (*setresgid)(gid_t real, gid_t effective, gid_t saved);
  int (*setresuid)(uid_t real, uid_t effective, uid_t saved);
  int (*capset)(__user_cap_header_struct* header, const __user_cap_data_struct* data);
  int (*capget)(__user_cap_header_struct* header, __user_cap_data_struct* data);
  int (*getresuid)(uid_t* real, uid_t* effective, uid_t* saved);
  int (*getresgid)(gid_t* real, gid_t* effective, gid_t* saved);
  int (*getgroups)(int count, gid_t* groups);
  int (*setuid)(uid_t uid);
};
/// The calls of this kernel.
const DropCalls& kernel_calls();

/// Precondition: this process is root, has one thread, and why_not_become() allows `identity`.
/// nullopt if it is `identity` now, proved by what the kernel says of it. After a failure it may be
/// anything in between: it must end without running anything.
std::optional<DropFailure> drop_to(const RankIdentity& identity,
                                   const DropCalls& calls = kernel_calls());

/// The call that failed, for people: "setgroups".
const char* text_of(DropStep step);

}  // namespace muster::agent
