// The conversation with the leader. Everything it says is a function of committed state and
// idempotent by token, so nothing here remembers who said it, except in hello and renewals.

#include "agent/gang/gang_agent.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {

using scheduler::GrantState;
using scheduler::SchedulerMutant;

namespace {

constexpr std::size_t kHellosMax = 8;     // Replies later than 8 s are no use.
constexpr std::size_t kRenewalsMax = 64;  // Over 5 min of unanswered renewals.
constexpr std::size_t kGrantsMax = 256;   // 16 slices on each of 16 GPUs.

}  // namespace

void GangAgent::on(Instant now, LeaderMessage input) {
  if (auto* reply = std::get_if<scheduler::HelloReply>(&input.message)) {
    on_hello_reply(now, input.nonce, *reply);
  } else if (auto* assign = std::get_if<scheduler::Assign>(&input.message)) {
    on_assign(now, std::move(*assign));
  } else if (auto* start = std::get_if<scheduler::Start>(&input.message)) {
    on_start(now, *start);
  } else if (auto* stop = std::get_if<scheduler::Stop>(&input.message)) {
    on_stop(now, *stop);
  } else if (auto* finish_ack = std::get_if<scheduler::FinishAck>(&input.message)) {
    on_finish_ack(input.nonce, *finish_ack);
  } else if (auto* renew_ack = std::get_if<scheduler::RenewAck>(&input.message)) {
    on_renew_ack(input.nonce, *renew_ack);
  } else {
    drop("type", {});
  }
}

void GangAgent::on(Instant now, LeaderChanged input) {
  leader_ = input.leader;
  registered_ = false;
  const bool may_wait = is_known_ && input.spread > Duration(0);
  want_hello(may_wait ? now + rng_.between(Duration(0), input.spread) : now);
  is_known_ = may_wait;
  restart_finishes(now);
  if (renew_at_ != kNever) {
    renew_at_ = now;
  }
}

void GangAgent::on(Instant now, EpochObeyed input) {
  epoch_ = input.epoch.counter;
  registered_ = false;
  want_hello(now);
}

void GangAgent::on(Instant, const LeaveBegun&) {
  leaving_ = true;
}

void GangAgent::restart_finishes(Instant now) {
  for (auto& [token, grant] : grants_) {
    if (grant.finish_at != kNever) {
      grant.finish_at = now;
      grant.finish_delay = options_.finish_retry;
    }
  }
}

// ---- hello ----

/// Replies to hellos with older content do not count any more.
void GangAgent::want_hello(Instant at) {
  hellos_.clear();
  hello_at_ = at;
  is_known_ = false;
}

/// Design 8, rules 2 and 3: what was interrupted is decided durably, and orphans are gone, first.
bool GangAgent::may_hello() const {
  const bool is_settled = std::all_of(grants_.begin(), grants_.end(), [](const auto& entry) {
    return entry.second.is_live() || entry.second.is_durable();
  });
  return scanned_ && is_settled && orphans_.empty() && !leader_.is_zero();
}

scheduler::GrantReport GangAgent::report_of(const Grant& grant) const {
  scheduler::GrantReport report{grant.record.token, *grant.durable, {}, std::nullopt};
  if (report.state == GrantState::kEnded) {
    report.results = grant.record.results;
  }
  const bool was_launched =
      report.state != GrantState::kReady && report.state != GrantState::kAborted;
  if (was_launched && report.token.epoch < epoch_) {
    const GrantRecord& record = grant.record;
    report.detail = scheduler::GrantDetail{record.job, record.attempt, record.spec, record.members,
                                           record.hold};
  }
  return report;
}

void GangAgent::send_hello(Instant now) {
  scheduler::Hello hello;
  hello.start = identity_.start;
  hello.boot_id = identity_.boot_id;
  hello.name = identity_.name;
  hello.gpu_type = inventory_.gpu_type;
  hello.gpus = offered_gpus();
  hello.cpus = inventory_.cpus;
  hello.memory_mb = inventory_.memory_mb;
  hello.stuck = withheld_;
  hello.has_namespaces = inventory_.has_namespaces;
  for (const auto& [token, grant] : grants_) {
    if (grant.durable.has_value()) {
      hello.grants.push_back(report_of(grant));
    }
  }
  hellos_.push_back(send(std::move(hello)));
  if (hellos_.size() > kHellosMax) {
    hellos_.erase(hellos_.begin());
  }
  hello_at_ = now + options_.hello_retry;
}

