#include "scheduler/state/signed_order.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/ssh/ssh_signature.h"
#include "scheduler/access/intent.h"

namespace muster::scheduler {
namespace {

/// A person's order that is signed by its person, or may be.
struct Signable {
  const Subject* by = nullptr;
  std::optional<std::string> order{};  ///< nullopt: what was signed is another order.
};

/// Whether the record that the leader made is what the person ordered. The log does not read
/// records: the right to vote is in there, and hosts judge it by the authority's signature.
bool does(const RollBook& roll, const entry::Enrol& fact, const MemberOrder& order) {
  if (order.host != fact.host) {
    return false;
  }
  const EnrolledHost* known = roll.find(fact.host);
  const bool vouches_as_before = known != nullptr && known->may_vouch == fact.may_vouch;
  switch (order.kind) {
    case MemberOrder::Kind::kRevoke:
      return fact.is_revoked;
    case MemberOrder::Kind::kSetRights:
      return !fact.is_revoked &&
             (order.may_vouch.has_value() ? *order.may_vouch == fact.may_vouch : vouches_as_before);
    case MemberOrder::Kind::kRotateKeys:
      return !fact.is_revoked && vouches_as_before;
    case MemberOrder::Kind::kReplaceAuthority:
      return false;
  }
  return false;
}

/// nullopt for entries that nobody signs.
struct FindSignable {
  const RollBook& roll;

  std::optional<Signable> operator()(const entry::ChangeDirectory& fact) const {
    return Signable{&fact.by, words_of(fact.change)};
  }
  std::optional<Signable> operator()(const entry::MakeTicket& fact) const {
    const bool brings_rights = fact.may_vote || fact.may_vouch;
    return brings_rights ? std::optional(Signable{&fact.by, words_of(fact)}) : std::nullopt;
  }
  std::optional<Signable> operator()(const entry::Enrol& fact) const {
    return member(fact.by, [&](const MemberOrder& order) { return does(roll, fact, order); });
  }
  std::optional<Signable> operator()(const entry::RotateKeys& fact) const {
    return member(fact.by, [](const MemberOrder& order) {
      return order == MemberOrder{MemberOrder::Kind::kRotateKeys};
    });
  }
  std::optional<Signable> operator()(const entry::ReplaceAuthority& fact) const {
    return member(fact.by, [](const MemberOrder& order) {
      return order == MemberOrder{MemberOrder::Kind::kReplaceAuthority};
    });
  }
  template <class T>
  std::optional<Signable> operator()(const T&) const {
    return std::nullopt;
  }

 private:
  template <class Does>
  static std::optional<Signable> member(const Subject& by, Does does_it) {
    if (by.user.empty()) {
      return std::nullopt;  // The leader's own.
    }
    Signable found{&by};
    if (by.signature.has_value()) {
      const auto order = member_order_in(by.signature->order);
      if (order.has_value() && does_it(*order)) {
        found.order = by.signature->order;
      }
    }
    return found;
  }
};

std::optional<Signable> signable(const Directory& directory, const RollBook& roll,
                                 const Entry& entry) {
  return directory.is_founded() ? std::visit(FindSignable{roll}, entry) : std::nullopt;
}

/// Users of other roles hear from the gate what they may not do.
bool needs_signature(const Directory& directory, const Subject& by) {
  return directory.user(by.user).role == UserRole::kAdmin && directory.needs_signatures() &&
         !mutant(Mutant::kSignatureUnasked);
}

/// The user whose key has to have signed.
std::string signer_of(const Directory& directory, const Subject& by, const gossip::SshKey& key) {
  if (mutant(Mutant::kSignatureOfAnyPerson)) {
    for (const auto& [name, user] : directory.users()) {
      if (directory.key(name, key) != nullptr) {
        return name;
      }
    }
  }
  return by.user;
}

Error denied(std::string why) {
  return {ErrorCode::kDenied, std::move(why)};
}

Error unsigned_order(const Directory& directory, const Subject& by) {
  return denied(
      directory.user(by.user).keys.empty()
          ? "only a signed order may do that, and user " + by.user +
                " has no key in the cluster: another admin adds one with `muster user set " +
                by.user + " --key FILE`"
          : "only a signed order may do that: run it where your key is, or give --sign-with FILE");
}

}  // namespace

Status check_signature(const Directory& directory, const RollBook& roll, const Entry& entry,
                       const gossip::Verifier* verifier) {
  const std::optional<Signable> found = signable(directory, roll, entry);
  if (!found.has_value()) {
    return ok();
  }
  const Subject& by = *found->by;
  if (!by.signature.has_value()) {
    return needs_signature(directory, by) ? Status(unsigned_order(directory, by)) : ok();
  }
  const auto signature = gossip::ssh_signature_of_blob(by.signature->blob);
  if (!signature) {
    return denied(signature.error().text);
  }
  const UserKey* key = directory.key(signer_of(directory, by, signature->key), signature->key);
  if (key == nullptr) {
    return denied("the order was signed with a key that user " + by.user +
                  " does not have in the cluster: see `muster whoami`");
  }
  if (!found->order.has_value()) {
    return denied("another order was signed than the one that came: sign again");
  }
  if (verifier == nullptr) {
    return denied("this host verifies no signatures");
  }
  const Intent intent{directory.cluster(), by.user, by.signature->number, *found->order};
  const std::string purpose(mutant(Mutant::kSignatureForAnyUse) ? signature->name_space
                                                                : kIntentNamespace);
  if (Status good = verify(*signature, key->line.key, purpose, message_of(intent), *verifier);
      !good) {
    return denied(good.error().text);
  }
  return by.signature->number == key->next || mutant(Mutant::kSignatureCountsTwice)
             ? ok()
             : Status(Error{ErrorCode::kConflict, std::string(kSignAgain)});
}

void count_signature(Directory& directory, const RollBook& roll, const Entry& entry) {
  const std::optional<Signable> found = signable(directory, roll, entry);
  if (found.has_value() && found->by->signature.has_value()) {
    const auto signature = gossip::ssh_signature_of_blob(found->by->signature->blob);
    CHECK(signature.has_value());
    directory.count_order(signer_of(directory, *found->by, signature->key), signature->key);
  }
}

}  // namespace muster::scheduler
