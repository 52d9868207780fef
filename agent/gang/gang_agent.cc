// Construction, recovery, dispatch, queries, and what the supervisors report.

#include "agent/gang/gang_agent.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/base/state_machine.h"

namespace muster::agent {

static_assert(StateMachine<GangAgent>);

using scheduler::GrantState;
using scheduler::RankResult;

namespace {

constexpr const char* kNoNamespace = "no PID namespace: only --isolation keep";

}  // namespace

GangAgent::GangAgent(GangAgentOptions options, AgentIdentity identity, const crdt::Records& records,
                     Inventory inventory, Rng rng, Instant now)
    : options_(options),
      identity_(std::move(identity)),
      inventory_(std::move(inventory)),
      rng_(rng),
      fence_(records),
      latest_(now) {
  CHECK(identity_.start.generation != Generation());
  CHECK(!identity_.host.is_zero());
  recover(records);
}

void GangAgent::recover(const crdt::Records& records) {
  for (auto it = records.lower_bound(std::string(kGrantTable));
       it != records.end() && it->first.starts_with(kGrantTable); ++it) {
    std::optional<GrantRecord> record = decode_grant(it->second);
    if (!record.has_value() || record->member_of(identity_.host) == nullptr) {
      emit(Severity::kAlarm, "grant_record_damaged", {}, it->first);
      continue;
    }
    Grant grant;
    grant.durable = record->state;
    grant.record = *std::move(record);
    grants_.emplace(grant.record.token, std::move(grant));
  }
  if (fence_.damaged() > 0) {
    emit(Severity::kAlarm, "fence_record_damaged", {}, std::to_string(fence_.damaged()));
  }
}

void GangAgent::step(Instant now, Input input) {
  latest_ = std::max(latest_, now);
  if (halted_) {
    return;
  }
  std::visit([&](auto&& one) { on(latest_, std::forward<decltype(one)>(one)); }, std::move(input));
  tick(latest_);
}

void GangAgent::tick(Instant now) {
  latest_ = std::max(latest_, now);
  if (halted_) {
    return;
  }
  for (auto& [token, grant] : grants_) {
    on_time(latest_, grant);
  }
  give_up_orphans(latest_);
  advance_all(latest_);
  watch_stuck(latest_);
  if (latest_ >= renew_at_) {
    send_renewals(latest_);
  }
  if (latest_ >= hello_at_ && may_hello()) {
    send_hello(latest_);
  }
}

Instant GangAgent::next_deadline() const {
  if (halted_) {
    return kNever;
  }
  Instant deadline = std::min({renew_at_, recheck_at_, orphans_until_});
  if (may_hello()) {
    deadline = std::min(deadline, hello_at_);
  }
  for (const auto& [token, grant] : grants_) {
    deadline = std::min(deadline, deadline_of(grant));
  }
  return deadline;
}

GangAgent::Output GangAgent::take_output() {
  return std::exchange(output_, Output{});
}

void GangAgent::check_invariants() const {
  for (const auto& [token, grant] : grants_) {
    CHECK(token == grant.record.token);
    CHECK(!grant.launch_sent || grant.has_ranks() || grant.state() == GrantState::kEnded);
    CHECK(!grant.ready_sent || grant.durable.has_value());
    const std::vector<scheduler::GpuSlot>& places = member_of(grant).gpus;
    for (const scheduler::GpuSlot& place : places) {
      CHECK(!fence_.knows(place.uuid) || fence_.highest(place) >= token);
    }
    for (const auto& [other_token, other] : grants_) {
      const bool both_run = grant.has_ranks() && other.has_ranks() && token != other_token;
      CHECK(!both_run || !overlaps(places, member_of(other).gpus));
    }
  }
}

std::vector<std::string> GangAgent::offered_gpus() const {
  std::vector<std::string> offered;
  for (const std::string& uuid : inventory_.gpus) {
    if (fence_.knows(uuid)) {
      offered.push_back(uuid);
    }
  }
  return offered;
}

std::vector<GrantView> GangAgent::grants() const {
  std::vector<GrantView> views;
  for (const auto& [token, grant] : grants_) {
    views.push_back({token, grant.state(), grant.record.job, grant.record.attempt,
                     member_of(grant).gpus, grant.hold_until, grant.is_stuck || grant.is_silent});
  }
  return views;
}

const GrantRecord* GangAgent::find(Token token) const {
  const auto it = grants_.find(token);
  return it == grants_.end() ? nullptr : &it->second.record;
}

// ---- what the supervisors and the disk report ----

void GangAgent::on(Instant, Persisted input) {
  const auto write = writes_.find(input.id);
  if (write == writes_.end()) {
    return;
  }
  Grant* grant = grant_of(write->second.token);
  if (grant != nullptr) {
    grant->durable = write->second.state;
  }
  writes_.erase(write);
}

void GangAgent::on(Instant now, SupervisorAdopted input) {
  Grant* grant = grant_of(input.token);
  if (grant == nullptr || !grant->is_live()) {
    end_orphan(now, input.token);
    return;
  }
  grant->is_silent = false;
  if (grant->state() == GrantState::kStopping) {
    // The order was given while it was silent, and may never have reached it.
    output_.commands.push_back(Terminate{input.token, grant->record.spec.grace, "late answer"});
    return;
  }
  grant->prepared = true;
  grant->ready_sent = true;
  grant->hold_until = input.hold_until;
  grant->master = input.master;
  grant->launch_sent = input.launched;
  if (input.launched) {
    grant->record.state = GrantState::kRunning;
    grant->durable = GrantState::kRunning;
  }
  renew_at_ = std::min(renew_at_, now);
  emit(Severity::kInfo, "supervisor_adopted", input.token);
}

/// Under READY nothing runs, whatever the supervisor does: the end of the scan aborts it. Otherwise
/// ranks may run, and well: the grant stays and is renewed, and only its GPUs are withheld.
void GangAgent::on(Instant now, SupervisorSilent input) {
  Grant* grant = grant_of(input.token);
  if (grant == nullptr || !grant->is_live()) {
    end_orphan(now, input.token);
    return;
  }
  emit(Severity::kAlarm, "supervisor_silent", input.token);
  if (grant->state() != GrantState::kStarting) {
    return;
  }
  grant->is_silent = true;
  grant->prepared = true;
  grant->ready_sent = true;
  grant->launch_sent = true;
  grant->hold_until = now + grant->record.hold;  // Its own timer may end it sooner.
  renew_at_ = std::min(renew_at_, now);
}

void GangAgent::end_orphan(Instant now, Token token) {
  output_.commands.push_back(Terminate{token, Duration(0), "orphan"});
  if (stuck_orphans_.contains(token)) {
    return;
  }
  orphans_.insert(token);
  orphans_until_ = std::min(orphans_until_, now + options_.kill_slack);
  recheck_at_ = std::min(recheck_at_, now + options_.stuck_recheck);
  emit(Severity::kWarn, "orphan_supervisor", token);
}

void GangAgent::on(Instant now, SupervisorGone input) {
  orphans_.erase(input.token);
  stuck_orphans_.erase(input.token);
  Grant* grant = grant_of(input.token);
  if (grant == nullptr || !grant->is_live()) {
    output_.commands.push_back(Forget{input.token});
    return;
  }
  const bool never_launched = scanned_ ? !grant->has_ranks() : grant->state() == GrantState::kReady;
  if (never_launched && !input.results.has_value()) {
    if (grant->state() == GrantState::kReady && scanned_ && !grant->ready_sent) {
      refuse(input.token, "supervisor ended");
    }
    grant->finish_wanted = true;
    abort(*grant, "supervisor ended");
    return;
  }
  emit(Severity::kWarn, "supervisor_gone", input.token);
  end(now, *grant,
      input.results.has_value()
          ? *std::move(input.results)
          : results_of_all(member_of(*grant), RankResult::Kind::kLost, "supervisor ended"));
}

void GangAgent::on(Instant now, SupervisorsScanned) {
  scanned_ = true;
  for (auto& [token, grant] : grants_) {
    if (!grant.is_live() || grant.prepared) {
      continue;
    }
    if (grant.state() == GrantState::kReady) {
      abort(grant, "agent restarted");
    } else {
      end(now, grant,
          results_of_all(member_of(grant), RankResult::Kind::kLost, "no supervisor, no evidence"));
    }
  }
}

void GangAgent::on(Instant now, SupervisorPrepared input) {
  // What failed once may have been a shortage: only this grant is refused for it. The host would
  // never be asked again to show that it can.
  if (input.has_namespace && !inventory_.has_namespaces) {
    inventory_.has_namespaces = true;
    want_hello(now);
  }
  Grant* grant = grant_of(input.token);
  if (grant == nullptr || grant->state() != GrantState::kReady) {
    return;
  }
  if (!input.has_namespace && !grant->record.spec.keep_when_isolated) {
    abort(*grant, kNoNamespace);
    refuse(input.token, kNoNamespace);
    return;
  }
  grant->prepared = true;
  grant->master = input.master;
}

void GangAgent::on(Instant now, LaunchFailed input) {
  Grant* grant = grant_of(input.token);
  if (grant == nullptr || !grant->is_live()) {
    return;
  }
  emit(Severity::kWarn, "launch_failed", input.token, input.text);
  if (grant->state() == GrantState::kReady) {
    abort(*grant, input.text);
    refuse(input.token, "launch failed: " + input.text);
    return;
  }
  // With code 0, which is kHostFault: no command was tried.
  end(now, *grant, results_of_all(member_of(*grant), RankResult::Kind::kNotStarted, input.text));
}

void GangAgent::on(Instant, RanksStarted input) {
  Grant* grant = grant_of(input.token);
  // Without a Launch of this start it is an order of the agent's earlier life, obeyed late: the
  // ranks run all the same.
  if (grant != nullptr && grant->state() == GrantState::kStarting && grant->is_durable()) {
    grant->launch_sent = true;
    grant->record.state = GrantState::kRunning;
    grant->durable = GrantState::kRunning;
    emit(Severity::kInfo, "ranks_started", input.token);
  }
}

void GangAgent::on(Instant now, RankFailedEarly input) {
  Grant* grant = grant_of(input.token);
  if (grant == nullptr || !grant->has_ranks()) {
    return;
  }
  emit(Severity::kWarn, "rank_failed", input.token, std::to_string(input.result.rank));
  grant->early.assign(1, std::move(input.result));
  grant->finish_delay = options_.finish_retry;
  grant->finish_at = now;
}

void GangAgent::on(Instant now, AllRanksEnded input) {
  if (orphans_.erase(input.token) + stuck_orphans_.erase(input.token) > 0) {
    output_.commands.push_back(Forget{input.token});
    return;
  }
  Grant* grant = grant_of(input.token);
  if (grant != nullptr && grant->has_ranks()) {
    end(now, *grant, std::move(input.results));
  }
}

void GangAgent::on(Instant now, InventoryChanged input) {
  if (inventory_ == input.inventory) {
    return;
  }
  inventory_ = std::move(input.inventory);
  want_hello(now);
}

// ---- small helpers ----

GangAgent::Grant* GangAgent::grant_of(Token token) {
  const auto it = grants_.find(token);
  return it == grants_.end() ? nullptr : &it->second;
}

const scheduler::Member& GangAgent::member_of(const Grant& grant) const {
  const scheduler::Member* member = grant.record.member_of(identity_.host);
  CHECK(member != nullptr);
  return *member;
}

void GangAgent::persist(crdt::WriteBatch batch, Write write) {
  const std::uint64_t id = ++last_write_;
  writes_.emplace(id, write);
  output_.persists.push_back({id, std::move(batch)});
}

void GangAgent::store(Grant& grant, crdt::WriteBatch batch) {
  batch.push_back({key_of_grant(grant.record.token), encode(grant.record)});
  persist(std::move(batch), {grant.record.token, grant.record.state});
}

void GangAgent::drop(std::string_view what, Token token) {
  ++dropped_count_;
  emit(Severity::kDebug, "agent_message_dropped", token, std::string(what));
}

void GangAgent::emit(Severity severity, std::string_view name, Token token,
                     const std::string& detail) {
  Event event{severity, name, {}};
  if (!token.is_none()) {
    event.fields.emplace_back("token", token.text());
  }
  if (!detail.empty()) {
    event.fields.emplace_back("detail", detail);
  }
  output_.events.push_back(std::move(event));
}

}  // namespace muster::agent
