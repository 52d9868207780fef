#pragma once
// Who came without keys, each to be named once: somebody there speaks ZeroMQ to this port and does
// not know that it is locked. One thread adds, another takes.

#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::gossip {

class PlainPeers {
 public:
  /// Beyond so many addresses nobody is named any more: then it is a flood, and counts tell it.
  static constexpr std::size_t kNamedMax = 64;

  void add(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (named_.size() < kNamedMax && named_.insert(address).second) {
      news_.push_back(address);
    }
  }
  /// Since it was asked last.
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
