#include "agent/edge/run/row_check_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

std::size_t size_bytes_of(const crdt::RowsToCheck& rows) {
  std::size_t size = sizeof rows;
  for (const crdt::RowOf& row : rows.body.rows) {
    size += sizeof row;
    for (const auto& [id, field] : row.row.fields) {
      size += sizeof field + field.bytes.size() + field.signature.size();
    }
  }
  return size + rows.body.digests.size() * sizeof(crdt::RowDigest) +
         rows.body.want.size() * sizeof(HostId);
}

/// Asks the other one once for each signature.
class Remembering final : public gossip::Verifier {
 public:
  explicit Remembering(std::unique_ptr<const gossip::Verifier> verifier)
      : verifier_(std::move(verifier)) {}

  bool verify(std::string_view public_key, std::string_view words,
              std::string_view signature) const override {
    const auto known = good_.find(signature);
    if (known != good_.end() && known->second.key == public_key && known->second.words == words) {
      return true;
    }
    if (!verifier_->verify(public_key, words, signature)) {
      return false;
    }
    if (order_.size() >= kGoodSignaturesMax) {
      good_.erase(order_.front());
      order_.pop_front();
    }
    if (known == good_.end() && words.size() <= kWordsBytesMax) {
      order_.emplace_back(signature);
      good_[std::string(signature)] = {std::string(public_key), std::string(words)};
    }
    return true;
  }
  HostId host_of(std::string_view public_key) const override {
    return verifier_->host_of(public_key);
  }

 private:
  struct Said {
    std::string key;
    std::string words;
  };
  /// Longer ones are looked at each time: they are rare, and memory is bounded.
  static constexpr std::size_t kWordsBytesMax = 2048;

  std::unique_ptr<const gossip::Verifier> verifier_;
  mutable std::map<std::string, Said, std::less<>> good_;  ///< By signature.
  mutable std::deque<std::string> order_;
};

}  // namespace

class RowCheckThread::Impl {
 public:
  explicit Impl(std::unique_ptr<const gossip::Verifier> verifier)
      : verifier_(std::move(verifier)), fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    CHECK(fd_ >= 0);
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    close(fd_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool submit(crdt::RowsToCheck rows) {
    const std::size_t size = size_bytes_of(rows);
    {
      const std::lock_guard lock(mutex_);
      if (waiting_bytes_ + size > kRowCheckBytesMax) {
        return false;
      }
      waiting_bytes_ += size;
      waiting_.emplace_back(size, std::move(rows));
    }
    wake_.notify_one();
    return true;
  }
  int fd() const { return fd_; }
  std::vector<crdt::RowsChecked> take_checked() {
    eventfd_t count = 0;
    eventfd_read(fd_, &count);
    const std::lock_guard lock(mutex_);
    return std::exchange(checked_, {});
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) {
        return;
      }
      auto [size, rows] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      crdt::RowsChecked checked = crdt::check_rows(std::move(rows), verifier_);
      lock.lock();
      waiting_bytes_ -= size;
      checked_.push_back(std::move(checked));
      eventfd_write(fd_, 1);
    }
  }

  const Remembering verifier_;  ///< Of the thread alone.
  int fd_;
  std::mutex mutex_;  ///< Guards what follows.
  std::condition_variable wake_;
  std::deque<std::pair<std::size_t, crdt::RowsToCheck>> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<crdt::RowsChecked> checked_;
  bool stopping_ = false;
  std::thread thread_;
};

RowCheckThread::RowCheckThread(std::unique_ptr<const gossip::Verifier> verifier)
    : impl_(std::make_unique<Impl>(std::move(verifier))) {}

RowCheckThread::~RowCheckThread() = default;

bool RowCheckThread::submit(crdt::RowsToCheck rows) {
  return impl_->submit(std::move(rows));
}

int RowCheckThread::fd() const {
  return impl_->fd();
}

std::vector<crdt::RowsChecked> RowCheckThread::take_checked() {
  return impl_->take_checked();
}

}  // namespace muster::agent
