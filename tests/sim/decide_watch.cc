#include "tests/sim/decide_watch.h"

#include <algorithm>
#include <variant>

namespace muster::sim {
namespace {

/// Without a fault for so long, a leader knows of each host what is so.
constexpr Duration kCalmAfter = std::chrono::seconds(4);
/// A Decide that the log has not applied for so long may count as lost.
constexpr Duration kOnItsWayFor = std::chrono::seconds(1);

bool is_disturbed(World& world, const scheduler::State& state) {
  const NetworkFaults& faults = world.network().faults;
  if (world.network().has_cuts() || faults.loss != 0 || faults.duplicate != 0 || faults.late != 0 ||
      state.awaits_hosts() || state.hosts().size() != world.size()) {
    return true;
  }
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (!world.is_running(host) || world.is_frozen(host)) {
      return true;
    }
  }
  return std::any_of(state.hosts().begin(), state.hosts().end(),
                     [](const auto& host) { return !host.second.takes_work(); });
}

bool has_waiting(const scheduler::State& state,
                 const std::vector<scheduler::entry::Decide>& asked) {
  return std::any_of(state.jobs().begin(), state.jobs().end(), [&](const auto& item) {
    const scheduler::Job& job = item.second;
    return job.is_pending() && job.spec.request.gpus != 0 &&
           std::none_of(asked.begin(), asked.end(),
                        [&job](const auto& decide) { return decide.job == job.id; });
  });
}

/// With their indices: the Decides of that log behind `applied`.
std::vector<std::pair<std::uint64_t, scheduler::entry::Decide>> decides_behind(
    const scheduler::Raft& raft, std::uint64_t applied, std::uint64_t end) {
  std::vector<std::pair<std::uint64_t, scheduler::entry::Decide>> decides;
  for (std::uint64_t index = applied + 1; index <= end; ++index) {
    const scheduler::LogEntry& entry = raft.log().entry(LogIndex(index));
    if (entry.kind != scheduler::LogEntryKind::kCommand) {
      continue;
    }
    const auto logged = scheduler::decode_entry(entry.command);
    if (logged.has_value() && std::holds_alternative<scheduler::entry::Decide>(logged->entry)) {
      decides.emplace_back(index, std::get<scheduler::entry::Decide>(logged->entry));
    }
  }
  return decides;
}

}  // namespace

std::string gpu_pool_of(const scheduler::State& state, const scheduler::entry::Decide& decide) {
  if (decide.members.empty() || decide.members.front().gpus.empty()) {
    return "";
  }
  const scheduler::HostRecord* host = state.host(decide.members.front().host);
  return host == nullptr ? "" : scheduler::folded(host->gpu_type);
}

void DecideWatch::on_event(World& world, std::uint32_t host, const Event&) {
  if (!world.is_running(host)) {
    return;
  }
  const std::pair step{host, world.steps()};
  if (std::exchange(looked_at_, step) != step && world.node(host).seat().leads()) {
    look(world, host);
  }
}

void DecideWatch::look(World& world, std::uint32_t host) {
  const scheduler::QuorumSeat& seat = world.node(host).seat();
  const scheduler::State& state = seat.state();
  const Seen now{host, seat.raft()->term().value(), seat.log_end().value(),
                 state.applied().value()};
  const Seen before = std::exchange(seen_, now);
  const bool is_same = before.host == host && before.term == now.term;
  if (!is_same) {
    empty_at_ = state.cluster_time();
    on_leader();
  }
  if (!is_same || is_disturbed(world, state)) {
    calm_since_ = world.now();
  }
  const bool is_stalled = world.now() - moved_at_ > kOnItsWayFor;
  if (!is_same || now.applied != before.applied) {
    moved_at_ = world.now();
  }
  if (is_same && now.applied == before.applied && now.end == before.end) {
    return;
  }
  const auto behind = decides_behind(*seat.raft(), now.applied, now.end);
  // Of several entries that one step applied, each may have made the leader decide something.
  const bool is_known = is_same && now.applied <= before.applied + 1;
  const bool is_calm = world.now() - calm_since_ >= kCalmAfter && seat.left_out().empty();
  Decides asked;
  for (const auto& [index, decide] : behind) {
    if (index > before.end && is_known && is_calm && (asked.empty() || !is_stalled)) {
      on_decide(world, host, state, asked, decide);
    }
    asked.push_back(decide);
  }
  if (!has_waiting(state, asked)) {
    empty_at_ = state.cluster_time();
  }
  on_state(state, asked);
}

}  // namespace muster::sim
