#pragma once
// RowsMessage is a bounded message with rows for one host. Spread and Audit cut their rows into
// such messages.

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

/// Approximate size of a row in a message, for cutting.
std::size_t size_bytes(const Row& row);
/// Approximate size of one field there.
std::size_t size_bytes(const Field& field);

/// Appends `rows` for `to`, in their order, in as many messages as the limits of codec.h require;
/// no message if there are no rows. `compares`: see RowsBody.
void append_rows(HostId to, std::vector<RowOf> rows, std::vector<RowsMessage>& messages,
                 bool compares = false);

}  // namespace muster::crdt
