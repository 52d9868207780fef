#include "agent/node/row_gate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "agent/node/row_words.h"
#include "gossip/base/mutant.h"

namespace muster::agent {

/// Of the own row every copy counts: it may say that this host has lived another life.
bool RowGate::has_news(const crdt::RowsBody& body, const crdt::HostStore& store) const {
  return std::any_of(body.rows.begin(), body.rows.end(), [&](const crdt::RowOf& row) {
    return (row.host == self_ && !mutant(Mutant::kOwnRowBelieved)) ||
           (row.host != self_ && store.is_news(row) && !mutant(Mutant::kRowsBelieved));
  });
}

bool RowGate::on_rows(Instant now, HostId from, gossip::Reader body, Departure& departure,
                      crdt::HostStore& store, Outbox& outbox) const {
  std::optional<crdt::RowsBody> rows = crdt::decode_rows(std::move(body));
  if (!rows.has_value()) {
    return false;
  }
  if (!has_news(*rows, store)) {
    departure.on_rows(now, from, *rows);
    store.step(now, crdt::RowsReceived{from, *std::move(rows)});
    return true;
  }
  crdt::RowsToCheck check{from, *std::move(rows), outbox.route(), {}};
  for (const crdt::RowOf& row : check.body.rows) {
    const auto identity = identity_in(store, row.host);
    check.keys.push_back(identity.has_value() ? identity->key : "");
  }
  outbox.check(std::move(check));
  return true;
}

void RowGate::on_checked(Instant now, crdt::RowsChecked rows, Departure& departure,
                         crdt::HostStore& store, Outbox& outbox) {
  outbox.carry_on(rows.from, rows.route);
  forged_count_ += rows.forged;
  if (rows.forged > 0 && rows.from != complaint_about_) {
    complaint_about_ = rows.from;
    outbox.emit(Severity::kAlarm, "row_forged",
                {{"from", rows.from.short_hex()},
                 {"host", rows.forged_of.short_hex()},
                 {"fields", std::to_string(rows.forged)}});
  }
  if (std::vector<HostId> hosts = to_ask(now, rows); !hosts.empty()) {
    store.step(now, crdt::AskFor{rows.from, std::move(hosts)});
  }
  departure.on_rows(now, rows.from, rows.body);
  store.step(now, crdt::RowsReceived{rows.from, std::move(rows.body)});
}

std::vector<HostId> RowGate::to_ask(Instant now, const crdt::RowsChecked& rows) {
  std::vector<HostId> hosts;
  for (const HostId host : rows.keyless) {
    const auto asked = asked_at_.find(host);
    if (asked != asked_at_.end() && now < asked->second + kAskAgain) {
      continue;
    }
    if (asked_at_.size() >= kAskedMax) {
      asked_at_.clear();
    }
    asked_at_[host] = now;
    hosts.push_back(host);
  }
  return hosts;
}

}  // namespace muster::agent
