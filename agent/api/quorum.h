#pragma once
// Who votes and leads, and what an operator may ask of the voters.

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
  std::uint64_t contact_ms = 0;   ///< Since the last word from it.
  std::string state;
  // Of a node without a seat in the quorum: not said.
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
  std::vector<VoterInfo> voters;  ///< Learners behind them.
  std::uint64_t wanted = 0;       ///< So many voters the quorum fills itself up to; 0 = not said.
  std::uint64_t epoch = 0;        ///< 1 = it was never recovered; 0 = not said.
  // Of a cluster that is being born, from a node that says so.
  std::uint64_t founders_wanted = 0;  ///< So many found it; 0 = the answering node founds none.
  std::uint64_t founders_met = 0;     ///< Seeds that are here, the answering node among them.
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
  bool is_order = false;  ///< False: only say what there is.
  Term term;              ///< With an order, the end of the log as it was seen.
  LogIndex index;
  bool operator==(const RecoverArgs&) const = default;
};

/// What a quorum could go on from at the host that answers.
struct RecoveryInfo {
  HostId host;
  std::string host_name;
  bool has_log = false;
  std::uint64_t epoch = 0;
  Term term;
  LogIndex last;
  LogIndex commit;            ///< Known to be committed up to here.
  std::uint64_t live = 0;     ///< Voters that it takes for alive, itself among them, of
  std::uint64_t voters = 0;   ///< so many.
  std::uint64_t idle_ms = 0;  ///< Since it heard a leader.
  /// Hosts of another recovery of the same epoch were heard lately: one of the two must be
  /// recovered once more, whether somebody leads or not.
  bool has_rival = false;
  bool operator==(const RecoveryInfo&) const = default;
};

}  // namespace muster::agent
