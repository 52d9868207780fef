#include "tests/sim/ledger.h"

#include <algorithm>

#include "tests/sim/impostor.h"

namespace muster::sim {
namespace {

constexpr Duration kBetweenLooksAtProofs = std::chrono::seconds(1);

bool is_marked(const std::string& text) {
  return text.starts_with(kForgedMark);
}

}  // namespace

void NoProofIsForged::on_event(World& world, std::uint32_t, const Event&) {
  if (world.now() >= look_at_) {
    look_at_ = world.now() + kBetweenLooksAtProofs;
    at_end(world);
  }
}

void NoProofIsForged::at_end(World& world) {
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (world.is_running(host)) {
      look(world, world.node(host).seat().state());
    }
  }
}

void NoProofIsForged::look(World& world, const scheduler::State& state) {
  if (!state.directory().is_founded()) {
    return;  // Most of all that of a host without the log.
  }
  look_at_users(world, state);
  look_at_tokens(world, state);
  look_at_work(world, state);
  const scheduler::EnrolledHost* traitor = state.roll().find(traitor_of(world));
  if (traitor != nullptr && traitor->may_vouch && state.applied() >= ledger_->silenced_from) {
    tell(world, "the traitor's host vouches for its logins again");
  }
}

void NoProofIsForged::look_at_users(World& world, const scheduler::State& state) {
  const scheduler::Directory& directory = state.directory();
  for (const auto& [name, user] : directory.users()) {
    const auto asked = ledger_->users.find(name);
    if (asked == ledger_->users.end()) {
      tell(world, "user " + name + ", whom nobody added");
      continue;
    }
    if (state.applied() >= asked->second.gone_from) {
      tell(world, "user " + name + ", who was removed, is back");
    }
    if (user.role != asked->second.role || !user.teams.empty()) {
      tell(world, "user " + name + " has a role or a team that nobody gave");
    }
    for (const scheduler::UserKey& key : user.keys) {
      if (!asked->second.pens.contains(key.line.key.point)) {
        tell(world, "user " + name + " has a key that nobody gave");
      }
    }
  }
  if (!directory.teams().empty() || directory.rules() != scheduler::AccessRules()) {
    tell(world, "teams or rules of access that nobody made");
  }
}

void NoProofIsForged::look_at_tokens(World& world, const scheduler::State& state) {
  for (const auto& [id, token] : state.directory().tokens().all()) {
    const auto asked = ledger_->tokens.find(id);
    if (asked == ledger_->tokens.end() || asked->second.user != token.user) {
      tell(world, "access token " + token.label + ", which nobody made");
    } else if (state.applied() >= asked->second.gone_from) {
      tell(world, "access token " + token.label + ", which was revoked, is back");
    }
  }
}

void NoProofIsForged::look_at_work(World& world, const scheduler::State& state) {
  for (const auto& [id, job] : state.jobs()) {
    if (is_marked(job.spec.name)) {
      tell(world, "a job by " + job.spec.name);
    }
  }
  for (const auto& [token, attempt] : state.attempts()) {
    for (const scheduler::MemberRecord& record : attempt.members) {
      const bool is_forged =
          std::any_of(record.results.begin(), record.results.end(),
                      [](const scheduler::RankResult& each) { return each.code == kForgedExit; });
      if (is_forged) {
        tell(world, "an end of job " + text_of(attempt.job) + " that its host never said");
      }
    }
  }
  for (const auto& [id, host] : state.hosts()) {
    if (host.drain.has_value() && is_marked(host.drain->why)) {
      tell(world, "a drain by " + host.drain->why);
    }
  }
}

void NoProofIsForged::tell(World& world, const std::string& effect) {
  if (told_.insert(effect).second) {
    world.violation(name(), effect);
  }
}

}  // namespace muster::sim
