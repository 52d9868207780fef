#include "scheduler/leader/agent_desk.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "scheduler/leader/hello_entry.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

bool never_ran(const Finish& finish) {
  return std::all_of(finish.results.begin(), finish.results.end(), [](const RankResult& result) {
    return result.kind == RankResult::Kind::kNeverRan;
  });
}

/// The host whose share of the attempt the words are about.
HostId speaker_of(const State& state, const HostId& from, const Finish& finish) {
  if (!mutant(Mutant::kAnyHostEndsJobs) || state.attempt(finish.token) == nullptr) {
    return from;
  }
  const std::vector<MemberRecord>& members = state.attempt(finish.token)->members;
  const auto meant = std::find_if(members.begin(), members.end(), [&](const auto& each) {
    return each.member.start == finish.start;
  });
  return meant == members.end() ? from : meant->member.host;
}

/// The results of the member's own ranks, each once.
std::vector<RankResult> own_results(const Member& member, const std::vector<RankResult>& results) {
  std::vector<RankResult> own;
  std::set<std::uint32_t> ranks;
  for (const RankResult& result : results) {
    const bool in_range =
        result.rank >= member.first_rank && result.rank - member.first_rank < member.rank_count();
    if (in_range && ranks.insert(result.rank).second) {
      own.push_back(result);
    }
  }
  return own;
}

/// The GPUs of the member that are among `uuids`, sorted.
std::vector<std::string> own_gpus(const Member& member, const std::vector<std::string>& uuids) {
  std::set<std::string> own;
  for (const GpuSlot& gpu : member.gpus) {
    if (std::find(uuids.begin(), uuids.end(), gpu.uuid.text()) != uuids.end()) {
      own.insert(gpu.uuid.text());
    }
  }
  return {own.begin(), own.end()};
}

/// An unkillable rank sits on these GPUs. The agent's hellos say when it is gone.
void quarantine(const StepContext& step, Proposals& proposals, const HostId& from,
                const MemberRecord& record) {
  const HostRecord* host = step.state.host(from);
  if (host == nullptr || proposals.is_registering(from)) {
    return;  // The list that this would add to is about to be replaced.
  }
  std::set<std::string> uuids(host->quarantined.begin(), host->quarantined.end());
  for (const GpuSlot& gpu : record.member.gpus) {
    uuids.insert(gpu.uuid.text());
  }
  entry::Observe fact{from, host->seen, host->verdict, host->health, host->unhealthy_gpus, {}};
  fact.quarantined.assign(uuids.begin(), uuids.end());
  fact.shortage = host->shortage;
  proposals.propose(step, fact);
}

/// True if a grant of that host is not known here yet.
bool adopt(const StepContext& step, Proposals& proposals, const HostId& host, const Hello& hello) {
  const std::vector<const GrantReport*> reports = adoptable_grants(step.state, host, hello);
  for (const GrantReport* report : reports) {
    entry::Adopt fact{host, hello.start, report->token, *report->detail};
    if (step.state.adoption(fact) == State::Adoption::kNow) {
      proposals.propose(step, fact);
    }
  }
  return !reports.empty();
}

/// Takes a Condemn back: the registered pair of a condemned, not expired grant was heard, and a
/// round confirms that this leader leads.
void forgive(const StepContext& step, Proposals& proposals, const HostId& host,
             const std::vector<Token>& tokens) {
  entry::Pardon pardon{host, {}};
  for (const Token& token : tokens) {
    const Attempt* attempt = step.state.attempt(token);
    const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(host);
    if (record != nullptr && record->end == MemberEnd::kNone && record->condemned != LogIndex()) {
      pardon.tokens.push_back(token);
    }
  }
  if (!pardon.tokens.empty()) {
    proposals.propose(step, pardon);
  }
}

}  // namespace

void AgentDesk::on_message(const StepContext& step, Proposals& proposals, Resends& resends,
                           input::AgentMessageReceived& fact) {
  const Caller caller{fact.from, fact.nonce};
  if (auto* hello = std::get_if<Hello>(&fact.message)) {
    hear_hello(step, proposals, caller, *hello);
  } else if (const auto* ready = std::get_if<Ready>(&fact.message)) {
    hear_ready(step, proposals, fact.from, *ready);
  } else if (const auto* refuse = std::get_if<Refuse>(&fact.message)) {
    hear_refuse(step, proposals, fact.from, *refuse);
  } else if (const auto* finish = std::get_if<Finish>(&fact.message)) {
    hear_finish(step, proposals, resends, caller, *finish);
  } else if (auto* renew = std::get_if<Renew>(&fact.message)) {
    std::vector<Waiter> renewals;
    renewals.push_back({caller, std::move(*renew)});
    hear_renewals(step, proposals, resends, std::move(renewals));
  } else if (auto* relayed = std::get_if<RelayedRenews>(&fact.message)) {
    std::vector<Waiter> renewals;
    for (RelayedRenew& each : relayed->renews) {
      renewals.push_back({{each.host, each.nonce, fact.from}, std::move(each.renew)});
    }
    hear_renewals(step, proposals, resends, std::move(renewals));
  } else {
    ++dropped_;  // Words of a leader: an agent never says them.
  }
}

