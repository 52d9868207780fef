#include "agent/start_record.h"

#include <algorithm>

#include "gossip/wire.h"

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
  const Generation next = std::max(recorded(id_records).next(), at_least);
  return {{next, random},
          {{std::string(kGenerationKey), gossip::Encoder().array(1).num(next).take()}}};
}

}  // namespace muster::agent
