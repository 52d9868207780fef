#include "scheduler/leader/seen_hosts.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {

void SeenHosts::on_view(Instant now, HostView view) {
  std::sort(view.unhealthy_gpus.begin(), view.unhealthy_gpus.end());
  const auto [place, is_new] = views_.try_emplace(view.host, Record{view, now});
  const bool was_alive = place->second.view.verdict == Verdict::kAlive;
  if (!is_new && was_alive != (view.verdict == Verdict::kAlive)) {
    place->second.since = now;
  }
  place->second.view = std::move(view);
}

void SeenHosts::on_voters_quiet(const input::VotersQuiet& voters) {
  quiet_ = {voters.hosts.begin(), voters.hosts.end()};
  quiet_.insert(voters.late.begin(), voters.late.end());
  late_ = {voters.late.begin(), voters.late.end()};
}

const HostView* SeenHosts::view(const HostId& host) const {
  const auto known = views_.find(host);
  return known == views_.end() ? nullptr : &known->second.view;
}

std::optional<Instant> SeenHosts::since(const HostId& host) const {
  const auto known = views_.find(host);
  return known == views_.end() ? std::nullopt : std::optional(known->second.since);
}

bool SeenHosts::has_unregistered(const State& state) const {
  return has_unregistered(state, kLongAgo);
}

bool SeenHosts::has_unregistered(const State& state, Instant since) const {
  return std::any_of(views_.begin(), views_.end(), [&](const auto& item) {
    return item.second.view.verdict == Verdict::kAlive && item.second.since > since &&
           state.host(item.first) == nullptr;
  });
}

std::map<HostId, std::string> SeenHosts::left_out() const {
  std::map<HostId, std::string> hosts;
  for (const HostId host : quiet_) {
    hosts[host] = is_late(host) ? "a voter that lags behind" : "a voter that is silent";
  }
  return hosts;
}

void SeenHosts::check_invariants() const {
  CHECK(std::includes(quiet_.begin(), quiet_.end(), late_.begin(), late_.end()));
}

}  // namespace muster::scheduler
