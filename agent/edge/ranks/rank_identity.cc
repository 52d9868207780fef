#include "agent/edge/ranks/rank_identity.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace muster::agent {
namespace {

/// More than any kernel has: it says itself which one is its last.
constexpr unsigned long kCapabilitiesMax = 64;
using CapabilitySets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

int kernel_prctl(int option, unsigned long argument, unsigned long second) {
  return prctl(option, argument, second, 0UL, 0UL);
}

int kernel_capset(__user_cap_header_struct* header, const __user_cap_data_struct* data) {
  return static_cast<int>(syscall(SYS_capset, header, data));
}

int kernel_capget(__user_cap_header_struct* header, __user_cap_data_struct* data) {
  return static_cast<int>(syscall(SYS_capget, header, data));
}

/// A capability outside the bounding set comes back by no exec. One that is gone already needs no
/// right to drop it.
bool empty_bounding_set(const DropCalls& calls) {
  for (unsigned long each = 0; each < kCapabilitiesMax; ++each) {
    const int is_there = calls.prctl(PR_CAPBSET_READ, each, 0);
    if (is_there < 0) {
      return each > 0;  // Behind the last capability of this kernel.
    }
    if (is_there > 0 && calls.prctl(PR_CAPBSET_DROP, each, 0) != 0) {
      return false;
    }
  }
  return true;
}

bool is_bounding_set_empty(const DropCalls& calls) {
  for (unsigned long each = 0; each < kCapabilitiesMax; ++each) {
    if (calls.prctl(PR_CAPBSET_READ, each, 0) > 0) {
      return false;
    }
  }
  return true;
}

bool drop_capabilities(const DropCalls& calls) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const CapabilitySets none{};
  return calls.capset(&header, none.data()) == 0;
}

bool has_no_capability(const DropCalls& calls) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  CapabilitySets sets{};
  return calls.capget(&header, sets.data()) == 0 &&
         std::all_of(sets.begin(), sets.end(), [](const __user_cap_data_struct& set) {
           return (set.effective | set.permitted | set.inheritable) == 0;
         });
}

bool has_ids_of(const RankIdentity& identity, const DropCalls& calls) {
  std::array<uid_t, 3> uids{};
  std::array<gid_t, 3> gids{};
  return calls.getresuid(&uids[0], &uids[1], &uids[2]) == 0 &&
         calls.getresgid(&gids[0], &gids[1], &gids[2]) == 0 &&
         std::all_of(uids.begin(), uids.end(),
                     [&](uid_t uid) { return uid == identity.uid && uid != 0; }) &&
         std::all_of(gids.begin(), gids.end(), [&](gid_t gid) { return gid == identity.gid; });
}

/// The kernel sorts them.
bool has_groups_of(const RankIdentity& identity, const DropCalls& calls) {
  const int count = calls.getgroups(0, nullptr);
  if (count < 0 || static_cast<std::size_t>(count) != identity.groups.size()) {
    return false;
  }
  std::vector<gid_t> groups(identity.groups.size());
  if (calls.getgroups(count, groups.data()) != count) {
    return false;
  }
  std::vector<gid_t> wanted(identity.groups.begin(), identity.groups.end());
  std::sort(groups.begin(), groups.end());
  std::sort(wanted.begin(), wanted.end());
  return groups == wanted;
}

bool is_proved(const RankIdentity& identity, const DropCalls& calls) {
  return has_ids_of(identity, calls) && has_groups_of(identity, calls) &&
         has_no_capability(calls) && is_bounding_set_empty(calls) &&
         calls.prctl(PR_GET_NO_NEW_PRIVS, 0, 0) == 1 && calls.setuid(0) != 0;
}

}  // namespace

const DropCalls& kernel_calls() {
  static const DropCalls kCalls = {kernel_prctl,  ::setgroups,   ::setresgid, ::setresuid,
                                   kernel_capset, kernel_capget, ::getresuid, ::getresgid,
                                   ::getgroups,   ::setuid};
  return kCalls;
}

/// Groups and the bounding set need capabilities that go with the uid. Capabilities are dropped by
/// themselves all the same: securebits can make them survive a change of the uid.
std::optional<DropFailure> drop_to(const RankIdentity& identity, const DropCalls& calls) {
  const auto failed = [](DropStep step) { return DropFailure{step, errno}; };
  errno = 0;
  if (!empty_bounding_set(calls)) {
    return failed(DropStep::kBounding);
  }
  if (calls.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0) != 0) {
    return failed(DropStep::kAmbient);
  }
  if (calls.setgroups(identity.groups.size(), identity.groups.data()) != 0) {
    return failed(DropStep::kGroups);
  }
  if (calls.setresgid(identity.gid, identity.gid, identity.gid) != 0) {
    return failed(DropStep::kGid);
  }
  if (calls.setresuid(identity.uid, identity.uid, identity.uid) != 0) {
    return failed(DropStep::kUid);
  }
  if (!drop_capabilities(calls)) {
    return failed(DropStep::kCapabilities);
  }
  if (calls.prctl(PR_SET_NO_NEW_PRIVS, 1, 0) != 0) {
    return failed(DropStep::kNoNewPrivileges);
  }
  return is_proved(identity, calls) ? std::nullopt
                                    : std::optional(DropFailure{DropStep::kProof, EPERM});
}

const char* text_of(DropStep step) {
  switch (step) {
    case DropStep::kBounding:
      return "drop the bounding set";
    case DropStep::kAmbient:
      return "clear ambient capabilities";
    case DropStep::kGroups:
      return "setgroups";
    case DropStep::kGid:
      return "setresgid";
    case DropStep::kUid:
      return "setresuid";
    case DropStep::kCapabilities:
      return "drop capabilities";
    case DropStep::kNoNewPrivileges:
      return "set no_new_privs";
    case DropStep::kProof:
      return "the proof of it";
  }
  return "";
}

}  // namespace muster::agent
