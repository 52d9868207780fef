#include "crdt/storage_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include "gossip/base/check.h"

namespace muster::crdt {

class StorageThread::Impl {
 public:
  Impl(std::unique_ptr<LmdbStore> id, std::unique_ptr<LmdbStore> raft)
      : id_(std::move(id)), raft_(std::move(raft)), fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    CHECK(id_ != nullptr && id_->environment() == Environment::kId);
    CHECK(raft_ != nullptr && raft_->environment() == Environment::kRaft);
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

  void submit(std::uint64_t persist_id, Environment environment, WriteBatch batch);
  int fd() const { return fd_; }
  std::vector<std::uint64_t> take_completed();
  std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  Stats stats() const {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Item {
    std::uint64_t persist_id;
    Environment environment;
    WriteBatch batch;
  };

  void run();
  bool commit(LmdbStore& store, std::deque<Item>& items);
  void fail(Error error);
  void ring() { eventfd_write(fd_, 1); }

  std::unique_ptr<LmdbStore> id_;
  std::unique_ptr<LmdbStore> raft_;
  int fd_;
  mutable std::mutex mutex_;  ///< Guards what follows.
  std::condition_variable wake_;
  std::deque<Item> queue_;
  std::vector<std::uint64_t> completed_;
  std::optional<Error> failure_;
  Stats stats_;
  bool stopping_ = false;
  std::thread thread_;
};

void StorageThread::Impl::submit(std::uint64_t persist_id, Environment environment,
                                 WriteBatch batch) {
  CHECK(environment != Environment::kState);
  {
    const std::lock_guard lock(mutex_);
    if (failure_.has_value()) {
      return;
    }
    if (queue_.size() < kStorageQueueMax) {
      queue_.push_back({persist_id, environment, std::move(batch)});
      wake_.notify_one();
      return;
    }
  }
  fail({ErrorCode::kIo,
        "the disk does not keep up: " + std::to_string(kStorageQueueMax) + " batches wait"});
}

std::vector<std::uint64_t> StorageThread::Impl::take_completed() {
  eventfd_t count = 0;
  eventfd_read(fd_, &count);
  const std::lock_guard lock(mutex_);
  return std::exchange(completed_, {});
}

void StorageThread::Impl::run() {
  for (;;) {
    std::deque<Item> items;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) {
        return;
      }
      items.swap(queue_);
    }
    if (!commit(*id_, items) || !commit(*raft_, items)) {
      return;
    }
  }
}

/// One transaction of all items for this store. False when it failed: the thread ends.
bool StorageThread::Impl::commit(LmdbStore& store, std::deque<Item>& items) {
  WriteBatch group;
  std::vector<std::uint64_t> ids;
  for (Item& item : items) {
    if (item.environment == store.environment()) {
      ids.push_back(item.persist_id);
      std::move(item.batch.begin(), item.batch.end(), std::back_inserter(group));
    }
  }
  if (ids.empty()) {
    return true;
  }
  const Status committed = store.commit(group);
  if (!committed) {
    fail(committed.error());
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (failure_.has_value()) {
    return false;
  }
  completed_.insert(completed_.end(), ids.begin(), ids.end());
  stats_.batches += ids.size();
  ++stats_.transactions;
  ring();
  return true;
}

void StorageThread::Impl::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!failure_.has_value()) {
    failure_ = std::move(error);
  }
  queue_.clear();
  ring();
}

StorageThread::StorageThread(std::unique_ptr<LmdbStore> id, std::unique_ptr<LmdbStore> raft)
    : impl_(std::make_unique<Impl>(std::move(id), std::move(raft))) {}
StorageThread::~StorageThread() = default;

void StorageThread::submit(std::uint64_t persist_id, Environment environment, WriteBatch batch) {
  impl_->submit(persist_id, environment, std::move(batch));
}
int StorageThread::fd() const {
  return impl_->fd();
}
std::vector<std::uint64_t> StorageThread::take_completed() {
  return impl_->take_completed();
}
std::optional<Error> StorageThread::failure() const {
  return impl_->failure();
}
StorageThread::Stats StorageThread::stats() const {
  return impl_->stats();
}

}  // namespace muster::crdt
