// What happens to a grant: the steps of its life, each behind the write that must precede it.

#include "agent/gang/gang_agent.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::agent {

using scheduler::GpuSlot;
using scheduler::GrantState;
using scheduler::RankResult;

bool GangAgent::Grant::is_live() const {
  return record.state != GrantState::kEnded && record.state != GrantState::kAborted;
}

bool GangAgent::Grant::has_ranks() const {
  return launch_sent && is_live();
}

bool GangAgent::Grant::waits_for_start() const {
  return record.state == GrantState::kReady ||
         (record.state == GrantState::kStarting && !launch_sent && !start_seen);
}

/// Higher revokes, but Ready waits until what it revoked is gone.
GangAgent::Way GangAgent::way_for(const Grant& grant) const {
  Way way = Way::kFree;
  for (const auto& [token, other] : grants_) {
    if (token >= grant.record.token) {
      break;
    }
    if (!other.has_ranks() || !overlaps(member_of(other).gpus, member_of(grant).gpus)) {
      continue;
    }
    if (other.is_stuck) {
      return Way::kStuck;
    }
    way = Way::kBlocked;
  }
  return way;
}

void GangAgent::advance_all(Instant now) {
  for (auto& [token, grant] : grants_) {
    advance(now, grant);
  }
}

void GangAgent::advance(Instant now, Grant& grant) {
  if (!grant.is_durable()) {
    return;
  }
  switch (grant.state()) {
    case GrantState::kReady:
      if (!grant.ready_sent && grant.prepared) {
        send_ready(now, grant);
      }
      return;
    case GrantState::kStarting:
      if (!grant.launch_sent && grant.start_seen) {
        launch(grant);
      }
      return;
    case GrantState::kEnded:
      if (grant.finish_at == kNever) {
        grant.finish_delay = options_.finish_retry;
        send_finish(now, grant);
      }
      return;
    case GrantState::kAborted:
      if (grant.finish_wanted) {
        grant.finish_wanted = false;
        note_finish(grant.finish_nonces, send(scheduler::Finish{grant.record.token, identity_.start,
                                                                grant.record.results, true}));
      }
      return;
    case GrantState::kRunning:
    case GrantState::kStopping:
      return;
  }
}

/// Design 8, rule 1: the hold begins at the first send of Ready.
void GangAgent::send_ready(Instant now, Grant& grant) {
  const Token token = grant.record.token;
  const Way way = way_for(grant);
  if (way == Way::kStuck) {
    abort(grant, "stuck");
    refuse(token, "stuck");
    return;
  }
  if (way == Way::kBlocked) {
    return;
  }
  grant.ready_sent = true;
  grant.hold_until = now + grant.record.hold;
  output_.commands.push_back(RenewHold{token, grant.hold_until});
  send(scheduler::Ready{token, identity_.start, grant.master});
  if (renew_at_ == kNever) {
    renew_at_ = now + rng_.between(options_.renew_interval / 2, options_.renew_interval);
  }
}

void GangAgent::launch(Grant& grant) {
  CHECK(grant.durable == GrantState::kStarting);
  grant.launch_sent = true;
  output_.commands.push_back(
      Launch{grant.record, member_of(grant), grant.master, grant.hold_until});
}

void GangAgent::abort(Grant& grant, const std::string& reason) {
  CHECK(!grant.launch_sent);
  grant.finish_wanted = grant.finish_wanted || grant.start_seen;
  grant.record.state = GrantState::kAborted;
  grant.record.results = results_of_all(member_of(grant), RankResult::Kind::kNeverRan, reason);
  output_.commands.push_back(Forget{grant.record.token});
  emit(Severity::kInfo, "grant_aborted", grant.record.token, reason);
  store(grant);
}

void GangAgent::terminate(Instant now, Grant& grant, Duration grace, const std::string& reason) {
  CHECK(grant.launch_sent);
  if (grant.state() == GrantState::kStopping) {
    return;
  }
  grant.record.state = GrantState::kStopping;
  grant.durable = GrantState::kStopping;
  grant.stuck_at = now + grace + options_.kill_slack;
  output_.commands.push_back(Terminate{grant.record.token, grace, reason});
  emit(Severity::kInfo, "grant_terminated", grant.record.token, reason);
}

void GangAgent::end(Instant, Grant& grant, std::vector<RankResult> results) {
  CHECK(grant.is_live());
  grant.record.state = GrantState::kEnded;
  grant.record.results = std::move(results);
  grant.is_stuck = false;
  grant.is_silent = false;
  grant.early.clear();
  grant.finish_at = kNever;
  emit(Severity::kInfo, "grant_ended", grant.record.token);
  store(grant);
}

/// Stops whatever was granted the same place under a lower token. The log gave the place away, so
/// an older record that is ABORTED already has nothing left to answer (design 8, rule 7).
void GangAgent::revoke_older(Instant now, Token newer, const scheduler::Member& member) {
  crdt::WriteBatch forgotten;
  for (auto it = grants_.begin(); it != grants_.end() && it->first < newer;) {
    Grant& older = it->second;
    const bool is_in_the_way = overlaps(member_of(older).gpus, member.gpus);
    if (is_in_the_way && older.state() == GrantState::kAborted) {
      forgotten.push_back({key_of_grant(it->first), std::nullopt});
      it = grants_.erase(it);
      continue;
    }
    if (is_in_the_way && older.has_ranks()) {
      terminate(now, older, older.record.spec.grace, "revoked");
    } else if (is_in_the_way && older.is_live()) {
      abort(older, "revoked");
    }
    ++it;
  }
  if (!forgotten.empty()) {
    persist(std::move(forgotten), {});
  }
}

