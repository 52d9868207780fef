#include "crdt/store/rows_message.h"

#include <utility>

namespace muster::crdt {

std::size_t size_bytes(const Field& field) {
  return field.bytes.size() + field.proof.size() + 32;  // Key, version and headers.
}

std::size_t size_bytes(const Row& row) {
  std::size_t size = 0;
  for (const auto& [id, field] : row.fields) {
    size += size_bytes(field);
  }
  return size;
}

void append_rows(HostId to, std::vector<RowOf> rows, std::vector<RowsMessage>& messages,
                 bool compares) {
  RowsBody body;
  body.compares = compares;
  std::size_t size = 0;
  for (RowOf& row : rows) {
    size += size_bytes(row.row);
    body.rows.push_back(std::move(row));
    if (body.rows.size() == kRowsPerMessageMax || size >= kRowsBytesMax) {
      messages.push_back({to, encode(body)});
      body.rows.clear();
      size = 0;
    }
  }
  if (!body.rows.empty()) {
    messages.push_back({to, encode(body)});
  }
}

}  // namespace muster::crdt
