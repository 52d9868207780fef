#include "crdt/rows/row_check.h"

#include <algorithm>
#include <utility>

#include "crdt/rows/link_cert.h"
#include "crdt/rows/proof.h"
#include "crdt/rows/roll.h"
#include "gossip/base/mutant.h"

namespace muster::crdt {

std::vector<gossip::AuthorityLink> follow(gossip::Authority& authority,
                                          const std::vector<gossip::AuthorityLink>& links,
                                          const gossip::Verifier& verifier) {
  if (mutant(Mutant::kAuthorityBelieved) && !links.empty() &&
      links.back().number > authority.number) {
    authority = {links.back().number, links.back().key};
    return {links.back()};
  }
  return authority.follow(links, verifier);
}

const RowOwner* RowChecker::owner_of(HostId host) const {
  const auto known = owners_.find(host);
  return known == owners_.end() ? nullptr : &known->second;
}

void RowChecker::remember(HostId host, RowOwner owner) {
  if (const auto known = owners_.find(host); known != owners_.end()) {
    if (owner.key.empty()) {
      known->second.may_vote = false;  // It was revoked, or is not known there yet.
    } else {
      known->second = std::move(owner);
    }
    return;
  }
  if (!owner.key.empty() && owners_.size() < kOwnersMax) {
    owners_.emplace(host, std::move(owner));
  }
}

void RowChecker::take_authority(const RowOf& row, RowsChecked& checked) {
  const Field* said = row.row.field(FieldId::kAuthority);
  const RowOwner* owner = owner_of(row.host);
  const bool is_heard = owner != nullptr && (owner->may_vote || mutant(Mutant::kAuthorityBelieved));
  if (said == nullptr || !is_heard) {
    return;
  }
  const auto view = decode_authority_view(said->bytes);
  const auto id = static_cast<std::uint32_t>(FieldId::kAuthority);
  if (!view.has_value() || view->links.empty() || view->links.back().number <= authority_.number ||
      !is_proven(row.host, id, *said, owner->key, verifier_)) {
    return;
  }
  replaced_[authority_.number] = authority_.key;
  for (gossip::AuthorityLink& link : follow(authority_, view->links, verifier_)) {
    checked.links.push_back(std::move(link));
  }
}

RowChecker::Record RowChecker::take_record(RowOf& row, RowsChecked& checked) {
  const auto held = row.row.fields.find(static_cast<std::uint32_t>(FieldId::kRoll));
  if (held == row.row.fields.end()) {
    return Record::kNone;
  }
  const std::uint64_t number = held->second.version.generation.value();
  std::string key = authority_.key;
  if (number != authority_.number) {
    const auto replaced = replaced_.find(number);
    if (!mutant(Mutant::kOldAuthorityBelieved) || replaced == replaced_.end()) {
      checked.lacks_authority = checked.lacks_authority || number > authority_.number;
      row.row.fields.erase(held);
      return Record::kOfAnotherAuthority;
    }
    key = replaced->second;
  }
  std::optional<RollRecord> record = proven_roll(row.host, held->second, key, verifier_);
  if (!record.has_value()) {
    return Record::kForged;
  }
  remember(row.host, {std::move(record->identity_key), record->may_vote && !record->revoked});
  return Record::kGood;
}

bool RowChecker::is_own_link(HostId host, const Field& field) const {
  const auto cert = decode_link_cert(field.bytes);
  return mutant(Mutant::kTakenKeyLetIn) || !cert.has_value() || is_proven(host, *cert, verifier_);
}

bool RowChecker::drop_forged(RowOf& row, const std::string& key) const {
  auto& fields = row.row.fields;
  std::vector<SignedDigests> good;  // Of this row: a publish is verified once.
  const auto is_owners = [&](std::uint32_t id, const Field& field) {
    auto is = signed_digests(row.host, id, field, verifier_);
    if (!is.has_value()) {
      return false;
    }
    if (std::find(good.begin(), good.end(), *is) == good.end()) {
      if (!verifier_.verify(key, is->words, is->signature)) {
        return false;
      }
      good.push_back(*std::move(is));
    }
    return true;
  };
  const auto forged = std::find_if(fields.begin(), fields.end(), [&](const auto& entry) {
    const auto& [id, field] = entry;
    return !is_of_authority(id) &&
           (!is_owners(id, field) ||
            (id == static_cast<std::uint32_t>(FieldId::kLink) && !is_own_link(row.host, field)));
  });
  const bool is_forged = forged != fields.end();
  fields.erase(forged, fields.end());
  return is_forged;
}

RowsChecked RowChecker::check(RowsToCheck rows) {
  RowsChecked checked;
  checked.from = rows.from;
  checked.route = rows.route;
  if (!rows.links.empty()) {
    replaced_[authority_.number] = authority_.key;
    follow(authority_, rows.links, verifier_);
  }
  std::vector<RowOf> believed;
  for (std::size_t i = 0; i < rows.body.rows.size() && checked.forged == 0; ++i) {
    RowOf& row = rows.body.rows[i];
    if (i < rows.owners.size()) {
      remember(row.host, rows.owners[i]);
    }
    take_authority(row, checked);
    if (take_record(row, checked) == Record::kForged) {
      checked.forged = 1;
      checked.forged_of = row.host;
      break;
    }
    const RowOwner* owner = owner_of(row.host);
    if (owner == nullptr) {
      checked.keyless.push_back(row.host);
      continue;
    }
    if (drop_forged(row, owner->key)) {
      checked.forged = 1;
      checked.forged_of = row.host;
    }
    // The host that passed the row on may have set it too high, so that held fields would be
    // dropped, or too low, so that old fields would stay.
    if (!mutant(Mutant::kFullFromBelieved)) {
      row.row.full_from = row.row.version().generation;
    }
    if (!row.row.fields.empty() || mutant(Mutant::kFullFromBelieved)) {
      believed.push_back(std::move(row));
    }
  }
  checked.authority = authority_.number;
  checked.body = std::move(rows.body);
  checked.body.rows = std::move(believed);
  return checked;
}

}  // namespace muster::crdt
