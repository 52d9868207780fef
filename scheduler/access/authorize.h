#pragma once
// The one gate: who may do what. A pure function of the caller, the class of the request, what it
// is about, and the directory. A node that has the log asks it before it answers, and every voter
// asks it again when it applies an entry. It denies by default: a stranger, an unknown role and a
// class without a row in its table get nothing.

#include <cstdint>
#include <optional>
#include <string>

#include "gossip/base/time.h"
#include "scheduler/access/directory.h"
#include "scheduler/access/right.h"

namespace muster::scheduler {

/// The reason not to answer a token that the directory does not have.
inline constexpr char kTokenUnknown[] =
    "there is no such access token: it was revoked, it expired more than a day ago, or its user "
    "was "
    "removed; make another one (muster token create)";

/// The object of a request. Empty parts do not count.
struct AccessObject {
  std::string name;                        ///< For people: "job 12", "host n1", ...
  std::string owner;                       ///< The user of the job or the access token.
  std::string team;                        ///< Of the job.
  std::optional<std::int32_t> priority{};  ///< That the job shall get.
};

/// "" if `user` has that right over the object. Else the reason and the users that could, for
/// people.
std::string why_denied(const Directory& directory, const std::string& user, Right right,
                       const AccessObject& object);
/// The reason that the access token of `by` does not permit it, whatever its user may do; "" = it
/// does, or there is no token. A token reads, submits, or does both, as it was made; about jobs of
/// others it orders nothing. `cluster_time` ends it. Ask for the right of its user as well.
std::string why_token_denied(const Directory& directory, const Subject& by, Duration cluster_time,
                             Right right, const AccessObject& object);
/// Why the user may not change the directory so; "" = the user may. A lead adds users to own teams
/// and takes them out, and gives nobody a role; an administrator does everything.
std::string why_denied(const Directory& directory, const std::string& user,
                       const DirectoryChange& change);

}  // namespace muster::scheduler
