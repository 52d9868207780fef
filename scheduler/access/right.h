#pragma once
// The classes of requests that a role permits or not: the columns of the table of access. Each verb
// of agent/api/verbs.h and each entry of an operator belongs to one.

#include <cstdint>

namespace muster::scheduler {

enum class Right : std::uint8_t {
  kMaySee,         ///< Hosts, voters and events.
  kMaySeeJobs,     ///< Jobs, their reasons and the use of GPUs; without their commands.
  kMayReadOutput,  ///< The output, the command and the environment of a job.
  kMaySubmit,
  kMayOrderJobs,  ///< Cancel, suspend, resume and requeue.
  kMayPrioritise,
  kMayOperate,      ///< Hosts, and tickets that bring no rights.
  kMayManageUsers,  ///< Users and their teams.
  kMayMakeTokens,   ///< Access tokens.
  kMayRule,         ///< Rights and keys of hosts, the electorate, and the rules of access.
};

}  // namespace muster::scheduler
