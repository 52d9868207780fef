#include "scheduler/state/state.h"

#include <algorithm>
#include <variant>

#include <xxhash.h>

#include "gossip/base/check.h"
#include "scheduler/state/access_rules.h"
#include "scheduler/state/attempt_facts.h"
#include "scheduler/state/audit_rules.h"
#include "scheduler/state/decision.h"
#include "scheduler/state/eligibility_rules.h"
#include "scheduler/state/enrolment.h"
#include "scheduler/state/forgetting.h"
#include "scheduler/state/host_orders.h"
#include "scheduler/state/job_moves.h"
#include "scheduler/state/orders.h"
#include "scheduler/state/outcomes.h"
#include "scheduler/state/preemption.h"
#include "scheduler/state/queue_rules.h"
#include "scheduler/state/registration.h"
#include "scheduler/state/signed_order.h"

namespace muster::scheduler {
namespace {

void on_tick(Step& step, const entry::Tick& fact) {
  if (fact.elapsed <= Duration::zero() || fact.elapsed > kTickMax) {
    step.reject(ErrorCode::kInvalid, "elapsed time out of range");
    return;
  }
  Books& books = step.books;
  books.cluster_time += fact.elapsed;
  step.result.credits_changed |= books.shares.sample(books.queues, books.cluster_time);
  // The queue may be waiting for hosts.
  step.result.capacity_changed |= books.epochs.is_recovering(books.cluster_time);
  forget_old_keys(books);
  books.directory.forget_ended_tokens(books.cluster_time);
  settle_unclassed(step);
  relax_packs(step);
  end_pauses(step);
  end_old_preemptions(step);
  step.result.capacity_changed |= books.jobs.allow_again_until(books.cluster_time);
}

/// Hands an entry to its rule.
struct Hear {
  Step& step;

