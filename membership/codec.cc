#include "membership/codec.h"

#include <algorithm>
#include <utility>

#include "gossip/base/generation.h"
#include "gossip/wire/message_table.h"

namespace muster::membership {
namespace {

using gossip::Encoder;
using gossip::MessageType;
using gossip::Reader;

/// Longer than any period; a larger number is hostile.
constexpr std::uint64_t kProbeMeNextMsMax = 3'600'000;

void write(Encoder& out, const Probe&) {
  out.array(0);
}

void write(Encoder& out, const Ack& ack) {
  const std::int64_t ms = std::max<std::int64_t>(0, to_ms(ack.probe_me_next));
  out.array(2).u64(static_cast<std::uint64_t>(ms)).num(ack.row_sequence);
}

void write(Encoder& out, const Call& call) {
  out.array(2).id(call.subject).num(call.generation);
}

void write(Encoder& out, const Veto& veto) {
  out.array(2).id(veto.subject).num(veto.generation);
}

void write(Encoder& out, const Accuse& accuse) {
  out.array(2).num(accuse.generation).u64(static_cast<std::uint64_t>(accuse.kind));
}

Ack read_ack(Reader& in) {
  Ack ack;
  ack.probe_me_next = std::chrono::milliseconds(in.u64_at_most(kProbeMeNextMsMax));
  ack.row_sequence = in.num<Sequence>();
  return ack;
}

template <class CallOrVeto>
CallOrVeto read_about(Reader& in) {
  CallOrVeto body;
  body.subject = in.id<HostId>();
  body.generation = Generation(in.u64_at_most(kGenerationMax));
  return body;
}

Accuse read_accuse(Reader& in) {
  Accuse accuse;
  accuse.generation = Generation(in.u64_at_most(kGenerationMax));
  accuse.kind = static_cast<crdt::ClaimKind>(
      in.u64_at_most(static_cast<std::uint64_t>(crdt::ClaimKind::kRefused)));
  return accuse;
}

Probe read_probe(Reader&) {
  return {};
}

template <auto kRead>
constexpr auto kAs = gossip::read_as<Body, kRead>;

constexpr gossip::BodyReader<Body> kReaders[] = {
    {MessageType::kProbe, kAs<read_probe>},      {MessageType::kAck, kAs<read_ack>},
    {MessageType::kCall, kAs<read_about<Call>>}, {MessageType::kVeto, kAs<read_about<Veto>>},
    {MessageType::kAccuse, kAs<read_accuse>},
};
static_assert(gossip::reads_all_of<gossip::Owner::kMembership>(kReaders));

}  // namespace

MessageType type_of(const Body& body) {
  constexpr MessageType kTypes[] = {MessageType::kProbe, MessageType::kAck, MessageType::kCall,
                                    MessageType::kVeto, MessageType::kAccuse};
  static_assert(std::size(kTypes) == std::variant_size_v<Body>);
  return kTypes[body.index()];
}

std::string encode(const Body& body) {
  Encoder out;
  std::visit([&](const auto& what) { write(out, what); }, body);
  return out.take();
}

std::optional<Body> decode_body(MessageType type, Reader in) {
  return gossip::read_body(kReaders, type, std::move(in));
}

}  // namespace muster::membership
