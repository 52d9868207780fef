#pragma once
// The voters and the leader of a cluster, and an operator's requests about them.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "gossip/base/ids.h"
#include "scheduler/protocol/quorum_action.h"

namespace muster::agent {

struct VoterInfo {
  HostId id;
  std::string name;
  std::uint64_t match_index = 0;  ///< Durable there, as the leader knows; 0 from a follower.
  std::uint64_t contact_ms = 0;   ///< Time since its last message.
  std::string state;
  // A node without a seat in the quorum does not set the fields below.
  bool is_learner = false;  ///< It gets the log and votes once it has caught up.
  std::string rack{};
  std::string why{};         ///< Why it was chosen, or what keeps it from voting; for people.
  std::uint64_t behind = 0;  ///< Entries it lacks, as the leader knows.
  bool is_unheard = false;   ///< It has not answered this leader yet: contact_ms says nothing.
  bool operator==(const VoterInfo&) const = default;
};

struct QuorumInfo {
  ClusterId cluster;
  std::string role;  ///< Of the answering node: "leader", "follower", "candidate", "none".
  Term term;
  HostId leader;
  std::string leader_name;
  LogIndex commit;
  LogIndex applied;
  std::uint64_t tolerates = 0;    ///< Further failures of voters that leave a live majority.
  std::vector<VoterInfo> voters;  ///< Learners come last.
  std::uint64_t wanted = 0;       ///< Voters that the quorum fills itself up to; 0 = not said.
  std::uint64_t epoch = 0;        ///< 1 = it was never recovered; 0 = not said.
  // Set by a node of a cluster that is being founded; older nodes do not send them.
  std::uint64_t founders_wanted = 0;  ///< Number of founders; 0 = the answering node founds none.
  std::uint64_t founders_met = 0;     ///< Founders that are here, the answering node included.
  std::vector<SeedInfo> seeds_unmet{};
  bool operator==(const QuorumInfo&) const = default;
};

using scheduler::QuorumAction;

struct QuorumWish {
  QuorumAction action = QuorumAction::kAdd;
  HostId host;
  bool operator==(const QuorumWish&) const = default;
};

struct RecoverArgs {
  bool is_order = false;  ///< False: only report what the host has.
  Term term;              ///< With an order: the end of the log that the operator saw.
  LogIndex index;
  bool operator==(const RecoverArgs&) const = default;
};

/// The log from which a quorum could go on, at the answering host.
struct RecoveryInfo {
  HostId host;
  std::string host_name;
  bool has_log = false;
  std::uint64_t epoch = 0;
  Term term;
  LogIndex last;
  LogIndex commit;            ///< The log is known to be committed up to here.
  std::uint64_t live = 0;     ///< Voters that the host takes for alive, itself included.
  std::uint64_t voters = 0;   ///< All voters.
  std::uint64_t idle_ms = 0;  ///< Time since the host heard a leader.
  /// The host lately heard hosts of another recovery with the same epoch. One of the two must be
  /// recovered once more, even if a host leads.
  bool has_rival = false;
  bool operator==(const RecoveryInfo&) const = default;
};

}  // namespace muster::agent
