#pragma once
// RowChecker verifies that each field comes from the owner of its row. Each field carries the
// owner's proof (proof.h), so a host that passes a row on can lose or delay it, but not change it.
// The owner's key is in its record of the roll (roll.h), which the cluster authority signed.
//
// A host that passes on a forged field lies or is broken: the checker leaves out that field and all
// that follows it in the message. Therefore a flood of forgeries costs one failed check a message.
//
// The checker also learns from rows which authority signs: from hosts that may vote, signed by the
// authority before. From then on records of earlier authorities are no news: a thief of an old
// authority's secret lets no host in.

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
  std::string key;  ///< Its identity key; "" = not known.
  bool may_vote = false;
};

/// A received message that holds news.
struct RowsToCheck {
  HostId from;
  RowsBody body;
  gossip::Route route;  ///< The route they came in on: the shortest way back.
  /// The owner of each row of `body`, as far as it is known here.
  std::vector<RowOwner> owners{};
  /// Authorities that are known here but perhaps not to the checker.
  std::vector<gossip::AuthorityLink> links{};
};

/// The part of a message that may be believed.
struct RowsChecked {
  HostId from;
  RowsBody body;
  gossip::Route route;
  std::uint64_t forged = 0;     ///< 1 if a forged field, and all behind it, was left out; else 0.
  HostId forged_of;             ///< The owner of the forged field.
  std::vector<HostId> keyless;  ///< Rows left out for want of a key: ask for them as a whole.
  std::vector<gossip::AuthorityLink> links{};  ///< New authorities, from these rows.
  std::uint64_t authority = 1;                 ///< The newest that the checker knows.
  /// A record is of an unknown, later authority: a host that may vote can tell of it.
  bool lacks_authority = false;
};

/// Authority::follow(), for code that learns of authorities by rows.
std::vector<gossip::AuthorityLink> follow(gossip::Authority& authority,
                                          const std::vector<gossip::AuthorityLink>& links,
                                          const gossip::Verifier& verifier);

/// Checks rows, one message after the other. It remembers the keys that it met, because a message
/// may depend on one that was checked just before. Used by one thread.
class RowChecker {
 public:
  /// Limit of the hosts whose keys are remembered; rows of others are asked for as a whole each
  /// time.
  static constexpr std::size_t kOwnersMax = 16'384;

  /// `verifier` outlives this.
  RowChecker(gossip::Authority authority, const gossip::Verifier& verifier)
      : authority_(std::move(authority)), verifier_(verifier) {}

  RowsChecked check(RowsToCheck rows);

 private:
  enum class Record : std::uint8_t { kNone, kGood, kForged, kOfAnotherAuthority };
  /// Takes the authority from the row before its record: the new authority may have signed that.
  void take_authority(const RowOf& row, RowsChecked& checked);
  Record take_record(RowOf& row, RowsChecked& checked);
  void remember(HostId host, RowOwner owner);
  const RowOwner* owner_of(HostId host) const;
  /// False if the field names the link key of another host.
  bool is_own_link(HostId host, const Field& field) const;
  /// Drops the first field that `key` did not sign and all behind it. True if there was one.
  bool drop_forged(RowOf& row, const std::string& key) const;

  gossip::Authority authority_;
  std::map<std::uint64_t, std::string> replaced_;  ///< Keys of earlier authorities, by number.
  const gossip::Verifier& verifier_;
  std::map<HostId, RowOwner> owners_;
};

}  // namespace muster::crdt
