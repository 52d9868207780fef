#pragma once
// The table of verbs: for each its name, the node that answers it, its effect, the hosts that may
// pass it on, the logins that may ask it through any host, and the type of its arguments. Nodes,
// the CLI, its help and its manual pages use these rows. A verb without a row does not compile.

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/api/audit.h"
#include "agent/api/certify.h"
#include "agent/api/enrolment.h"
#include "agent/api/events.h"
#include "agent/api/gpus.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/api/users.h"
#include "gossip/base/enum_table.h"
#include "scheduler/access/right.h"

namespace muster::agent {

enum class Answerer : std::uint8_t {
  kAsked,         ///< The agent that is asked, from its own view.
  kAskedAnyway,   ///< As kAsked; an agent without a cluster answers it, too.
  kTarget,        ///< The agent of the target host; without a target the agent that is asked.
  kVoter,         ///< Any voter, from its replica; the leader if the request is consistent.
  kVoterOrAsked,  ///< As kVoter; if no voter is reachable, the agent that is asked.
  kPlacer,        ///< As kVoter, but the leader first: it alone knows which hosts it bars.
  kLeader,        ///< The leader, once a majority has it in the log.
  kUnjoined,      ///< An agent that has no cluster.
  kSigner,        ///< The voter that another agent asks on its own link. No login may ask it.
};

/// The effect of a verb; it decides what is at stake if the answer is lost.
enum class Effect : std::uint8_t {
  kReads,
  kChangesHost,  ///< The agent that obeys ends, or becomes a member.
  kChanges,      ///< It changes the cluster. If its answer is lost, no node repeats it.
  kSubmits,      ///< As kChanges, but its key makes it safe to repeat.
};

/// The form that the leader gives it.
enum class Becomes : std::uint8_t {
  kNothing,     ///< A read, or a request that the leader does not answer.
  kSubmission,  ///< A job.
  kOrder,       ///< One entry with the order of the operator.
  kRollChange,  ///< An entry with a member's record that the leader signs.
  kElectorate,  ///< Another electorate, in the steps that Raft needs.
};

/// The hosts that the leader believes when they pass it on for their logins.
enum class Carrier : std::uint8_t {
  kMembers,
  kVotersAlone,
  /// Any member for a plain ticket, a voter for one that brings rights. The host names itself
  /// alone: a ticket is printed where its maker logs in.
  kTicketMakers,
};

/// The logins that may ask it through a host that may not vouch for them.
enum class Openness : std::uint8_t {
  kAll,
  kOwnHost,        ///< Logins of the host that is asked.
  kOwnHostToLook,  ///< As kOwnHost, if the request orders nothing.
  kAboutOwnHost,   ///< Logins of the host that the request is about.
  kVouched,        ///< No login.
  kTicket,         ///< No login of any host: a newcomer that shows a ticket asks it.
  /// Root of a voter, and the user of its agent, whatever role they have. No other login.
  kRootOfVoter,
};

/// The class of rights that it belongs to.
using scheduler::Right;

enum class Answer : std::uint8_t {
  kPlain,
  kBulk,    ///< It travels beside the control words.
  kSecret,  ///< Printed once: it holds a secret, or what makes one whole.
};

struct VerbRow {
  Verb verb{};
  std::string_view name;
  Answerer answerer{};
  Effect effect{};
  Becomes becomes{};
  Carrier carrier{};
  Openness openness{};
  Right right{};
  bool (*is_readable)(const std::string& arguments) = nullptr;
  Answer answer = Answer::kPlain;
};

/// True for any bytes: the verb has no arguments.
inline bool takes_nothing(const std::string&) {
  return true;
}
template <class T>
bool takes(const std::string& arguments) {
  return decode_payload<T>(arguments).has_value();
}
/// Empty arguments have a meaning of their own.
template <class T>
bool may_take(const std::string& arguments) {
  return arguments.empty() || takes<T>(arguments);
}

namespace verbs {

using enum Verb;
using enum Answerer;
using enum Effect;
using enum Becomes;
using enum Carrier;
using enum Openness;
using enum Right;
using enum Answer;

inline constexpr VerbRow kTable[] = {
    {kVersion, "version", kAskedAnyway, kReads, kNothing, kMembers, kAll, kMaySee, takes_nothing},
    {kHosts, "hosts", kAsked, kReads, kNothing, kMembers, kAll, kMaySee, may_take<HostsQuery>},
    {kQuorum, "quorum", kVoterOrAsked, kReads, kNothing, kMembers, kAll, kMaySee, takes_nothing},
    {kEvents, "events", kTarget, kReads, kNothing, kMembers, kOwnHost, kMaySee,
     may_take<EventsQuery>},
    {kLeave, "leave", kTarget, kChangesHost, kNothing, kVotersAlone, kOwnHost, kMayOperate,
     may_take<LeaveArgs>},
    {kSubmit, "submit", kLeader, kSubmits, kSubmission, kMembers, kVouched, kMaySubmit,
     takes<SubmitArgs>},
    {kCancel, "cancel", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOrderJobs,
     takes<JobRun>},
    {kJobs, "jobs", kVoter, kReads, kNothing, kMembers, kVouched, kMaySeeJobs, may_take<JobsQuery>},
    {kShow, "show", kVoter, kReads, kNothing, kMembers, kVouched, kMaySeeJobs, takes<JobRef>},
    {kWhy, "why", kPlacer, kReads, kNothing, kMembers, kVouched, kMaySeeJobs, takes<JobRef>},
    {kOutput, "output", kTarget, kReads, kNothing, kMembers, kVouched, kMayReadOutput,
     takes<OutputQuery>, kBulk},
    {kChangeQuorum, "change_quorum", kLeader, kChanges, kElectorate, kVotersAlone, kVouched,
     kMayRule, takes<QuorumWish>},
    {kRecover, "recover", kTarget, kChanges, kNothing, kVotersAlone, kOwnHostToLook, kMayRule,
     takes<RecoverArgs>},
    {kSuspend, "suspend", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOrderJobs,
     takes<JobRef>},
    {kResume, "resume", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOrderJobs,
     takes<JobRef>},
    {kRequeue, "requeue", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOrderJobs,
     takes<RequeueArgs>},
    {kFence, "fence", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate, takes<FenceArgs>},
    {kWhyHost, "why_host", kAsked, kReads, kNothing, kMembers, kAll, kMaySee, takes<HostRef>},
    {kHostUses, "host_uses", kVoter, kReads, kNothing, kMembers, kAll, kMaySee,
     may_take<HostsQuery>},
    {kHostDetail, "host_detail", kVoter, kReads, kNothing, kMembers, kAboutOwnHost, kMaySee,
     takes<HostRef>},
    {kUsage, "usage", kVoter, kReads, kNothing, kMembers, kVouched, kMaySeeJobs,
     may_take<UsageQuery>},
    {kDryRun, "dry_run", kPlacer, kReads, kNothing, kMembers, kVouched, kMaySubmit,
     takes<SubmitArgs>},
    {kDrain, "drain", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate, takes<DrainArgs>},
    {kUndrain, "undrain", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate,
     takes<HostRef>},
    {kRemoveHost, "remove_host", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate,
     takes<HostRef>},
    {kEdit, "edit", kLeader, kChanges, kOrder, kMembers, kVouched, kMayPrioritise, takes<EditArgs>},
    {kRevokeHost, "revoke_host", kLeader, kChanges, kRollChange, kVotersAlone, kVouched, kMayRule,
     takes<HostRef>},
    {kRotateKeys, "rotate_keys", kLeader, kChanges, kRollChange, kVotersAlone, kVouched, kMayRule,
     takes<RotateArgs>},
    {kSetHost, "set_host", kLeader, kChanges, kRollChange, kVotersAlone, kVouched, kMayRule,
     takes<SetHostArgs>},
    {kFound, "found", kUnjoined, kChangesHost, kNothing, kMembers, kAll, kMayRule, takes<FoundArgs>,
     kSecret},
    {kEnter, "enter", kUnjoined, kChangesHost, kNothing, kMembers, kAll, kMayRule,
     takes<EnterArgs>},
    {kJoin, "join", kLeader, kChanges, kRollChange, kMembers, kTicket, kMayOperate,
     takes<JoinArgs>},
    {kMakeTicket, "make_ticket", kLeader, kChanges, kOrder, kTicketMakers, kVouched, kMayOperate,
     takes<TicketArgs>, kSecret},
    {kEndTicket, "end_ticket", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate,
     takes<TicketRef>},
    {kTickets, "tickets", kVoter, kReads, kNothing, kMembers, kVouched, kMaySee, takes_nothing},
    {kKeys, "keys", kAsked, kReads, kNothing, kMembers, kAll, kMaySee, takes_nothing},
    {kStats, "stats", kTarget, kReads, kNothing, kMembers, kOwnHost, kMaySee, takes_nothing},
    {kWhoami, "whoami", kAsked, kReads, kNothing, kMembers, kAll, kMaySee, takes_nothing},
    {kUsers, "users", kVoter, kReads, kNothing, kMembers, kVouched, kMaySee, may_take<UsersQuery>},
    {kChangeUsers, "change_users", kLeader, kChanges, kOrder, kMembers, kVouched, kMayManageUsers,
     takes<DirectoryArgs>},
    {kAudit, "audit", kVoter, kReads, kNothing, kMembers, kVouched, kMaySee, may_take<AuditQuery>},
    {kMakeToken, "make_token", kLeader, kChanges, kOrder, kMembers, kVouched, kMayMakeTokens,
     takes<TokenArgs>},
    {kEndToken, "end_token", kLeader, kChanges, kOrder, kMembers, kVouched, kMayMakeTokens,
     takes<TokenRef>},
    {kResetAdmin, "reset_admin", kLeader, kChanges, kOrder, kVotersAlone, kRootOfVoter, kMayRule,
     takes<ResetAdminArgs>},
    {kTokens, "tokens", kVoter, kReads, kNothing, kMembers, kVouched, kMayMakeTokens,
     may_take<TokensQuery>},
    {kGpus, "gpus", kVoter, kReads, kNothing, kMembers, kVouched, kMaySee, may_take<GpusQuery>},
    {kGpuBoard, "gpu_board", kAsked, kReads, kNothing, kMembers, kVouched, kMaySee, takes_nothing},
    {kMaskGpu, "mask_gpu", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate,
     takes<GpuOrderArgs>},
    {kUnmaskGpu, "unmask_gpu", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate,
     takes<GpuOrderArgs>},
    {kQueues, "queues", kVoter, kReads, kNothing, kMembers, kVouched, kMaySee, takes_nothing},
    {kSetQueues, "set_queues", kLeader, kChanges, kOrder, kMembers, kVouched, kMayOperate,
     takes<SetQueuesArgs>},
    {kShares, "shares", kVoter, kReads, kNothing, kMembers, kVouched, kMaySee,
     may_take<SharesQuery>},
    // Open to all, for it is judged by the link of the agent that asks, and not by rights.
    {kCertify, "certify", kSigner, kReads, kNothing, kMembers, kAll, kMaySee, takes<CertifyArgs>},
    {kHttpRoot, "http_root", kAsked, kReads, kNothing, kMembers, kAll, kMaySee, takes_nothing},
};

}  // namespace verbs

/// nullptr if there is no such verb: a request from another process may hold any number.
constexpr const VerbRow* find_verb(Verb verb) {
  return find_row(verbs::kTable, &VerbRow::verb, verb);
}
/// True if the row of the verb says so; false if it has no row.
constexpr bool is(Verb verb, Answerer answerer) {
  return has_row_with(verbs::kTable, &VerbRow::verb, verb, &VerbRow::answerer, answerer);
}
constexpr bool is(Verb verb, Effect effect) {
  return has_row_with(verbs::kTable, &VerbRow::verb, verb, &VerbRow::effect, effect);
}
constexpr bool is(Verb verb, Becomes becomes) {
  return has_row_with(verbs::kTable, &VerbRow::verb, verb, &VerbRow::becomes, becomes);
}
constexpr bool is(Verb verb, Carrier carrier) {
  return has_row_with(verbs::kTable, &VerbRow::verb, verb, &VerbRow::carrier, carrier);
}
constexpr bool is(Verb verb, Openness openness) {
  return has_row_with(verbs::kTable, &VerbRow::verb, verb, &VerbRow::openness, openness);
}
constexpr bool is(Verb verb, Right right) {
  return has_row_with(verbs::kTable, &VerbRow::verb, verb, &VerbRow::right, right);
}
constexpr bool is(Verb verb, Answer answer) {
  return has_row_with(verbs::kTable, &VerbRow::verb, verb, &VerbRow::answer, answer);
}
/// True if it changes the cluster: if its answer is lost, its outcome is unknown.
constexpr bool is_change(Verb verb) {
  return is(verb, Effect::kChanges) || is(verb, Effect::kSubmits);
}

}  // namespace muster::agent
