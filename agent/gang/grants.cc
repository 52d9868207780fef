#include "agent/gang/grants.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {

using scheduler::GrantState;
using scheduler::RankResult;
using scheduler::SchedulerMutant;

namespace {

constexpr const char* kNoNamespace = "no PID namespace: only --isolation keep";

}  // namespace

Grants::Grants(GangAgentOptions options, HostId self, AgentStart start)
    : steps_(options, self, start) {}

void Grants::recover(const crdt::Records& records, GangOutbox& out) {
  for (auto it = records.lower_bound(std::string(kGrantTable));
       it != records.end() && it->first.starts_with(kGrantTable); ++it) {
    std::optional<GrantRecord> record = decode_grant(it->second);
    if (!record.has_value() || record->member_of(steps_.self()) == nullptr) {
      out.emit(Severity::kAlarm, "grant_record_damaged", {}, it->first);
      continue;
    }
    Grant grant;
    grant.phase = phase_of_found(record->state);
    grant.record = *std::move(record);
    grant.record.state = state_of(grant.phase);
    grant.durable = grant.record.state;
    grants_.emplace(grant.record.token, std::move(grant));
  }
}

// ---- queries ----

Grant* Grants::find(Token token) {
  const auto it = grants_.find(token);
  return it == grants_.end() ? nullptr : &it->second;
}

const Grant* Grants::find(Token token) const {
  const auto it = grants_.find(token);
  return it == grants_.end() ? nullptr : &it->second;
}

bool Grants::are_settled() const {
  return std::all_of(grants_.begin(), grants_.end(), [](const auto& entry) {
    return entry.second.is_live() || entry.second.is_durable();
  });
}

std::set<std::string> Grants::held() const {
  std::set<std::string> uuids;
  for (const auto& [token, grant] : grants_) {
    for (const scheduler::GpuSlot& place : member_of(grant).gpus) {
      if (grant.is_live()) {
        uuids.insert(place.uuid.text());
      }
    }
  }
  return uuids;
}

Token Grants::last_ended_on(const std::string& uuid) const {
  Token last;
  for (const auto& [token, grant] : grants_) {
    const std::vector<scheduler::GpuSlot>& places = member_of(grant).gpus;
    const bool is_on_it = std::any_of(places.begin(), places.end(),
                                      [&](const auto& place) { return place.uuid == uuid; });
    last = is_on_it && grant.state() == GrantState::kEnded ? token : last;
  }
  return last;
}

std::vector<scheduler::GrantReport> Grants::reports(std::uint64_t epoch) const {
  std::vector<scheduler::GrantReport> reports;
  for (const auto& [token, grant] : grants_) {
    if (grant.durable.has_value()) {
      reports.push_back(grant.report_to(epoch));
    }
  }
  return reports;
}

scheduler::Renew Grants::renewal() const {
  scheduler::Renew renew{steps_.start(), {}, std::vector<Token>()};
  for (const auto& [token, grant] : grants_) {
    if (!has_hold(grant.phase)) {
      continue;
    }
    renew.tokens.push_back(token);
    if (grant.waits_for_start()) {
      renew.unstarted->push_back(token);
    }
  }
  return renew;
}

void Grants::check_invariants(const Fence& fence) const {
  for (const auto& [token, grant] : grants_) {
    CHECK(token == grant.record.token);
    CHECK(grant.record.state == state_of(grant.phase));
    CHECK(!has_hold(grant.phase) || grant.durable.has_value());
    const std::vector<scheduler::GpuSlot>& places = member_of(grant).gpus;
    for (const scheduler::GpuSlot& place : places) {
      CHECK(!fence.knows(place.uuid) || fence.highest(place) >= token);
    }
    for (const auto& [other_token, other] : grants_) {
      const bool both_run = grant.has_ranks() && other.has_ranks() && token != other_token;
      CHECK(!both_run || !overlaps(places, member_of(other).gpus));
    }
  }
}

// ---- messages of the leader ----

