#pragma once
// PlainPeers holds the addresses of peers that came without keys, each to be named once: a program
// there speaks ZeroMQ to this port without CURVE. One thread adds, another takes.

#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::gossip {

class PlainPeers {
 public:
  /// Limit of the addresses that are named. Above it there is a flood, which the counts show.
  static constexpr std::size_t kNamedMax = 64;

  void add(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (named_.size() < kNamedMax && named_.insert(address).second) {
      news_.push_back(address);
    }
  }
  /// The addresses that came since the last call.
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
  }

 private:
  std::mutex mutex_;
  std::set<std::string> named_;
  std::vector<std::string> news_;
};

}  // namespace muster::gossip
