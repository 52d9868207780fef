// What agents say to the leader, and what it may answer only after a majority round.

#include "scheduler/leader/scheduler.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

bool is_live(GrantState state) {
  return state != GrantState::kEnded && state != GrantState::kAborted;
}

/// Reports of what may be adopted, and not of what is to end instead.
std::vector<const GrantReport*> adoptable(const State& state, const HostId& host,
                                          const Hello& hello) {
  std::vector<const GrantReport*> reports;
  for (const GrantReport& report : hello.grants) {
    if (report.detail.has_value() && state.may_be_adopted(report.token) &&
        state.adoption({host, hello.start, report.token, *report.detail}) !=
            State::Adoption::kNever) {
      reports.push_back(&report);
    }
  }
  return reports;
}

entry::Register register_of(const State& state, const HostId& host, const Hello& hello) {
  entry::Register fact;
  fact.host = host;
  fact.start = hello.start;
  fact.boot_id = hello.boot_id;
  fact.name = hello.name;
  fact.gpu_type = hello.gpu_type;
  fact.gpus = hello.gpus;
  fact.cpus = hello.cpus;
  fact.memory_mb = hello.memory_mb;
  fact.stuck = hello.stuck;
  fact.has_namespaces = hello.has_namespaces;
  for (const GrantReport& grant : hello.grants) {
    if (grant.state != GrantState::kAborted) {
      fact.live.push_back({grant.token, grant.state == GrantState::kEnded});
    }
  }
  const std::vector<const GrantReport*> reports = adoptable(state, host, hello);
  if (reports.empty()) {
    return fact;
  }
  // Nobody else gets what such an attempt holds.
  std::set<std::string> withheld(hello.stuck.begin(), hello.stuck.end());
  for (const GrantReport* report : reports) {
    fact.adoptable.push_back(report->token);
    for (const Member& member : report->detail->members) {
      for (const GpuSlot& gpu : member.gpus) {
        if (member.host == host) {
          withheld.insert(gpu.uuid);
        }
      }
    }
  }
  fact.stuck.assign(withheld.begin(), withheld.end());
  return fact;
}

bool is_registered_as(const HostRecord& record, const entry::Register& wanted) {
  return !record.awaits_hello && record.start == wanted.start && record.boot_id == wanted.boot_id &&
         record.name == wanted.name && record.gpu_type == wanted.gpu_type &&
         record.gpus == wanted.gpus && record.cpus == wanted.cpus &&
         record.memory_mb == wanted.memory_mb && record.quarantined == wanted.stuck &&
         record.unadopted == wanted.adoptable && record.has_namespaces == wanted.has_namespaces;
}

bool never_ran(const Finish& finish) {
  return std::all_of(finish.results.begin(), finish.results.end(), [](const RankResult& result) {
    return result.kind == RankResult::Kind::kNeverRan;
  });
}

/// Ranks that are the member's own, each once.
std::vector<RankResult> own_results(const Member& member, const std::vector<RankResult>& results) {
  std::vector<RankResult> own;
  std::set<std::uint32_t> ranks;
  for (const RankResult& result : results) {
    const bool in_range =
        result.rank >= member.first_rank && result.rank - member.first_rank < member.gpus.size();
    if (in_range && ranks.insert(result.rank).second) {
      own.push_back(result);
    }
  }
  return own;
}

/// Of the planted bug alone: an end for each grant that is named and not in the log here.
std::vector<Stop> ends_of_unknown(const State& state, const AgentMessage& message) {
  std::vector<Stop> ends;
  if (const auto* renew = std::get_if<Renew>(&message)) {
    for (const Token& token : renew->tokens) {
      if (state.attempt(token) == nullptr) {
        ends.push_back({token, renew->start, Duration::zero(), "over"});
      }
    }
  } else if (const auto* hello = std::get_if<Hello>(&message)) {
    for (const GrantReport& grant : hello->grants) {
      if (is_live(grant.state) && state.attempt(grant.token) == nullptr) {
        ends.push_back({grant.token, hello->start, Duration::zero(), "over"});
      }
    }
  }
  return ends;
}

}  // namespace

