#include "agent/step/start_record.h"

#include <algorithm>

#include "gossip/wire/wire.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {
namespace {

Generation recorded(const crdt::Records& records) {
  const auto found = records.find(std::string(kGenerationKey));
  if (found == records.end()) {
    return Generation();
  }
  Result<gossip::Document> document = gossip::Document::parse(found->second);
  if (!document) {
    return Generation();
  }
  gossip::Reader reader = document->root();
  return reader.num<Generation>();
}

}  // namespace

StartRecord next_start(const crdt::Records& id_records, StartId random, Generation at_least) {
  const Generation last = recorded(id_records);
  const bool is_reused =
      last != Generation() && mutant(scheduler::SchedulerMutant::kGenerationReused);
  const Generation next = std::max(is_reused ? last : last.next(), at_least);
  return {{next, random},
          {{std::string(kGenerationKey), gossip::Encoder().array(1).num(next).take()}}};
}

}  // namespace muster::agent
