#pragma once
// A host as a document of a snapshot.

#include <cstdint>

#include "gossip/wire/wire.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

/// Begins with `section`.
gossip::Encoder host_document(const HostRecord& host, std::uint64_t section);
/// One document, behind its section.
HostRecord read_host(gossip::Reader& in);

}  // namespace muster::scheduler