void GangAgent::on_hello_reply(Instant now, Nonce nonce, const scheduler::HelloReply& reply) {
  const bool is_ours = std::find(hellos_.begin(), hellos_.end(), nonce) != hellos_.end() &&
                       reply.start_id == identity_.start.start_id;
  if (!is_ours) {
    // A late copy of an older hello was registered instead of the present one: say that again.
    if (registered_ && reply.registered && reply.start_id == identity_.start.start_id) {
      hello_at_ = std::min(hello_at_, now + options_.hello_retry);
    }
    drop("hello reply", {});
    return;
  }
  if (reply.raise_to > identity_.start.generation) {
    halted_ = true;
    output_.raise_to = reply.raise_to;
    emit(Severity::kAlarm, "generation_refused", {}, std::to_string(reply.raise_to.value()));
    return;
  }
  if (!reply.registered) {
    if (!reply.why.empty() && reply.why != told_refusal_) {
      told_refusal_ = reply.why;
      emit(Severity::kWarn, "not_registered", {}, reply.why);
    }
    return;
  }
  told_refusal_.clear();
  registered_ = true;
  is_known_ = true;
  hellos_.clear();
  hello_at_ = kNever;
  emit(Severity::kInfo, "agent_registered", reply.floor);
  raise_floor(now, reply.floor);
  for (const Token token : reply.kill) {
    kill(now, token);
  }
  restart_finishes(now);
}

/// Only GPUs without a record take the floor: for the others the stored fence is exact, and the
/// floor may name an attempt whose Assign is still on its way here.
void GangAgent::raise_floor(Instant now, Token floor) {
  crdt::WriteBatch batch;
  for (const std::string& uuid : inventory_.gpus) {
    if (!fence_.knows(uuid)) {
      fence_.raise({uuid, 0}, floor, batch);
    }
  }
  if (!batch.empty()) {
    persist(std::move(batch), {});
    want_hello(now);
  }
}

/// The log is over with it.
void GangAgent::kill(Instant now, Token token) {
  Grant* grant = grant_of(token);
  if (grant == nullptr) {
    return;
  }
  if (grant->has_ranks()) {
    terminate(now, *grant, grant->record.spec.grace, "over in the log");
    return;
  }
  if (grant->is_live()) {
    abort(*grant, "over in the log");
  }
  forget(token);
}

// ---- assign, start, stop ----

void GangAgent::on_assign(Instant now, scheduler::Assign assign) {
  const auto member =
      std::find_if(assign.members.begin(), assign.members.end(),
                   [&](const scheduler::Member& one) { return one.host == identity_.host; });
  if (assign.start != identity_.start || member == assign.members.end() || member->gpus.empty()) {
    drop("assign", assign.token);
    return;
  }
  Grant* known = grant_of(assign.token);
  if (known != nullptr) {
    on_repeated_assign(now, *known);
    return;
  }
  const std::optional<std::string> reason = reason_to_refuse(assign, *member);
  if (reason.has_value()) {
    refuse(assign.token, *reason);
    return;
  }
  const scheduler::Member mine = *member;
  accept(now, std::move(assign), mine);
}

/// The stored answer. A repeated Assign does not restart the hold.
void GangAgent::on_repeated_assign(Instant, Grant& grant) {
  if (grant.state() == GrantState::kAborted) {
    refuse(grant.record.token, "aborted");
  } else if (grant.state() == GrantState::kReady && grant.ready_sent) {
    send(scheduler::Ready{grant.record.token, identity_.start, grant.master});
  }
}

std::optional<std::string> GangAgent::reason_to_refuse(const scheduler::Assign& assign,
                                                       const scheduler::Member& member) const {
  if (leaving_) {
    return "leaving";
  }
  for (const scheduler::GpuSlot& place : member.gpus) {
    if (std::find(inventory_.gpus.begin(), inventory_.gpus.end(), place.uuid) ==
        inventory_.gpus.end()) {
      return "gpu missing";
    }
    for (const auto& [token, withheld] : stuck_orphans_) {
      if (std::find(withheld.begin(), withheld.end(), place.uuid) != withheld.end()) {
        return "gpu withheld";  // Decided before our hello said so.
      }
    }
  }
  if (!fence_.admits(member.gpus, assign.token)) {
    return "stale token";
  }
  if (grants_.size() >= kGrantsMax) {
    return "too many grants";
  }
  if (assign.hold <= Duration(0)) {
    return "no hold";
  }
  return std::nullopt;
}

void GangAgent::accept(Instant now, scheduler::Assign assign, const scheduler::Member& member) {
  revoke_older(now, assign.token, member);
  crdt::WriteBatch batch;
  for (const scheduler::GpuSlot& place : member.gpus) {
    fence_.raise(place, assign.token, batch);
  }
  Grant grant;
  grant.record = {assign.token, GrantState::kReady,        assign.job,  assign.attempt,
                  assign.spec,  std::move(assign.members), assign.hold, {}};
  Grant& stored = grants_.emplace(assign.token, std::move(grant)).first->second;
  store(stored, std::move(batch));
  if (mutant(SchedulerMutant::kTokenNotPersisted)) {
    stored.durable = GrantState::kReady;
  }
  output_.commands.push_back(
      Prepare{assign.token, stored.record.has_first_rank(identity_.host), assign.hold});
}

GangAgent::Grant* GangAgent::addressed(Token token, AgentStart start, std::string_view what) {
  Grant* grant = start == identity_.start ? grant_of(token) : nullptr;
  if (grant == nullptr) {
    drop(what, token);
  }
  return grant;
}