void Scheduler::on(Instant now, input::AgentMessageReceived& fact) {
  if (mutant(SchedulerMutant::kKillFromStaleLeader)) {
    for (Stop& stop : ends_of_unknown(state_, fact.message)) {
      output_.say(fact.from, Nonce(), std::move(stop));
    }
  }
  if (!is_ready()) {
    ++dropped_;  // Agents repeat; only a confirmed leader may answer.
    return;
  }
  if (auto* hello = std::get_if<Hello>(&fact.message)) {
    hear(now, fact.from, fact.nonce, *hello);
  } else if (const auto* ready = std::get_if<Ready>(&fact.message)) {
    hear(now, fact.from, *ready);
  } else if (const auto* refuse = std::get_if<Refuse>(&fact.message)) {
    hear(now, fact.from, *refuse);
  } else if (const auto* finish = std::get_if<Finish>(&fact.message)) {
    hear(now, fact.from, fact.nonce, *finish);
  } else if (auto* renew = std::get_if<Renew>(&fact.message)) {
    std::vector<Waiter> renewals;
    renewals.push_back({fact.from, fact.nonce, std::move(*renew)});
    hear(now, std::move(renewals));
  } else if (auto* relayed = std::get_if<RelayedRenews>(&fact.message)) {
    std::vector<Waiter> renewals;
    for (RelayedRenew& each : relayed->renews) {
      renewals.push_back({each.host, each.nonce, std::move(each.renew), fact.from});
    }
    hear(now, std::move(renewals));
  } else {
    ++dropped_;  // A leader's own words: nothing an agent says.
  }
}

void Scheduler::hear(Instant now, const HostId& from, Nonce nonce, Hello& hello) {
  const HostRecord* record = state_.host(from);
  const bool stale = record != nullptr && record->start != hello.start &&
                     hello.start.generation <= record->start.generation &&
                     !mutant(SchedulerMutant::kOldGenerationRegistered);
  const entry::Register wanted = register_of(state_, from, hello);
  const bool known = record != nullptr && is_registered_as(*record, wanted);
  // What the log would reject is refused without an entry: it will be asked for every second.
  if (stale || known || !state_.why_not(wanted).empty()) {
    wait_for_round(Waiter{from, nonce, std::move(hello)});
    ask_round(now);
    return;
  }
  if (hellos_.size() >= kRoundWaitersMax) {
    ++dropped_;
    return;
  }
  propose(now, wanted);
  hellos_.insert_or_assign(from, Waiter{from, nonce, std::move(hello)});
}

void Scheduler::hear(Instant now, const HostId& from, const Ready& ready) {
  const Attempt* attempt = state_.attempt(ready.token);
  const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(from);
  if (record == nullptr || attempt->state != AttemptState::kReserved || record->ready ||
      record->member.start != ready.start) {
    ++dropped_;
    return;
  }
  propose(now, entry::Ready{ready.token, from, ready.start, ready.master});
}

void Scheduler::hear(Instant now, const HostId& from, const Refuse& refuse) {
  const Attempt* attempt = state_.attempt(refuse.token);
  const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(from);
  if (record == nullptr || attempt->state != AttemptState::kReserved ||
      record->member.start != refuse.start) {
    ++dropped_;
    return;
  }
  output_.emit(Severity::kInfo, "attempt_refused",
       {{"job", std::to_string(attempt->job.value())},
        {"token", refuse.token.text()},
        {"host", from.short_hex()},
        {"why", refuse.reason}});
  if (refuse.reason == kReasonStuck) {
    quarantine(now, from, *record);
  }
  propose(now, entry::Abort{refuse.token, Cause::kRefused, from});
}

/// An unkillable rank sits on these GPUs (rule 11). The agent's hellos say when it is gone.
void Scheduler::quarantine(Instant now, const HostId& from, const MemberRecord& record) {
  const HostRecord* host = state_.host(from);
  if (host == nullptr || proposals_.is_registering(from)) {
    return;  // The list that this would add to is about to be replaced.
  }
  std::set<std::string> uuids(host->quarantined.begin(), host->quarantined.end());
  for (const GpuSlot& gpu : record.member.gpus) {
    uuids.insert(gpu.uuid);
  }
  entry::Observe fact{from, host->seen, host->verdict, host->health, host->unhealthy_gpus, {}};
  fact.quarantined.assign(uuids.begin(), uuids.end());
  propose(now, fact);
}

void Scheduler::hear(Instant now, const HostId& from, Nonce nonce, const Finish& finish) {
  if (state_.may_be_adopted(finish.token)) {
    hear_unknown(from, nonce, finish);
    return;
  }
  if (state_.is_over(finish.token, from)) {
    output_.say(from, nonce, FinishAck{finish.token});
    return;
  }
  const Attempt* attempt = state_.attempt(finish.token);
  const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(from);
  if (record == nullptr || attempt->state == AttemptState::kReserved ||
      record->member.start != finish.start) {
    ++dropped_;
    return;
  }
  resends_.on_running({finish.token, from});
  if (!finish.last && !record->results.empty()) {
    output_.say(from, nonce, FinishAck{finish.token});  // One logged failure is all an early word is for.
    return;
  }
  finish_nonces_.insert_or_assign({MemberKey{finish.token, from}, finish.last}, nonce);
  propose(now, entry::Finish{finish.token, from, finish.start,
                             own_results(record->member, finish.results), finish.last});
}

