#include "agent/edge/run/answer_thread.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

/// Where processors are short, the loop goes first.
constexpr int kNice = 5;

}  // namespace

class AnswerThread::Impl {
 public:
  Impl() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    CHECK(fd_ >= 0);
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
    close(fd_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void submit(Work work) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(work));
    }
    wake_.notify_one();
  }
  int fd() const { return fd_; }
  std::vector<Made> take() {
    eventfd_t count = 0;
    eventfd_read(fd_, &count);
    const std::lock_guard lock(mutex_);
    return std::exchange(made_, {});
  }

 private:
  void run() {
    pthread_setname_np(pthread_self(), "muster-answers");
    // Of this thread alone, as Linux has it.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return is_ending_ || !waiting_.empty(); });
      if (is_ending_) {
        return;
      }
      Work work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      std::optional<HttpAnswer> answer = work.call.on_answer(work.response);
      if (answer.has_value()) {
        // A text that grew has up to twice its size, and a client may be slow to take it.
        answer->body.shrink_to_fit();
      }
      lock.lock();
      made_.push_back({work.number, std::move(work.call), std::move(answer)});
      eventfd_write(fd_, 1);
    }
  }

  int fd_;
  std::mutex mutex_;  ///< Guards what follows.
  std::condition_variable wake_;
  std::deque<Work> waiting_;
  std::vector<Made> made_;
  bool is_ending_ = false;
  std::thread thread_;
};

AnswerThread::AnswerThread() : impl_(std::make_unique<Impl>()) {}

AnswerThread::~AnswerThread() = default;

void AnswerThread::submit(Work work) {
  impl_->submit(std::move(work));
}

int AnswerThread::fd() const {
  return impl_->fd();
}

std::vector<AnswerThread::Made> AnswerThread::take() {
  return impl_->take();
}

}  // namespace muster::agent