/// Design 8, (4): only in READY, under a live hold, for exactly this token.
void GangAgent::on_start(Instant now, const scheduler::Start& start) {
  Grant* grant = addressed(start.token, start.start, "start");
  if (grant == nullptr) {
    return;
  }
  const bool is_obeyed_late = mutant(SchedulerMutant::kLateStartObeyed) &&
                              grant->state() != GrantState::kEnded && !grant->launch_sent;
  if (!grant->is_live() && !is_obeyed_late) {
    answer_with_finish(now, *grant);
    return;
  }
  if (grant->has_ranks() || !grant->ready_sent) {
    return;
  }
  if (is_obeyed_late) {
    grant->hold_until = now + grant->record.hold;
  }
  if (now >= grant->hold_until) {
    abort(*grant, "hold lapsed");
    answer_with_finish(now, *grant);
    return;
  }
  grant->start_seen = true;
  grant->master = start.master;
  if (grant->state() == GrantState::kReady ||
      (is_obeyed_late && grant->state() == GrantState::kAborted)) {
    grant->record.state = GrantState::kStarting;
    store(*grant);
  }
}

void GangAgent::on_stop(Instant now, const scheduler::Stop& stop) {
  Grant* grant = addressed(stop.token, stop.start, "stop");
  if (grant == nullptr) {
    return;
  }
  if (grant->has_ranks()) {
    terminate(now, *grant, stop.grace, stop.reason);
    return;
  }
  if (grant->is_live()) {
    abort(*grant, stop.reason);
  }
  answer_with_finish(now, *grant);
}

void GangAgent::refuse(Token token, const std::string& reason) {
  emit(Severity::kInfo, "assign_refused", token, reason);
  send(scheduler::Refuse{token, identity_.start, reason});
}

// ---- acknowledgements ----

/// Evidence is forgotten only when the acknowledged word was the last one: an acknowledgement of an
/// early one, or a late copy of it, must not end the report. The leader's own word (nonce 0) speaks
/// of committed ends only.
void GangAgent::on_finish_ack(Nonce nonce, const scheduler::FinishAck& ack) {
  Grant* grant = grant_of(ack.token);
  if (grant == nullptr || (!grant->is_live() && !grant->is_durable())) {
    drop("finish ack", ack.token);
    return;
  }
  const auto& said = grant->is_live() ? early_nonces_ : grant->finish_nonces;
  const bool answers = std::find(said.begin(), said.end(), nonce) != said.end();
  if (grant->is_live()) {
    if (answers) {
      grant->early.clear();
      grant->finish_at = kNever;
    }
    return;
  }
  if (answers || nonce == Nonce()) {
    forget(ack.token);
  } else {
    drop("finish ack", ack.token);
  }
}

void GangAgent::send_renewals(Instant now) {
  scheduler::Renew renew{identity_.start, {}, std::vector<Token>()};
  for (const auto& [token, grant] : grants_) {
    if (!grant.is_live() || !grant.ready_sent) {
      continue;
    }
    renew.tokens.push_back(token);
    if (grant.waits_for_start()) {
      renew.unstarted->push_back(token);
    }
  }
  if (renew.tokens.empty()) {
    renew_at_ = kNever;
    renewals_.clear();
    return;
  }
  renew_at_ = now + options_.renew_interval;
  if (leader_.is_zero()) {
    return;
  }
  std::vector<Token> tokens = renew.tokens;
  const Nonce nonce = send(std::move(renew));
  renewals_.emplace(nonce, Renewal{now, std::move(tokens)});
  if (renewals_.size() > kRenewalsMax) {
    renewals_.erase(std::min_element(
        renewals_.begin(), renewals_.end(),
        [](const auto& a, const auto& b) { return a.second.sent < b.second.sent; }));
  }
}

/// A late or relayed acknowledgement can never lengthen a hold: it counts from our own send.
void GangAgent::on_renew_ack(Nonce nonce, const scheduler::RenewAck& ack) {
  const auto renewal = renewals_.find(nonce);
  if (renewal == renewals_.end()) {
    drop("renew ack", {});
    return;
  }
  for (const Token token : ack.tokens) {
    Grant* grant = grant_of(token);
    const std::vector<Token>& asked = renewal->second.tokens;
    if (grant == nullptr || !grant->is_live() ||
        std::find(asked.begin(), asked.end(), token) == asked.end()) {
      continue;
    }
    const Instant counted =
        mutant(SchedulerMutant::kHoldFromReceipt) ? latest_ : renewal->second.sent;
    const Instant until = counted + grant->record.hold;
    if (until > grant->hold_until) {
      grant->hold_until = until;
      output_.commands.push_back(RenewHold{token, until});
    }
  }
  renewals_.erase(renewal);
}

Nonce GangAgent::send(scheduler::AgentMessage message) {
  const Nonce nonce(rng_.next() | 1);
  if (!leader_.is_zero()) {
    output_.messages.push_back({leader_, nonce, std::move(message)});
  }
  return nonce;
}

}  // namespace muster::agent
