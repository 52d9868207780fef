#include "agent/hardware/probe_frame.h"

#include <algorithm>
#include <utility>

#include "gossip/base/overloaded.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

using gossip::Encoder;
using gossip::Reader;

constexpr std::size_t kLengthBytes = 4;

/// In front of each frame's array: never reused.
enum class Kind : std::uint64_t { kReading = 0, kFailure = 1, kReady = 2, kXid = 3 };

Encoder& begin(Encoder& out, std::size_t count, Kind kind) {
  return out.array(count + 1).u64(static_cast<std::uint64_t>(kind));
}

void write_instance_number(Encoder& out, const std::optional<std::uint32_t>& number) {
  out.array(number.has_value() ? 1 : 0);
  if (number.has_value()) {
    out.u64(*number);
  }
}

std::optional<std::uint32_t> read_instance_number(Reader& in) {
  Reader values = in.array_at_most(1);
  return values.size() == 1
             ? std::optional(static_cast<std::uint32_t>(values.u64_at_most(UINT32_MAX)))
             : std::nullopt;
}

std::string body_of(const ProbeFrame& frame) {
  Encoder out;
  std::visit(Overloaded{
                 [&](const MachineReading& reading) {
                   begin(out, 1, Kind::kReading).bytes(encode(reading));
                 },
                 [&](const ProbeFailure& failure) {
                   begin(out, 1, Kind::kFailure).text(failure.text.substr(0, kReadingTextBytesMax));
                 },
                 [&](const EventsReady& ready) { begin(out, 1, Kind::kReady).u64(ready.gpus); },
                 [&](const XidEvent& xid) {
                   begin(out, 5, Kind::kXid).text(xid.uuid).text(xid.pci_id).u64(xid.code);
                   write_instance_number(out, xid.gpu_instance);
                   write_instance_number(out, xid.compute_instance);
                 },
             },
             frame);
  return out.take();
}

std::optional<ProbeFrame> read_reading(Reader& in) {
  std::optional<MachineReading> reading = decode_machine_reading(in.bytes());
  return reading.has_value() ? std::optional<ProbeFrame>(std::move(*reading)) : std::nullopt;
}

XidEvent read_xid(Reader& in) {
  XidEvent xid;
  xid.uuid = in.text(kReadingTextBytesMax);
  xid.pci_id = in.text(kReadingTextBytesMax);
  xid.code = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  xid.gpu_instance = read_instance_number(in);
  xid.compute_instance = read_instance_number(in);
  return xid;
}

std::optional<ProbeFrame> read_body(Reader& in) {
  const std::uint64_t kind = in.u64_at_most(static_cast<std::uint64_t>(Kind::kXid));
  if (!in.ok()) {
    return std::nullopt;
  }
  switch (static_cast<Kind>(kind)) {
    case Kind::kReading:
      return read_reading(in);
    case Kind::kFailure:
      return ProbeFailure{in.text(kReadingTextBytesMax)};
    case Kind::kReady:
      return EventsReady{static_cast<std::uint32_t>(in.u64_at_most(kGpusReadMax))};
    case Kind::kXid:
      return read_xid(in);
  }
  return std::nullopt;
}

Error not_a_frame() {
  return {ErrorCode::kInvalid, "the prober writes what is not a frame"};
}

}  // namespace

std::string encode_frame(const ProbeFrame& frame) {
  const std::string body = body_of(frame);
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes += static_cast<char>(body.size() >> (8 * i) & 0xff);
  }
  return bytes + body;
}

Result<std::optional<ProbeFrame>> take_probe_frame(std::string& buffer) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < std::min(kLengthBytes, buffer.size()); ++i) {
    length |= static_cast<std::size_t>(static_cast<std::uint8_t>(buffer[i])) << (8 * i);
  }
  if (buffer.size() >= kLengthBytes && length > kProbeFrameBytesMax) {
    return not_a_frame();
  }
  if (buffer.size() < kLengthBytes || buffer.size() - kLengthBytes < length) {
    return std::optional<ProbeFrame>();
  }
  const auto document = gossip::Document::parse(buffer.substr(kLengthBytes, length));
  buffer.erase(0, kLengthBytes + length);
  if (!document) {
    return not_a_frame();
  }
  Reader in = document->root();
  std::optional<ProbeFrame> frame = read_body(in);
  if (!frame.has_value() || !in.ok()) {
    return not_a_frame();
  }
  return frame;
}

}  // namespace muster::agent
