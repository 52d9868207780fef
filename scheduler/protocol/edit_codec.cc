#include "scheduler/protocol/edit_codec.h"

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

/// As written: Edit::time_limit that is not said.
constexpr Duration kKeepsLimit{-1};

/// nullopt = it is not said.
std::optional<Duration> read_wish(gossip::Reader& in) {
  const Duration span = in.duration();
  if (span == kKeepsLimit) {
    return std::nullopt;
  }
  if (span < Duration::zero() || span > kSpanMax) {
    in.fail();
  }
  return span;
}

}  // namespace

std::size_t edit_elements(const entry::Edit& fact) {
  return fact.changes_times() ? 10 : 8;
}

void write(gossip::Encoder& out, const entry::Edit& fact) {
  write(out.num(fact.job).i64(fact.priority), fact.by);
  out.boolean(fact.keeps_priority)
      .text(fact.queue)
      .u64(static_cast<std::uint64_t>(fact.tier))
      .duration(fact.time_limit.value_or(kKeepsLimit))
      .boolean(fact.adds_time);
  if (fact.changes_times()) {
    out.duration(fact.begin.value_or(kKeepsLimit)).duration(fact.deadline.value_or(kKeepsLimit));
  }
}

entry::Edit read_edit(gossip::Reader& in) {
  entry::Edit fact;
  fact.job = in.num<JobId>();
  fact.priority = static_cast<std::int32_t>(in.i64());
  fact.by = read_subject(in);
  fact.keeps_priority = in.boolean();
  fact.queue = in.text(kQueuePathBytesMax);
  fact.tier = static_cast<Tier>(in.u64_at_most(static_cast<std::uint64_t>(kTierLast)));
  if (const Duration limit = in.duration(); limit != kKeepsLimit) {
    fact.time_limit = limit;
    if (limit < Duration::zero() || (limit > kSpanMax && limit != kNoTimeLimit)) {
      in.fail();
    }
  }
  fact.adds_time = in.boolean();
  if (in.left() > 0) {
    fact.begin = read_wish(in);
    fact.deadline = read_wish(in);
  }
  return fact;
}

}  // namespace muster::scheduler
