#include "agent/health/xid_merge.h"

#include <algorithm>

namespace muster::agent {

bool XidMerge::is_new(Instant now, XidSource source, const std::string& gpu, std::uint32_t code) {
  forget(now);
  const auto half = std::find_if(waiting_.begin(), waiting_.end(), [&](const Telling& each) {
    return each.source != source && each.code == code && each.gpu == gpu;
  });
  if (half != waiting_.end()) {
    waiting_.erase(half);
    return false;
  }
  waiting_.push_back({now, source, gpu, code});
  if (waiting_.size() > kTellingsMax) {
    waiting_.pop_front();
  }
  return true;
}

void XidMerge::forget(Instant now) {
  while (!waiting_.empty() && now - waiting_.front().at > kMergeWindow) {
    waiting_.pop_front();
  }
}

Instant XidMerge::next_deadline() const {
  return waiting_.empty() ? kNever : waiting_.front().at + kMergeWindow + Duration(1);
}

}  // namespace muster::agent