/// Of an attempt that this log does not know: its end counts once it was adopted, and the evidence
/// is needed until then. What its host's registration left out is not going to be.
void Scheduler::hear_unknown(const HostId& from, Nonce nonce, const Finish& finish) {
  const HostRecord* record = state_.host(from);
  const bool is_judged =
      record != nullptr && !record->awaits_hello && record->start == finish.start &&
      std::find(record->unadopted.begin(), record->unadopted.end(), finish.token) ==
          record->unadopted.end();
  if (never_ran(finish) || is_judged) {
    output_.say(from, nonce, FinishAck{finish.token});
  } else {
    ++dropped_;
  }
}

/// A committed Finish is acknowledged. The nonce tells the agent which of its words it was: the
/// acknowledgement of an early one must not make it forget the evidence of the last.
void Scheduler::acknowledge(const entry::Finish& finish) {
  const MemberKey key{finish.token, finish.host};
  const auto asked = finish_nonces_.extract({key, finish.last});
  const Nonce nonce = asked.empty() ? Nonce() : asked.mapped();
  const bool is_over = state_.is_over(finish.token, finish.host);
  if (is_over) {
    finish_nonces_.erase({key, false});
  }
  if (finish.last ? is_over : nonce != Nonce()) {
    output_.say(finish.host, nonce, FinishAck{finish.token});
  }
}

void Scheduler::hear(Instant now, std::vector<Waiter> renewals) {
  if (mutant(SchedulerMutant::kAckWithoutRound)) {
    for (const Waiter& renewal : renewals) {
      answer(now, renewal, std::get<Renew>(renewal.message));
    }
    say_relayed_acks();
    return;
  }
  for (Waiter& renewal : renewals) {
    wait_for_round(std::move(renewal));
  }
  ask_round(now);
}

void Scheduler::wait_for_round(Waiter waiter) {
  if (waiting_.size() >= kRoundWaitersMax) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(waiter));
}

/// One round at a time: what comes meanwhile waits for the next, because a round counts only for
/// what was received before it began.
void Scheduler::ask_round(Instant now) {
  if (round_asked_.has_value() || waiting_.empty()) {
    return;
  }
  in_round_.swap(waiting_);
  round_asked_ = now;
  ++round_context_;
  output_.round_requests.push_back(round_context_);
}

void Scheduler::on(Instant now, input::MajorityRound& fact) {
  if (!is_ready() || !round_asked_.has_value() || fact.context != round_context_) {
    ++dropped_;
    return;
  }
  std::vector<Waiter> waiters;
  waiters.swap(in_round_);
  round_asked_.reset();
  for (const Waiter& waiter : waiters) {
    std::visit([&](const auto& message) { answer(now, waiter, message); }, waiter.message);
  }
  say_relayed_acks();
  ask_round(now);
}

/// One message for all that a relay brought, not one a host: that is what relays are for.
void Scheduler::say_relayed_acks() {
  for (auto& [relay, acks] : relayed_acks_) {
    RelayedAcks message;
    for (RelayedAck& ack : acks) {
      message.acks.push_back(std::move(ack));
      if (message.acks.size() == kRelayedMax) {
        output_.say(relay, Nonce(), std::exchange(message, {}));
      }
    }
    if (!message.acks.empty()) {
      output_.say(relay, Nonce(), std::move(message));
    }
  }
  relayed_acks_.clear();
}

void Scheduler::refuse_pair(Instant now, const Waiter& waiter, const Hello& hello,
                            Generation raise_to) {
  HelloReply reply;
  reply.start_id = hello.start.start_id;
  reply.raise_to = raise_to;
  reply.why = state_.why_not(register_of(state_, waiter.host, hello));
  if (refused_hellos_.size() >= kRefusedHellosMax && !refused_hellos_.contains(waiter.host)) {
    refused_hellos_.erase(refused_hellos_.begin());
  }
  RefusedHello& told = refused_hellos_[waiter.host];
  if (told.why != reply.why || now >= told.again_at) {  // It says hello once a second.
    told = {reply.why, now + kRefusalToldAgain};
    output_.emit(Severity::kWarn, "hello_refused",
         {{"host", waiter.host.short_hex()},
          {"why", reply.why},
          {"generation", std::to_string(hello.start.generation.value())},
          {"raise_to", std::to_string(raise_to.value())}});
  }
  output_.say(waiter.host, waiter.nonce, reply);
}

