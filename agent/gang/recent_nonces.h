#pragma once
// RecentNonces: the last nonces under which one thing was said again and again, so that an answer
// to any of them is known. At most `max`; the oldest goes first.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::agent {

class RecentNonces {
 public:
  explicit RecentNonces(std::size_t max) : max_(max) {}

  void add(Nonce nonce) {
    nonces_.push_back(nonce);
    if (nonces_.size() > max_) {
      nonces_.erase(nonces_.begin());
    }
  }
  bool contains(Nonce nonce) const {
    return std::find(nonces_.begin(), nonces_.end(), nonce) != nonces_.end();
  }
  void clear() { nonces_.clear(); }

 private:
  std::size_t max_;
  std::vector<Nonce> nonces_;  ///< Oldest first.
};

}  // namespace muster::agent
