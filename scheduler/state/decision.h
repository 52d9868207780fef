#pragma once
// The rules for a Decide: a gang gets GPUs, all or nothing, and an attempt of its job holds them
// from then on. Rules over the books.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Why the log would reject that decision; "" = it would not.
std::string why_not(const Books& books, const entry::Decide& fact);
/// Why the job cannot have this gang once the attempts `leaving` are over; "" = it can. The part
/// that is kept for other jobs counts as held (preemption_book.h).
std::string why_not_gang(const Books& books, const Job& job, const std::vector<Member>& members,
                         const std::set<Token>& leaving);
/// The amount that a gang counts as, and where.
struct GangCharge {
  AttemptShare share;
  std::uint64_t sum = 0;  ///< Thousandths.
};
/// Precondition: the members are on known hosts, and there are some.
GangCharge charge_of_gang(const Books& books, const Job& job, const std::vector<Member>& members);
/// Checks the decision again: the state may have changed between the leader's decision and this
/// entry. Moves the members out of `fact`.
void on_decide(Step& step, entry::Decide& fact);
/// The leaf for work that was in the queue `path` when the tree, or the log, was another one.
QueueNumber leaf_charged(const QueueBook& queues, std::string_view path);
/// Where the charges of the attempt count, and how much each member is charged. `owner`: its job;
/// null if it is forgotten. Precondition: it has members.
void set_share(const Books& books, const Job* owner, Attempt& attempt);
/// Schedules the queued job `owner` as this attempt. The members of the attempt that are not over
/// hold their GPUs from here on. Precondition: no other attempt holds one of them.
void bind(Step& step, Job& owner, Attempt attempt);

}  // namespace muster::scheduler
