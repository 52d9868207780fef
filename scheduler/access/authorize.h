#pragma once
// The one gate: who may do what. A pure function of the caller, the class of the request, what it
// is about, and the directory. A node that has the log asks it before it answers, and every voter
// asks it again when it applies an entry. It denies by default: a stranger, an unknown role and a
// class without a row in its table get nothing.

#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/access/directory.h"
#include "scheduler/access/right.h"

namespace muster::scheduler {

/// The object of a request. Empty parts do not count.
struct AccessObject {
  std::string name;                        ///< For people: "job 12", "host n1", ...
  std::string owner;                       ///< The user of the job.
  std::string team;                        ///< Of the job.
  std::optional<std::int32_t> priority{};  ///< That the job shall get.
};

/// "" if `user` has that right over the object. Else the reason and the users that could, for
/// people.
std::string why_denied(const Directory& directory, const std::string& user, Right right,
                       const AccessObject& object);
/// The same for a change of the directory. A lead adds users to own teams and takes them out, and
/// gives nobody a role; an administrator does everything.
std::string why_denied(const Directory& directory, const std::string& user,
                       const DirectoryChange& change);

}  // namespace muster::scheduler
