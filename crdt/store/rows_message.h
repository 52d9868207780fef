#pragma once
// Rows on their way to one host, cut into messages that are bounded: what Spread and Audit both
// hand out.

#include <cstddef>
#include <string>
#include <vector>

#include "crdt/rows/codec.h"
#include "crdt/rows/row.h"
#include "gossip/base/ids.h"

namespace muster::crdt {

/// `body` is an encoded RowsBody for an envelope of type kRows; no reply is expected.
struct RowsMessage {
  HostId to;
  std::string body;
};

/// What a row takes in a message, near enough to cut by.
std::size_t size_bytes(const Row& row);
/// What one field takes there.
std::size_t size_bytes(const Field& field);

/// Appends `rows` for `to`, in their order, in as many messages as the limits of codec.h want; none
/// for no rows. `compares`: as RowsBody's.
void append_rows(HostId to, std::vector<RowOf> rows, std::vector<RowsMessage>& messages,
                 bool compares = false);

}  // namespace muster::crdt