void AgentDesk::on_majority_round(const StepContext& step, Proposals& proposals, Resends& resends,
                                  std::uint64_t context) {
  const std::optional<std::vector<Waiter>> waiters = rounds_.take_answered(context);
  if (!waiters.has_value()) {
    ++dropped_;
    return;
  }
  for (const Waiter& waiter : *waiters) {
    if (const auto* renew = std::get_if<Renew>(&waiter.message)) {
      answer_renewal(step, proposals, resends, waiter.caller, *renew);
    } else {
      answer_hello(step, proposals, resends, waiter.caller, std::get<Hello>(waiter.message));
    }
  }
  say_relayed_acks(step.output);
  rounds_.ask(step);
}

void AgentDesk::on_applied(const StepContext& step, const Entry& entry) {
  if (const auto* finished = std::get_if<entry::Finish>(&entry)) {
    acknowledge(step, *finished);
    return;
  }
  const auto* registered = std::get_if<entry::Register>(&entry);
  const auto waiter = registered == nullptr ? hellos_.end() : hellos_.find(registered->host);
  // A later start's hello waits for its own Register.
  if (waiter != hellos_.end() &&
      std::get<Hello>(waiter->second.message).start.generation <= registered->start.generation) {
    wait_for_round(std::move(waiter->second));
    rounds_.ask(step);
    hellos_.erase(waiter);
  }
}

std::optional<Instant> AgentDesk::renewed_at(const HostId& host) const {
  const auto known = renewed_at_.find(host);
  return known == renewed_at_.end() ? std::nullopt : std::optional(known->second);
}

void AgentDesk::check_invariants() const {
  rounds_.check_invariants();
  CHECK(relayed_acks_.empty());
  CHECK(hellos_.size() <= kRoundWaitersMax);
  CHECK(refused_hellos_.size() <= kRefusedHellosMax);
}

void AgentDesk::hear_hello(const StepContext& step, Proposals& proposals, const Caller& caller,
                           Hello& hello) {
  const HostRecord* record = step.state.host(caller.host);
  const bool stale = record != nullptr && record->start != hello.start &&
                     hello.start.generation <= record->start.generation &&
                     !mutant(SchedulerMutant::kOldGenerationRegistered);
  const entry::Register wanted = register_of(step.state, caller.host, hello);
  const bool known = record != nullptr && is_registered_as(*record, wanted);
  // A Register that the log would reject gets no entry: the agent asks again every second.
  if (stale || known || !step.state.why_not(wanted).empty()) {
    wait_for_round(Waiter{caller, std::move(hello)});
    rounds_.ask(step);
    return;
  }
  if (hellos_.size() >= kRoundWaitersMax) {
    ++dropped_;
    return;
  }
  proposals.propose(step, wanted);
  hellos_.insert_or_assign(caller.host, Waiter{caller, std::move(hello)});
}

void AgentDesk::hear_ready(const StepContext& step, Proposals& proposals, const HostId& from,
                           const Ready& ready) {
  const Attempt* attempt = step.state.attempt(ready.token);
  const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(from);
  if (record == nullptr || attempt->state != AttemptState::kReserved || record->ready ||
      record->member.start != ready.start) {
    ++dropped_;
    return;
  }
  proposals.propose(step, entry::Ready{ready.token, from, ready.start, ready.master});
}

void AgentDesk::hear_refuse(const StepContext& step, Proposals& proposals, const HostId& from,
                            const Refuse& refuse) {
  const Attempt* attempt = step.state.attempt(refuse.token);
  const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(from);
  if (record == nullptr || attempt->state != AttemptState::kReserved ||
      record->member.start != refuse.start) {
    ++dropped_;
    return;
  }
  step.output.emit(Severity::kInfo, "attempt_refused",
                   {{"job", text_of(attempt->job)},
                    {"token", refuse.token.text()},
                    {"host", from.short_hex()},
                    {"why", refuse.reason}});
  if (refuse.reason == kReasonStuck) {
    quarantine(step, proposals, from, *record);
  }
  proposals.propose(step, entry::Abort{refuse.token, Cause::kRefused, from,
                                       refuse.reason.substr(0, kWhyBytesMax)});
}

