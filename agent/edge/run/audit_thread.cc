#include "agent/edge/run/audit_thread.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include "agent/edge/run/audit_file.h"
#include "gossip/base/check.h"
#include "scheduler/state/audit_book.h"

namespace muster::agent {

struct AuditThread::Shared {
  explicit Shared(Options given)
      : options(std::move(given)), fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    CHECK(fd >= 0);
  }
  ~Shared() { close(fd); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  bool open_file();
  bool write(const std::vector<AuditInfo>& lines);
  void leave_file();
  bool fail(const Error& error);
  void tell(Event event);

  const Options options;
  const int fd;
  std::unique_ptr<AuditFile> file;  ///< Of the thread alone, as `is_failing`.
  bool is_failing = false;

  mutable std::mutex mutex;  ///< Guards what follows.
  std::condition_variable wake;
  ClusterId cluster;
  std::uint64_t last = 0;               ///< The newest line of the log.
  std::optional<std::uint64_t> wanted;  ///< nullopt = the file is not open.
  std::vector<AuditInfo> waiting;       ///< Up to `wanted`.
  std::vector<Event> events;
  Stats stats;
  bool is_stopping = false;
  bool is_over = false;
};

void AuditThread::Shared::tell(Event event) {
  const std::lock_guard lock(mutex);
  events.push_back(std::move(event));
  eventfd_write(fd, 1);
}

/// Once until it works again: a disk stays full for hours.
bool AuditThread::Shared::fail(const Error& error) {
  if (!std::exchange(is_failing, true)) {
    tell({Severity::kAlarm,
          "audit_file_failed",
          {{"why", error.text},
           {"advice", "lines wait in the log, which keeps the newest " +
                          std::to_string(scheduler::kAuditLinesMax) + "; the agent tries again"}}});
  }
  const std::lock_guard lock(mutex);
  ++stats.failures;
  return false;
}

void AuditThread::Shared::leave_file() {
  for (Event& event : file->take_events()) {
    tell(std::move(event));
  }
  file.reset();
  const std::lock_guard lock(mutex);
  wanted.reset();
  waiting.clear();
}

/// The last line of the file is wanted once more, to see that the log still has it.
bool AuditThread::Shared::open_file() {
  if (file != nullptr) {
    leave_file();
  }
  std::unique_lock lock(mutex);
  const AuditFile::Options wish{options.path, cluster, options.verifier};
  lock.unlock();
  auto opened = AuditFile::open(wish);
  if (!opened) {
    return fail(opened.error());
  }
  file = *std::move(opened);
  for (Event& event : file->take_events()) {
    tell(std::move(event));
  }
  const ChainEnd& end = file->end();
  if (!is_failing) {
    tell(
        {Severity::kInfo,
         "audit_file_opened",
         {{"path", options.path}, {"number", std::to_string(end.number)}, {"digest", end.digest}}});
  }
  lock.lock();
  wanted = std::max<std::uint64_t>(end.number, 1) - 1;
  eventfd_write(fd, 1);
  return true;
}

bool AuditThread::Shared::write(const std::vector<AuditInfo>& lines) {
  if (!file->is_as_left()) {
    leave_file();
    return true;
  }
  auto first = lines.begin();
  for (; first != lines.end() && first->number <= file->end().number; ++first) {
    if (file->contradicts(*first)) {
      const Status aside = file->set_aside("the log was set back, and has other lines by now");
      leave_file();
      return aside ? true : fail(aside.error());
    }
  }
  const Status done = file->append({first, lines.end()});
  if (!done) {
    leave_file();
    return fail(done.error());
  }
  if (std::exchange(is_failing, false)) {
    tell({Severity::kInfo, "audit_file_written_again", {{"path", options.path}}});
  }
  const std::lock_guard lock(mutex);
  stats.written += static_cast<std::uint64_t>(lines.end() - first);
  if (wanted.has_value() && *wanted < last) {
    eventfd_write(fd, 1);
  }
  return true;
}

void AuditThread::work(const std::shared_ptr<Shared>& shared) {
  pthread_setname_np(pthread_self(), "muster-audit");
  Shared& own = *shared;
  std::unique_lock lock(own.mutex);
  while (true) {
    own.wake.wait(lock, [&own] {
      const bool has_work = !own.wanted.has_value() || !own.waiting.empty();
      return own.is_stopping || (!own.cluster.is_zero() && has_work);
    });
    const bool is_open = own.wanted.has_value();
    if (own.is_stopping && (!is_open || own.waiting.empty())) {
      break;
    }
    const std::vector<AuditInfo> lines = std::exchange(own.waiting, {});
    lock.unlock();
    const bool is_done = is_open ? own.write(lines) : own.open_file();
    lock.lock();
    if (!is_done) {
      own.wake.wait_for(lock, own.options.retry, [&own] { return own.is_stopping; });
    }
  }
  own.is_over = true;
  own.wake.notify_all();
}

AuditThread::AuditThread(Options options)
    : shared_(std::make_shared<Shared>(std::move(options))),
      thread_([shared = shared_] { work(shared); }) {}

AuditThread::~AuditThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_stopping = true;
  shared_->wake.notify_all();
  const bool is_over =
      shared_->wake.wait_for(lock, kEndPatience, [this] { return shared_->is_over; });
  lock.unlock();
  if (is_over) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

std::optional<std::uint64_t> AuditThread::wanted(const ClusterId& cluster, std::uint64_t last) {
  const std::lock_guard lock(shared_->mutex);
  if (last < shared_->last) {
    // The log was set back. The file is opened again: its last line is compared with that of the
    // log.
    shared_->wanted.reset();
    shared_->waiting.clear();
    shared_->wake.notify_all();
  }
  shared_->last = last;
  if (shared_->cluster != cluster) {
    shared_->cluster = cluster;
    shared_->wake.notify_all();
  }
  const bool has_room = shared_->waiting.size() + kAuditPage <= kLinesMax;
  return has_room ? shared_->wanted : std::nullopt;
}

void AuditThread::submit(std::uint64_t after, std::vector<AuditInfo> lines) {
  const std::lock_guard lock(shared_->mutex);
  if (lines.empty() || shared_->wanted != after) {
    return;
  }
  CHECK(lines.front().number > after);
  shared_->wanted = lines.back().number;
  std::move(lines.begin(), lines.end(), std::back_inserter(shared_->waiting));
  shared_->wake.notify_all();
}

int AuditThread::fd() const {
  return shared_->fd;
}

std::vector<Event> AuditThread::take_events() {
  eventfd_t count = 0;
  eventfd_read(shared_->fd, &count);
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->events, {});
}

AuditThread::Stats AuditThread::stats() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->stats;
}

}  // namespace muster::agent