void Grants::add(scheduler::Assign assign, crdt::WriteBatch batch, GangOutbox& out) {
  const Token token = assign.token;
  const Duration hold = assign.hold;
  Grant grant;
  grant.record = {token,       GrantState::kReady,    assign.job, assign.attempt,
                  assign.spec, assign.members.list(), hold,       {}};
  const auto [it, is_new] = grants_.emplace(token, std::move(grant));
  CHECK(is_new);
  Grant& stored = it->second;
  steps_.store(stored, std::move(batch), out);
  if (mutant(SchedulerMutant::kTokenNotPersisted)) {
    stored.durable = GrantState::kReady;
  }
  const scheduler::JobSpec& spec = stored.record.spec;
  out.command(Prepare{token, stored.record.has_first_rank(steps_.self()), hold, spec.user,
                      member_of(stored), spec.command.directory, stored.record.job});
}

void Grants::on_repeated_assign(const Grant& grant, GangOutbox& out) {
  if (grant.state() == GrantState::kAborted) {
    steps_.refuse(grant.record.token, "aborted", out);
  } else if (grant.phase == GrantPhase::kHeld) {
    steps_.say_ready(grant, out);
  }
}

/// True if `older` has to end first: it is on a GPU of `member`, or both are without GPUs and of
/// the same job.
bool Grants::hinders(const Grant& older, JobId job, const scheduler::Member& member) const {
  const std::vector<scheduler::GpuSlot>& places = member_of(older).gpus;
  return overlaps(places, member.gpus) ||
         (places.empty() && member.gpus.empty() && older.record.job == job);
}

/// The log gave the place away: an older record that is ABORTED has no question left to answer.
void Grants::revoke_older(const scheduler::Assign& newer, const scheduler::Member& member,
                          Instant now, GangOutbox& out) {
  crdt::WriteBatch forgotten;
  for (auto it = grants_.begin(); it != grants_.end() && it->first < newer.token;) {
    Grant& older = it->second;
    const bool is_in_the_way = hinders(older, newer.job, member);
    if (is_in_the_way && older.state() == GrantState::kAborted) {
      forgotten.push_back({key_of_grant(it->first), std::nullopt});
      it = grants_.erase(it);
      continue;
    }
    if (is_in_the_way && older.has_ranks()) {
      steps_.terminate(now, older, older.record.spec.limits.grace, "revoked", out);
    } else if (is_in_the_way && older.is_live()) {
      steps_.abort(older, "revoked", out);
    }
    ++it;
  }
  if (!forgotten.empty()) {
    out.persist(std::move(forgotten));
  }
}

/// Obeys Start only under a live hold, for exactly this token. From a repeated Start it takes the
/// master.
void Grants::on_start(Instant now, Grant& grant, const scheduler::Start& start, GangOutbox& out) {
  const bool is_obeyed_late = mutant(SchedulerMutant::kLateStartObeyed) &&
                              grant.state() != GrantState::kEnded && !grant.has_ranks();
  if (is_obeyed_late && grant.hold_until != kNever) {
    grant.hold_until = now + grant.record.hold;
    grant.phase = grant.is_live() ? grant.phase : GrantPhase::kHeld;
  } else if (!grant.is_live()) {
    steps_.answer_with_finish(now, grant, out);
    return;
  }
  if (grant.has_ranks() || !has_hold(grant.phase)) {
    return;
  }
  if (now >= grant.hold_until) {
    steps_.abort(grant, "hold lapsed", out);
    steps_.answer_with_finish(now, grant, out);
    return;
  }
  const bool is_first = grant.phase == GrantPhase::kHeld;
  grant.move(GrantEvent::kStart);
  grant.master = start.master;
  if (is_first) {
    steps_.store(grant, {}, out);
  }
}

