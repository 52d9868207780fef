#include "agent/edge/door/http_stream.h"

#include <microhttpd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster::agent {
namespace {

/// Memory that an empty buffer keeps.
constexpr std::size_t kKeptMax = 4 * 1024;

}  // namespace

void HttpStream::resume_parked() {
  if (MHD_Connection* link = std::exchange(parked_, nullptr)) {
    MHD_resume_connection(link);
  }
}

bool HttpStream::push(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (is_gone_ || is_ended_ || buffer_.size() - sent_ + bytes.size() > kBufferMax) {
    return false;
  }
  buffer_.append(bytes);
  resume_parked();
  return true;
}

void HttpStream::end() {
  const std::lock_guard lock(mutex_);
  is_ended_ = true;
  resume_parked();
}

bool HttpStream::is_gone() const {
  const std::lock_guard lock(mutex_);
  return is_gone_;
}

std::size_t HttpStream::waiting() const {
  const std::lock_guard lock(mutex_);
  return buffer_.size() - sent_;
}

std::ptrdiff_t HttpStream::read(MHD_Connection* link, char* to, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (is_gone_) {
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
  const std::size_t count = std::min(size, buffer_.size() - sent_);
  if (count == 0 && is_ended_) {
    return MHD_CONTENT_READER_END_OF_STREAM;
  }
  if (count == 0) {
    MHD_suspend_connection(link);
    parked_ = link;
    return 0;
  }
  std::memcpy(to, buffer_.data() + sent_, count);
  sent_ += count;
  if (sent_ == buffer_.size() || sent_ >= kBufferMax / 2) {
    buffer_.erase(0, sent_);
    sent_ = 0;
  }
  if (buffer_.empty() && buffer_.capacity() > kKeptMax) {
    std::string().swap(buffer_);
  }
  return static_cast<std::ptrdiff_t>(count);
}

void HttpStream::leave() {
  const std::lock_guard lock(mutex_);
  is_gone_ = true;
  buffer_.clear();
  buffer_.shrink_to_fit();
  sent_ = 0;
  resume_parked();
}

bool HttpStream::is_parked() const {
  const std::lock_guard lock(mutex_);
  return parked_ != nullptr;
}

}  // namespace muster::agent
