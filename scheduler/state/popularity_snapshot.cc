#include "scheduler/state/popularity_snapshot.h"

#include <string>
#include <utility>

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::Reader;

/// More than any cluster asks for; sums of such counts do not overflow.
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 32;

enum class What : std::uint8_t { kArrived = 0, kCount = 1, kUsual = 2, kFleet = 3 };

Encoder begin(std::uint64_t section, What what, std::size_t fields) {
  Encoder out;
  out.array(2 + fields).u64(section).u64(static_cast<std::uint64_t>(what));
  return out;
}

void add(std::vector<Encoder>& documents, std::uint64_t section, What what,
         const Popularity::Counts& counts) {
  for (const auto& [request, count] : counts) {
    Encoder& out = documents.emplace_back(begin(section, what, 5));
    out.u64(request.gpus).u64(request.share);
    out.u64(request.cpus.has_value() ? std::uint64_t{*request.cpus} + 1 : 0);  // As in a request.
    write(out, request.types);
    out.u64(count);
  }
}

void read_count(Reader& in, Popularity::Counts& counts) {
  PopularRequest request;
  request.gpus = static_cast<std::uint32_t>(in.u64_at_most(kGangUnitsMax));
  request.share = static_cast<std::uint32_t>(in.u64_at_most(kOneCpu));
  if (const std::uint64_t cpus = in.u64_at_most(std::uint64_t{kCpusMax} + 1); cpus != 0) {
    request.cpus = static_cast<std::uint32_t>(cpus - 1);
  }
  request.types = read_texts(in, kNameBytesMax);
  const std::uint64_t count = in.u64_at_most(kCountMax);
  const bool is_none = count == 0 || (request.gpus == 0) != (request.share == 0) ||
                       request.types.size() > kPopularNamedMax;
  if (is_none || counts.size() >= kPopularMax || !counts.emplace(request, count).second) {
    in.fail();
  }
}

void read_fleet(Reader& in, Usual& usual) {
  std::string type = in.text();
  const std::uint64_t gpus = in.u64_at_most(kCountMax);
  if (usual.gpus.size() >= kPopularTypesMax || !usual.gpus.emplace(std::move(type), gpus).second) {
    in.fail();
  }
}

}  // namespace

std::vector<Encoder> popularity_documents(const Popularity& popularity, std::uint64_t section) {
  std::vector<Encoder> documents;
  if (popularity.arrived() == 0) {
    return documents;
  }
  documents.push_back(begin(section, What::kArrived, 2));
  documents.back().u64(popularity.arrived()).u64(popularity.look_at());
  add(documents, section, What::kCount, popularity.counts());
  add(documents, section, What::kUsual, popularity.usual().requests);
  for (const auto& [type, gpus] : popularity.usual().gpus) {
    documents.push_back(begin(section, What::kFleet, 2));
    documents.back().text(type).u64(gpus);
  }
  return documents;
}

void read_popularity(Reader& in, PopularityParts& parts) {
  switch (static_cast<What>(in.u64_at_most(static_cast<std::uint64_t>(What::kFleet)))) {
    case What::kArrived:
      parts.arrived = in.u64();
      parts.look_at = in.u64();
      break;
    case What::kCount:
      read_count(in, parts.counts);
      break;
    case What::kUsual:
      read_count(in, parts.usual.requests);
      break;
    case What::kFleet:
      read_fleet(in, parts.usual);
      break;
  }
}

}  // namespace muster::scheduler
