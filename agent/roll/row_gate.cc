#include "agent/roll/row_gate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "gossip/base/mutant.h"

namespace muster::agent {

/// Every copy of the own row counts as news: it may show another life of this host.
bool RowGate::has_news(const crdt::RowsBody& body, const crdt::HostStore& store) const {
  return std::any_of(body.rows.begin(), body.rows.end(), [&](const crdt::RowOf& row) {
    return (row.host == self_ && !mutant(Mutant::kOwnRowBelieved)) ||
           (row.host != self_ && store.is_news(row) && !mutant(Mutant::kRowsBelieved));
  });
}

/// No host sent them, so `from` is zero, as it is for the records of the join.
void RowGate::begin(const std::vector<crdt::RowOf>& rows, const Roll& roll,
                    const crdt::HostStore& store, Outbox& outbox) const {
  for (const crdt::RowOf& row : rows) {
    if (row.host != self_ && store.is_news(row)) {
      crdt::RowsBody body;
      body.rows.push_back(row);
      check(HostId(), std::move(body), roll, outbox);
    }
  }
}

bool RowGate::on_rows(Instant now, HostId from, gossip::Reader body, const Roll& roll,
                      Departure& departure, crdt::HostStore& store, Outbox& outbox) const {
  std::optional<crdt::RowsBody> rows = crdt::decode_rows(std::move(body));
  if (!rows.has_value()) {
    return false;
  }
  if (!has_news(*rows, store)) {
    departure.on_rows(now, from, *rows);
    store.step(now, crdt::RowsReceived{from, *std::move(rows)});
    return true;
  }
  check(from, *std::move(rows), roll, outbox);
  return true;
}

void RowGate::check(HostId from, crdt::RowsBody body, const Roll& roll, Outbox& outbox) const {
  crdt::RowsToCheck check{from, std::move(body), outbox.route(), {}, links_};
  for (const crdt::RowOf& row : check.body.rows) {
    check.owners.push_back({roll.identity_key(row.host), roll.may_vote(row.host)});
  }
  outbox.check(std::move(check));
}

void RowGate::on_checked(Instant now, crdt::RowsChecked rows, Departure& departure,
                         crdt::HostStore& store, Outbox& outbox) {
  outbox.carry_on(rows.from, rows.route);
  if (!links_.empty() && rows.authority >= links_.back().number) {
    links_.clear();
  }
  forged_count_ += rows.forged;
  if (rows.forged > 0 && now >= complain_at_) {
    outbox.emit(Severity::kAlarm, "row_forged",
                {{"from", rows.from.short_hex()},
                 {"claims_to_be_of", rows.forged_of.short_hex()},
                 {"count", std::to_string(forged_count_ - complained_count_)}});
    complained_count_ = forged_count_;
    complain_at_ = now + kComplainAgain;
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
    const Asked question{rows.from, host};
    const auto asked = asked_at_.find(question);
    if (asked != asked_at_.end() && now < asked->second + kAskAgain) {
      continue;
    }
    if (asked == asked_at_.end() && asked_at_.size() >= kAskedMax) {
      asked_at_.erase(std::min_element(
          asked_at_.begin(), asked_at_.end(),
          [](const auto& first, const auto& second) { return first.second < second.second; }));
    }
    asked_at_[question] = now;
    hosts.push_back(host);
  }
  return hosts;
}

}  // namespace muster::agent
