#pragma once
// The schema of a host's row: which fields there are and what their bytes say. A row is a map
// field -> (generation, sequence, bytes); what must be read together is one field. Unknown fields
// of newer versions are merged, kept and passed on without being understood.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/authority_link.h"
#include "gossip/wire/endpoint.h"

namespace muster::crdt {

/// Numbers are the wire's: never reused, never retyped.
enum class FieldId : std::uint32_t {
  kIdentity = 1,   ///< Identity
  kObservers = 2,  ///< The host ids that watch this host (list of ids).
  kEvidence = 3,   ///< This host's whole set of non-alive claims about others.
  kCapacity = 4,   ///< Capacity
  kQuorum = 5,     ///< QuorumView: published by voters.
  kRoll = 6,       ///< RollRecord: written by the cluster authority, not by the host.
  kLink = 7,       ///< LinkCert: absent while the link key is that of the record.
  kAuthority = 8,  ///< AuthorityView: published by voters once the first authority was replaced.
};

/// Who and where a host is. Name and address are data: the host id never changes with them.
struct Identity {
  std::string name;
  gossip::Endpoint control;
  gossip::Endpoint bulk;
  StartId start_id;
  std::string boot_id;  ///< Of the kernel, as text.
  std::string rack;     ///< "" = unknown.
  std::string version;  ///< Of the product.
  bool left = false;    ///< Left gracefully; stays until a newer generation says otherwise.

  bool operator==(const Identity&) const = default;
};

enum class ClaimKind : std::uint8_t {
  kSilent = 0,   ///< No answer.
  kRefused = 1,  ///< The kernel answers, the agent does not.
};

/// What one observer says of one subject's generation, from its own probes only.
struct Claim {
  HostId subject;
  Generation generation;
  ClaimKind kind = ClaimKind::kSilent;
  bool weak = false;  ///< Made while cut off: counts for the suspect band, never for a verdict.
  auto operator<=>(const Claim&) const = default;
};

struct Gpu {
  std::string uuid;
  bool healthy = true;
  bool operator==(const Gpu&) const = default;
};

/// What placement reads about a host, in one field.
struct Capacity {
  std::string gpu_type;  ///< "H100"; one type a host.
  std::vector<Gpu> gpus;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  bool cordoned = false;
  std::string shortage{};  ///< Why it can start no grant now, for people; "" = it can.
  bool operator==(const Capacity&) const = default;
};

/// How a node that is no voter finds the quorum. The view with the highest term wins.
struct QuorumView {
  Term term;
  HostId leader;  ///< Zero = none known.
  std::vector<HostId> voters;
  LogIndex applied;
  ClusterEpoch epoch{};  ///< A view of a lower one is of a quorum that was given up.
  bool operator==(const QuorumView&) const = default;
};

/// Who signs the roll, as the log has it.
struct AuthorityView {
  std::vector<gossip::AuthorityLink> links;
  /// Every record of the log that counts is of this authority or a later one: earlier ones' are
  /// nobody's.
  std::uint64_t whole = 0;
  bool operator==(const AuthorityView&) const = default;
};

std::string encode(const Identity& identity);
std::string encode(const Capacity& capacity);
std::string encode(const QuorumView& view);
std::string encode(const AuthorityView& view);
std::string encode_observers(const std::vector<HostId>& observers);
std::string encode_evidence(const std::vector<Claim>& claims);

/// Nothing when the bytes are not of that shape; unknown trailing elements are ignored here (the
/// store keeps the raw bytes).
std::optional<Identity> decode_identity(std::string_view bytes);
std::optional<Capacity> decode_capacity(std::string_view bytes);
std::optional<QuorumView> decode_quorum_view(std::string_view bytes);
std::optional<AuthorityView> decode_authority_view(std::string_view bytes);
std::optional<std::vector<HostId>> decode_observers(std::string_view bytes);
std::optional<std::vector<Claim>> decode_evidence(std::string_view bytes);

}  // namespace muster::crdt
