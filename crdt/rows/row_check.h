#pragma once
// Whether rows are their owners': each field carries the owner's signature over host, field,
// version and bytes, so whoever passes a row on can lose or delay it and nothing else. The owner's
// key is in its identity field, and the host id is a hash of that key.
//
// A field that is not its owner's is left out of what was received. A row without any field left is
// left out as well, and so is a `full_from` above every field: it would drop what is held.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crdt/rows/codec.h"
#include "crdt/rows/row.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/wire/transport.h"

namespace muster::crdt {

/// The words that the owner signs.
std::string signed_words(HostId host, std::uint32_t field, const RowVersion& version,
                         std::string_view bytes);

/// What was received and holds news.
struct RowsToCheck {
  HostId from;
  RowsBody body;
  gossip::Route route;  ///< What they came in on: the shortest way back.
  /// Of the owner of each row of `body`, as far as it is known here; "" = not, and then the row's
  /// own identity field says it.
  std::vector<std::string> keys;
};

/// The rest of it, which may be believed.
struct RowsChecked {
  HostId from;
  RowsBody body;
  gossip::Route route;
  std::uint64_t forged = 0;     ///< Fields left out.
  HostId forged_of;             ///< The owner of the last of them.
  std::vector<HostId> keyless;  ///< Rows left out for want of a key: to be asked for as a whole.
};

RowsChecked check_rows(RowsToCheck rows, const gossip::Verifier& verifier);

}  // namespace muster::crdt