void Grants::on_stop(Instant now, Grant& grant, const scheduler::Stop& stop, GangOutbox& out) {
  if (grant.has_ranks()) {
    steps_.terminate(now, grant, stop.grace, stop.reason, out);
    return;
  }
  if (grant.is_live()) {
    steps_.abort(grant, stop.reason, out);
  }
  steps_.answer_with_finish(now, grant, out);
}

void Grants::kill(Instant now, Token token, GangOutbox& out) {
  Grant* grant = find(token);
  if (grant == nullptr) {
    return;
  }
  if (grant->has_ranks()) {
    steps_.terminate(now, *grant, grant->record.spec.limits.grace, "over in the log", out);
    return;
  }
  if (grant->is_live()) {
    steps_.abort(*grant, "over in the log", out);
  }
  forget(token, out);
}

void Grants::note_dirty(const std::set<std::string>& uuids) {
  for (auto& [token, grant] : grants_) {
    grant.withheld.clear();
    if (grant.state() != GrantState::kEnded || uuids.empty()) {
      continue;
    }
    for (const scheduler::GpuSlot& place : member_of(grant).gpus) {
      if (uuids.contains(place.uuid.text())) {
        grant.withheld.push_back(place.uuid.text());
      }
    }
    std::sort(grant.withheld.begin(), grant.withheld.end());
  }
}

void Grants::restart_reports(Instant now) {
  for (auto& [token, grant] : grants_) {
    steps_.restart_finish(now, grant);
  }
}

/// The ack of an early report, or a late copy of it, must not end the last report. An ack that the
/// leader sends unasked (nonce 0) is about committed ends only.
bool Grants::on_finish_ack(Nonce nonce, Token token, GangOutbox& out) {
  Grant* grant = find(token);
  if (grant == nullptr || (!grant->is_live() && !grant->is_durable())) {
    return false;
  }
  if (grant->is_live()) {
    if (steps_.was_early(nonce)) {
      grant->report.stop();
    }
    return true;
  }
  if (!grant->report.was_last(nonce) && nonce != Nonce()) {
    return false;
  }
  forget(token, out);
  return true;
}

void Grants::on_renewed(Instant counted, const Renewal& asked, const std::vector<Token>& renewed,
                        GangOutbox& out) {
  for (const Token token : renewed) {
    Grant* grant = find(token);
    if (grant == nullptr || !grant->is_live() ||
        std::find(asked.tokens.begin(), asked.tokens.end(), token) == asked.tokens.end()) {
      continue;
    }
    const Instant until = counted + grant->record.hold;
    if (until > grant->hold_until) {
      grant->hold_until = until;
      out.command(RenewHold{token, until});
    }
  }
}

// ---- reports of the disk and the supervisors ----

void Grants::on_persisted(std::uint64_t id) {
  const std::optional<GrantSteps::Write> write = steps_.take_persisted(id);
  Grant* grant = write.has_value() ? find(write->token) : nullptr;
  if (grant != nullptr) {
    grant->durable = write->state;
  }
}

bool Grants::on_adopted(Grant& grant, const SupervisorAdopted& found, GangOutbox& out) {
  CHECK(grant.is_live());
  grant.is_silent = false;
  if (grant.state() == GrantState::kStopping) {
    // The order was given while the supervisor was silent, and may never have reached it.
    out.command(Terminate{found.token, grant.record.spec.limits.grace, "late answer"});
    return false;
  }
  if (found.launched) {
    GrantSteps::run(grant, GrantEvent::kFoundActive);
  } else {
    grant.move(GrantEvent::kFoundIdle);
  }
  grant.hold_until = found.hold_until;
  grant.master = found.master;
  out.emit(Severity::kInfo, "supervisor_adopted", found.token);
  return true;
}

/// In READY no rank runs: the end of the scan aborts the grant. Otherwise ranks may run well: the
/// grant stays and is renewed, and only its GPUs are withheld.
bool Grants::on_silent(Instant now, Grant& grant, GangOutbox& out) {
  CHECK(grant.is_live());
  out.emit(Severity::kAlarm, "supervisor_silent", grant.record.token);
  if (grant.state() != GrantState::kStarting) {
    return false;
  }
  grant.move(GrantEvent::kFoundSilent);
  grant.is_silent = true;
  grant.hold_until = now + grant.record.hold;  // The supervisor's own timer may end it sooner.
  return true;
}

