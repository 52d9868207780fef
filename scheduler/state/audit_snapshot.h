#pragma once
// The audit as documents of a snapshot: one for its last number and the batches of hosts, one a
// line.

#include <cstdint>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/state/audit_book.h"

namespace muster::scheduler {

/// An audit as it is read, document by document.
struct AuditParts {
  std::uint64_t last = 0;
  AuditBook::Lines lines;
  std::size_t bytes = 0;  ///< Of the lines.
  AuditBook::Batches batches;
  AuditBook whole() &&;
};

/// Each begins with `section`. Empty if there was no line and no batch.
std::vector<gossip::Encoder> audit_documents(const AuditBook& audit, std::uint64_t section);
/// One document, behind its section. Fails the reader on a document that it would not write.
void read_audit(gossip::Reader& in, AuditParts& parts);

}  // namespace muster::scheduler
