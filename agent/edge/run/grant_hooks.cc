#include "agent/edge/run/grant_hooks.h"

#include <algorithm>
#include <utility>

#include "agent/edge/supervisor/token_name.h"

namespace muster::agent {
namespace {

/// As the inside of a JSON string. A program must not take one user for another, so no letter is
/// left out.
std::string escaped(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < ' ') {
      out += std::string("\\u00") + kDigits[byte >> 4U] + kDigits[byte & 0xfU];
      continue;
    }
    out += letter == '"' || letter == '\\' ? "\\" : "";
    out += letter;
  }
  return out;
}

std::string json_of(HookKind kind, Token token, const GrantNote& note) {
  std::string json = R"({"hook":")" + std::string(word_of(kind)) + R"(","token":")" + token.text() +
                     R"(","job":")" + text_of(note.job) + R"(","user":")" + escaped(note.user) +
                     R"(","gpus":[)";
  for (std::size_t i = 0; i < note.gpus.size(); ++i) {
    json += (i == 0 ? "\"" : ",\"") + escaped(note.gpus[i]) + "\"";
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
    reports_.push_back(LaunchFailed{command.token, written.error().text});
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
  std::erase_if(commands_, [&](const Prepare& command) { return command.token == token; });
  std::erase_if(reports_, [&](const LaunchFailed& report) { return report.token == token; });
  const auto found = runs_.find(token);
  if (found == runs_.end() || found->second.phase >= Phase::kEpilogWaits) {
    return;
  }
  Run& run = found->second;
  if (run.phase == Phase::kWaits) {
    forget(found);  // Its prolog did not begin, and neither did a rank.
    return;
  }
  if (run.phase == Phase::kProlog) {
    hooks_.stop(HookKind::kProlog, token.text());
  }
  run.prepare.reset();
  run.phase = Phase::kEpilogWaits;
  advance(now);
}

void GrantHooks::forget(std::map<Token, Run>::iterator run) {
  notes_.remove(run->first);
  runs_.erase(run);
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

std::size_t GrantHooks::running(Phase phase) const {
  return static_cast<std::size_t>(std::count_if(
      runs_.begin(), runs_.end(), [&](const auto& entry) { return entry.second.phase == phase; }));
}

/// Prologs and epilogs have places of their own: grants that begin do not wait for all that ended.
void GrantHooks::begin(Instant now) {
  std::size_t prologs = running(Phase::kProlog);
  std::size_t epilogs = running(Phase::kEpilog);
  const bool has_prolog = hooks_.has(HookKind::kProlog);
  for (auto& [token, run] : runs_) {
    if (run.phase == Phase::kEpilogWaits && epilogs < kAtOnceMax) {
      run.phase = Phase::kEpilog;
      start(now, HookKind::kEpilog, token, run);
      ++epilogs;
    } else if (run.phase == Phase::kWaits && !waits_for_earlier(token, run)) {
      if (!has_prolog) {
        prolog_ended(token, run, "");
      } else if (prologs < kAtOnceMax) {
        run.phase = Phase::kProlog;
        start(now, HookKind::kProlog, token, run);
        ++prologs;
      }
    }
  }
}

/// The programs behind a grant are done before those ahead of the next one on its GPUs begin, and
/// before those of the next attempt of its job.
bool GrantHooks::waits_for_earlier(Token token, const Run& run) const {
  return std::any_of(runs_.begin(), runs_.lower_bound(token), [&](const auto& entry) {
    const Run& earlier = entry.second;
    return earlier.note.job == run.note.job ||
           (earlier.phase >= Phase::kEpilogWaits && share_any(earlier.note.gpus, run.note.gpus));
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
      forget(found);
    }
  }
  return !results.empty();
}

void GrantHooks::prolog_ended(Token token, Run& run, std::string failure) {
  run.phase = Phase::kHeld;
  if (failure.empty()) {
    commands_.push_back(*std::move(run.prepare));
  } else {
    reports_.push_back(LaunchFailed{token, std::move(failure), true});
  }
  run.prepare.reset();
}

void GrantHooks::epilog_ended(Token token, Run& run, const std::string& failure) {
  if (!failure.empty()) {
    const std::string why = failure + " (job " + text_of(run.note.job) + ")";
    for (const std::string& uuid : run.note.gpus) {
      facts_.emplace_back(health::Input(health::EpilogFailed{uuid, why}));
    }
    refuse_waiting(run.note.gpus, why);
  }
  tell(token, run, true);
}

/// Grants that wait for these GPUs do not get them.
void GrantHooks::refuse_waiting(const std::vector<std::string>& gpus, const std::string& why) {
  for (auto run = runs_.begin(); run != runs_.end();) {
    const auto waiting = run++;
    if (waiting->second.phase == Phase::kWaits && share_any(gpus, waiting->second.note.gpus)) {
      reports_.push_back(LaunchFailed{waiting->first, "a GPU is out of use: " + why, true});
      forget(waiting);
    }
  }
}

/// A GPU that is told again is watched from then on, and looked at again.
void GrantHooks::tell(Token token, const Run& run, bool is_over) {
  for (const std::string& uuid : run.kept_looks) {
    facts_.emplace_back(gpus::ToClean{
        uuid, token, is_over ? "" : "the epilog of job " + text_of(run.note.job) + " runs"});
  }
}

std::vector<Prepare> GrantHooks::take_commands() {
  return std::exchange(commands_, {});
}

std::vector<LaunchFailed> GrantHooks::take_reports() {
  return std::exchange(reports_, {});
}

std::vector<gpus::Input> GrantHooks::take_facts() {
  return std::exchange(facts_, {});
}

std::vector<Event> GrantHooks::take_events() {
  return std::exchange(events_, {});
}

}  // namespace muster::agent