void Grants::on_gone(Grant& grant, std::optional<std::vector<RankResult>> results, bool scanned,
                     GangOutbox& out) {
  CHECK(grant.is_live());
  const Token token = grant.record.token;
  const bool never_launched = scanned ? !grant.has_ranks() : grant.state() == GrantState::kReady;
  if (never_launched && !results.has_value()) {
    if (grant.state() == GrantState::kReady && scanned && !has_hold(grant.phase)) {
      steps_.refuse(token, "supervisor ended", out);
    }
    grant.report.want_answer();
    steps_.abort(grant, "supervisor ended", out);
    return;
  }
  out.emit(Severity::kWarn, "supervisor_gone", token);
  if (results.has_value()) {
    steps_.end(grant, *std::move(results), out);
  } else {
    steps_.end_all(grant, RankResult::Kind::kLost, "supervisor ended", out);
  }
}

void Grants::on_scanned(GangOutbox& out) {
  for (auto& [token, grant] : grants_) {
    if (!grant.is_live() || has_supervisor(grant.phase)) {
      continue;
    }
    if (grant.state() == GrantState::kReady) {
      steps_.abort(grant, "agent restarted", out);
    } else {
      steps_.end_all(grant, RankResult::Kind::kLost, "no supervisor, no evidence", out);
    }
  }
}

void Grants::on_prepared(const SupervisorPrepared& prepared, GangOutbox& out) {
  Grant* grant = find(prepared.token);
  if (grant == nullptr || grant->state() != GrantState::kReady) {
    return;
  }
  if (!prepared.has_namespace && !grant->record.spec.limits.keep_when_isolated) {
    steps_.abort(*grant, kNoNamespace, out);
    steps_.refuse(prepared.token, kNoNamespace, out);
    return;
  }
  grant->move(GrantEvent::kPrepared);
  grant->master = prepared.master;
}

void Grants::on_launch_failed(const LaunchFailed& failed, GangOutbox& out) {
  Grant* grant = find(failed.token);
  if (grant == nullptr || !grant->is_live()) {
    return;
  }
  if (!failed.is_refusal) {
    out.emit(Severity::kWarn, "launch_failed", failed.token, failed.text);
  }
  if (grant->state() == GrantState::kReady) {
    steps_.abort(*grant, failed.text, out);
    steps_.refuse(failed.token, (failed.is_refusal ? "" : "launch failed: ") + failed.text, out);
    return;
  }
  // Code 0 is kHostFault: no command was tried.
  steps_.end_all(*grant, RankResult::Kind::kNotStarted, failed.text, out);
}

void Grants::on_ranks_started(Token token, GangOutbox& out) {
  Grant* grant = find(token);
  // Without a Launch of this start, the supervisor obeyed an order of the agent's earlier life
  // late: the ranks run all the same.
  if (grant != nullptr && grant->state() == GrantState::kStarting && grant->is_durable()) {
    GrantSteps::run(*grant, GrantEvent::kRanksStarted);
    out.emit(Severity::kInfo, "ranks_started", token);
  }
}

void Grants::on_rank_failed(Instant now, RankFailedEarly failed, GangOutbox& out) {
  Grant* grant = find(failed.token);
  if (grant == nullptr || !grant->has_ranks()) {
    return;
  }
  out.emit(Severity::kWarn, "rank_failed", failed.token, std::to_string(failed.result.rank));
  steps_.begin_early(now, *grant, std::move(failed.result));
}

void Grants::on_ranks_ended(AllRanksEnded ended, GangOutbox& out) {
  Grant* grant = find(ended.token);
  if (grant != nullptr && grant->has_ranks()) {
    steps_.end(*grant, std::move(ended.results), out);
  }
}

