#include "crdt/rows/codec.h"

#include <algorithm>

namespace muster::crdt {
namespace {

using gossip::Encoder;
using gossip::Reader;

std::size_t kept_bytes(const Row& row) {
  std::size_t bytes = 0;
  for (const auto& [id, field] : row.fields) {
    bytes += field.bytes.size() + field.proof.size();
  }
  return bytes;
}

}  // namespace

std::string encode(const RowsBody& body) {
  Encoder out;
  out.array(7).boolean(body.want_all).array(body.want.size());
  for (const HostId& host : body.want) {
    out.id(host);
  }
  out.array(body.rows.size());
  for (const RowOf& row : body.rows) {
    out.array(4).id(row.host);
    write_row(out, row.row);
  }
  out.array(body.digests.size());
  for (const RowDigest& digest : body.digests) {
    out.array(2).id(digest.host).u64(digest.digest);
  }
  out.boolean(body.complete).u64(body.audit).boolean(body.compares);
  return out.take();
}

std::optional<RowsBody> decode_rows(Reader in) {
  RowsBody body;
  body.want_all = in.boolean();
  Reader want = in.array_at_most(kDigestsPerMessageMax);
  while (want.ok() && want.left() > 0) {
    body.want.push_back(want.id<HostId>());
  }
  std::size_t kept = 0;
  Reader rows = in.array_at_most(kRowsPerMessageMax);
  body.rows.reserve(std::min(rows.left(), kRowsPerMessageMax));
  while (rows.ok() && rows.left() > 0) {
    Reader row = rows.array();
    const HostId host = row.id<HostId>();
    body.rows.push_back({host, read_row(row)});
    kept += kept_bytes(body.rows.back().row);
    if (kept > kRowsKeptBytesMax) {
      rows.fail();
    }
  }
  Reader digests = in.array_at_most(kDigestsPerMessageMax);
  body.digests.reserve(std::min(digests.left(), kDigestsPerMessageMax));
  while (digests.ok() && digests.left() > 0) {
    Reader pair = digests.array();
    const HostId host = pair.id<HostId>();
    body.digests.push_back({host, pair.u64()});
  }
  body.complete = in.boolean();
  body.audit = in.u64();
  body.compares = in.left() > 0 && in.boolean();
  if (!in.ok()) {
    return std::nullopt;
  }
  return body;
}

}  // namespace muster::crdt
