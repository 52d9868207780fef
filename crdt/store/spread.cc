#include "crdt/store/spread.h"

#include <algorithm>
#include <string>

#include "crdt/rows/roll.h"
#include "gossip/base/check.h"

namespace muster::crdt {

void Spread::send_own(Instant now, HostId self, const std::set<std::uint32_t>& fields,
                      const HeldRows& rows, std::vector<RowsMessage>& messages) {
  for (const std::uint32_t field : fields) {
    waiting_[{self, field}] = {};
  }
  send_at_ = std::min(send_at_, std::max(now, ready_at()));
  tick(now, rows, messages);
}

void Spread::add(Instant now, HostId host, std::uint32_t field, HostId from) {
  // `from` is zero for a record that this host vouches for: it came from no other host.
  const bool is_for_guests = !relays_ && from != host && !from.is_zero();
  const auto before = waiting_.find({host, field});
  if (before == waiting_.end() && is_for_guests && guests_.empty()) {
    return;
  }
  const bool was_for_all = before != waiting_.end() && !before->second.is_for_guests;
  waiting_[{host, field}] = {{from}, is_for_guests && !was_for_all};
  send_at_ = std::min(send_at_, std::max(now + kSpreadDelay, ready_at()));
}

void Spread::note_heard(HostId from, const RowOf& news, const Row& held) {
  if (waiting_.empty()) {
    return;
  }
  for (const auto& [id, field] : news.row.fields) {
    const auto waiting = waiting_.find({news.host, id});
    const auto mine = held.fields.find(id);
    if (waiting != waiting_.end() && mine != held.fields.end() && mine->second == field) {
      waiting->second.have_it.push_back(from);
    }
  }
}

void Spread::welcome(Instant now, HostId guest) {
  std::erase_if(guests_, [now](const auto& each) { return now >= each.second; });
  if (guests_.size() < kGuestsMax || guests_.contains(guest)) {
    guests_[guest] = now + kGuestTime;
  }
}

void Spread::be_late(Duration lag) {
  rest_ = std::min(kRestALag * std::min(lag, kSpreadRestMax), kSpreadRestMax);
}

void Spread::tick(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages) {
  if (now >= send_at_) {
    send(now, rows, messages);
  }
}

void Spread::check_invariants() const {
  CHECK(waiting_.empty() == (send_at_ == kNever));
  CHECK(guests_.size() <= kGuestsMax);
}

Spread::Audience Spread::audience(Instant now) {
  std::erase_if(guests_, [now](const auto& guest) { return now >= guest.second; });
  Audience all;
  for (const HostId& neighbour : neighbours_) {
    all.emplace_back(neighbour, false);
  }
  for (const auto& [guest, until] : guests_) {
    if (std::find(neighbours_.begin(), neighbours_.end(), guest) == neighbours_.end()) {
      all.emplace_back(guest, true);
    }
  }
  return all;
}

/// Sends to each neighbour the news that it is not known to have. Most neighbours lack the same
/// news: the bytes encoded for the one before are sent again.
void Spread::send(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages) {
  pace_.take(now, kSpreadsASecond);
  sent_at_ = now;
  const std::vector<News> waiting = news(rows);
  std::vector<const News*> lacking;
  std::vector<const News*> before;
  std::size_t bodies_begin = 0;
  std::size_t bodies_end = 0;
  for (const auto& [neighbour, is_guest] : audience(now)) {
    lacking.clear();
    for (const News& each : waiting) {
      if (each.waiting->is_for_guests && !is_guest) {
        continue;
      }
      const auto& have_it = each.waiting->have_it;
      const bool is_its_own = each.host == neighbour && !is_of_authority(each.field->first);
      if (!is_its_own && std::count(have_it.begin(), have_it.end(), neighbour) == 0) {
        lacking.push_back(&each);
      }
    }
    if (lacking.empty() || lacking != before) {
      bodies_begin = messages.size();
      append_rows(neighbour, rows_of(lacking), messages);
      bodies_end = messages.size();
      before.swap(lacking);
      continue;
    }
    for (std::size_t i = bodies_begin; i < bodies_end; ++i) {
      messages.push_back({neighbour, std::string(messages[i].body)});
    }
  }
  waiting_.clear();
  send_at_ = kNever;
}

/// The news that waits, without fields that were dropped meanwhile.
std::vector<Spread::News> Spread::news(const HeldRows& rows) const {
  std::vector<News> all;
  for (const auto& [what, waits] : waiting_) {
    const HeldRow* held = rows.find(what.first);
    CHECK(held != nullptr);
    const auto field = held->row.fields.find(what.second);
    if (field != held->row.fields.end()) {
      all.push_back({what.first, &held->row, field, &waits});
    }
  }
  return all;
}

std::vector<RowOf> Spread::rows_of(const std::vector<const News*>& news) {
  std::vector<RowOf> rows;
  for (const News* each : news) {
    if (rows.empty() || rows.back().host != each->host) {
      rows.push_back({each->host, Row{each->row->full_from, {}}});
    }
    rows.back().row.fields.insert(*each->field);
  }
  return rows;
}

}  // namespace muster::crdt
