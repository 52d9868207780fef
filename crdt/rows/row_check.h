#pragma once
// Whether rows are their owners': each field carries the owner's proof (proof.h), so a host that
// passes a row on can lose or delay it and nothing else. The owner's key is in its record of the
// roll (roll.h), which the cluster authority signed.
//
// Who passes on a field that is not its owner's lies or is broken: that field and all that stands
// behind it in the message is left out. So a flood of forgeries costs one look a message.
//
// Which authority signs is learned from rows as well: from hosts that may vote, signed by the
// authority before. From then on records of earlier ones are no news: who stole an old authority's
// secret lets nobody in.

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

/// The owner of a row, as its record says.
struct RowOwner {
  std::string key;  ///< Of its identity; "" = not known.
  bool may_vote = false;
};

/// What was received and holds news.
struct RowsToCheck {
  HostId from;
  RowsBody body;
  gossip::Route route;  ///< What they came in on: the shortest way back.
  /// Of each row of `body`, as far as it is known here.
  std::vector<RowOwner> owners{};
  /// Authorities that are known here and that the checker may not know.
  std::vector<gossip::AuthorityLink> links{};
};

/// The rest of it, which may be believed.
struct RowsChecked {
  HostId from;
  RowsBody body;
  gossip::Route route;
  std::uint64_t forged = 0;     ///< Fields left out; what stood behind them is not counted.
  HostId forged_of;             ///< The owner of the last of them.
  std::vector<HostId> keyless;  ///< Rows left out for want of a key: to be asked for as a whole.
  std::vector<gossip::AuthorityLink> links{};  ///< Authorities that were new, from these rows.
  std::uint64_t authority = 1;                 ///< The newest that the checker knows.
  /// Some record is of an authority that is not known: whoever may vote can tell of it.
  bool lacks_authority = false;
};

/// Authority::follow(), for whoever learns of authorities by rows.
std::vector<gossip::AuthorityLink> follow(gossip::Authority& authority,
                                          const std::vector<gossip::AuthorityLink>& links,
                                          const gossip::Verifier& verifier);

/// Looks at rows one message after the other. It remembers the keys that it met, since a message
/// may lean on one that was checked just before. Owned by whoever checks: one thread.
class RowChecker {
 public:
  /// Hosts whose keys are remembered; more are asked for as a whole each time.
  static constexpr std::size_t kOwnersMax = 16'384;

  /// `verifier` outlives this.
  RowChecker(gossip::Authority authority, const gossip::Verifier& verifier)
      : authority_(std::move(authority)), verifier_(verifier) {}

  RowsChecked check(RowsToCheck rows);

 private:
  enum class Record : std::uint8_t { kNone, kGood, kForged, kOfAnotherAuthority };
  /// What the row tells of the authority counts before its record, which may be of the new one.
  void take_authority(const RowOf& row, RowsChecked& checked);
  Record take_record(RowOf& row, RowsChecked& checked);
  void remember(HostId host, RowOwner owner);
  const RowOwner* owner_of(HostId host) const;
  /// It names no other host's link key.
  bool is_own_link(HostId host, const Field& field) const;
  /// Drops the first field that is not of that key and all behind it; whether there was one.
  bool drop_forged(RowOf& row, const std::string& key) const;

  gossip::Authority authority_;
  std::map<std::uint64_t, std::string> replaced_;  ///< Keys of authorities before it, by number.
  const gossip::Verifier& verifier_;
  std::map<HostId, RowOwner> owners_;
};

}  // namespace muster::crdt
