#include "crdt/rows/host_state.h"

#include "gossip/base/generation.h"
#include "gossip/wire/transport.h"
#include "gossip/wire/wire.h"

namespace muster::crdt {
namespace {

using gossip::Document;
using gossip::Encoder;
using gossip::Reader;

// Limits of the values in a row. All hosts keep each row, so each limit is far below the 64 KiB
// that a field may have.
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kWordBytesMax = 64;  ///< Rack, boot id, product version, GPU type and uuid.
constexpr std::size_t kShortageBytesMax = 256;
constexpr std::size_t kGpusMax = 64;
constexpr std::size_t kObserversMax = 64;
constexpr std::size_t kClaimsMax = 1024;
constexpr std::size_t kVotersMax = 16;

void write(Encoder& out, const gossip::Endpoint& endpoint) {
  const std::string_view ip(reinterpret_cast<const char*>(endpoint.ip.data()), endpoint.ip.size());
  out.array(2).bytes(ip).u64(endpoint.port);
}

gossip::Endpoint read_endpoint(Reader& in) {
  Reader pair = in.array();
  gossip::Endpoint endpoint;
  const std::string_view ip = pair.bytes();
  if (ip.size() != endpoint.ip.size()) {
    pair.fail();
    return {};
  }
  for (std::size_t i = 0; i < ip.size(); ++i) {
    endpoint.ip[i] = static_cast<std::uint8_t>(ip[i]);
  }
  endpoint.port = static_cast<std::uint16_t>(pair.u64_at_most(UINT16_MAX));
  return endpoint;
}

std::vector<HostId> read_host_ids(Reader& in, std::size_t count_max) {
  Reader list = in.array_at_most(count_max);
  std::vector<HostId> hosts;
  while (list.ok() && list.left() > 0) {
    hosts.push_back(list.id<HostId>());
  }
  return hosts;
}

void write_host_ids(Encoder& out, const std::vector<HostId>& hosts) {
  out.array(hosts.size());
  for (const HostId& host : hosts) {
    out.id(host);
  }
}

Claim read_claim(Reader& list) {
  Reader in = list.array();
  Claim claim;
  claim.subject = in.id<HostId>();
  claim.generation = Generation(in.u64_at_most(kGenerationMax));
  claim.kind =
      static_cast<ClaimKind>(in.u64_at_most(static_cast<std::uint64_t>(ClaimKind::kRefused)));
  claim.weak = in.boolean();
  return claim;
}

/// Parses `bytes` as one array, whose elements `read` takes; nullopt if that fails.
template <class Read>
auto decode_array(std::string_view bytes, Read read)
    -> std::optional<decltype(read(std::declval<Reader&>()))> {
  Result<Document> document = Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  Reader in = document->root();
  auto value = read(in);
  if (!in.ok()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::string encode(const Identity& identity) {
  const bool has_https = !identity.https.is_none();
  Encoder out;
  out.array(has_https ? 9 : 8).text(identity.name);
  write(out, identity.control);
  write(out, identity.bulk);
  out.num(identity.start_id)
      .text(identity.boot_id)
      .text(identity.rack)
      .text(identity.version)
      .boolean(identity.left);
  if (has_https) {
    write(out, identity.https);
  }
  return out.take();
}

std::optional<Identity> decode_identity(std::string_view bytes) {
  return decode_array(bytes, [](Reader& in) {
    Identity identity;
    identity.name = in.text(kNameBytesMax);
    identity.control = read_endpoint(in);
    identity.bulk = read_endpoint(in);
    identity.start_id = in.num<StartId>();
    identity.boot_id = in.text(kWordBytesMax);
    identity.rack = in.text(kWordBytesMax);
    identity.version = in.text(kWordBytesMax);
    identity.left = in.boolean();
    identity.https = in.left() > 0 ? read_endpoint(in) : gossip::Endpoint();
    return identity;
  });
}

std::string encode(const Capacity& capacity) {
  Encoder out;
  out.array(6).text(capacity.gpu_type).array(capacity.gpus.size());
  for (const Gpu& gpu : capacity.gpus) {
    out.array(2).text(gpu.uuid).boolean(gpu.healthy);
  }
  out.u64(capacity.cpus).u64(capacity.memory_mb).boolean(capacity.cordoned);
  out.text(std::string_view(capacity.shortage).substr(0, kShortageBytesMax));
  return out.take();
}

std::optional<Capacity> decode_capacity(std::string_view bytes) {
  return decode_array(bytes, [](Reader& in) {
    Capacity capacity;
    capacity.gpu_type = in.text(kWordBytesMax);
    Reader list = in.array_at_most(kGpusMax);
    while (list.ok() && list.left() > 0) {
      Reader gpu = list.array();
      std::string uuid = gpu.text(kWordBytesMax);
      capacity.gpus.push_back({std::move(uuid), gpu.boolean()});
    }
    capacity.cpus = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
    capacity.memory_mb = in.u64();
    capacity.cordoned = in.boolean();
    capacity.shortage = in.left() > 0 ? in.text(kShortageBytesMax) : "";
    return capacity;
  });
}

std::string encode(const QuorumView& view) {
  Encoder out;
  out.array(7).num(view.term).id(view.leader);
  write_host_ids(out, view.voters);
  out.num(view.applied);
  out.u64(view.epoch.counter).u64(view.epoch.lineage).u64(view.users);
  return out.take();
}

std::string encode(const AuthorityView& view) {
  Encoder out;
  out.array(2);
  gossip::write(out, view.links);
  out.u64(view.whole);
  return out.take();
}

std::optional<AuthorityView> decode_authority_view(std::string_view bytes) {
  return decode_array(bytes, [](Reader& in) {
    AuthorityView view;
    view.links = gossip::read_authority_links(in);
    view.whole = in.u64();
    return view;
  });
}

std::optional<QuorumView> decode_quorum_view(std::string_view bytes) {
  return decode_array(bytes, [](Reader& in) {
    QuorumView view;
    view.term = in.num<Term>();
    view.leader = in.id<HostId>();
    view.voters = read_host_ids(in, kVotersMax);
    view.applied = in.num<LogIndex>();
    if (in.left() > 0) {
      view.epoch.counter = in.u64();
      view.epoch.lineage = in.u64();
    }
    view.users = in.left() > 0 ? in.u64() : 0;
    return view;
  });
}

// A list stands in an array of one element, so that a newer version can append elements.

std::string encode_observers(const std::vector<HostId>& observers) {
  Encoder out;
  out.array(1);
  write_host_ids(out, observers);
  return out.take();
}

std::optional<std::vector<HostId>> decode_observers(std::string_view bytes) {
  return decode_array(bytes, [](Reader& in) { return read_host_ids(in, kObserversMax); });
}

std::string encode_evidence(const std::vector<Claim>& claims) {
  Encoder out;
  out.array(1).array(claims.size());
  for (const Claim& claim : claims) {
    out.array(4)
        .id(claim.subject)
        .num(claim.generation)
        .u64(static_cast<std::uint64_t>(claim.kind))
        .boolean(claim.weak);
  }
  return out.take();
}

std::optional<std::vector<Claim>> decode_evidence(std::string_view bytes) {
  return decode_array(bytes, [](Reader& in) {
    Reader list = in.array_at_most(kClaimsMax);
    std::vector<Claim> claims;
    while (list.ok() && list.left() > 0) {
      claims.push_back(read_claim(list));
    }
    return claims;
  });
}

}  // namespace muster::crdt
