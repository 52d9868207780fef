#pragma once
// The secrets of this host's links, as id/ keeps them: what they are proven with, what they will be
// proven with next, and what they were proven with before. Absent while the links are proven with
// the key of the membership record, which each host has.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crdt/disk/write_batch.h"

namespace muster::agent {

/// In Environment::kId.
inline constexpr std::string_view kLinkRecord = "link";

struct LinkRecord {
  std::string base;  ///< LinkCert::base.
  std::uint64_t serial = 0;
  std::string seed;
  std::string next_seed;      ///< "" = no change is under way.
  std::string previous_seed;  ///< For hosts that were away; "" = there was none.
  std::uint64_t round = 0;    ///< LinkCert::round.
  bool operator==(const LinkRecord&) const = default;
};

crdt::WriteBatch writes_of(const LinkRecord& record);
/// Nothing when there is none. An empty `seed`: there is one that does not decode.
std::optional<LinkRecord> link_record_in(const crdt::Records& id_records);

}  // namespace muster::agent
