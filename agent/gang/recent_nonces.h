#pragma once
// RecentNonces holds the last nonces of one repeated message, so that an answer to any of them is
// recognised. It holds at most `max` and drops the oldest first.

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
  bool is_empty() const { return nonces_.empty(); }
  void clear() { nonces_.clear(); }

 private:
  std::size_t max_;
  std::vector<Nonce> nonces_;  ///< The oldest first.
};

}  // namespace muster::agent
