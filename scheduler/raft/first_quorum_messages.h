#pragma once
// The words and records of the first quorum: see first_quorum.h.
//
//   meta/cluster   [cluster id]                  durable together with raft/voters
//   meta/promise   [cluster id, [host id, ...]]
//   meta/refused   [cluster id, ...]

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "gossip/wire/message.h"

namespace muster::scheduler {

inline constexpr std::string_view kClusterKey = "meta/cluster";
inline constexpr std::string_view kPromiseKey = "meta/promise";
inline constexpr std::string_view kRefusedKey = "meta/refused";

/// An exact set of first voters under the random cluster id that names the proposal.
struct QuorumProposal {
  ClusterId cluster;
  std::vector<HostId> voters;  ///< Sorted, without doubles.
  bool operator==(const QuorumProposal&) const = default;
};

/// Will you promise this? Asked by the proposer, and again by anyone who promised it.
struct QuorumPropose {
  QuorumProposal proposal;
  bool operator==(const QuorumPropose&) const = default;
};

enum class PromiseAnswer : std::uint8_t {
  kRefused = 0,   ///< Durable: the sender will never promise it.
  kPromised = 1,  ///< Durable.
  kFormed = 2,    ///< The sender knows that all promised, durably.
};

struct QuorumPromise {
  ClusterId cluster;
  PromiseAnswer answer = PromiseAnswer::kRefused;
  bool operator==(const QuorumPromise&) const = default;
};

/// All promised. Repeated until every member answered with kFormed.
struct QuorumForm {
  QuorumProposal proposal;
  bool operator==(const QuorumForm&) const = default;
};

using QuorumMessage = std::variant<QuorumPropose, QuorumPromise, QuorumForm>;

gossip::MessageType type_of(const QuorumMessage& message);
std::string encode(const QuorumMessage& message);
/// nullopt if `type` is not a message of the first quorum or the body is invalid.
std::optional<QuorumMessage> decode_quorum_message(gossip::MessageType type, gossip::Reader body);

/// The contents of meta/.
struct RecoveredQuorum {
  std::optional<QuorumProposal> formed;
  std::optional<QuorumProposal> promise;
  std::vector<ClusterId> refused;
};
/// Reads Environment::kRaft. kCorrupt names the record.
Result<RecoveredQuorum> recover_quorum(const crdt::Records& records);

crdt::Write write_of_promise(const std::optional<QuorumProposal>& promise);
crdt::Write write_of_refused(const std::vector<ClusterId>& refused);
void write_formed_to(const QuorumProposal& formed, crdt::WriteBatch& batch);

}  // namespace muster::scheduler