  void operator()(const entry::Register& fact) const { on_register(step, fact); }
  void operator()(const entry::Observe& fact) const { on_observe(step, fact); }
  void operator()(entry::Submit& fact) const { on_submit(step, fact); }
  void operator()(const entry::Tick& fact) const { on_tick(step, fact); }
  void operator()(entry::Decide& fact) const { on_decide(step, fact); }
  void operator()(const entry::Ready& fact) const { on_ready(step, fact); }
  void operator()(const entry::Start& fact) const { on_start(step, fact); }
  void operator()(const entry::Stop& fact) const { on_stop(step, fact); }
  void operator()(const entry::Finish& fact) const { on_finish(step, fact); }
  void operator()(const entry::Abort& fact) const { on_abort(step, fact); }
  void operator()(const entry::Condemn& fact) const { on_condemn(step, fact); }
  void operator()(const entry::Pardon& fact) const { on_pardon(step, fact); }
  void operator()(const entry::Expire& fact) const { on_expire(step, fact); }
  void operator()(const entry::Cancel& fact) const { on_cancel(step, fact); }
  void operator()(const entry::Suspend& fact) const { on_suspend(step, fact); }
  void operator()(const entry::Resume& fact) const { on_resume(step, fact); }
  void operator()(const entry::Requeue& fact) const { on_requeue(step, fact); }
  void operator()(const entry::Fence& fact) const { on_fence(step, fact); }
  void operator()(const entry::Adopt& fact) const { on_adopt(step, fact); }
  void operator()(const entry::Edit& fact) const { on_edit(step, fact); }
  void operator()(const entry::Drain& fact) const { on_drain(step, fact); }
  void operator()(const entry::Undrain& fact) const { on_undrain(step, fact); }
  void operator()(const entry::RemoveHost& fact) const { on_remove_host(step, fact); }
  void operator()(const entry::MakeTicket& fact) const { on_make_ticket(step, fact); }
  void operator()(const entry::EndTicket& fact) const { on_end_ticket(step, fact); }
  void operator()(const entry::Enrol& fact) const { on_enrol(step, fact); }
  void operator()(const entry::RotateKeys& fact) const { on_rotate_keys(step, fact); }
  void operator()(const entry::ReplaceAuthority& fact) const { on_replace_authority(step, fact); }
  void operator()(const entry::FoundDirectory& fact) const { on_found_directory(step, fact); }
  void operator()(const entry::ChangeDirectory& fact) const { on_change_directory(step, fact); }
  void operator()(const entry::MakeAccessToken& fact) const { on_make_access_token(step, fact); }
  void operator()(const entry::EndAccessToken& fact) const { on_end_access_token(step, fact); }
  void operator()(const entry::NoteRequests& fact) const { on_note_requests(step, fact); }
  void operator()(const entry::ResetAdmin& fact) const { on_reset_admin(step, fact); }
  void operator()(const entry::GpuOrder& fact) const { on_gpu_order(step, fact); }
  void operator()(entry::SetQueues& fact) const { on_set_queues(step, fact); }
  void operator()(entry::Preempt& fact) const { on_preempt(step, fact); }
};

std::uint64_t outcome_of(const Books& books, const ApplyResult& result) {
  std::vector<std::uint64_t> did = {result.job.value(),
                                    result.rejected.empty() ? 0U : 1U,
                                    static_cast<std::uint64_t>(result.rejected_as),
                                    books.jobs.all().size(),
                                    books.arrays.unended(),
                                    books.attempts.live().size(),
                                    result.roll.enrolled.size()};
  const auto add_job = [&](JobId id) {
    if (const Job* known = books.jobs.find(id); known != nullptr) {
      did.push_back(static_cast<std::uint64_t>(known->life.state));
      did.push_back(known->life.attempts);
      did.push_back(known->life.failures.count);
    }
  };
  add_job(result.job);
  for (const Token& token : result.touched) {
    did.push_back(token.index);
    if (const Attempt* known = books.attempts.find(token); known != nullptr) {
      did.push_back(static_cast<std::uint64_t>(known->state));
      did.push_back(static_cast<std::uint64_t>(known->cause));
      did.push_back(known->completed ? 1U : 0U);
      add_job(known->job);
    }
  }
  return XXH3_64bits(did.data(), did.size() * sizeof did.front());
}

}  // namespace

ApplyResult State::apply(LogIndex index, Entry&& entry, std::int64_t unix_ms,
                         const gossip::Verifier* verifier, const std::vector<HostId>& voters) {
  CHECK(index > books_.applied);
  Step step{books_, index, unix_ms};
  books_.applied = index;
  level_met_ = std::max(level_met_, level_needed(entry));
  std::optional<AuditLine> line = audited(books_, entry);
  // An order whose signature counts has used the number of its key, also if it is refused then.
  const Status is_signed = check_signature(books_.directory, books_.roll, entry, verifier);
  if (is_signed) {
    count_signature(books_.directory, books_.roll, entry);
  }
  if (std::string denied = why_denied(books_, entry, voters); !denied.empty()) {
    step.reject(ErrorCode::kDenied, std::move(denied));
  } else if (!is_signed) {
    step.reject(is_signed.error().code, is_signed.error().text);
  } else {
    std::visit(Hear{step}, entry);
  }
  settle_waits(step);
  settle_preemptions(step);
  if (line.has_value()) {
    add_to_audit(step, *std::move(line));
  }
  if (!step.result.rejected.empty()) {
    step.result.events.push_back({Severity::kDebug,
                                  "entry_rejected",
                                  {{"index", std::to_string(index.value())},
                                   {"kind", std::to_string(static_cast<int>(kind_of(entry)))},
                                   {"why", step.result.rejected}}});
  }
  last_outcome_ = outcome_of(books_, step.result);
  return std::move(step.result);
}

void State::skip(LogIndex index) {
  CHECK(index > books_.applied);
  books_.applied = index;
  last_outcome_ = 0;
}

bool State::is_over(const Token& token, const HostId& host) const {
  const Attempt* known = attempt(token);
  if (known == nullptr) {
    const LogIndex last = token.epoch == epoch() ? applied() : books_.epochs.last_of(token.epoch);
    return token.index <= last.value();
  }
  const MemberRecord* record = known->find(host);
  return record == nullptr || record->end != MemberEnd::kNone;
}

Result<State> State::decode(std::string_view bytes, const KeptBytesMax& kept_max) {
  Result<Books> books = decoded(bytes, kept_max);
  if (!books) {
    return books.error();
  }
  return State(std::move(*books));
}

}  // namespace muster::scheduler
