#include "scheduler/state/registration.h"

#include <string>
#include <vector>

#include "scheduler/state/attempt_facts.h"
#include "scheduler/state/outcomes.h"

namespace muster::scheduler {
namespace {

void end_earlier_grants(Step& step, const entry::Register& fact, bool rebooted) {
  const std::vector<Token> tokens = step.books.gpus.on(fact.host).tokens;  // It shrinks meanwhile.
  for (const Token& token : tokens) {
    fact::Registered registered{fact.host, fact.start, false, false, rebooted};
    for (const entry::LiveGrant& grant : fact.live) {
      if (grant.token == token) {
        registered.listed = true;
        registered.ended = grant.ended;
      }
    }
    feed(step, token, registered);
  }
}

/// Raises an alarm if an operator said that ranks were gone and their host lists them. Its agent
/// ends them before it launches anything on their GPUs.
void tell_of_wrong_words(Step& step, const entry::Register& fact) {
  for (const entry::LiveGrant& grant : fact.live) {
    const Attempt* attempt = step.books.attempts.find(grant.token);
    const MemberRecord* record = attempt == nullptr ? nullptr : attempt->find(fact.host);
    if (record != nullptr && record->is_fenced && !grant.ended) {
      step.result.events.push_back({Severity::kAlarm,
                                    "word_was_wrong",
                                    {{"host", fact.host.short_hex()},
                                     {"job", text_of(attempt->job)},
                                     {"token", grant.token.text()},
                                     {"index", std::to_string(step.index.value())}}});
    }
  }
}

}  // namespace

void on_register(Step& step, const entry::Register& fact) {
  const std::string why = step.books.hosts.why_not(fact);
  if (!why.empty()) {
    step.reject(ErrorCode::kConflict, why);
    return;
  }
  tell_of_wrong_words(step, fact);
  step.books.gpus.offer(fact.host, fact.gpus);
  const HostBook::RegisterEffect changed = step.books.hosts.on_registered(fact, step.unix_ms);
  if (changed.is_quarantine_changed) {
    step.result.events.push_back({Severity::kInfo,
                                  "host_quarantine",
                                  {{"host", fact.host.short_hex()},
                                   {"gpus", std::to_string(fact.stuck.size())},
                                   {"index", std::to_string(step.index.value())}}});
  }
  if (changed.is_new_pair) {
    end_earlier_grants(step, fact, changed.is_rebooted);
    step.books.jobs.allow_again(fact.host);
  }
  step.result.hosts_changed.push_back(fact.host);
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kInfo,
                                "host_registered",
                                {{"host", fact.host.short_hex()},
                                 {"generation", std::to_string(fact.start.generation.value())},
                                 {"gpus", std::to_string(fact.gpus.size())},
                                 {"rebooted", changed.is_rebooted ? "1" : "0"},
                                 {"index", std::to_string(step.index.value())}}});
}

void on_observe(Step& step, const entry::Observe& fact) {
  const HostRecord* known = step.books.hosts.find(fact.host);
  const std::string before = known == nullptr ? "" : known->shortage;
  if (!step.books.hosts.on_observed(fact, step.unix_ms)) {
    step.reject(ErrorCode::kNotFound, "host is not registered");
    return;
  }
  if (before != fact.shortage) {
    step.result.events.push_back({fact.shortage.empty() ? Severity::kInfo : Severity::kWarn,
                                  fact.shortage.empty() ? "host_starts_grants" : "host_short",
                                  {{"host", fact.host.short_hex()},
                                   {"why", fact.shortage.empty() ? before : fact.shortage},
                                   {"index", std::to_string(step.index.value())}}});
  }
  step.result.hosts_changed.push_back(fact.host);
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kInfo,
                                "host_observed",
                                {{"host", fact.host.short_hex()},
                                 {"verdict", std::string(text_of(fact.verdict))},
                                 {"index", std::to_string(step.index.value())}}});
  settle_host(step, fact.host);
}

}  // namespace muster::scheduler
