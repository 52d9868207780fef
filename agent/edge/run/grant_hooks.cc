#include "agent/edge/run/grant_hooks.h"

#include <algorithm>
#include <utility>

#include "agent/edge/supervisor/token_name.h"

namespace muster::agent {
namespace {

/// Names and uuids need no escapes. Other letters do not reach the programs.
std::string plain(const std::string& text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [](char letter) {
    return isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("-_.@+").find(letter) != std::string_view::npos;
  });
  return kept;
}

std::string json_of(HookKind kind, Token token, const GrantNote& note) {
  std::string json = R"({"hook":")" + std::string(word_of(kind)) + R"(","token":")" + token.text() +
                     R"(","job":")" + text_of(note.job) + R"(","user":")" + plain(note.user) +
                     R"(","gpus":[)";
  for (std::size_t i = 0; i < note.gpus.size(); ++i) {
    json += (i == 0 ? "\"" : ",\"") + plain(note.gpus[i]) + "\"";
  }
  return json + "]}";
}

GrantNote note_of(const Prepare& command) {
  GrantNote note{command.job, command.user, {}};
  for (const scheduler::GpuSlot& place : command.member.gpus) {
    note.gpus.push_back(place.uuid.text());
  }
  return note;
}

bool share_any(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

GrantHooks::GrantHooks(std::string hooks, std::string notes)
    : hooks_(std::move(hooks)), notes_(std::move(notes)) {
  for (auto& [token, note] : notes_.read_all()) {
    runs_[token].note = note;
  }
}

// ---- what is heard ----

bool GrantHooks::keeps(Instant now, const SupervisorCommand& command) {
  if (const auto* forget = std::get_if<Forget>(&command)) {
    end(now, forget->token);
    return false;
  }
  const auto* wanted = std::get_if<Prepare>(&command);
  if (wanted == nullptr) {
    return false;
  }
  const auto known = runs_.find(wanted->token);
  if (known != runs_.end()) {
    return known->second.prepare.has_value();
  }
  if (!hooks_.has(HookKind::kProlog) && !hooks_.has(HookKind::kEpilog)) {
    return false;
  }
  prepare(now, *wanted);
  return true;
}

void GrantHooks::prepare(Instant now, const Prepare& command) {
  Run& run = runs_[command.token];
  run.phase = Phase::kWaits;
  run.note = note_of(command);
  run.prepare = command;
  if (const Status written = notes_.write(command.token, run.note); !written) {
    run.prepare.reset();
    run.phase = Phase::kHeld;
    reports_.emplace_back(LaunchFailed{command.token, written.error().text});
    return;
  }
  advance(now);
}

void GrantHooks::hear(Instant now, const GangAgentInput& report) {
  if (const auto* adopted = std::get_if<SupervisorAdopted>(&report)) {
    const auto run = runs_.find(adopted->token);
    if (run != runs_.end() && run->second.phase == Phase::kFound) {
      run->second.phase = Phase::kHeld;
    }
  } else if (const auto* silent = std::get_if<SupervisorSilent>(&report)) {
    const auto run = runs_.find(silent->token);
    if (run != runs_.end() && run->second.phase == Phase::kFound) {
      run->second.phase = Phase::kHeld;
    }
  } else if (const auto* gone = std::get_if<SupervisorGone>(&report)) {
    end(now, gone->token);
  } else if (const auto* failed = std::get_if<LaunchFailed>(&report)) {
    end(now, failed->token);
  } else if (const auto* ended = std::get_if<AllRanksEnded>(&report)) {
    end(now, ended->token);
  } else if (std::holds_alternative<SupervisorsScanned>(report)) {
    std::vector<Token> left;
    for (const auto& [token, run] : runs_) {
      if (run.phase == Phase::kFound) {
        left.push_back(token);
      }
    }
    for (const Token token : left) {
      end(now, token);
    }
  }
}

bool GrantHooks::keeps(Instant now, const gpus::Command& command) {
  const auto* look = std::get_if<gpus::CleanLook>(&command);
  if (look == nullptr) {
    return false;
  }
  for (auto& [token, run] : runs_) {
    const bool is_due = run.phase == Phase::kEpilogWaits || run.phase == Phase::kEpilog;
    if (!is_due || !share_any(run.note.gpus, {look->uuid})) {
      continue;
    }
    if (run.kept_looks.insert(look->uuid).second) {
      run.tell_at = now;  // That says why, and the look is asked for again.
    }
    return true;
  }
  return false;
}

/// No rank of the grant is left, or none ever was.
void GrantHooks::end(Instant now, Token token) {
  const auto found = runs_.find(token);
  if (found == runs_.end() || found->second.phase >= Phase::kEpilogWaits) {
    return;
  }
  Run& run = found->second;
  if (run.phase == Phase::kProlog) {
    hooks_.stop(HookKind::kProlog, token.text());
  }
  run.prepare.reset();
  run.phase = Phase::kEpilogWaits;
  advance(now);
}

void GrantHooks::on_readable(Instant now, int fd) {
  if (hooks_.owns(fd)) {
    hooks_.on_readable(now, fd);
    advance(now);
  }
}

void GrantHooks::on_time(Instant now) {
  hooks_.on_time(now);
  advance(now);
  for (auto& [token, run] : runs_) {
    if (now >= run.tell_at) {
      tell(token, run, false);
      run.tell_at = now + kTellAgain;
    }
  }
}

Instant GrantHooks::next_deadline() const {
  if (!commands_.empty() || !reports_.empty() || !facts_.empty()) {
    return kLongAgo;
  }
  Instant next = hooks_.next_deadline();
  for (const auto& [token, run] : runs_) {
    next = std::min(next, run.tell_at);
  }
  return next;
}

// ---- the steps ----

/// Hears results and begins what may begin. A program that cannot start has its result at once.
void GrantHooks::advance(Instant now) {
  do {
    begin(now);
  } while (hear_results());
}

void GrantHooks::begin(Instant now) {
  auto running =
      static_cast<std::size_t>(std::count_if(runs_.begin(), runs_.end(), [](const auto& entry) {
        return entry.second.phase == Phase::kProlog || entry.second.phase == Phase::kEpilog;
      }));
  for (auto& [token, run] : runs_) {
    if (running >= kAtOnceMax) {
      break;
    }
    if (run.phase == Phase::kEpilogWaits) {
      run.phase = Phase::kEpilog;
      start(now, HookKind::kEpilog, token, run);
      ++running;
    } else if (run.phase == Phase::kWaits && !waits_for_epilog(run)) {
      run.phase = Phase::kProlog;
      start(now, HookKind::kProlog, token, run);
      ++running;
    }
  }
}

/// The programs behind a grant are done before those ahead of the next one on its GPUs begin.
bool GrantHooks::waits_for_epilog(const Run& run) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const auto& entry) {
    return entry.second.phase >= Phase::kEpilogWaits &&
           share_any(entry.second.note.gpus, run.note.gpus);
  });
}

