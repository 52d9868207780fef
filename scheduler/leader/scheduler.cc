#include "scheduler/leader/scheduler.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/base/state_machine.h"

namespace muster::scheduler {

static_assert(StateMachine<Scheduler>);

Scheduler::Scheduler(SchedulerConfig config, State state, Instant now)
    : config_(config),
      state_(std::move(state)),
      ready_since_(now),
      last_tick_(now),
      expire_timers_(config.expire_margin) {
  CHECK(config_.validate().has_value());
  expire_timers_.begin_anew(now, state_);
}

void Scheduler::step(Instant now, Input input) {
  if (halted_) {
    ++dropped_;
    return;
  }
  std::visit([&](auto& fact) { on(now, fact); }, input);
  decide(now);
}

void Scheduler::tick(Instant now) {
  if (halted_ || !is_ready()) {
    return;
  }
  if (round_asked_.has_value() && now >= *round_asked_ + config_.round_again) {
    // The waiters of the lost round join those of the next: it begins later than their receipt.
    waiting_.insert(waiting_.begin(), in_round_.begin(), in_round_.end());
    in_round_.clear();
    round_asked_.reset();
    ask_round(now);
  }
  resend_due(now);
  decide(now);
}

Instant Scheduler::next_deadline() const {
  if (halted_ || !is_ready()) {
    return kNever;
  }
  Instant next = std::min(wake_, proposals_.next_look());
  if (!resends_by_time_.empty()) {
    next = std::min(next, resends_by_time_.begin()->first);
  }
  if (round_asked_.has_value()) {
    next = std::min(next, *round_asked_ + config_.round_again);
  }
  if (state_.needs_time()) {
    next = std::min(next, std::max(last_tick_ + config_.tick_every,
                                   proposals_.free_at(proposal_name(entry::Tick()))));
  }
  return next;
}

Scheduler::Output Scheduler::take_output() {
  Output output = std::move(output_);
  output_ = Output();
  return output;
}

void Scheduler::check_invariants() const {
  CHECK(resends_.size() == resends_by_time_.size());
  CHECK(is_ready() || resends_.empty());
  CHECK(is_ready() || request_count_ == 0);
  CHECK(round_asked_.has_value() || in_round_.empty());
  seen_.check_invariants();
  state_.check_invariants();
}

void Scheduler::on(Instant now, input::Applied& fact) {
  if (fact.index <= state_.applied()) {
    ++dropped_;  // Part of the snapshot already.
    return;
  }
  if (fact.bytes.empty()) {
    state_.skip(fact.index);
    return;
  }
  const Result<Entry> entry = decode_entry(std::move(fact.bytes));
  if (!entry) {
    halted_ = true;
    output_.halted = entry.error().text;
    output_.emit(Severity::kAlarm, "log_entry_unknown",
         {{"index", std::to_string(fact.index.value())}, {"why", entry.error().text}});
    lose_leadership();
    return;
  }
  ApplyResult result = state_.apply(fact.index, *entry);
  for (Event& event : result.events) {
    output_.events.push_back(std::move(event));
  }
  for (const Token& token : result.touched) {
    wake_at(expire_timers_.on_touched(now, state_, token));
  }
  if (is_ready()) {
    follow_applied(now, *entry, result);
  }
}

void Scheduler::follow_applied(Instant now, const Entry& entry, const ApplyResult& result) {
  proposals_.on_applied(entry);
  placing_wanted_ = placing_wanted_ || result.capacity_changed;
  for (const Token& token : result.touched) {
    unjudged_.insert(token);
    drive(now, token);
  }
  answer_clients(entry, result);
  if (const auto* registered = std::get_if<entry::Register>(&entry)) {
    unobserved_.insert(registered->host);
    const auto waiter = hellos_.find(registered->host);
    // A later start's hello waits for its own Register.
    if (waiter != hellos_.end() &&
        std::get<Hello>(waiter->second.message).start.generation <= registered->start.generation) {
      wait_for_round(std::move(waiter->second));
      ask_round(now);
      hellos_.erase(waiter);
    }
  } else if (const auto* observed = std::get_if<entry::Observe>(&entry)) {
    unobserved_.insert(observed->host);
    wake_at(now);
  } else if (const auto* finished = std::get_if<entry::Finish>(&entry)) {
    acknowledge(*finished);
  } else if (std::holds_alternative<entry::Tick>(entry)) {
    wake_at(now);
  } else if (std::holds_alternative<entry::Decide>(entry)) {
    placing_wanted_ = true;
  }
}

void Scheduler::on(Instant now, input::Restored& fact) {
  lose_leadership();
  leads_ = false;
  own_term_applied_ = false;
  state_ = std::move(fact.state);
  expire_timers_.begin_anew(now, state_);
}

void Scheduler::on(Instant now, input::LeadershipChanged& fact) {
  const bool was_ready = is_ready();
  if (was_ready && !(fact.leads && fact.own_term_applied)) {
    lose_leadership();
  }
  leads_ = fact.leads;
  own_term_applied_ = fact.leads && fact.own_term_applied;
  if (was_ready || !is_ready()) {
    return;
  }
  ready_since_ = now;
  last_tick_ = now;
  placing_wanted_ = true;
  for (const auto& [host, record] : state_.hosts()) {
    unobserved_.insert(host);
  }
  wake_at(now);
  output_.emit(Severity::kInfo, "scheduler_leads",
       {{"applied", std::to_string(state_.applied().value())},
        {"attempts", std::to_string(state_.live().size())}});
  drive_all(now);
}

void Scheduler::lose_leadership() {
  for (const auto& [key, pending] : submits_) {
    for (const std::uint64_t request : pending.requests) {
      output_.replies.push_back({request, JobId(), Error{ErrorCode::kUnknown, "leader changed"}});
    }
  }
  for (const auto& [name, requests] : orders_) {
    for (const std::uint64_t request : requests) {
      output_.replies.push_back({request, JobId(), Error{ErrorCode::kUnknown, "leader changed"}});
    }
  }
  submits_.clear();
  submit_bytes_ = 0;
  refused_hellos_.clear();
  orders_.clear();
  request_count_ = 0;
  proposals_ = Proposals();
  unobserved_.clear();
  unjudged_.clear();
  reserved_since_.clear();
  resends_.clear();
  resends_by_time_.clear();
  running_.clear();
  renewed_at_.clear();
  waiting_.clear();
  in_round_.clear();
  round_asked_.reset();
  hellos_.clear();
  finish_nonces_.clear();
  placing_wanted_ = false;
  wake_ = kNever;
  leads_ = false;
  own_term_applied_ = false;
}

void Scheduler::on(Instant now, input::HostViewChanged& fact) {
  const HostId host = fact.view.host;
  seen_.on_view(now, std::move(fact.view));
  if (is_ready()) {
    unobserved_.insert(host);
  }
}

void Scheduler::on(Instant now, input::StormChanged& fact) {
  seen_.on_storm(fact.suspected);
  wake_at(now);
}

void Scheduler::on(Instant now, input::VotersQuiet& fact) {
  seen_.on_voters_quiet(fact);
  wake_at(now);
  placing_wanted_ = placing_wanted_ || is_ready();
}

namespace {

/// For people: the first of what makes two jobs two; "" when they are one. Who asks may have become
/// another user meanwhile.
std::string what_differs(const JobSpec& one, JobSpec other) {
  if (one.argv != other.argv) {
    return "another command";
  }
  if (one.gpus != other.gpus || one.gpu_type != other.gpu_type) {
    return "other GPUs";
  }
  if (one.directory != other.directory) {
    return "another working directory";
  }
  if (one.environment != other.environment) {
    return "another environment";
  }
  other.user = one.user;
  return one == other ? "" : "other options";
}

}  // namespace

/// "" when the key is free, or of this very job.
std::string Scheduler::why_not_under(const std::string& key, const JobSpec& spec) const {
  const std::optional<JobId> known = state_.job_of_key(key);
  const auto under_way = submits_.find(key);
  const Job* job = known.has_value() ? state_.job(*known) : nullptr;
  std::string differs;
  if (job != nullptr) {
    differs = what_differs(job->spec, spec);
  } else if (under_way != submits_.end()) {
    differs = what_differs(under_way->second.spec, spec);
  }
  const std::string which = known.has_value() ? "job " + std::to_string(known->value()) : "a job";
  return differs.empty() ? ""
                         : "under that key " + which + " was submitted with " + differs +
                               ": give another job another key";
}

bool Scheduler::awaits_registrations(Instant now) const {
  return now < ready_since_ + kRegistrationWait && seen_.has_unregistered(state_);
}

void Scheduler::on(Instant now, input::ClientSubmit& fact) {
  const auto refuse = [&](ErrorCode code, std::string text) {
    output_.replies.push_back({fact.request, JobId(), Error{code, std::move(text)}});
  };
  if (!is_ready()) {
    refuse(ErrorCode::kUnavailable, "this node does not lead the quorum");
    return;
  }
  if (std::string why_not = why_not_under(fact.key, fact.spec); !why_not.empty()) {
    refuse(ErrorCode::kConflict, std::move(why_not));
    return;
  }
  if (const std::optional<JobId> known = state_.job_of_key(fact.key)) {
    output_.replies.push_back({fact.request, *known, std::nullopt});
    return;
  }
  if (const auto same = submits_.find(fact.key); same != submits_.end()) {
    // Refused, this one would read as if the first were surely not accepted.
    if (request_count_ >= kRequestsMax) {
      refuse(ErrorCode::kUnknown, "the leader has too much to do, and the same job is on its way");
      return;
    }
    same->second.requests.push_back(fact.request);
    ++request_count_;
    const entry::Submit again{fact.key, same->second.spec, fact.submitted_by};
    same->second.is_twice = propose(now, again) || same->second.is_twice;
    return;
  }
  const Status valid = validate(fact.spec);
  if (!valid || fact.key.empty() || fact.key.size() > kClientKeyBytesMax) {
    refuse(ErrorCode::kInvalid, valid ? "the client key is empty or too long" : valid.error().text);
    return;
  }
  const std::string& type = fact.spec.gpu_type;
  const std::optional<std::uint32_t> largest =
      state_.largest_possible(type, fact.spec.keep_when_isolated);
  if (largest.has_value() && fact.spec.gpus > *largest && !awaits_registrations(now)) {
    const bool keep_helps = fact.spec.gpus <= *state_.largest_possible(type);
    refuse(ErrorCode::kImpossible,
           "the job asks for " + std::to_string(fact.spec.gpus) +
               (fact.spec.gpu_type.empty() ? "" : " " + fact.spec.gpu_type) +
               " GPUs, and the largest that could ever run has " + std::to_string(*largest) +
               (keep_helps ? "; hosts without PID namespaces take only --isolation keep" : ""));
    return;
  }
  const entry::Submit entry{fact.key, std::move(fact.spec), std::move(fact.submitted_by)};
  const std::size_t bytes = kept_bytes_of_job(entry.spec, entry.key, entry.submitted_by);
  const bool is_busy = request_count_ >= kRequestsMax || submit_bytes_ + bytes > kSubmitBytesMax;
  if (std::string full = is_busy ? "the leader has too much to do" : state_.why_not(entry);
      !full.empty()) {
    refuse(ErrorCode::kUnavailable, std::move(full));
    return;
  }
  submits_[fact.key] = {entry.spec, bytes, {fact.request}, false};
  submit_bytes_ += bytes;
  ++request_count_;
  propose(now, entry);
}

void Scheduler::on(Instant, input::ClientOrder& fact) {
  if (!is_ready() || request_count_ >= kRequestsMax) {
    output_.replies.push_back({fact.request, JobId(),
                               Error{ErrorCode::kUnavailable,
                                     "this node does not lead the "
                                     "quorum, or has too much to do"}});
    return;
  }
  const Entry entry = std::visit([](auto& order) { return Entry(std::move(order)); }, fact.order);
  orders_[proposal_name(entry)].push_back(fact.request);
  ++request_count_;
  // Not through propose(): a second one of the same name is another word, not a repetition.
  output_.proposals.push_back(encode(entry));
}

void Scheduler::answer_clients(const Entry& entry, const ApplyResult& result) {
  std::vector<std::uint64_t> requests;
  ErrorCode rejected_as = result.rejected_as;
  if (const auto* submitted = std::get_if<entry::Submit>(&entry)) {
    const auto found = submits_.extract(submitted->key);
    submit_bytes_ -= found.empty() ? 0 : found.mapped().bytes;
    // The other one may still be accepted.
    const bool is_sure = found.empty() || !found.mapped().is_twice;
    rejected_as =
        rejected_as == ErrorCode::kUnavailable && !is_sure ? ErrorCode::kUnknown : rejected_as;
    requests = found.empty() ? requests : std::move(found.mapped().requests);
  } else if (const auto order = orders_.find(proposal_name(entry)); order != orders_.end()) {
    // The leader's log keeps their order.
    requests.push_back(order->second.front());
    order->second.pop_front();
    if (order->second.empty()) {
      orders_.erase(order);
    }
  }
  for (const std::uint64_t request : requests) {
    ClientReply reply{request, result.job, std::nullopt};
    if (!result.rejected.empty()) {
      reply.error = Error{rejected_as, result.rejected};
    }
    output_.replies.push_back(std::move(reply));
    --request_count_;
  }
}

}  // namespace muster::scheduler
