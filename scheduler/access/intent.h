#pragma once
// Intent is a signed order: the bytes that a person signs with an SSH key, under kIntentNamespace.
// They name the cluster, the person, the number of the key that signs, and the whole order. Then
// the signature counts for one order of one person in one cluster, and once. Client and voters make
// the same bytes, each from what it has: the client from the wish of the person, every voter from
// the entry of the log. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "gossip/base/signing.h"
#include "gossip/ssh/ssh_signature.h"
#include "scheduler/protocol/roll_entries.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

/// The purpose of such a signature. The number is that of the form of the bytes.
inline constexpr std::string_view kIntentNamespace = "muster-request@1";

struct Intent {
  ClusterId cluster;
  std::string user;
  std::uint64_t number = 0;  ///< UserKey::next of the key that signs.
  std::string order;         ///< Of words_of().
};
/// The bytes that are signed.
std::string message_of(const Intent& intent);
/// The signature as an entry holds it. `signature` is the key's under message_of(intent); `holds`:
/// the entry has to hold the order, too (MemberOrder).
PersonSignature signature_for(const Intent& intent, const gossip::SshSignature& signature,
                              bool holds);

/// The whole reason if an order came too late or too early in the sequence of its key. The client
/// asks for the number and signs again.
inline constexpr std::string_view kSignAgain =
    "another signed order of that key came first: repeat, so that it is signed again";

/// An order about members of the cluster. The leader makes an entry of it that holds more than a
/// person can know: records and keys that the authority signs. Therefore the entry holds the order
/// as it was signed, and a voter sees that the entry does no other thing.
struct MemberOrder {
  enum class Kind : std::uint8_t {
    kSetRights = 0,
    kRevoke = 1,
    kRotateKeys = 2,  ///< Of one host; of all if none is named.
    kReplaceAuthority = 3,
  };
  Kind kind = Kind::kSetRights;
  HostId host{};
  std::optional<bool> may_vote{};  ///< Absent: as it is.
  std::optional<bool> may_vouch{};
  bool operator==(const MemberOrder&) const = default;
};

/// Each kind of order begins with another word, so that no order reads as one of another kind.
std::string words_of(const DirectoryChange& change);
/// The fields that a person chooses. A time of life that no ticket may have reads as the longest.
std::string words_of(const entry::MakeTicket& ticket);
std::string words_of(const MemberOrder& order);
/// nullopt if the words are no such order.
std::optional<MemberOrder> member_order_in(std::string words);

}  // namespace muster::scheduler