void GrantHooks::start(Instant now, HookKind kind, Token token, const Run& run) {
  hooks_.start(now, kind, token.text(), json_of(kind, token, run.note));
}

bool GrantHooks::hear_results() {
  std::vector<Hooks::Result> results = hooks_.take_results();
  for (Hooks::Result& result : results) {
    const Token token = token_named(result.subject).value_or(Token());
    const bool is_prolog = result.kind == HookKind::kProlog;
    const auto found = runs_.find(token);
    if (found == runs_.end() ||
        found->second.phase != (is_prolog ? Phase::kProlog : Phase::kEpilog)) {
      continue;
    }
    if (!result.failure.empty()) {
      events_.push_back({is_prolog ? Severity::kWarn : Severity::kAlarm,
                         "hook_failed",
                         {{"hook", std::string(word_of(result.kind))},
                          {"token", token.text()},
                          {"job", text_of(found->second.note.job)},
                          {"why", result.failure}}});
    }
    if (is_prolog) {
      prolog_ended(token, found->second, std::move(result.failure));
    } else {
      epilog_ended(token, found->second, result.failure);
      runs_.erase(found);
    }
  }
  return !results.empty();
}

void GrantHooks::prolog_ended(Token token, Run& run, std::string failure) {
  run.phase = Phase::kHeld;
  if (failure.empty()) {
    commands_.emplace_back(*std::move(run.prepare));
  } else {
    reports_.emplace_back(LaunchFailed{token, std::move(failure), true});
  }
  run.prepare.reset();
}

void GrantHooks::epilog_ended(Token token, Run& run, const std::string& failure) {
  notes_.remove(token);
  if (!failure.empty()) {
    for (const std::string& uuid : run.note.gpus) {
      facts_.emplace_back(health::Input(
          health::EpilogFailed{uuid, failure + " (job " + text_of(run.note.job) + ")"}));
    }
  }
  tell(token, run, true);
}

/// A GPU that is told again is watched from then on, and looked at again.
void GrantHooks::tell(Token token, const Run& run, bool is_over) {
  for (const std::string& uuid : run.kept_looks) {
    facts_.emplace_back(gpus::ToClean{
        uuid, token, is_over ? "" : "the epilog of job " + text_of(run.note.job) + " runs"});
  }
}

std::vector<SupervisorCommand> GrantHooks::take_commands() {
  return std::exchange(commands_, {});
}

std::vector<GangAgentInput> GrantHooks::take_reports() {
  return std::exchange(reports_, {});
}

std::vector<gpus::Input> GrantHooks::take_facts() {
  return std::exchange(facts_, {});
}

std::vector<Event> GrantHooks::take_events() {
  return std::exchange(events_, {});
}

}  // namespace muster::agent
