#include "agent/gang/grant_steps.h"

#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {

using scheduler::GrantState;
using scheduler::RankResult;

GrantSteps::GrantSteps(GangAgentOptions options, HostId self, AgentStart start)
    : options_(options), self_(self), start_(start) {}

const scheduler::Member& GrantSteps::member_of(const Grant& grant) const {
  const scheduler::Member* member = grant.record.member_of(self_);
  CHECK(member != nullptr);
  return *member;
}

void GrantSteps::store(const Grant& grant, crdt::WriteBatch batch, GangOutbox& out) {
  batch.push_back({key_of_grant(grant.record.token), encode(grant.record)});
  const std::uint64_t id = out.persist(std::move(batch));
  writes_.emplace(id, Write{grant.record.token, grant.record.state});
}

std::optional<GrantSteps::Write> GrantSteps::take_persisted(std::uint64_t id) {
  const auto found = writes_.find(id);
  if (found == writes_.end()) {
    return std::nullopt;
  }
  const Write write = found->second;
  writes_.erase(found);
  return write;
}

// ---- the life ----

void GrantSteps::begin_hold(Instant now, Grant& grant, GangOutbox& out) const {
  CHECK(grant.durable == GrantState::kReady);
  grant.move(GrantEvent::kReadySaid);
  grant.hold_until = now + grant.record.hold;
  out.command(RenewHold{grant.record.token, grant.hold_until});
  say_ready(grant, out);
}

void GrantSteps::say_ready(const Grant& grant, GangOutbox& out) const {
  CHECK(has_hold(grant.phase));
  out.send(scheduler::Ready{grant.record.token, start_, grant.master});
}

void GrantSteps::launch(Grant& grant, GangOutbox& out) const {
  CHECK(grant.durable == GrantState::kStarting);
  grant.move(GrantEvent::kLaunchSent);
  out.command(Launch{grant.record, member_of(grant), grant.master, grant.hold_until});
}

void GrantSteps::run(Grant& grant, GrantEvent event) {
  grant.move(event);
  CHECK(grant.state() == GrantState::kRunning);
  grant.durable = GrantState::kRunning;
}

void GrantSteps::abort(Grant& grant, const std::string& reason, GangOutbox& out) {
  if (grant.phase == GrantPhase::kStartHeard) {
    grant.report.want_answer();
  }
  grant.move(GrantEvent::kAbort);
  grant.record.results = results_of_all(member_of(grant), RankResult::Kind::kNeverRan, reason);
  out.command(Forget{grant.record.token});
  out.emit(Severity::kInfo, "grant_aborted", grant.record.token, reason);
  store(grant, {}, out);
}

void GrantSteps::terminate(Instant now, Grant& grant, Duration grace, const std::string& reason,
                           GangOutbox& out) const {
  CHECK(grant.has_ranks());
  if (grant.state() == GrantState::kStopping) {
    return;
  }
  grant.move(GrantEvent::kTerminate);
  grant.durable = GrantState::kStopping;
  grant.stuck_at = now + grace + options_.kill_slack;
  out.command(Terminate{grant.record.token, grace, reason});
  out.emit(Severity::kInfo, "grant_terminated", grant.record.token, reason);
}

void GrantSteps::end(Grant& grant, std::vector<RankResult> results, GangOutbox& out) {
  grant.move(GrantEvent::kEnd);
  grant.record.results = std::move(results);
  grant.is_stuck = false;
  grant.is_silent = false;
  grant.report.stop();
  out.note_ended(grant.record.token);
  out.emit(Severity::kInfo, "grant_ended", grant.record.token);
  store(grant, {}, out);
}

void GrantSteps::end_all(Grant& grant, RankResult::Kind kind, const std::string& detail,
                         GangOutbox& out) {
  end(grant, results_of_all(member_of(grant), kind, detail), out);
}

// ---- reports of its end ----

void GrantSteps::send_finish(Instant now, Grant& grant, GangOutbox& out) {
  const bool is_last = grant.state() == GrantState::kEnded;
  const Nonce nonce = out.send(scheduler::Finish{
      grant.record.token, start_, is_last ? grant.record.results : grant.report.early(), is_last,
      is_last ? grant.withheld : std::vector<std::string>()});
  if (is_last) {
    grant.report.last_sent(nonce);
  } else {
    early_nonces_.add(nonce);
  }
  grant.report.said(now, options_.finish_retry_max);
}

void GrantSteps::begin_finish(Instant now, Grant& grant, GangOutbox& out) {
  CHECK(grant.durable == GrantState::kEnded);
  if (grant.report.begin_last(options_.finish_retry)) {
    send_finish(now, grant, out);
  }
}

void GrantSteps::answer_if_wanted(Grant& grant, GangOutbox& out) const {
  CHECK(grant.durable == GrantState::kAborted);
  if (grant.report.take_wanted()) {
    grant.report.last_sent(
        out.send(scheduler::Finish{grant.record.token, start_, grant.record.results, true}));
  }
}

void GrantSteps::answer_with_finish(Instant now, Grant& grant, GangOutbox& out) {
  if (grant.state() == GrantState::kAborted) {
    grant.report.want_answer();
  } else if (grant.is_durable()) {
    send_finish(now, grant, out);
  }
}

void GrantSteps::restart_finish(Instant now, Grant& grant) const {
  grant.report.restart(now, options_.finish_retry);
}

void GrantSteps::begin_early(Instant now, Grant& grant, RankResult first) const {
  CHECK(grant.has_ranks());
  grant.report.begin_early(now, std::move(first), options_.finish_retry);
}

void GrantSteps::refuse(Token token, const std::string& reason, GangOutbox& out) const {
  out.emit(Severity::kInfo, "assign_refused", token, reason);
  out.send(scheduler::Refuse{token, start_, reason});
}

}  // namespace muster::agent
