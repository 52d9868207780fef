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

}  // namespace muster::sim