void Scheduler::answer(Instant now, const Waiter& waiter, const Hello& hello) {
  const HostRecord* record = state_.host(waiter.host);
  if (record == nullptr || record->start != hello.start) {
    const bool stale = record != nullptr && hello.start.generation <= record->start.generation;
    refuse_pair(now, waiter, hello, stale ? record->start.generation.next() : Generation());
    return;
  }
  if (adopt(now, waiter.host, hello)) {
    return;  // It says hello again, until all that it runs is known here.
  }
  const entry::Register wanted = register_of(state_, waiter.host, hello);
  if (!is_registered_as(*record, wanted)) {
    // The log moved on since its Register was made: an Adopt came between, or another hello. What
    // is withheld there would stay so until its next hello, and an answer makes this one the last.
    propose(now, wanted);
    return;
  }
  HelloReply reply;
  reply.start_id = hello.start.start_id;
  reply.registered = true;
  reply.floor = record->highest;
  std::vector<Token> live;
  for (const GrantReport& grant : hello.grants) {
    const bool is_lost = state_.may_be_adopted(grant.token);  // And is not going to be.
    if ((grant.state == GrantState::kAborted && state_.is_over(grant.token, waiter.host)) ||
        (is_lost && !is_live(grant.state))) {
      output_.say(waiter.host, Nonce(), FinishAck{grant.token});  // The record may go.
    }
    if (!is_live(grant.state)) {
      continue;
    }
    live.push_back(grant.token);
    if (is_lost || state_.is_over(grant.token, waiter.host)) {
      reply.kill.push_back(grant.token);
    }
  }
  output_.say(waiter.host, waiter.nonce, reply);
  forgive(now, waiter.host, live);
  report_ended(now, waiter.host, hello);
}

/// Whether some grant of that host is not known here yet.
bool Scheduler::adopt(Instant now, const HostId& host, const Hello& hello) {
  const std::vector<const GrantReport*> reports = adoptable(state_, host, hello);
  for (const GrantReport* report : reports) {
    entry::Adopt fact{host, hello.start, report->token, *report->detail};
    if (state_.adoption(fact) == State::Adoption::kNow) {
      propose(now, fact);
    }
  }
  return !reports.empty();
}

void Scheduler::report_ended(Instant now, const HostId& host, const Hello& hello) {
  for (const GrantReport& grant : hello.grants) {
    if (grant.state == GrantState::kEnded) {
      hear(now, host, Nonce(), Finish{grant.token, hello.start, grant.results, true});
    }
  }
}

void Scheduler::answer(Instant now, const Waiter& waiter, const Renew& renew) {
  RenewAck ack;
  std::vector<Token> condemned;
  bool is_heard = false;
  for (const Token& token : renew.tokens) {
    if (state_.may_be_adopted(token)) {
      continue;
    }
    if (state_.is_over(token, waiter.host)) {
      // Told again and again until it obeys: the word that ended it may have been lost.
      output_.say(waiter.host, Nonce(), Stop{token, renew.start, Duration::zero(), "over"});
      continue;
    }
    const Attempt* attempt = state_.attempt(token);
    const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(waiter.host);
    if (record == nullptr || record->member.start != renew.start) {
      ++dropped_;
      continue;
    }
    is_heard = true;
    const MemberKey key{token, waiter.host};
    resends_.on_renewed(turn(now), key, *attempt, renew);
    if (attempt->state == AttemptState::kStopping && record->end == MemberEnd::kNone) {
      // A host that was cut off renews first; its next resend may be many seconds away.
      output_.say(waiter.host, Nonce(), *wanted_message(state_, *attempt, *record));
    }
    if (record->condemned != LogIndex()) {
      condemned.push_back(token);
    } else if (!proposals_.is_condemning(key)) {
      ack.tokens.push_back(token);
    }
  }
  if (waiter.relay.is_zero()) {
    output_.say(waiter.host, waiter.nonce, ack);
  } else {
    relayed_acks_[waiter.relay].push_back({waiter.host, waiter.nonce, std::move(ack)});
  }
  if (is_heard) {
    renewed_at_.insert_or_assign(waiter.host, now);
  }
  forgive(now, waiter.host, condemned);
}

/// Rule 9: the same pair of a condemned, not expired grant was heard, and a round confirms that
/// this leader may say so.
void Scheduler::forgive(Instant now, const HostId& host, const std::vector<Token>& tokens) {
  entry::Pardon pardon{host, {}};
  for (const Token& token : tokens) {
    const Attempt* attempt = state_.attempt(token);
    const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(host);
    if (record != nullptr && record->end == MemberEnd::kNone && record->condemned != LogIndex()) {
      pardon.tokens.push_back(token);
    }
  }
  if (!pardon.tokens.empty()) {
    propose(now, pardon);
  }
}

}  // namespace muster::scheduler
