#include "scheduler/state/attempt_snapshot.h"

#include <optional>

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

constexpr std::size_t kAttemptElements = 19;
constexpr std::size_t kMemberElements = 9;
constexpr Duration kNotFailed{-1};  // Cluster time begins at 0.

template <class E>
E read_enum(gossip::Reader& in, E highest) {
  return static_cast<E>(in.u64_at_most(static_cast<std::uint64_t>(highest)));
}

}  // namespace

gossip::Encoder attempt_document(const Attempt& attempt, Cover cover, std::uint64_t section) {
  gossip::Encoder out;
  out.array(1 + kAttemptElements).u64(section);
  out.token(attempt.token)
      .num(attempt.job)
      .u64(attempt.number)
      .u64(static_cast<std::uint64_t>(attempt.state))
      .u64(static_cast<std::uint64_t>(attempt.cause))
      .id(attempt.blamed)
      .boolean(attempt.completed)
      .boolean(attempt.replaced)
      .boolean(attempt.keep)
      .duration(attempt.hold)
      .duration(attempt.grace)
      .duration(attempt.deadline)
      .duration(attempt.reserved_at)
      .duration(attempt.started_at);
  write(out, attempt.master);
  out.duration(attempt.failed_at.value_or(kNotFailed)).boolean(attempt.lost_host);
  out.array(5)
      .text(attempt.share.queue)
      .text(attempt.share.user)
      .text(attempt.share.pool)
      .u64(cover.by_pool)
      .u64(cover.by_all_gpus);
  return out;
}

Attempt read_attempt(gossip::Reader& in, Cover& cover) {
  Attempt attempt;
  attempt.token = in.token();
  attempt.job = in.num<JobId>();
  attempt.number = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  attempt.state = read_enum(in, AttemptState::kEnded);
  attempt.cause = read_enum(in, Cause::kCancelled);
  attempt.blamed = in.id<HostId>();
  attempt.completed = in.boolean();
  attempt.replaced = in.boolean();
  attempt.keep = in.boolean();
  attempt.hold = in.duration();
  attempt.grace = in.duration();
  attempt.deadline = in.duration();
  attempt.reserved_at = in.duration();
  attempt.started_at = in.duration();
  attempt.master = read_endpoint(in);
  if (in.left() > 0) {
    const Duration failed_at = in.duration();
    attempt.failed_at = failed_at == kNotFailed ? std::nullopt : std::optional(failed_at);
    attempt.lost_host = in.boolean();
  }
  if (in.left() > 0) {
    gossip::Reader share = in.array();
    attempt.share.queue = share.text();
    attempt.share.user = share.text();
    attempt.share.pool = share.text();
    cover.by_pool = static_cast<std::uint8_t>(share.u64_at_most(UINT8_MAX));
    cover.by_all_gpus = static_cast<std::uint8_t>(share.u64_at_most(UINT8_MAX));
  }
  return attempt;
}

gossip::Encoder member_document(const Token& token, const MemberRecord& record,
                                std::uint64_t section) {
  gossip::Encoder out;
  out.array(1 + kMemberElements).u64(section).token(token);
  write(out, record.member);
  out.boolean(record.ready).u64(static_cast<std::uint64_t>(record.end)).num(record.condemned);
  write(out, record.results);
  out.boolean(record.is_fenced).u64(record.charge);
  return out;
}

MemberRecord read_member_record(gossip::Reader& in) {
  MemberRecord record;
  record.member = read_member(in);
  record.ready = in.boolean();
  record.end = read_enum(in, MemberEnd::kAborted);
  record.condemned = in.num<LogIndex>();
  record.results = read_rank_results(in);
  record.is_fenced = in.boolean();
  record.charge = in.left() > 0 ? in.u64() : 0;
  return record;
}

}  // namespace muster::scheduler
