#pragma once
// LinkRecord is the record in id/ of the secrets of this host's links: the current, the next and
// the previous one. It is absent while the links use the key of the membership record, which each
// host has.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crdt/disk/write_batch.h"

namespace muster::agent {

/// The key in Environment::kId.
inline constexpr std::string_view kLinkRecord = "link";

struct LinkRecord {
  std::string base;  ///< LinkCert::base.
  std::uint64_t serial = 0;
  std::string seed;
  std::string next_seed;      ///< "" = no change is under way.
  std::string previous_seed;  ///< For hosts that were away; "" = the first key is in use.
  std::uint64_t round = 0;    ///< LinkCert::round.
  bool operator==(const LinkRecord&) const = default;
};

crdt::WriteBatch writes_of(const LinkRecord& record);
/// nullopt if there is no record. If the record does not decode, `seed` is "".
std::optional<LinkRecord> link_record_in(const crdt::Records& id_records);

}  // namespace muster::agent