// ---- effects of time ----

void Grants::tick(Instant now, GangOutbox& out) {
  for (auto& [token, grant] : grants_) {
    tick_one(now, grant, out);
  }
}

void Grants::tick_one(Instant now, Grant& grant, GangOutbox& out) {
  if (now >= grant.stuck_at) {
    grant.stuck_at = kNever;
    grant.is_stuck = grant.has_ranks();
    if (grant.is_stuck) {
      out.emit(Severity::kAlarm, "ranks_stuck", grant.record.token);
    }
  }
  const bool has_word = grant.state() == GrantState::kEnded || grant.report.is_early();
  if (has_word && now >= grant.report.repeat_at()) {
    steps_.send_finish(now, grant, out);
  }
  if (!grant.is_live() || now < grant.hold_until) {
    return;
  }
  if (!grant.has_ranks()) {
    steps_.abort(grant, "hold lapsed", out);
  } else if (!grant.record.spec.limits.keep_when_isolated) {
    steps_.terminate(now, grant, grant.record.spec.limits.grace, "isolated", out);
  }
}

Instant Grants::next_deadline() const {
  Instant deadline = kNever;
  for (const auto& [token, grant] : grants_) {
    deadline = std::min(deadline, grant.next_deadline());
  }
  return deadline;
}

void Grants::advance(Instant now, const std::set<std::string>& dirty, Renewals& renewals,
                     GangOutbox& out) {
  for (auto& [token, grant] : grants_) {
    if (grant.is_durable()) {
      advance_one(now, grant, dirty, renewals, out);
    }
  }
}

void Grants::advance_one(Instant now, Grant& grant, const std::set<std::string>& dirty,
                         Renewals& renewals, GangOutbox& out) {
  switch (grant.phase) {
    case GrantPhase::kPrepared:
      advance_ready(now, grant, dirty, renewals, out);
      return;
    case GrantPhase::kStartHeard:
      steps_.launch(grant, out);
      return;
    case GrantPhase::kEnded:
      steps_.begin_finish(now, grant, out);
      return;
    case GrantPhase::kAborted:
      steps_.answer_if_wanted(grant, out);
      return;
    case GrantPhase::kAssigned:
    case GrantPhase::kHeld:
    case GrantPhase::kInterrupted:
    case GrantPhase::kUnstarted:
    case GrantPhase::kLaunched:
    case GrantPhase::kRunning:
    case GrantPhase::kStopping:
      return;
  }
}

// ---- the steps ----

/// A higher token revokes lower ones, but Ready waits until the ranks of those are gone, and until
/// what they left is.
Grants::Way Grants::way_for(const Grant& grant, const std::set<std::string>& dirty) const {
  Way way = Way::kFree;
  for (const scheduler::GpuSlot& place : member_of(grant).gpus) {
    way = dirty.contains(place.uuid.text()) ? Way::kBlocked : way;
  }
  for (const auto& [token, other] : grants_) {
    if (token >= grant.record.token) {
      break;
    }
    if (!other.has_ranks() || !hinders(other, grant.record.job, member_of(grant))) {
      continue;
    }
    if (other.is_stuck) {
      return Way::kStuck;
    }
    way = Way::kBlocked;
  }
  return way;
}

void Grants::advance_ready(Instant now, Grant& grant, const std::set<std::string>& dirty,
                           Renewals& renewals, GangOutbox& out) {
  const Token token = grant.record.token;
  const Way way = way_for(grant, dirty);
  if (way == Way::kStuck) {
    steps_.abort(grant, "stuck", out);
    steps_.refuse(token, "stuck", out);
    return;
  }
  if (way == Way::kBlocked) {
    return;
  }
  steps_.begin_hold(now, grant, out);
  renewals.begin(now, out);
}

void Grants::forget(Token token, GangOutbox& out) {
  grants_.erase(token);
  out.command(Forget{token});
  out.persist({{key_of_grant(token), std::nullopt}});
}

}  // namespace muster::agent
