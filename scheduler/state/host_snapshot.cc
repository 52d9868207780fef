#include "scheduler/state/host_snapshot.h"

#include <optional>

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::Reader;

/// Writes no element if there is no drain, else those of the drain.
void write_drain(Encoder& out, const std::optional<HostDrain>& drain) {
  if (!drain.has_value()) {
    out.array(0);
    return;
  }
  out.array(6)
      .text(drain->by)
      .text(drain->why)
      .duration(drain->since)
      .i64(drain->unix_ms)
      .boolean(drain->requeues)
      .duration(drain->requeue_at);
}

std::optional<HostDrain> read_drain(Reader list) {
  if (list.left() == 0) {
    return std::nullopt;
  }
  HostDrain drain;
  drain.by = list.text();
  drain.why = list.text();
  drain.since = list.duration();
  drain.unix_ms = list.i64();
  drain.requeues = list.boolean();
  drain.requeue_at = list.duration();
  return drain;
}

}  // namespace

Encoder host_document(const HostRecord& host, std::uint64_t section) {
  Encoder out;
  out.array(26).u64(section).id(host.id).u64(index_of(host.number));
  write(out, host.start);
  out.text(host.boot_id).text(host.name).text(host.gpu_type);
  write(out, host.gpus);
  out.u64(host.cpus).u64(host.memory_mb).token(host.highest);
  write(out, host.seen);
  out.u64(static_cast<std::uint64_t>(host.verdict)).u64(static_cast<std::uint64_t>(host.health));
  write(out, host.unhealthy_gpus);
  write(out, host.quarantined);
  out.boolean(host.has_namespaces).boolean(host.recovery.awaits_hello);
  write(out, host.recovery.unadopted);
  out.i64(host.unix_ms).boolean(host.is_removed);
  write_drain(out, host.drain);
  write(out, host.traits);
  out.text(host.shortage);
  write(out, host.gpu_orders);
  return out;
}

HostRecord read_host(Reader& in) {
  HostRecord host;
  host.id = in.id<HostId>();
  host.number = static_cast<HostNumber>(in.u64_at_most(UINT32_MAX));
  host.start = read_agent_start(in);
  host.boot_id = in.text();
  host.name = in.text();
  host.gpu_type = in.text();
  host.gpus = read_texts(in, kUuidBytesMax);
  host.cpus = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  host.memory_mb = in.u64();
  host.highest = in.token();
  host.seen = read_agent_start(in);
  host.verdict = static_cast<Verdict>(in.u64_at_most(static_cast<std::uint64_t>(Verdict::kLeft)));
  host.health = static_cast<Health>(in.u64_at_most(static_cast<std::uint64_t>(Health::kCordoned)));
  host.unhealthy_gpus = read_texts(in, kUuidBytesMax);
  host.quarantined = read_texts(in, kUuidBytesMax);
  host.has_namespaces = in.boolean();
  host.recovery.awaits_hello = in.boolean();
  host.recovery.unadopted = read_tokens(in);
  host.unix_ms = in.i64();
  host.is_removed = in.boolean();
  host.drain = read_drain(in.array());
  host.traits = read_host_traits(in);
  host.shortage = in.text();
  host.gpu_orders = read_gpu_orders(in, kGpuMasksMax + kGpuUnmasksKept);
  return host;
}

}  // namespace muster::scheduler
