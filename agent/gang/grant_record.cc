#include "agent/gang/grant_record.h"

#include <algorithm>

#include "gossip/wire/wire.h"
#include "scheduler/protocol/codec.h"

namespace muster::agent {
namespace {

using scheduler::GrantState;
using scheduler::Member;
using scheduler::RankResult;

/// Keys of the persisted map: never reused, never retyped.
enum class Key : std::uint64_t {
  kToken = 1,
  kState = 2,
  kJob = 3,
  kAttempt = 4,
  kSpec = 5,
  kMembers = 6,
  kHold = 7,
  kResults = 8,
};
constexpr std::size_t kKeyCount = 8;

gossip::Encoder& key(gossip::Encoder& out, Key value) {
  return out.u64(static_cast<std::uint64_t>(value));
}

template <class T>
void write_list(gossip::Encoder& out, const std::vector<T>& items) {
  out.array(items.size());
  for (const T& item : items) {
    scheduler::write(out, item);
  }
}

template <class T, class Read>
std::vector<T> read_list(gossip::Reader in, Read read) {
  std::vector<T> items;
  while (in.ok() && in.left() > 0) {
    items.push_back(read(in));
  }
  return items;
}

void read_value(gossip::Reader& in, std::uint64_t number, GrantRecord& record) {
  switch (static_cast<Key>(number)) {
    case Key::kToken:
      record.token = in.array().token();
      return;
    case Key::kState:
      record.state =
          static_cast<GrantState>(in.u64_at_most(static_cast<std::uint64_t>(GrantState::kAborted)));
      return;
    case Key::kJob:
      record.job = in.num<JobId>();
      return;
    case Key::kAttempt:
      record.attempt = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
      return;
    case Key::kSpec:
      record.spec = scheduler::read_job_spec(in);
      return;
    case Key::kMembers:
      record.members = read_list<Member>(in.array(), scheduler::read_member);
      return;
    case Key::kHold:
      record.hold = in.duration();
      return;
    case Key::kResults:
      record.results = read_list<RankResult>(in.array(), scheduler::read_rank_result);
      return;
  }
  in.raw();
}

}  // namespace

const Member* GrantRecord::member_of(HostId host) const {
  const auto it = std::find_if(members.begin(), members.end(),
                               [&](const Member& member) { return member.host == host; });
  return it == members.end() ? nullptr : &*it;
}

bool GrantRecord::has_first_rank(HostId host) const {
  const Member* member = member_of(host);
  return member != nullptr && member->first_rank == 0;
}

std::vector<RankResult> results_of_all(const Member& member, RankResult::Kind kind,
                                       const std::string& detail) {
  std::vector<RankResult> results;
  for (std::uint32_t i = 0; i < member.rank_count(); ++i) {
    RankResult result;
    result.rank = member.first_rank + i;
    result.kind = kind;
    result.detail = detail;
    results.push_back(std::move(result));
  }
  return results;
}

std::string key_of_grant(Token token) {
  return crdt::key_of(crdt::key_of(kGrantTable, token.epoch), token.index);
}

std::string encode(const GrantRecord& record) {
  gossip::Encoder out;
  out.map(kKeyCount);
  key(out, Key::kToken).raw(gossip::Encoder().array(2).token(record.token).take());
  key(out, Key::kState).u64(static_cast<std::uint64_t>(record.state));
  key(out, Key::kJob).num(record.job);
  key(out, Key::kAttempt).u64(record.attempt);
  scheduler::write(key(out, Key::kSpec), record.spec);
  write_list(key(out, Key::kMembers), record.members);
  key(out, Key::kHold).duration(record.hold);
  write_list(key(out, Key::kResults), record.results);
  return out.take();
}

std::optional<GrantRecord> decode_grant(const std::string& bytes) {
  Result<gossip::Document> document = gossip::Document::parse(bytes);
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  GrantRecord record;
  while (in.ok() && in.left() > 0) {
    const std::uint64_t number = in.u64();
    read_value(in, number, record);
  }
  if (!in.ok() || record.token.is_none()) {
    return std::nullopt;
  }
  return record;
}

}  // namespace muster::agent