void AgentDesk::hear_finish(const StepContext& step, Proposals& proposals, Resends& resends,
                            const Caller& caller, const Finish& finish) {
  const HostId from = speaker_of(step.state, caller.host, finish);
  if (step.state.may_be_adopted(finish.token)) {
    hear_unknown_finish(step, caller, finish);
    return;
  }
  if (step.state.is_over(finish.token, from)) {
    step.output.say(from, caller.nonce, FinishAck{finish.token});
    return;
  }
  const Attempt* attempt = step.state.attempt(finish.token);
  const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(from);
  if (record == nullptr || attempt->state == AttemptState::kReserved ||
      record->member.start != finish.start) {
    ++dropped_;
    return;
  }
  resends.on_running({finish.token, from});
  if (!finish.last && !record->results.empty()) {
    // An early Finish only has to log one failure.
    step.output.say(from, caller.nonce, FinishAck{finish.token});
    return;
  }
  finish_nonces_.insert_or_assign({MemberKey{finish.token, from}, finish.last}, caller.nonce);
  proposals.propose(step, entry::Finish{finish.token, from, finish.start,
                                        own_results(record->member, finish.results), finish.last,
                                        own_gpus(record->member, finish.withheld)});
}

/// A Finish of an attempt that this log does not know: its end counts once it was adopted, and the
/// evidence is needed until then. One that its host's registration left out is never adopted.
void AgentDesk::hear_unknown_finish(const StepContext& step, const Caller& caller,
                                    const Finish& finish) {
  const HostRecord* record = step.state.host(caller.host);
  const bool is_judged =
      record != nullptr && !record->recovery.awaits_hello && record->start == finish.start &&
      std::find(record->recovery.unadopted.begin(), record->recovery.unadopted.end(),
                finish.token) == record->recovery.unadopted.end();
  if (never_ran(finish) || is_judged) {
    step.output.say(caller.host, caller.nonce, FinishAck{finish.token});
  } else {
    ++dropped_;
  }
}

/// Acknowledges a committed Finish. The nonce tells the agent which of its messages it was: the
/// acknowledgement of an early one must not make it forget the evidence of the last.
void AgentDesk::acknowledge(const StepContext& step, const entry::Finish& finish) {
  const MemberKey key{finish.token, finish.host};
  const auto asked = finish_nonces_.extract({key, finish.last});
  const Nonce nonce = asked.empty() ? Nonce() : asked.mapped();
  const bool is_over = step.state.is_over(finish.token, finish.host);
  if (is_over) {
    finish_nonces_.erase({key, false});
  }
  if (finish.last ? is_over : nonce != Nonce()) {
    step.output.say(finish.host, nonce, FinishAck{finish.token});
  }
}

void AgentDesk::hear_renewals(const StepContext& step, Proposals& proposals, Resends& resends,
                              std::vector<Waiter> renewals) {
  if (mutant(SchedulerMutant::kAckWithoutRound)) {
    for (const Waiter& renewal : renewals) {
      answer_renewal(step, proposals, resends, renewal.caller, std::get<Renew>(renewal.message));
    }
    say_relayed_acks(step.output);
    return;
  }
  for (Waiter& renewal : renewals) {
    wait_for_round(std::move(renewal));
  }
  rounds_.ask(step);
}

void AgentDesk::wait_for_round(Waiter waiter) {
  dropped_ += rounds_.wait(std::move(waiter)) ? 0 : 1;
}

/// One message a relay, not one a host: that is the purpose of relays.
void AgentDesk::say_relayed_acks(SchedulerOutput& output) {
  for (auto& [relay, acks] : relayed_acks_) {
    RelayedAcks message;
    for (RelayedAck& ack : acks) {
      message.acks.push_back(std::move(ack));
      if (message.acks.size() == kRelayedMax) {
        output.say(relay, Nonce(), std::exchange(message, {}));
      }
    }
    if (!message.acks.empty()) {
      output.say(relay, Nonce(), std::move(message));
    }
  }
  relayed_acks_.clear();
}

