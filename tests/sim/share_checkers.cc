#include "tests/sim/share_checkers.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "scheduler/protocol/request.h"

namespace muster::sim {
namespace {

constexpr std::uint64_t kThousandths = 1000;

/// Whether the queue `above` is `path` or above it; the root "" is above all.
bool is_on_path(std::string_view path, std::string_view above) {
  return above.empty() || path == above ||
         (path.starts_with(above) && path.substr(above.size()).starts_with('/'));
}

bool counts_for(std::string_view key, std::string_view pool) {
  return pool == scheduler::kCpuPool ? key == scheduler::kCpus
                                     : key == scheduler::kAllGpus || key == pool;
}

std::uint64_t charge_left(const scheduler::Attempt& attempt) {
  std::uint64_t charge = 0;
  for (const scheduler::MemberRecord& record : attempt.members) {
    charge += record.end == scheduler::MemberEnd::kNone ? record.charge : 0;
  }
  return charge;
}

/// The least that the member may be charged: it has that much for itself.
std::uint64_t least_charge(const scheduler::Member& member) {
  return member.gpus.empty() ? std::max<std::uint64_t>(1, member.cpus)
                             : kThousandths * member.gpus.size();
}

Token token_in(std::string_view text) {
  const std::size_t dot = text.find('.');
  return dot == std::string_view::npos
             ? Token()
             : Token{number(text.substr(0, dot)), number(text.substr(dot + 1))};
}

/// Amounts held, by queue ("" = the root), user ("" = the queue itself) and pool.
using Held = std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t>;

Held held_by_attempts(const scheduler::State& state) {
  Held held;
  for (const Token& token : state.live()) {
    const scheduler::Attempt& attempt = *state.attempt(token);
    const scheduler::AttemptShare& share = attempt.share;
    const std::uint64_t charge = charge_left(attempt);
    for (std::string_view path = share.queue; !path.empty(); path = scheduler::parent_path(path)) {
      held[{std::string(path), "", share.pool}] += charge;
    }
    held[{"", "", share.pool}] += charge;
    if (!share.user.empty()) {
      held[{share.queue, share.user, share.pool}] += charge;
    }
  }
  std::erase_if(held, [](const auto& row) { return row.second == 0; });
  return held;
}

Held held_by_log(const scheduler::State& state) {
  Held held;
  const std::vector<scheduler::QueueRecord>& queues = state.queues().all();
  for (const auto& [name, pool] : state.shares().pools()) {
    for (std::size_t i = 0; i < pool.queues.size() && i < queues.size(); ++i) {
      held[{queues[i].node.path, "", name}] = pool.queues[i].held;
    }
    for (const auto& [key, share] : pool.users) {
      held[{state.queues().at(key.first).node.path, key.second, name}] = share.held;
    }
  }
  std::erase_if(held, [](const auto& row) { return row.second == 0; });
  return held;
}

std::string text_of_row(const Held::value_type& row) {
  const auto& [queue, user, pool] = row.first;
  return "queue \"" + queue + "\"" + (user.empty() ? "" : ", user " + user) + ", pool " + pool +
         ": " + std::to_string(row.second);
}

/// The rows of `all` that `other` has not alike.
std::string rows_beside(const Held& all, const Held& other) {
  std::string rows;
  for (const auto& row : all) {
    const auto found = other.find(row.first);
    if (found == other.end() || found->second != row.second) {
      rows += " " + text_of_row(row) + ";";
    }
  }
  return rows;
}

}  // namespace

void QueueMaxHolds::on_event(World& world, std::uint32_t host, const Event& event) {
  if (!world.is_running(host)) {
    return;
  }
  const scheduler::State& state = world.node(host).seat().state();
  Voter& voter = voters_[host];
  if (voter.step != world.steps()) {
    voter.step = world.steps();
    voter.before = voter.now;
  }
  voter.now = {state.applied().value(), state.queues().version()};
  if (event.name != "job_scheduled" || !state.queues().is_set()) {
    return;
  }
  const Token token = token_in(event.field("token"));
  // The state is ahead of the events of one step: it tells of this Decide only under the same tree.
  // An attempt that was adopted has the token of another entry.
  const std::uint64_t index = number(event.field("index"));
  if (token.index == index && voter.before.applied < index &&
      voter.before.version == voter.now.version) {
    judge(world, host, state, token);
  }
}

void QueueMaxHolds::judge(World& world, std::uint32_t host, const scheduler::State& state,
                          const Token& token) {
  const scheduler::Attempt* decided = state.attempt(token);
  if (decided == nullptr || decided->state == scheduler::AttemptState::kEnded) {
    return;
  }
  for (const scheduler::MemberRecord& record : decided->members) {
    if (record.charge < least_charge(record.member)) {
      world.violation(name(), where(host) + " charges " + std::to_string(record.charge) +
                                  " for a member of " + token.text());
    }
  }
  const scheduler::AttemptShare& share = decided->share;
  for (const scheduler::QueueNode& queue : state.queues().tree().nodes) {
    for (const auto& [key, max] : queue.max) {
      if (!is_on_path(share.queue, queue.path) || !counts_for(key, share.pool)) {
        continue;
      }
      std::uint64_t held = 0;
      for (const Token& live : state.live()) {
        const scheduler::Attempt& attempt = *state.attempt(live);
        if (live.epoch == state.epoch() && is_on_path(attempt.share.queue, queue.path) &&
            counts_for(key, attempt.share.pool)) {
          held += charge_left(attempt);
        }
      }
      if (held > max * kThousandths) {
        world.violation(name(), where(host) + "'s log decides " + token.text() + ", and queue " +
                                    queue.path + " holds " + std::to_string(held) +
                                    " thousandths of at most " + std::to_string(max) + " " + key);
      }
    }
  }
}

void HeldIsSum::on_event(World& world, std::uint32_t host, const Event& event) {
  const bool is_looked_at = event.name == "job_ended" || event.name == "queues_changed" ||
                            event.name == "host_expired" || event.name == "attempt_adopted";
  if (!is_looked_at || !world.is_running(host)) {
    return;
  }
  const std::pair step{host, world.steps()};
  if (std::exchange(looked_at_, step) != step) {
    look(world, host);
  }
}

void HeldIsSum::at_end(World& world) {
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (world.is_running(host)) {
      look(world, host);
    }
  }
}

void HeldIsSum::look(World& world, std::uint32_t host) {
  const scheduler::State& state = world.node(host).seat().state();
  const Held sums = held_by_attempts(state);
  const Held held = held_by_log(state);
  if (sums != held) {
    world.violation(name(), where(host) + " at index " + std::to_string(state.applied().value()) +
                                ": attempts hold" + rows_beside(sums, held) + " the log says" +
                                rows_beside(held, sums));
  }
}

void add_share_checkers(World& world) {
  world.add_checker(std::make_unique<QueueMaxHolds>());
  world.add_checker(std::make_unique<HeldIsSum>());
}

}  // namespace muster::sim
