#pragma once
// Mutant names the planted bugs: each is a known way to build a protocol wrongly, and a checker of
// the simulator must find each. They exist only where MUSTER_MUTANTS is defined, in targets of
// their own; in `muster` mutant() is a constant false and the wrong branch is not compiled.

#include <array>
#include <cstdint>
#include <string_view>

namespace muster {

enum class Mutant : std::uint8_t {
  kNone,
  // scheduler/raft
  kRaftAckLastStored,        ///< An append is acknowledged up to the last stored entry.
  kRaftVoteNotPersisted,     ///< A vote is sent before it is durable.
  kRaftAckBeforeDurable,     ///< An append is acknowledged before it is durable.
  kRaftCommitOldTerm,        ///< Entries of older terms are committed by counting (Raft 5.4.2).
  kRaftPreVoteNotSticky,     ///< Pre-votes are granted although a live leader was heard.
  kRaftReadWithoutRound,     ///< Reads are confirmed without a majority round.
  kRaftStaleReplyCounted,    ///< Append replies of older terms count.
  kRaftOwnDiskNotAwaited,    ///< The leader counts its own disk before it is durable.
  kRaftConfigBeforeOwnTerm,  ///< A configuration is proposed before an own-term commit
                             ///< (thesis 4.1).
  kRaftLearnerCounted,       ///< Learners count for a majority.
  kRaftSeatIgnored,          ///< A raft message of a host counts, whatever seat it comes from.
  // Rows and their writers
  kRowsBelieved,           ///< Rows are merged unchecked.
  kRollBelieved,           ///< A record of the roll counts, whichever key signed it.
  kSenderBelieved,         ///< The sender is the one that the envelope names, whatever was proven.
  kEpochBelieved,          ///< An epoch is met, whichever host names it.
  kAnyoneSpeaksForQuorum,  ///< A host that may not vote may speak for the quorum.
  kFullFromBelieved,       ///< A row may drop fields of generations above all that it shows.
  kOwnRowBelieved,         ///< Copies of our own row from other hosts are merged unchecked.
  kAuthorityBelieved,      ///< The next authority is believed, whichever host names it.
  kOldAuthorityBelieved,   ///< Records of an authority that was replaced are news.
  kTakenKeyLetIn,          ///< A host may name another host's link key as its own.
  kRelayBelieved,          ///< Any host may bring acks of renewals in the leader's name.
  kRevokedGoesOn,          ///< A revoked host stays a member.
  kTicketMayMore,          ///< The holder of a ticket may ask for more than Join.
  kTicketWithoutEnd,       ///< A ticket lets in more hosts than it was made for.
  kTicketOutlivesMaker,    ///< Tickets of a host that was revoked stay open.
  kAnyHostVouches,         ///< The request of a login counts through any host.
  kSignatureAField,        ///< Each field of a publish is signed by itself.
  kJoinUnproven,           ///< A newcomer need not prove its identity.
  // The gate of users
  kNodeAsksNoGate,       ///< A node answers whatever a user asks; the log alone denies.
  kClientNamesItself,    ///< A login is the user that it says it is.
  kOwnerIgnored,         ///< A right over own jobs is one over all jobs.
  kTeamIgnored,          ///< A right over jobs of own teams is one over all jobs.
  kCeilingIgnored,       ///< Any priority goes.
  kOperatorRules,        ///< An operator may do what only an administrator may.
  kLeadGivesRoles,       ///< A lead changes roles, other teams and rules.
  kTicketRightsUnasked,  ///< A ticket that brings rights is made like a plain one.
  kStrangerIsUser,       ///< A login without a record is a user, whatever the rule says.
  kHiddenTeamsShown,     ///< Jobs of other teams are shown, whatever the rule says.
  kOutputOpen,           ///< Output is read by every user.
  // Proofs of persons
  kSignatureUnasked,       ///< The word of a host is enough for what an administrator signs.
  kSignatureCountsTwice,   ///< The number of a signed order is not compared.
  kSignatureOfAnyCluster,  ///< The cluster is not among the words that are signed.
  kSignatureOfAnyPerson,   ///< The key may be that of another user.
  kSignatureOfAnyOrder,    ///< The order is not among the words that are signed.
  kSignatureForAnyUse,     ///< A signature that was made for another purpose counts.
  kRemovedKeyCounts,       ///< A key that was taken from a user counts on.
  kTokenUnproven,          ///< The secret of an access token is not compared.
  kTokenStatedByAny,       ///< Any host is believed that it has seen an access token.
  kTokenOutlivesItself,    ///< The time of an access token does not end it.
  kTokenOutlivesRevoking,  ///< An access token that was revoked stays.
  kTokenOfAnyRight,        ///< An access token does all that its user may do.
  kAnyHostEndsJobs,        ///< The end of a job counts, whichever host says it.
  kResetByAnyHost,         ///< Root of a host that does not vote resets the administrators.
  kResetByAnyLogin,        ///< Any login of a voter resets the administrators.
  kResetLeavesKeys,        ///< A reset leaves the keys and tokens of other administrators.
};

struct MutantName {
  Mutant mutant;
  std::string_view name;
};

/// All planted bugs of the raft, in the order in which they are reported.
inline constexpr std::array<MutantName, 11> kRaftMutants = {{
    {Mutant::kRaftAckLastStored, "ack_last_stored"},
    {Mutant::kRaftVoteNotPersisted, "vote_not_persisted"},
    {Mutant::kRaftAckBeforeDurable, "ack_before_durable"},
    {Mutant::kRaftCommitOldTerm, "commit_old_term"},
    {Mutant::kRaftPreVoteNotSticky, "pre_vote_not_sticky"},
    {Mutant::kRaftReadWithoutRound, "read_without_round"},
    {Mutant::kRaftStaleReplyCounted, "stale_reply_counted"},
    {Mutant::kRaftOwnDiskNotAwaited, "own_disk_not_awaited"},
    {Mutant::kRaftConfigBeforeOwnTerm, "config_before_own_term"},
    {Mutant::kRaftLearnerCounted, "learner_counted"},
    {Mutant::kRaftSeatIgnored, "seat_ignored"},
}};

/// Planted bugs of the checks on words of hosts and strangers: the traitor of a swarm finds them.
inline constexpr std::array<MutantName, 17> kTraitorMutants = {{
    {Mutant::kRowsBelieved, "rows_believed"},
    {Mutant::kRollBelieved, "roll_believed"},
    {Mutant::kEpochBelieved, "epoch_believed"},
    {Mutant::kSenderBelieved, "sender_believed"},
    {Mutant::kAnyoneSpeaksForQuorum, "anyone_speaks_for_quorum"},
    {Mutant::kFullFromBelieved, "full_from_believed"},
    {Mutant::kOwnRowBelieved, "own_row_believed"},
    {Mutant::kAuthorityBelieved, "authority_believed"},
    {Mutant::kOldAuthorityBelieved, "old_authority_believed"},
    {Mutant::kTakenKeyLetIn, "taken_key_let_in"},
    {Mutant::kRelayBelieved, "relay_believed"},
    {Mutant::kRevokedGoesOn, "revoked_goes_on"},
    {Mutant::kTicketMayMore, "ticket_may_more"},
    {Mutant::kTicketWithoutEnd, "ticket_without_end"},
    {Mutant::kTicketOutlivesMaker, "ticket_outlives_maker"},
    {Mutant::kAnyHostVouches, "any_host_vouches"},
    {Mutant::kJoinUnproven, "join_unproven"},
}};

/// Planted bugs of the gate of users: the trial of access finds them.
inline constexpr std::array<MutantName, 11> kAccessMutants = {{
    {Mutant::kNodeAsksNoGate, "node_asks_no_gate"},
    {Mutant::kClientNamesItself, "client_names_itself"},
    {Mutant::kOwnerIgnored, "owner_ignored"},
    {Mutant::kTeamIgnored, "team_ignored"},
    {Mutant::kCeilingIgnored, "ceiling_ignored"},
    {Mutant::kOperatorRules, "operator_rules"},
    {Mutant::kLeadGivesRoles, "lead_gives_roles"},
    {Mutant::kTicketRightsUnasked, "ticket_rights_unasked"},
    {Mutant::kStrangerIsUser, "stranger_is_user"},
    {Mutant::kHiddenTeamsShown, "hidden_teams_shown"},
    {Mutant::kOutputOpen, "output_open"},
}};

/// Planted bugs of the proofs of persons: the traitor of a swarm finds them.
inline constexpr std::array<MutantName, 13> kProofMutants = {{
    {Mutant::kSignatureUnasked, "signature_unasked"},
    {Mutant::kSignatureCountsTwice, "signature_counts_twice"},
    {Mutant::kSignatureOfAnyCluster, "signature_of_any_cluster"},
    {Mutant::kSignatureOfAnyPerson, "signature_of_any_person"},
    {Mutant::kSignatureOfAnyOrder, "signature_of_any_order"},
    {Mutant::kSignatureForAnyUse, "signature_for_any_use"},
    {Mutant::kRemovedKeyCounts, "removed_key_counts"},
    {Mutant::kTokenUnproven, "token_unproven"},
    {Mutant::kTokenStatedByAny, "token_stated_by_any"},
    {Mutant::kTokenOutlivesItself, "token_outlives_itself"},
    {Mutant::kTokenOutlivesRevoking, "token_outlives_revoking"},
    {Mutant::kTokenOfAnyRight, "token_of_any_right"},
    {Mutant::kAnyHostEndsJobs, "any_host_ends_jobs"},
}};

/// Planted bugs of the reset of the administrators: the trial of resets finds them.
inline constexpr std::array<MutantName, 3> kResetMutants = {{
    {Mutant::kResetByAnyHost, "reset_by_any_host"},
    {Mutant::kResetByAnyLogin, "reset_by_any_login"},
    {Mutant::kResetLeavesKeys, "reset_leaves_keys"},
}};

#ifdef MUSTER_MUTANTS
/// The planted bug of this process; set between runs only.
inline Mutant planted_mutant = Mutant::kNone;
inline bool mutant(Mutant which) {
  return planted_mutant == which;
}
#else
constexpr bool mutant(Mutant) {
  return false;
}
#endif

}  // namespace muster
