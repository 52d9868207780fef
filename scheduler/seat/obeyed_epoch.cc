#include "scheduler/seat/obeyed_epoch.h"

#include <string>

#include "gossip/wire/message.h"
#include "gossip/wire/wire.h"

namespace muster::scheduler {
namespace {

/// An unreadable record is that of no epoch: a higher one is met soon.
ClusterEpoch recovered_epoch(const crdt::Records& records) {
  const auto found = records.find(std::string(kObeyedEpochKey));
  if (found == records.end()) {
    return {};
  }
  const Result<gossip::Document> document = gossip::Document::parse(found->second);
  if (!document) {
    return {};
  }
  gossip::Reader in = document->root();
  ClusterEpoch epoch;
  epoch.counter = in.u64_at_most(gossip::kEpochCounterMax);
  epoch.lineage = in.u64();
  return in.ok() && epoch.counter > 0 ? epoch : ClusterEpoch();
}

}  // namespace

ObeyedEpoch::ObeyedEpoch(const crdt::Records& id_records, const ClusterEpoch& of_seat)
    : met_(recovered_epoch(id_records)) {
  meet(of_seat);
}

bool ObeyedEpoch::meet(const ClusterEpoch& epoch) {
  if (epoch.counter <= met_.counter) {
    return false;
  }
  met_ = epoch;
  is_durable_ = false;
  return true;
}

crdt::Write ObeyedEpoch::write() const {
  return {std::string(kObeyedEpochKey),
          gossip::Encoder().array(2).u64(met_.counter).u64(met_.lineage).take()};
}

}  // namespace muster::scheduler
