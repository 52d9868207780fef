#include "crdt/edge/storage_thread.h"

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
  Impl(Stores stores, Duration rows_sync)
      : stores_(std::move(stores)),
        rows_sync_(rows_sync),
        fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    CHECK(stores_.id != nullptr && stores_.id->environment() == Environment::kId);
    CHECK(stores_.raft != nullptr && stores_.raft->environment() == Environment::kRaft);
    CHECK(stores_.state != nullptr && stores_.state->environment() == Environment::kState);
    CHECK(fd_ >= 0);
    thread_ = std::thread([this] { run(); });
    rows_thread_ = std::thread([this] { run_rows(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    rows_wake_.notify_one();
    thread_.join();
    rows_thread_.join();
    close(fd_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void submit(std::uint64_t persist_id, Environment environment, WriteBatch batch);
  int fd() const { return fd_; }
  std::vector<std::uint64_t> take_completed();
  std::optional<Error> take_rows_error() {
    const std::lock_guard lock(mutex_);
    return std::exchange(rows_error_, std::nullopt);
  }
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

  using Clock = std::chrono::steady_clock;

  void run();
  void run_rows();
  bool await(std::deque<Item>& items);
  bool await_rows(std::deque<WriteBatch>& batches);
  bool commit(LmdbStore& store, std::deque<Item>& items);
  void commit_rows(std::deque<WriteBatch>& batches);
  void sync_rows();
  void fail(Error error);
  void complain_of_rows(Error error);
  void ring() { eventfd_write(fd_, 1); }

  Stores stores_;
  Duration rows_sync_;
  std::optional<Clock::time_point>
      sync_at_;  ///< Used by rows_thread_; set while rows are unsynced.
  int fd_;
  mutable std::mutex mutex_;  ///< Guards all fields below.
  std::condition_variable wake_;
  std::condition_variable rows_wake_;
  std::deque<Item> queue_;
  std::deque<WriteBatch> rows_queue_;
  std::vector<std::uint64_t> completed_;
  std::optional<Error> rows_error_;
  std::optional<Error> failure_;
  Stats stats_;
  bool stopping_ = false;
  std::thread thread_;
  std::thread rows_thread_;
};

void StorageThread::Impl::submit(std::uint64_t persist_id, Environment environment,
                                 WriteBatch batch) {
  const bool is_rows = environment == Environment::kState;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.has_value()) {
      return;
    }
    if (is_rows && rows_queue_.size() >= kRowsQueueMax) {
      rows_error_ = Error{ErrorCode::kIo, "the disk does not keep up with the rows"};
      return;
    }
    if (is_rows) {
      rows_queue_.push_back(std::move(batch));
      if (rows_queue_.size() == 1) {
        rows_wake_.notify_one();
      }
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
  pthread_setname_np(pthread_self(), "muster-log");
  std::deque<Item> items;
  while (await(items)) {
    if (!commit(*stores_.id, items) || !commit(*stores_.raft, items)) {
      return;
    }
    items.clear();
  }
}

void StorageThread::Impl::run_rows() {
  pthread_setname_np(pthread_self(), "muster-state");
  std::deque<WriteBatch> batches;
  while (await_rows(batches)) {
    commit_rows(batches);
    batches.clear();
    if (sync_at_.has_value() && Clock::now() >= *sync_at_) {
      sync_rows();
    }
  }
  sync_rows();
}

/// Waits for items. False at the end, when all are written.
bool StorageThread::Impl::await(std::deque<Item>& items) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  items.swap(queue_);
  return !items.empty();
}

/// Waits for rows, and for kRowsGather after them, or for the time to sync earlier rows. False at
/// the end.
bool StorageThread::Impl::await_rows(std::deque<WriteBatch>& batches) {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return stopping_ || !rows_queue_.empty(); };
  if (sync_at_.has_value()) {
    rows_wake_.wait_until(lock, *sync_at_, has_work);
  } else {
    rows_wake_.wait(lock, has_work);
  }
  if (!rows_queue_.empty()) {
    rows_wake_.wait_for(lock, kRowsGather, [this] { return stopping_; });
  }
  batches.swap(rows_queue_);
  return !stopping_ || !batches.empty();
}

/// Commits all items for this store in one transaction. False if that fails: the thread ends.
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
  const Clock::time_point began = Clock::now();
  const Status committed = store.commit(group);
  const Duration took = Clock::now() - began;
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
  stats_.syncs.add(took);
  ring();
  return true;
}

/// If this fails, the rows are missing on this disk alone.
void StorageThread::Impl::commit_rows(std::deque<WriteBatch>& batches) {
  WriteBatch group;
  for (WriteBatch& batch : batches) {
    std::move(batch.begin(), batch.end(), std::back_inserter(group));
  }
  if (group.empty()) {
    return;
  }
  Status committed = stores_.state->commit(group);
  if (!committed && committed.error().code == ErrorCode::kCorrupt) {
    complain_of_rows(committed.error());  // Peers have the rows that are dropped here.
    committed = stores_.state->clear();
    committed = committed ? stores_.state->commit(group) : committed;
  }
  if (!committed) {
    complain_of_rows(committed.error());
  }
  if (!sync_at_.has_value()) {
    sync_at_ = Clock::now() + rows_sync_;
  }
}

void StorageThread::Impl::sync_rows() {
  if (!std::exchange(sync_at_, std::nullopt).has_value()) {
    return;
  }
  if (const Status synced = stores_.state->sync(); !synced) {
    complain_of_rows(synced.error());
  }
  const std::lock_guard lock(mutex_);
  ++stats_.rows_syncs;
}

void StorageThread::Impl::complain_of_rows(Error error) {
  const std::lock_guard lock(mutex_);
  rows_error_ = std::move(error);
  ring();
}

void StorageThread::Impl::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!failure_.has_value()) {
    failure_ = std::move(error);
  }
  queue_.clear();
  rows_queue_.clear();
  ring();
}

StorageThread::StorageThread(Stores stores, Duration rows_sync)
    : impl_(std::make_unique<Impl>(std::move(stores), rows_sync)) {}
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
std::optional<Error> StorageThread::take_rows_error() {
  return impl_->take_rows_error();
}
std::optional<Error> StorageThread::failure() const {
  return impl_->failure();
}
StorageThread::Stats StorageThread::stats() const {
  return impl_->stats();
}

}  // namespace muster::crdt
