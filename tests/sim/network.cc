#include "tests/sim/network.h"

namespace muster::sim {

Network::Arrivals Network::arrivals(std::uint32_t from, std::uint32_t to,
                                    const std::string& bytes) {
  ++stats.sent;
  stats.bytes += bytes.size();
  if (tap) {
    tap(from, to, bytes);
  }
  if (is_cut(from, to)) {
    ++stats.cut;
    return {};
  }
  if (faults.loss > 0 && rng_.chance(faults.loss)) {
    ++stats.lost;
    return {};
  }
  Arrivals times{{one_way()}, 1};
  if (const auto detour = detours_.find({from, to}); detour != detours_.end()) {
    times.delays[0] += detour->second;
  }
  if (faults.late > 0 && rng_.chance(faults.late)) {
    ++stats.late;
    times.delays[0] += rng_.between(Duration(0), faults.late_max);
  }
  if (faults.duplicate > 0 && rng_.chance(faults.duplicate)) {
    ++stats.duplicated;
    times.delays[times.count++] = one_way() + rng_.between(Duration(0), faults.late_max);
  }
  stats.delivered += times.count;
  return times;
}

void Network::lose(std::uint32_t from, std::uint32_t to, std::uint32_t millionths) {
  if (millionths == 0) {
    losses_.erase({from, to});
  } else {
    losses_[{from, to}] = millionths;
  }
}

bool Network::carries(std::uint32_t from, std::uint32_t to) {
  ++stats.sent;
  if (is_cut(from, to)) {
    ++stats.cut;
    return false;
  }
  const auto found = losses_.find({from, to});
  if ((faults.loss > 0 && rng_.chance(faults.loss)) ||
      (found != losses_.end() && rng_.chance(found->second))) {
    ++stats.lost;
    return false;
  }
  ++stats.delivered;
  return true;
}

Duration Network::delay(std::uint32_t from, std::uint32_t to) {
  const auto detour = detours_.find({from, to});
  return one_way() + (detour == detours_.end() ? Duration(0) : detour->second);
}

}  // namespace muster::sim