void AgentDesk::refuse_pair(const StepContext& step, const Caller& caller, const Hello& hello,
                            Generation raise_to) {
  HelloReply reply;
  reply.start_id = hello.start.start_id;
  reply.raise_to = raise_to;
  reply.why = step.state.why_not(register_of(step.state, caller.host, hello));
  reply.is_name_taken = raise_to == Generation() && !reply.why.empty() &&
                        step.state.bearer(hello.name, caller.host) != nullptr;
  if (refused_hellos_.size() >= kRefusedHellosMax && !refused_hellos_.contains(caller.host)) {
    refused_hellos_.erase(refused_hellos_.begin());
  }
  RefusedHello& told = refused_hellos_[caller.host];
  if (told.why != reply.why || step.now >= told.again_at) {  // It says hello once a second.
    told = {reply.why, step.now + kRefusalToldAgain};
    step.output.emit(Severity::kWarn, "hello_refused",
                     {{"host", caller.host.short_hex()},
                      {"why", reply.why},
                      {"generation", std::to_string(hello.start.generation.value())},
                      {"raise_to", std::to_string(raise_to.value())}});
  }
  step.output.say(caller.host, caller.nonce, reply);
}

void AgentDesk::answer_hello(const StepContext& step, Proposals& proposals, Resends& resends,
                             const Caller& caller, const Hello& hello) {
  const State& state = step.state;
  const HostRecord* record = state.host(caller.host);
  if (record == nullptr || record->start != hello.start) {
    const bool stale = record != nullptr && hello.start.generation <= record->start.generation;
    refuse_pair(step, caller, hello, stale ? record->start.generation.next() : Generation());
    return;
  }
  if (adopt(step, proposals, caller.host, hello)) {
    return;  // It says hello again, until all that it runs is known here.
  }
  const entry::Register wanted = register_of(state, caller.host, hello);
  if (!is_registered_as(*record, wanted)) {
    // The log moved on since its Register was made: an Adopt came between, or another hello. GPUs
    // withheld there would stay so until its next hello, and an answer makes this one the last.
    proposals.propose(step, wanted);
    return;
  }
  HelloReply reply;
  reply.start_id = hello.start.start_id;
  reply.registered = true;
  reply.floor = record->highest;
  std::vector<Token> live;
  for (const GrantReport& grant : hello.grants) {
    const bool is_lost = state.may_be_adopted(grant.token);  // And is not going to be.
    if ((grant.state == GrantState::kAborted && state.is_over(grant.token, caller.host)) ||
        (is_lost && !is_live_grant(grant.state))) {
      step.output.say(caller.host, Nonce(), FinishAck{grant.token});  // The record may go.
    }
    if (!is_live_grant(grant.state)) {
      continue;
    }
    live.push_back(grant.token);
    if (is_lost || state.is_over(grant.token, caller.host)) {
      reply.kill.push_back(grant.token);
    }
  }
  step.output.say(caller.host, caller.nonce, reply);
  forgive(step, proposals, caller.host, live);
  for (const GrantReport& grant : hello.grants) {
    if (grant.state == GrantState::kEnded) {
      hear_finish(step, proposals, resends, Caller{caller.host, Nonce()},
                  Finish{grant.token, hello.start, grant.results, true, hello.stuck});
    }
  }
}

void AgentDesk::answer_renewal(const StepContext& step, Proposals& proposals, Resends& resends,
                               const Caller& caller, const Renew& renew) {
  const State& state = step.state;
  RenewAck ack;
  std::vector<Token> condemned;
  bool is_heard = false;
  for (const Token& token : renew.tokens) {
    if (state.may_be_adopted(token)) {
      continue;
    }
    if (state.is_over(token, caller.host)) {
      // Told again and again until it obeys: the word that ended it may have been lost.
      step.output.say_again(caller.host, Stop{token, renew.start, Duration::zero(), "over"});
      continue;
    }
    const Attempt* attempt = state.attempt(token);
    const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(caller.host);
    if (record == nullptr || record->member.start != renew.start) {
      ++dropped_;
      continue;
    }
    is_heard = true;
    const MemberKey key{token, caller.host};
    resends.on_renewed(step, key, *attempt, renew);
    if (attempt->state == AttemptState::kStopping && record->end == MemberEnd::kNone) {
      // A host that was cut off renews first; its next resend may be many seconds away.
      MemberList members;
      step.output.say_again(caller.host, *wanted_message(state, *attempt, *record, members));
    }
    if (record->condemned != LogIndex()) {
      condemned.push_back(token);
    } else if (!proposals.is_condemning(key)) {
      ack.tokens.push_back(token);
    }
  }
  if (caller.relay.is_zero()) {
    step.output.say(caller.host, caller.nonce, ack);
  } else {
    relayed_acks_[caller.relay].push_back({caller.host, caller.nonce, std::move(ack)});
  }
  if (is_heard) {
    renewed_at_.insert_or_assign(caller.host, step.now);
  }
  forgive(step, proposals, caller.host, condemned);
}

}  // namespace muster::scheduler