void GangAgent::forget(Token token) {
  grants_.erase(token);
  output_.commands.push_back(Forget{token});
  persist({{key_of_grant(token), std::nullopt}}, {});
}

void GangAgent::answer_with_finish(Instant now, Grant& grant) {
  if (grant.state() == GrantState::kAborted) {
    grant.finish_wanted = true;
  } else if (grant.is_durable()) {
    send_finish(now, grant);
  }
}

void GangAgent::note_finish(std::vector<Nonce>& nonces, Nonce nonce) {
  static constexpr std::size_t kNoncesMax = 64;  // Some minutes of repeats.
  nonces.push_back(nonce);
  if (nonces.size() > kNoncesMax) {
    nonces.erase(nonces.begin());
  }
}

void GangAgent::send_finish(Instant now, Grant& grant) {
  const bool is_last = grant.state() == GrantState::kEnded;
  const Nonce nonce = send(scheduler::Finish{
      grant.record.token, identity_.start, is_last ? grant.record.results : grant.early, is_last});
  note_finish(is_last ? grant.finish_nonces : early_nonces_, nonce);
  grant.finish_at = now + grant.finish_delay;
  grant.finish_delay = std::min(grant.finish_delay * 2, options_.finish_retry_max);
}

std::vector<std::string> GangAgent::stuck_gpus() const {
  std::set<std::string> uuids;
  for (const auto& [token, grant] : grants_) {
    if ((!grant.is_stuck && !grant.is_silent) || !grant.has_ranks()) {
      continue;
    }
    for (const GpuSlot& place : member_of(grant).gpus) {
      uuids.insert(place.uuid);
    }
  }
  for (const auto& [token, held] : stuck_orphans_) {
    uuids.insert(held.begin(), held.end());
  }
  return {uuids.begin(), uuids.end()};
}

/// Design 8, rule 11, both ways: the leader hears of a GPU that may not be used, and that it may be
/// used again as soon as nothing of the old attempt lives.
void GangAgent::watch_stuck(Instant now) {
  std::vector<std::string> stuck = stuck_gpus();
  if (stuck == withheld_) {
    if (now >= recheck_at_) {
      recheck_stuck(now);
    }
    return;
  }
  for (const std::string& uuid : withheld_) {
    if (!std::binary_search(stuck.begin(), stuck.end(), uuid)) {
      emit(Severity::kInfo, "gpu_offered_again", {}, uuid);
    }
  }
  for (const std::string& uuid : stuck) {
    if (!std::binary_search(withheld_.begin(), withheld_.end(), uuid)) {
      emit(Severity::kWarn, "gpu_withheld", {}, uuid);
    }
  }
  withheld_ = std::move(stuck);
  recheck_at_ = now + options_.stuck_recheck;
  want_hello(now);
}

/// A supervisor that was not reached, or an observation that crossed our hello in the leader's log,
/// must not keep GPUs out of use until the next boot.
void GangAgent::recheck_stuck(Instant now) {
  for (const auto& [token, grant] : grants_) {
    if (grant.is_stuck && grant.has_ranks()) {
      output_.commands.push_back(Terminate{token, Duration(0), "stuck"});
    }
  }
  for (const Token token : orphans_) {
    output_.commands.push_back(Terminate{token, Duration(0), "orphan"});
  }
  for (const auto& [token, held] : stuck_orphans_) {
    output_.commands.push_back(Terminate{token, Duration(0), "orphan"});
  }
  const bool is_clean = withheld_.empty() && orphans_.empty();
  recheck_at_ = is_clean ? kNever : now + options_.stuck_recheck;
  want_hello(now);
}

/// What does not die keeps its GPUs, not the host. Without a record nobody knows which those are.
void GangAgent::give_up_orphans(Instant now) {
  if (now < orphans_until_) {
    return;
  }
  orphans_until_ = kNever;
  for (const Token token : std::exchange(orphans_, {})) {
    std::vector<std::string> held = inventory_.gpus;
    if (const Grant* grant = grant_of(token); grant != nullptr) {
      held.clear();
      for (const GpuSlot& place : member_of(*grant).gpus) {
        held.push_back(place.uuid);
      }
    }
    stuck_orphans_[token] = std::move(held);
    emit(Severity::kAlarm, "orphan_stuck", token);
  }
}

void GangAgent::on_time(Instant now, Grant& grant) {
  if (now >= grant.stuck_at) {
    grant.stuck_at = kNever;
    grant.is_stuck = grant.has_ranks();
    if (grant.is_stuck) {
      emit(Severity::kAlarm, "ranks_stuck", grant.record.token);
    }
  }
  if (now >= grant.finish_at && (grant.state() == GrantState::kEnded || !grant.early.empty())) {
    send_finish(now, grant);
  }
  if (!grant.is_live() || now < grant.hold_until) {
    return;
  }
  if (!grant.has_ranks()) {
    abort(grant, "hold lapsed");
  } else if (!grant.record.spec.keep_when_isolated) {
    terminate(now, grant, grant.record.spec.grace, "isolated");
  }
}

Instant GangAgent::deadline_of(const Grant& grant) const {
  Instant deadline = grant.stuck_at;
  if (grant.state() == GrantState::kEnded || !grant.early.empty()) {
    deadline = std::min(deadline, grant.finish_at);
  }
  const bool can_lapse = !grant.has_ranks() || (!grant.record.spec.keep_when_isolated &&
                                                grant.state() != GrantState::kStopping);
  if (grant.is_live() && can_lapse) {
    deadline = std::min(deadline, grant.hold_until);
  }
  return deadline;
}

}  // namespace muster::agent
