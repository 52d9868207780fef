#pragma once
// The schema of a host's row: its fields and the meaning of their bytes. A row is a map
// field -> (generation, sequence, bytes); facts that must be read together share a field. Unknown
// fields of newer versions are merged, kept and passed on.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/wire/authority_link.h"
#include "gossip/wire/endpoint.h"

namespace muster::crdt {

/// The numbers stand on the wire: never reused, never retyped.
enum class FieldId : std::uint32_t {
  kIdentity = 1,   ///< Identity
  kObservers = 2,  ///< The host ids that watch this host (list of ids).
  kEvidence = 3,   ///< This host's whole set of non-alive claims about others.
  kCapacity = 4,   ///< Capacity
  kQuorum = 5,     ///< QuorumView: published by voters.
  kRoll = 6,       ///< RollRecord: written by the cluster authority, not by the host.
  kLink = 7,       ///< LinkCert: absent while the link key is that of the record.
  kAuthority = 8,  ///< AuthorityView: published by voters after the first authority was replaced.
};

/// Name and addresses of a host. They are data: the host id does not change with them.
struct Identity {
  std::string name;
  gossip::Endpoint control;
  gossip::Endpoint bulk;
  StartId start_id;
  std::string boot_id;       ///< Of the kernel, as text.
  std::string rack;          ///< "" = unknown.
  std::string version;       ///< Of the product.
  bool left = false;         ///< Left gracefully; stays until a newer generation says otherwise.
  gossip::Endpoint https{};  ///< Where others reach its HTTPS; none = they cannot.

  bool operator==(const Identity&) const = default;
};

enum class ClaimKind : std::uint8_t {
  kSilent = 0,   ///< No answer.
  kRefused = 1,  ///< The kernel answers, the agent does not.
};

/// A claim of an observer about a subject in one generation, from its own probes only.
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

/// The resources of a host, for placement.
struct Capacity {
  std::string gpu_type;  ///< "H100"; one type a host.
  std::vector<Gpu> gpus;
  std::uint32_t cpus = 0;
  std::uint64_t memory_mb = 0;
  bool cordoned = false;
  std::string shortage{};  ///< Why the host can start no grant now, for people; "" = it can.
  bool operator==(const Capacity&) const = default;
};

/// A voter's view of the quorum, by which other nodes find it. The highest term wins.
struct QuorumView {
  Term term;
  HostId leader;  ///< Zero = no leader is known.
  std::vector<HostId> voters;
  LogIndex applied;
  ClusterEpoch epoch{};     ///< A view of a lower epoch is of a quorum that was given up.
  std::uint64_t users = 0;  ///< Version of the list of users; 0 = no user is known yet.
  bool operator==(const QuorumView&) const = default;
};

/// The authorities that sign the roll, as the log has them.
struct AuthorityView {
  std::vector<gossip::AuthorityLink> links;
  /// Number of an authority. Each valid record of the log is signed by it or a later one.
  std::uint64_t whole = 0;
  bool operator==(const AuthorityView&) const = default;
};

std::string encode(const Identity& identity);
std::string encode(const Capacity& capacity);
std::string encode(const QuorumView& view);
std::string encode(const AuthorityView& view);
std::string encode_observers(const std::vector<HostId>& observers);
std::string encode_evidence(const std::vector<Claim>& claims);

/// nullopt if the bytes have another shape or exceed a limit. Unknown trailing elements are
/// ignored; the store keeps the raw bytes.
std::optional<Identity> decode_identity(std::string_view bytes);
std::optional<Capacity> decode_capacity(std::string_view bytes);
std::optional<QuorumView> decode_quorum_view(std::string_view bytes);
std::optional<AuthorityView> decode_authority_view(std::string_view bytes);
std::optional<std::vector<HostId>> decode_observers(std::string_view bytes);
std::optional<std::vector<Claim>> decode_evidence(std::string_view bytes);

}  // namespace muster::crdt
