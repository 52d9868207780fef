#pragma once
// Whether rows are their owners': each field carries the owner's signature over host, field,
// version and bytes, so whoever passes a row on can lose or delay it and nothing else. The owner's
// key is in its record of the roll (roll.h), which the cluster authority signed.
//
// Who passes on a field that is not its owner's lies or is broken: that field and all that stands
// behind it in the message is left out. So a flood of forgeries costs one look a message.

#include <cstdint>
#include <map>
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
  /// Of the owner of each row of `body`, as far as it is known here; "" = not.
  std::vector<std::string> keys;
};

/// The rest of it, which may be believed.
struct RowsChecked {
  HostId from;
  RowsBody body;
  gossip::Route route;
  std::uint64_t forged = 0;     ///< Fields left out; what stood behind them is not counted.
  HostId forged_of;             ///< The owner of the last of them.
  std::vector<HostId> keyless;  ///< Rows left out for want of a key: to be asked for as a whole.
};

/// Looks at rows one message after the other. It remembers the keys that it met, since a message
/// may lean on one that was checked just before. Owned by whoever checks: one thread.
class RowChecker {
 public:
  /// Hosts whose keys are remembered; more are asked for as a whole each time.
  static constexpr std::size_t kKeysMax = 16'384;

  /// `authority`: its public key. `verifier` outlives this.
  RowChecker(std::string authority, const gossip::Verifier& verifier)
      : authority_(std::move(authority)), verifier_(verifier) {}

  RowsChecked check(RowsToCheck rows);

 private:
  /// False: the row holds a record of the roll that is none.
  bool take_key(const RowOf& row, const std::string& known);
  /// Drops the first field that is not of that key and all behind it; whether there was one.
  bool drop_forged(RowOf& row, const std::string& key) const;

  std::string authority_;
  const gossip::Verifier& verifier_;
  std::map<HostId, std::string> keys_;
};

}  // namespace muster::crdt
