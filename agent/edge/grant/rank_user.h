#pragma once
// The rule of the user that ranks run as. An agent that is root gives ranks the user of their job;
// any other agent takes jobs of its own user alone; an agent that shares its user runs the ranks of
// all jobs as itself. Ids never travel: a job names its user, and the host on which the ranks run
// resolves the name. The agent applies rank_user() to each grant before it starts a supervisor; the
// supervisor resolves the name and applies why_not_become(). Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/result.h"

namespace muster::agent {

/// Uids below this belong to the system: its services, not people.
inline constexpr std::uint32_t kFirstPersonUid = 1000;
/// Longer than a login name of any system that Linux asks.
inline constexpr std::size_t kLoginNameBytesMax = 256;

/// The facts and settings of an agent that decide whose jobs it takes. Fixed for its life.
struct RankUserRule {
  std::string own_user{};  ///< The login name of the agent's user.
  bool is_root = false;    ///< The agent runs as uid 0.
  bool is_shared = false;  ///< Setting shared_user: all ranks run as the agent's user.
  /// Setting system_users_may_run: users with a uid below kFirstPersonUid whose jobs may run.
  std::vector<std::string> system_users{};
};

/// The user of the ranks of one grant.
struct RankUser {
  enum class Kind : std::uint8_t {
    kAgent = 0,   ///< Ranks run as the agent does.
    kPerson = 1,  ///< Ranks become `name`.
    kSystem = 2,  ///< The same, and the uid of `name` may be below kFirstPersonUid.
  };
  Kind kind = Kind::kAgent;
  std::string name{};  ///< "" for kAgent.
  bool operator==(const RankUser&) const = default;
};

/// "agent", "person", "system": an argument of the supervisor.
std::string_view text_of(RankUser::Kind kind);
/// nullopt if no kind has that text.
std::optional<RankUser::Kind> rank_user_kind_of(std::string_view text);

/// The user of the ranks of a job of `job_user`. kDenied if this agent does not run such a job; the
/// text says why and what to do. It resolves no name.
Result<RankUser> rank_user(const RankUserRule& rule, const std::string& job_user);

/// A login as this host resolved it.
struct RankIdentity {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  ///< All of them, `gid` too.
  std::string home;
  std::string shell;
  bool operator==(const RankIdentity&) const = default;
};

/// Why no rank may become `identity`; nullopt if one may. Uid 0 never may, no matter which name it
/// has.
std::optional<std::string> why_not_become(const RankIdentity& identity, RankUser::Kind kind);

/// `environment` ("KEY=VALUE" each) with HOME, USER, LOGNAME and SHELL of `identity` in place of
/// its own: a submit passes on the HOME of another host.
std::vector<std::string> environment_of(const RankIdentity& identity,
                                        const std::vector<std::string>& environment);

}  // namespace muster::agent
