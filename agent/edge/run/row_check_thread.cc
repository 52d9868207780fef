#include "agent/edge/run/row_check_thread.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <xxhash.h>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

std::size_t size_bytes_of(const crdt::RowsToCheck& rows) {
  std::size_t size = sizeof rows;
  for (const crdt::RowOf& row : rows.body.rows) {
    size += sizeof row;
    for (const auto& [id, field] : row.row.fields) {
      size += sizeof field + field.bytes.size() + field.proof.size();
    }
  }
  return size + rows.body.digests.size() * sizeof(crdt::RowDigest) +
         rows.body.want.size() * sizeof(HostId);
}

std::string random_secret() {
  constexpr std::size_t kSecretBytes = 192;
  std::string secret(kSecretBytes, '\0');
  CHECK(getrandom(secret.data(), secret.size(), 0) == static_cast<ssize_t>(secret.size()));
  return secret;
}

/// Asks the other one once for each signature.
class Remembering final : public gossip::Verifier {
 public:
  explicit Remembering(std::unique_ptr<const gossip::Verifier> verifier)
      : verifier_(std::move(verifier)), secret_(random_secret()) {}

  bool verify(std::string_view public_key, std::string_view words,
              std::string_view signature) const override {
    const Mark mark = mark_of(public_key, words, signature);
    if (good_.contains(mark)) {
      ++remembered_;
      return true;
    }
    ++checked_;
    if (!verifier_->verify(public_key, words, signature)) {
      return false;
    }
    if (order_.size() >= kGoodSignaturesMax) {
      good_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(mark);
    good_.insert(mark);
    return true;
  }
  HostId host_of(std::string_view public_key) const override {
    return verifier_->host_of(public_key);
  }
  std::string link_key_of(std::string_view public_key) const override {
    return verifier_->link_key_of(public_key);
  }
  std::string digest(std::string_view words) const override { return verifier_->digest(words); }
  std::string sha256(std::string_view words) const override { return verifier_->sha256(words); }
  std::string sha512(std::string_view words) const override { return verifier_->sha512(words); }
  std::string seal(std::string_view public_key, std::string_view secret) const override {
    return verifier_->seal(public_key, secret);
  }
  /// Of any thread.
  std::uint64_t checked() const { return checked_; }
  std::uint64_t remembered() const { return remembered_; }

 private:
  using Mark = std::pair<std::uint64_t, std::uint64_t>;

  /// No other process knows the secret, so none can make two words of one mark.
  Mark mark_of(std::string_view public_key, std::string_view words,
               std::string_view signature) const {
    std::string all(public_key);
    for (const std::string_view part : {signature, words}) {
      all += std::to_string(part.size()) + ":";
      all += part;
    }
    const XXH128_hash_t hash =
        XXH3_128bits_withSecret(all.data(), all.size(), secret_.data(), secret_.size());
    return {hash.high64, hash.low64};
  }

  std::unique_ptr<const gossip::Verifier> verifier_;
  const std::string secret_;
  mutable std::set<Mark> good_;
  mutable std::deque<Mark> order_;
  mutable std::atomic<std::uint64_t> checked_ = 0;
  mutable std::atomic<std::uint64_t> remembered_ = 0;
};

}  // namespace

class RowCheckThread::Impl {
 public:
  Impl(gossip::Authority authority, std::unique_ptr<const gossip::Verifier> verifier)
      : verifier_(std::move(verifier)),
        checker_(std::move(authority), verifier_),
        fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
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
      const auto known = waiting_.find(rows.from);
      const std::size_t waits = known == waiting_.end() ? 0 : known->second.bytes;
      if (waiting_bytes_ + size > kRowCheckBytesMax ||
          (waits > 0 && waits + size > kRowCheckSenderBytesMax)) {
        return false;
      }
      Queue& queue = waiting_[rows.from];
      waiting_bytes_ += size;
      queue.bytes += size;
      queue.rows.emplace_back(size, std::move(rows));
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
  Stats stats() const {
    const std::lock_guard lock(mutex_);
    return {messages_, verifier_.checked(), verifier_.remembered()};
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "muster-rows");
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) {
        return;
      }
      // The next sender behind the one whose turn it was.
      auto turn = waiting_.upper_bound(last_);
      turn = turn == waiting_.end() ? waiting_.begin() : turn;
      last_ = turn->first;
      auto [size, rows] = std::move(turn->second.rows.front());
      turn->second.rows.pop_front();
      turn->second.bytes -= size;
      if (turn->second.rows.empty()) {
        waiting_.erase(turn);
      }
      lock.unlock();
      crdt::RowsChecked checked = checker_.check(std::move(rows));
      lock.lock();
      waiting_bytes_ -= size;
      ++messages_;
      checked_.push_back(std::move(checked));
      eventfd_write(fd_, 1);
    }
  }

  /// Of one sender.
  struct Queue {
    std::deque<std::pair<std::size_t, crdt::RowsToCheck>> rows;
    std::size_t bytes = 0;
  };

  const Remembering verifier_;  ///< Of the thread alone, as what follows.
  crdt::RowChecker checker_;
  int fd_;
  mutable std::mutex mutex_;  ///< Guards what follows.
  std::condition_variable wake_;
  std::map<HostId, Queue> waiting_;  ///< None is empty.
  HostId last_;                      ///< The sender that had the last turn.
  std::size_t waiting_bytes_ = 0;
  std::uint64_t messages_ = 0;
  std::vector<crdt::RowsChecked> checked_;
  bool stopping_ = false;
  std::thread thread_;
};

RowCheckThread::RowCheckThread(gossip::Authority authority,
                               std::unique_ptr<const gossip::Verifier> verifier)
    : impl_(std::make_unique<Impl>(std::move(authority), std::move(verifier))) {}

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

RowCheckThread::Stats RowCheckThread::stats() const {
  return impl_->stats();
}

}  // namespace muster::agent
