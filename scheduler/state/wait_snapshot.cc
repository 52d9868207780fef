#include "scheduler/state/wait_snapshot.h"

#include <algorithm>
#include <utility>

namespace muster::scheduler {

void write_wait(gossip::Encoder& out, const JobWait& wait) {
  out.array(6 + 3 * wait.after.size())
      .duration(wait.begin_at)
      .duration(wait.deadline_at)
      .duration(wait.over_at)
      .i64(wait.begin_unix_ms)
      .i64(wait.deadline_unix_ms)
      .text(wait.ended_by);
  for (const JobWait::Item& each : wait.after) {
    out.u64(static_cast<std::uint64_t>(each.asked.ending)).num(each.asked.job).boolean(each.is_met);
  }
}

JobWait read_wait(gossip::Reader& outer) {
  gossip::Reader in = outer.array_at_most(6 + 3 * kDependenciesMax);
  JobWait wait;
  wait.begin_at = in.duration();
  wait.deadline_at = in.duration();
  wait.over_at = in.duration();
  wait.begin_unix_ms = in.i64();
  wait.deadline_unix_ms = in.i64();
  wait.ended_by = in.text();
  while (in.ok() && in.left() > 0) {
    JobWait::Item each;
    each.asked.ending =
        static_cast<Ending>(in.u64_at_most(static_cast<std::uint64_t>(kEndingLast)));
    each.asked.job = in.num<JobId>();
    each.is_met = in.boolean();
    wait.after.push_back(each);
  }
  return wait;
}

std::vector<gossip::Encoder> over_documents(const EligibilityBook& book, std::uint64_t section) {
  std::vector<gossip::Encoder> documents;
  for (const Over& over : book.over()) {
    gossip::Encoder out;
    out.array(4)
        .u64(section)
        .num(over.id)
        .u64(static_cast<std::uint64_t>(over.state))
        .boolean(over.has_ended);
    documents.push_back(std::move(out));
  }
  return documents;
}

void read_over(gossip::Reader& in, std::deque<Over>& over) {
  Over each;
  each.id = in.num<JobId>();
  each.state =
      static_cast<JobState>(in.u64_at_most(static_cast<std::uint64_t>(JobState::kCancelled)));
  each.has_ended = in.boolean();
  over.push_back(each);
}

}  // namespace muster::scheduler
