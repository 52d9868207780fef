#include "scheduler/protocol/gpu_orders.h"

#include <utility>

#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/gpu_uuid.h"

namespace muster::scheduler {

void write(gossip::Encoder& out, const entry::GpuOrder& fact) {
  out.id(fact.host).text(fact.uuid).boolean(fact.is_mask).text(fact.why);
  write(out, fact.by);
}

/// A leader proposes no entry that it cannot read itself.
entry::GpuOrder read_gpu_order(gossip::Reader& in) {
  entry::GpuOrder fact;
  fact.host = in.id<HostId>();
  fact.uuid = in.text(kUuidBytesMax);
  fact.is_mask = in.boolean();
  fact.why = in.text(kGpuWhyBytesMax);
  fact.by = read_subject(in);
  return fact;
}

void write(gossip::Encoder& out, const std::vector<GpuOrder>& orders) {
  out.array(orders.size());
  for (const GpuOrder& order : orders) {
    out.array(7)
        .text(order.uuid)
        .boolean(order.is_mask)
        .text(order.why)
        .text(order.by)
        .i64(order.unix_ms)
        .token(order.at);
  }
}

std::vector<GpuOrder> read_gpu_orders(gossip::Reader& in, std::size_t count_max) {
  std::vector<GpuOrder> orders;
  gossip::Reader list = in.array_at_most(count_max);
  while (list.ok() && list.left() > 0) {
    gossip::Reader item = list.array();
    GpuOrder order;
    order.uuid = item.text(kUuidBytesMax);
    order.is_mask = item.boolean();
    order.why = item.text(kGpuWhyBytesMax);
    order.by = item.text(kGpuOrderByBytesMax);
    order.unix_ms = item.i64();
    order.at = item.token();
    if (order.uuid.empty()) {
      in.fail();
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace muster::scheduler
