#include "scheduler/leader/client_ledger.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/base/check.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/why/impossible.h"

namespace muster::scheduler {
namespace {

/// For people: what `other` names of queue, tier and time limit, and `one` does not have; "" if it
/// has all of it. The log fills in what the client leaves out.
std::string what_differs_of_place(const QueueBook& queues, const JobSpec& one,
                                  const JobSpec& other) {
  const auto queue = queues.find(other.queue);
  // Jobs of a queue that is gone, or that has queues below it by now, were moved.
  if (queue.has_value() && queues.at(*queue).is_leaf() && *queue != queues.number_of(one.queue)) {
    return "another queue";
  }
  if (other.tier != Tier::kNone && one.tier != Tier::kNone && other.tier != one.tier) {
    return "another tier";
  }
  const Duration asked = other.limits.time_limit;
  const Duration limit = asked == kNoTimeLimit ? Duration::zero() : asked;
  return asked == Duration::zero() || limit == one.limits.time_limit ? "" : "another time limit";
}

/// Whether a person has edited the job since its submit, as far as the audit knows.
bool was_edited(const State& state, JobId job) {
  const AuditBook::Lines& lines = state.audit().lines();
  const std::string object = "job " + text_of(job);
  return std::any_of(lines.begin(), lines.end(), [&](const AuditLine& line) {
    return line.verb == "edit" && line.outcome == AuditOutcome::kDone && line.object == object;
  });
}

/// For people: the first difference between two jobs, apart from queue, tier, time limit and
/// conditions; "" if they are the same. The log fills in a team that the client leaves out.
std::string what_differs(const JobSpec& one, JobSpec other) {
  if (one.user != other.user) {
    return "another user";
  }
  if (one.command.argv != other.command.argv) {
    return "another command";
  }
  if (one.request != other.request) {
    return "another request of GPUs or hosts";
  }
  if (one.command.directory != other.command.directory) {
    return "another working directory";
  }
  if (one.command.environment != other.command.environment) {
    return "another environment";
  }
  if (other.team.empty()) {
    other.team = one.team;
  }
  other.queue = one.queue;
  other.tier = one.tier;
  other.limits.time_limit = one.limits.time_limit;
  other.eligibility = one.eligibility;
  return one == other ? "" : "other options";
}

std::vector<Dependency> asked_of(const JobWait& wait) {
  std::vector<Dependency> asked;
  for (const JobWait::Item& each : wait.after) {
    asked.push_back(each.asked);
  }
  return asked;
}

/// For people, as above. Times do not count: a repeat says other spans for the same wall clock.
std::string what_differs_of_conditions(const std::vector<Dependency>& one,
                                       const std::vector<Dependency>& other) {
  const bool are_same =
      one.size() == other.size() && std::is_permutation(one.begin(), one.end(), other.begin());
  return are_same ? "" : "other conditions of its begin";
}

/// Adds the same to both, that they stay in order: at most what keeps them in range. One that is 0
/// stays so.
void extend(Duration& begin, Duration& deadline, Duration by) {
  const Duration room = kSpanMax - std::max(begin, deadline);
  by = std::min(by, std::max(room, Duration::zero()));
  for (Duration* span : {&begin, &deadline}) {
    *span += *span > Duration::zero() ? by : Duration::zero();
  }
}

/// For an entry that is proposed next: its times count from now.
void count_from_now(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                    Eligibility& asked) {
  if (asked.begin != Duration::zero() || asked.deadline != Duration::zero()) {
    extend(asked.begin, asked.deadline, clock.catch_up(step, proposals));
  }
}

/// As above.
void count_from_now(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                    entry::Edit& edit) {
  if (edit.changes_times()) {
    Duration no_begin{0};
    Duration no_deadline{0};
    extend(edit.begin.has_value() ? *edit.begin : no_begin,
           edit.deadline.has_value() ? *edit.deadline : no_deadline,
           clock.catch_up(step, proposals));
  }
}

/// Below the size of an entry that Raft drops, which no client would hear of.
constexpr std::size_t kOrderBytesMax = 768 << 10;
/// Of a submit while the leader, or the log, has no room for it.
constexpr Duration kFullPause = std::chrono::seconds(1);

/// Of a submit to a queue at its max_pending: by then a job or two may have started.
constexpr Duration kQueueFullPause = std::chrono::seconds(10);

/// For people: the limit that a request exceeds, and when to repeat it.
std::string text_of(const ChangePace::Wait& wait, const ChangeLimits& limits,
                    const std::string& queue) {
  struct Words {
    std::string of;
    const ChangeLimits::Rate& rate;
  };
  const Words words = wait.limit == ChangePace::Limit::kOfUser
                          ? Words{"changes of you (each user may make ", limits.of_user}
                      : wait.limit == ChangePace::Limit::kOfQueue
                          ? Words{"submits to queue " + queue + " (each queue at the top may take ",
                                  limits.of_queue}
                          : Words{"changes of all users (together they may make ", limits.of_all};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(wait.time).count();
  return "too many " + words.of + std::to_string(words.rate.burst) + " at once and " +
         std::to_string(words.rate.per_second) + " a second): repeat it after " +
         std::to_string(ms) + " ms";
}

/// The path of the queue that the job will be in, or why there is no place for it.
Result<std::string> leaf_for_submit(const State& state, const Capacity& capacity,
                                    const JobSpec& spec) {
  JobSpec asked;  // Without its command, which may be long.
  asked.user = spec.user;
  asked.queue = spec.queue;
  asked.tier = spec.tier;
  asked.limits = spec.limits;
  asked.request = spec.request;
  if (asked.request.gpus != 0 && asked.request.gpu_types.empty()) {
    // A queue may have a max for each type that there is.
    asked.request.gpu_types.assign(capacity.gpu_types().begin(), capacity.gpu_types().end());
  }
  if (const Status settled = state.settle(asked); !settled) {
    return settled.error();
  }
  return asked.queue;
}

}  // namespace

/// "" if the key is free, or belongs to this very job.
std::string ClientLedger::why_not_under(const State& state, const std::string& key,
                                        const JobSpec& spec) const {
  const std::optional<JobId> known = state.job_of_key(key);
  const auto under_way = submits_.find(key);
  const Job* job = known.has_value() ? state.job(*known) : nullptr;
  std::string differs;
  const TaskArray* array = known.has_value() ? state.array(*known) : nullptr;
  if (job != nullptr || array != nullptr) {
    const JobSpec& one = job != nullptr ? job->spec : array->spec;
    const JobWait& wait = job != nullptr ? job->life.wait : array->wait;
    differs = what_differs(one, spec);
    if (differs.empty()) {
      differs = what_differs_of_conditions(asked_of(wait), spec.eligibility.after);
    }
    if (differs.empty()) {
      const std::string place = what_differs_of_place(state.queues(), one, spec);
      // A job that was edited may have been submitted with the place that is asked for.
      differs = place.empty() || was_edited(state, *known) ? "" : place;
    }
  } else if (under_way != submits_.end()) {
    JobSpec one = under_way->second.spec;
    differs = what_differs(one, spec);
    if (differs.empty()) {
      differs = what_differs_of_conditions(one.eligibility.after, spec.eligibility.after);
    }
    if (differs.empty() && state.settle(one)) {
      differs = what_differs_of_place(state.queues(), one, spec);
    }
  }
  const std::string which = known.has_value() ? "job " + text_of(*known) : "a job";
  return differs.empty() ? ""
                         : "under that key " + which + " was submitted with " + differs +
                               ": use another key for another job";
}

/// "" if the cluster could run it some day, or may be able to once all its hosts registered.
std::string ClientLedger::why_impossible(const StepContext& step, const JobSpec& spec) const {
  std::string why = scheduler::why_impossible(step.state, step.capacity, spec);
  if (why.empty()) {
    return why;
  }
  const bool is_young = step.now < ready_since_ + kRegistrationWait;
  const Instant joined_since = is_young ? kLongAgo : step.now - kRegistrationWait;
  return step.seen.has_unregistered(step.state, joined_since) ? "" : why;
}

void ClientLedger::on_submit(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                             input::ClientSubmit& fact) {
  SchedulerOutput& output = step.output;
  if (std::string why_not = why_not_under(step.state, fact.key, fact.spec); !why_not.empty()) {
    output.refuse(fact.request, ErrorCode::kConflict, std::move(why_not));
    return;
  }
  if (const std::optional<JobId> known = step.state.job_of_key(fact.key)) {
    output.replies.push_back({fact.request, *known, "", std::nullopt});
    return;
  }
  if (const auto same = submits_.find(fact.key); same != submits_.end()) {
    join(step, proposals, clock, same->second, fact);
    return;
  }
  const Status valid = validate(fact.spec);
  if (!valid || fact.key.empty() || fact.key.size() > kClientKeyBytesMax) {
    output.refuse(fact.request, ErrorCode::kInvalid,
                  valid ? "the client key is empty or too long" : valid.error().text);
    return;
  }
  if (std::string why_not = why_impossible(step, fact.spec); !why_not.empty()) {
    output.refuse(fact.request, ErrorCode::kImpossible, std::move(why_not));
    return;
  }
  const Result<std::string> queue = leaf_for_submit(step.state, step.capacity, fact.spec);
  if (!queue) {
    if (is_in_time(step, fact.request, fact.by, "")) {
      output.refuse(fact.request, queue.error().code, queue.error().text);
    }
    return;
  }
  if (is_in_time(step, fact.request, fact.by, queue->substr(0, queue->find('/'))) &&
      has_room(step, fact, *queue)) {
    propose(step, proposals, clock, fact, *queue);
  }
}

/// Whether the submit keeps every queue on its path within its max_pending. False, and the request
/// is refused, if not.
bool ClientLedger::has_room(const StepContext& step, const input::ClientSubmit& fact,
                            const std::string& queue) const {
  const QueueBook& queues = step.state.queues();
  const std::uint64_t more = job_count(fact.spec);
  for (QueueNumber up = queues.number_of(queue); up != kRootQueue; up = queues.at(up).parent) {
    const QueueNode& node = queues.at(up).node;
    if (node.max_pending == 0) {
      continue;
    }
    const std::string limit =
        "queue " + node.path + " has max-pending " + std::to_string(node.max_pending);
    if (more > node.max_pending) {
      step.output.refuse(fact.request, ErrorCode::kInvalid,
                         limit + ", and the array has " + std::to_string(more) + " tasks");
      return false;
    }
    const std::uint64_t waits = step.state.waiting_in(node.path) + under_way_.of(node.path);
    if (waits + more > node.max_pending) {
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(kQueueFullPause).count();
      step.output.refuse(
          fact.request, ErrorCode::kUnavailable,
          "too many jobs wait: " + limit + ", and " + std::to_string(waits) +
              (waits == 1 ? " job waits" : " jobs wait") + " there" +
              (more == 1 ? "" : ", without the " + std::to_string(more) + " tasks of this array") +
              ": repeat it after " + std::to_string(ms) + " ms",
          kQueueFullPause);
      return false;
    }
  }
  return true;
}

/// Takes one change of the subject. False, and the request is refused, if it came too early.
/// `queue`: of a submit, the queue at the top of the tree; else "".
bool ClientLedger::is_in_time(const StepContext& step, std::uint64_t request, const Subject& by,
                              const std::string& queue) {
  ChangeLimits limits = step.config.changes;
  if (step.state.directory().user(by.user).role == UserRole::kAdmin) {
    // An administrator stops a flood of the others.
    limits.of_all.burst = std::numeric_limits<std::int32_t>::max();
  }
  const std::optional<ChangePace::Wait> wait = pace_.take(limits, by, step.now, queue);
  if (wait.has_value()) {
    step.output.refuse(request, ErrorCode::kUnavailable, text_of(*wait, limits, queue), wait->time);
  }
  return !wait.has_value();
}

/// The same job is on its way: its entry answers this request as well.
void ClientLedger::join(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                        PendingSubmit& same, input::ClientSubmit& fact) {
  // Refused, this one would read as if the first were surely not accepted.
  if (request_count_ >= kRequestsMax) {
    step.output.refuse(fact.request, ErrorCode::kUnknown,
                       "the leader is overloaded, and the same job is on its way");
    return;
  }
  same.requests.push_back(fact.request);
  ++request_count_;
  entry::Submit again{fact.key, same.spec, fact.by};
  count_from_now(step, proposals, clock, again.spec.eligibility);
  same.is_twice = proposals.propose(step, again) || same.is_twice;
}

void ClientLedger::propose(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                           input::ClientSubmit& fact, const std::string& queue) {
  Entry entry = entry::Submit{fact.key, std::move(fact.spec), std::move(fact.by)};
  auto& submit = std::get<entry::Submit>(entry);
  const std::size_t bytes = kept_bytes_of_job(submit.spec, submit.key, submit.by.name);
  const bool is_busy = request_count_ >= kRequestsMax || submit_bytes_ + bytes > kSubmitBytesMax;
  if (std::string full = is_busy ? "the leader is overloaded" : step.state.why_not(submit);
      !full.empty()) {
    step.output.refuse(fact.request, ErrorCode::kUnavailable, std::move(full), kFullPause);
    return;
  }
  const Eligibility asked = submit.spec.eligibility;
  count_from_now(step, proposals, clock, submit.spec.eligibility);
  proposals.propose(step, entry);
  submit.spec.eligibility = asked;
  under_way_.add(queue, job_count(submit.spec));
  submits_[fact.key] = {std::move(submit.spec), queue, bytes, {fact.request}, false};
  submit_bytes_ += bytes;
  ++request_count_;
}

void ClientLedger::on_order(const StepContext& step, Proposals& proposals, ClusterClock& clock,
                            input::ClientOrder& fact) {
  if (request_count_ >= kRequestsMax) {
    step.output.refuse(fact.request, ErrorCode::kUnavailable, std::string(kNoOrdersNow));
    return;
  }
  const Subject& by =
      std::visit([](const auto& order) -> const Subject& { return order.by; }, fact.order);
  if (!is_in_time(step, fact.request, by, "")) {
    return;
  }
  if (auto* fence = std::get_if<entry::Fence>(&fact.order)) {
    // The attempts that the operator can have looked at.
    fence->tokens = step.state.tokens_on(fence->host);
  } else if (auto* edit = std::get_if<entry::Edit>(&fact.order)) {
    count_from_now(step, proposals, clock, *edit);
  }
  const Entry entry = std::visit([](auto& order) { return Entry(std::move(order)); }, fact.order);
  std::string bytes = encode(entry, step.unix_ms);
  if (bytes.size() > kOrderBytesMax || !decode_entry(bytes)) {
    // A voter stops at an entry that it cannot read: none may come into the log.
    step.output.refuse(fact.request, ErrorCode::kInvalid, "an argument is too long");
    return;
  }
  orders_[proposal_name(entry)].push_back(fact.request);
  ++request_count_;
  // Not through Proposals: a second one of the same name is another order, not a repetition.
  step.output.proposals.push_back(std::move(bytes));
}

void ClientLedger::on_applied(const Entry& entry, const ApplyResult& result,
                              SchedulerOutput& output) {
  std::vector<std::uint64_t> requests;
  ErrorCode rejected_as = result.rejected_as;
  if (const auto* submitted = std::get_if<entry::Submit>(&entry)) {
    const auto found = submits_.extract(submitted->key);
    if (!found.empty()) {
      submit_bytes_ -= found.mapped().bytes;
      under_way_.remove(found.mapped().queue, job_count(found.mapped().spec));
    }
    // The other one may still be accepted.
    const bool is_sure = found.empty() || !found.mapped().is_twice;
    rejected_as =
        rejected_as == ErrorCode::kUnavailable && !is_sure ? ErrorCode::kUnknown : rejected_as;
    requests = found.empty() ? requests : std::move(found.mapped().requests);
  } else if (const auto order =
                 orders_.empty() ? orders_.end() : orders_.find(proposal_name(entry));
             order != orders_.end()) {
    // The leader's log keeps their order.
    requests.push_back(order->second.front());
    order->second.pop_front();
    if (order->second.empty()) {
      orders_.erase(order);
    }
  }
  CHECK(requests.size() <= request_count_);
  for (const std::uint64_t request : requests) {
    ClientReply reply{request, result.job, result.told, std::nullopt};
    if (!result.rejected.empty()) {
      reply.error = Error{rejected_as, result.rejected};
    }
    output.replies.push_back(std::move(reply));
    --request_count_;
  }
}

void ClientLedger::give_up(SchedulerOutput& output) {
  for (const auto& [key, pending] : submits_) {
    for (const std::uint64_t request : pending.requests) {
      output.refuse(request, ErrorCode::kUnknown, "leader changed");
    }
  }
  for (const auto& [name, requests] : orders_) {
    for (const std::uint64_t request : requests) {
      output.refuse(request, ErrorCode::kUnknown, "leader changed");
    }
  }
  submits_.clear();
  submit_bytes_ = 0;
  under_way_ = {};
  orders_.clear();
  request_count_ = 0;
}

void ClientLedger::check_invariants() const {
  CHECK(request_count_ <= kRequestsMax);
  CHECK(submit_bytes_ <= kSubmitBytesMax);
  CHECK(request_count_ >= submits_.size());
  CHECK(!submits_.empty() || (submit_bytes_ == 0 && under_way_ == QueueTotals()));
}

}  // namespace muster::scheduler
