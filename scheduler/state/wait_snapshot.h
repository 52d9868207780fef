#pragma once
// The conditions of a job or array (JobWait), and the ends to be told, as bytes of a snapshot.

#include <cstdint>
#include <deque>
#include <vector>

#include "gossip/wire/wire.h"
#include "scheduler/state/books.h"
#include "scheduler/state/job_record.h"

namespace muster::scheduler {

/// One array: [begin, deadline, over, both wall clocks, reason, outcome, job and met of each item].
void write_wait(gossip::Encoder& out, const JobWait& wait);
JobWait read_wait(gossip::Reader& in);

/// EligibilityBook::over(), a document each: [section, job, state, whether it has ended].
std::vector<gossip::Encoder> over_documents(const EligibilityBook& book, std::uint64_t section);
void read_over(gossip::Reader& in, std::deque<Over>& over);

}  // namespace muster::scheduler
