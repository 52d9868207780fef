#include "crdt/store/audit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gossip/base/check.h"

namespace muster::crdt {
namespace {

/// Limit of the peers whose version we lack; others wait for their next ack.
constexpr std::size_t kBehindMax = 1024;
/// Limit of the hosts whose last comparison is remembered. Above it some pairs compare once more
/// than they need to.
constexpr std::size_t kComparedMax = 4096;

/// Sends each row once, however often it was asked for.
void send_whole(HostId to, const std::vector<HostId>& hosts, const HeldRows& held,
                std::vector<RowsMessage>& messages, bool compares) {
  std::vector<RowOf> rows;
  std::set<HostId> sent;
  for (const HostId& host : hosts) {
    const HeldRow* found = held.find(host);
    if (found != nullptr && sent.insert(host).second) {
      rows.push_back({host, found->row});
    }
  }
  append_rows(to, std::move(rows), messages, compares);
}

}  // namespace

// Our questions.

void Audit::note_version(Instant now, HostId host, RowVersion version, const HeldRows& rows) {
  const HeldRow* known = rows.find(host);
  const bool is_behind = known == nullptr || known->version < version;
  if (host != self_ && is_behind && behind_.size() < kBehindMax) {
    behind_.try_emplace(host, Behind{version, now + kAskDelay});
  }
}

void Audit::tick(Instant now, const HeldRows& rows, const std::vector<HostId>& neighbours,
                 std::vector<RowsMessage>& messages) {
  if (now >= audit_at_) {
    audit_at_ = now + rng_.between(kAuditPeriod / 2, kAuditPeriod * 3 / 2);
    ask_neighbour(rows, neighbours, messages);
  }
  if (now >= meet_at_) {
    ask_one(now, rows, neighbours, messages);
  }
  ask_behind(now, rows, messages);
}

void Audit::meet(Instant now, const std::vector<HostId>& newcomers) {
  newcomers_.insert(newcomers.begin(), newcomers.end());
  meet_at_ = newcomers_.empty() ? meet_at_ : std::min(meet_at_, now + kMeetDelay);
}

bool Audit::take_turn(Instant now, HostId host) {
  const auto last = compared_.find(host);
  if (last != compared_.end() && now - last->second < kComparePeriod) {
    return false;
  }
  if (now < compares_.ready_at(kComparesASecond)) {
    return false;
  }
  compares_.take(now, kComparesASecond);
  note_compared(now, host);
  return true;
}

void Audit::note_compared(Instant now, HostId host) {
  if (compared_.size() >= kComparedMax) {
    std::erase_if(compared_,
                  [now](const auto& each) { return now - each.second >= kComparePeriod; });
  }
  if (compared_.size() < kComparedMax) {
    compared_.insert_or_assign(host, now);
  }
}

void Audit::link_up(Instant now, HostId to, const HeldRows& rows,
                    std::vector<RowsMessage>& messages) {
  if (take_turn(now, to)) {
    send_summary(to, rows, messages);
  } else if (owed_.size() < kComparedMax) {
    owed_.insert(to);
    meet_at_ = std::min(meet_at_, now + kMeetDelay);
  }
}

/// Asks a newcomer that is still a neighbour, else a host whose new link came too early.
void Audit::ask_one(Instant now, const HeldRows& rows, const std::vector<HostId>& neighbours,
                    std::vector<RowsMessage>& messages) {
  const auto is_neighbour = [&](HostId host) {
    return std::find(neighbours.begin(), neighbours.end(), host) != neighbours.end();
  };
  std::erase_if(newcomers_, [&](HostId host) { return !is_neighbour(host); });
  std::set<HostId>& asked = newcomers_.empty() ? owed_ : newcomers_;
  if (!asked.empty()) {
    RowsBody question;
    question.audit = rows.digest();
    messages.push_back({*asked.begin(), encode(question)});
    asked.erase(asked.begin());
  }
  meet_at_ = newcomers_.empty() && owed_.empty() ? kNever : now + kMeetGap;
}

Instant Audit::next_deadline() const {
  Instant deadline = std::min(audit_at_, meet_at_);
  for (const auto& [host, behind] : behind_) {
    deadline = std::min(deadline, behind.ask_at);
  }
  return deadline;
}

void Audit::check_invariants() const {
  CHECK(behind_.size() <= kBehindMax);
  CHECK(!behind_.contains(self_));
  CHECK((newcomers_.empty() && owed_.empty()) == (meet_at_ == kNever));
  CHECK(compared_.size() <= kComparedMax && owed_.size() <= kComparedMax);
}

void Audit::ask_neighbour(const HeldRows& rows, const std::vector<HostId>& neighbours,
                          std::vector<RowsMessage>& messages) {
  if (neighbours.empty()) {
    return;
  }
  RowsBody question;
  question.audit = rows.digest();
  messages.push_back({neighbours[rng_.below(neighbours.size())], encode(question)});
}

void Audit::ask_behind(Instant now, const HeldRows& rows, std::vector<RowsMessage>& messages) {
  for (auto it = behind_.begin(); it != behind_.end();) {
    const auto& [host, behind] = *it;
    if (now < behind.ask_at) {
      ++it;
      continue;
    }
    const HeldRow* held = rows.find(host);
    if (held == nullptr || held->version < behind.version) {
      RowsBody question;
      question.want.push_back(host);
      messages.push_back({host, encode(question)});
    }
    it = behind_.erase(it);
  }
}

std::vector<RowsBody> Audit::summary(const HeldRows& rows) const {
  std::vector<RowsBody> bodies(1);
  bodies.back().complete = rows.count() <= kDigestsPerMessageMax;
  for (const auto& [host, held] : rows.all()) {
    if (bodies.back().digests.size() == kDigestsPerMessageMax) {
      bodies.emplace_back();
    }
    bodies.back().digests.push_back({host, held.digest});
  }
  const HeldRow* own = rows.find(self_);
  if (own != nullptr) {
    bodies.back().rows.push_back({self_, own->row});
  }
  return bodies;
}

std::string Audit::introduction(const HeldRows& rows, bool asks) const {
  if (asks) {
    return encode(summary(rows).back());
  }
  RowsBody body;
  if (const HeldRow* own = rows.find(self_)) {
    body.rows.push_back({self_, own->row});
  }
  return encode(body);
}

void Audit::send_summary(HostId to, const HeldRows& rows,
                         std::vector<RowsMessage>& messages) const {
  for (const RowsBody& body : summary(rows)) {
    messages.push_back({to, encode(body)});
  }
}

// Questions of others.

void Audit::answer(Instant now, HostId from, const RowsBody& question, const HeldRows& rows,
                   std::vector<RowsMessage>& messages) {
  if (question.complete) {
    note_compared(now, from);
  }
  RowsBody reply;
  std::vector<HostId> send;
  if (question.want_all) {
    for (const auto& [host, held] : rows.all()) {
      send.push_back(host);
    }
  } else {
    send = question.want;
    compare(from, question, rows, reply.want, send);
  }
  send_whole(from, send, rows, messages, !question.digests.empty());
  if (!reply.want.empty()) {
    messages.push_back({from, encode(reply)});
  }
  if (question.audit != 0 && question.audit != rows.digest() && take_turn(now, from)) {
    send_summary(from, rows, messages);
  }
}

void Audit::tell_better(HostId from, const RowsBody& answer, const HeldRows& rows,
                        std::vector<RowsMessage>& messages) const {
  if (!answer.compares) {
    return;
  }
  std::vector<RowOf> better;
  std::set<HostId> told;
  for (const RowOf& theirs : answer.rows) {
    const HeldRow* mine = rows.find(theirs.host);
    if (mine == nullptr || theirs.host == from || !told.insert(theirs.host).second) {
      continue;
    }
    RowOf back{theirs.host, Row{mine->row.full_from, {}}};
    for (const auto& [id, field] : mine->row.fields) {
      const auto held = theirs.row.fields.find(id);
      if (held == theirs.row.fields.end() || held->second < field) {
        back.row.fields.emplace(id, field);
      }
    }
    if (!back.row.fields.empty()) {
      better.push_back(std::move(back));
    }
  }
  append_rows(from, std::move(better), messages);
}

/// Sends a row that differs; the asker sends back the fields that it knows better. The asker's own
/// row came along with its digests.
void Audit::compare(HostId from, const RowsBody& question, const HeldRows& rows,
                    std::vector<HostId>& want, std::vector<HostId>& send) const {
  std::vector<HostId> named;
  named.reserve(question.digests.size());
  for (const RowDigest& theirs : question.digests) {
    named.push_back(theirs.host);
    const HeldRow* mine = rows.find(theirs.host);
    if (mine != nullptr && mine->digest == theirs.digest) {
      continue;
    }
    if (mine != nullptr) {
      send.push_back(theirs.host);
    } else if (theirs.host != self_ && theirs.host != from) {
      want.push_back(theirs.host);
    }
  }
  if (!question.complete) {
    return;
  }
  std::sort(named.begin(), named.end());
  for (const auto& [host, held] : rows.all()) {
    if (!std::binary_search(named.begin(), named.end(), host)) {
      send.push_back(host);
    }
  }
}

}  // namespace muster::crdt
