#include "agent/roll/roll_keeper.h"

#include <string>
#include <utility>

namespace muster::agent {

void RollKeeper::learn_authorities(const std::vector<gossip::AuthorityLink>& links,
                                   Outbox& outbox) {
  if (authority_.learn(links, outbox)) {
    row_gate_.tell_authorities(authority_.links());
  }
}

void RollKeeper::hear_authority(const crdt::AuthorityView& view, const crdt::HostStore& store,
                                Outbox& outbox) {
  learn_authorities(view.links, outbox);
  if (view.whole <= authority_.number()) {
    roll_.count_from(view.whole, store, outbox);
  }
}

void RollKeeper::follow_log(Instant now, const scheduler::RollChanges& changes,
                            const scheduler::RollBook& book, crdt::HostStore& store,
                            Outbox& outbox) {
  roll_.follow_log(now, changes, book, store, outbox);
  if (changes.authority || !changes.enrolled.empty()) {
    follow_authority(now, book, store, outbox);
  }
}

void RollKeeper::on_rows_checked(Instant now, crdt::RowsChecked rows,
                                 const std::vector<HostId>& voters, Departure& departure,
                                 crdt::HostStore& store, Outbox& outbox) {
  learn_authorities(rows.links, outbox);
  if (rows.lacks_authority) {  // The rows of voters name it: ask for them first.
    rows.keyless.insert(rows.keyless.begin(), voters.begin(), voters.end());
  }
  row_gate_.on_checked(now, std::move(rows), departure, store, outbox);
}

void RollKeeper::follow_authority(Instant now, const scheduler::RollBook& book,
                                  crdt::HostStore& store, Outbox& outbox) {
  const scheduler::RollKeys& keys = book.keys();
  if (keys.links.empty()) {
    return;
  }
  learn_authorities(keys.links, outbox);
  if (authority_.number() != keys.authority()) {
    return;  // The log is of another history: an audit of the voters' states says so.
  }
  if (authority_.authority().key != keys.links.back().key) {
    outbox.emit(Severity::kAlarm, "authorities_differ",
                {{"number", std::to_string(authority_.number())},
                 {"advice",
                  "this host trusts another authority than the log names: a host that may vote was "
                  "compromised; create a new cluster"}});
    return;
  }
  authority_.open(keys.sealed, outbox);
  if (authority_.signer() == nullptr && roll_.may_vote(self_)) {
    outbox.emit(Severity::kAlarm, "authority_missing",
                {{"number", std::to_string(authority_.number())},
                 {"advice",
                  "this host may vote but lacks the authority's secret: while it leads, no host "
                  "can join or be revoked; `muster keys rotate --authority` under another leader "
                  "gives it the secret"}});
  }
  const crdt::AuthorityView view{keys.links, whole_authority(book, roll_.counts_from())};
  roll_.count_from(view.whole, store, outbox);
  store.step(now, crdt::Publish{crdt::FieldId::kAuthority, crdt::encode(view), true});
}

}  // namespace muster::agent
