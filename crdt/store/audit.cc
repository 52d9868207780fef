#include "crdt/store/audit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gossip/base/check.h"

namespace muster::crdt {
namespace {

/// Peers whose version we lack; more wait for their next ack.
constexpr std::size_t kBehindMax = 1024;

/// Each once, however often it was asked for.
void send_whole(HostId to, const std::vector<HostId>& hosts, const HeldRows& held,
                std::vector<RowsMessage>& messages) {
  std::vector<RowOf> rows;
  std::set<HostId> sent;
  for (const HostId& host : hosts) {
    const HeldRow* found = held.find(host);
    if (found != nullptr && sent.insert(host).second) {
      rows.push_back({host, found->row});
    }
  }
  append_rows(to, std::move(rows), messages);
}

}  // namespace

// What we ask.

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
    audit_at_ = now + kAuditPeriod;
    ask_neighbour(rows, neighbours, messages);
  }
  if (now >= meet_at_) {
    meet_at_ = kNever;
    ask_newcomers(rows, neighbours, messages);
  }
  ask_behind(now, rows, messages);
}

void Audit::meet(Instant now, const std::vector<HostId>& newcomers) {
  newcomers_.insert(newcomers.begin(), newcomers.end());
  meet_at_ = newcomers_.empty() ? kNever : std::min(meet_at_, now + kMeetDelay);
}

void Audit::ask_newcomers(const HeldRows& rows, const std::vector<HostId>& neighbours,
                          std::vector<RowsMessage>& messages) {
  RowsBody question;
  question.audit = rows.digest();
  const std::string bytes = encode(question);
  for (const HostId& host : neighbours) {
    if (newcomers_.contains(host)) {
      messages.push_back({host, bytes});
    }
  }
  newcomers_.clear();
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
  CHECK(newcomers_.empty() == (meet_at_ == kNever));
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

std::string Audit::introduction(const HeldRows& rows) const {
  return encode(summary(rows).back());
}

void Audit::send_summary(HostId to, const HeldRows& rows,
                         std::vector<RowsMessage>& messages) const {
  for (const RowsBody& body : summary(rows)) {
    messages.push_back({to, encode(body)});
  }
}

// What others ask.

void Audit::answer(HostId from, const RowsBody& question, const HeldRows& rows,
                   std::vector<RowsMessage>& messages) const {
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
  send_whole(from, send, rows, messages);
  if (!reply.want.empty()) {
    messages.push_back({from, encode(reply)});
  }
  if (question.audit != 0 && question.audit != rows.digest()) {
    send_summary(from, rows, messages);
  }
}

/// Of a row that differs either side may know better: it is wanted and sent. Ours nobody knows
/// better than we do, and the asker's came along with its digests.
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
    if (theirs.host != self_ && theirs.host != from) {
      want.push_back(theirs.host);
    }
    if (mine != nullptr) {
      send.push_back(theirs.host);
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
