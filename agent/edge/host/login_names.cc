#include "agent/edge/host/login_names.h"

#include <pwd.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gossip/base/name.h"
#include "scheduler/protocol/users.h"

namespace muster::agent {
namespace {

constexpr std::size_t kEntryBytes = 4 << 10;
/// A larger entry than this is no entry.
constexpr std::size_t kEntryBytesMax = 1 << 20;

}  // namespace

std::string name_of_uid(std::uint32_t uid) {
  std::vector<char> buffer(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  int error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  while (error == ERANGE && buffer.size() < kEntryBytesMax) {
    buffer.resize(2 * buffer.size());
    error = getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  }
  const std::string name = error == 0 && found != nullptr ? found->pw_name : "";
  return name.size() <= scheduler::kUserNameBytesMax && is_line_name(name) ? name : "";
}

struct LoginNames::Shared {
  explicit Shared(Lookup to_call)
      : lookup(std::move(to_call)), answers_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Shared() { close(answers_fd); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  const Lookup lookup;
  const int answers_fd;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::uint32_t> asked;
  std::set<std::uint32_t> under_way;  ///< Asked, or a thread is at it.
  std::vector<std::pair<std::uint32_t, std::string>> answers;
  std::size_t threads = 0;
  std::size_t idle = 0;
  bool is_over = false;
};

LoginNames::LoginNames(Lookup lookup) : shared_(std::make_shared<Shared>(std::move(lookup))) {}

/// A thread that hangs is not waited for.
LoginNames::~LoginNames() {
  const std::lock_guard lock(shared_->mutex);
  shared_->is_over = true;
  shared_->changed.notify_all();
}

int LoginNames::fd() const {
  return shared_->answers_fd;
}

std::optional<std::string> LoginNames::find(std::uint32_t uid, Instant now) const {
  const auto known = known_.find(uid);
  return known == known_.end() || known->second.until <= now ? std::nullopt
                                                             : std::optional(known->second.name);
}

bool LoginNames::ask(std::uint32_t uid, Instant now) {
  if (open_.contains(uid)) {
    return true;
  }
  if (open_.size() >= kOpenMax) {
    return false;
  }
  open_.emplace(uid, now);
  std::unique_lock lock(shared_->mutex);
  if (!shared_->under_way.insert(uid).second) {
    return true;  // A thread hangs at it since an earlier question.
  }
  shared_->asked.push_back(uid);
  const bool needs_thread = shared_->idle < shared_->asked.size() && shared_->threads < kThreadsMax;
  shared_->threads += needs_thread ? 1 : 0;
  lock.unlock();
  if (needs_thread) {
    start_thread();
  }
  shared_->changed.notify_one();
  return true;
}

/// Without a thread the question waits for one of the others, or is given up.
void LoginNames::start_thread() {
  try {
    std::thread([shared = shared_] { work(shared); }).detach();
  } catch (const std::system_error&) {
    const std::lock_guard lock(shared_->mutex);
    --shared_->threads;
  }
}

void LoginNames::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    ++shared->idle;
    shared->changed.wait(lock, [&] { return shared->is_over || !shared->asked.empty(); });
    --shared->idle;
    if (shared->is_over) {
      return;
    }
    const std::uint32_t uid = shared->asked.front();
    shared->asked.pop_front();
    lock.unlock();
    std::string name = shared->lookup(uid);
    lock.lock();
    shared->under_way.erase(uid);
    shared->answers.emplace_back(uid, std::move(name));
    eventfd_write(shared->answers_fd, 1);
  }
}

void LoginNames::turn(Instant now) {
  std::vector<std::pair<std::uint32_t, std::string>> answers;
  std::vector<std::uint32_t> late;
  for (const auto& [uid, asked_at] : open_) {
    if (asked_at + kPatience <= now) {
      late.push_back(uid);
    }
  }
  {
    const std::lock_guard lock(shared_->mutex);
    eventfd_t count = 0;
    eventfd_read(shared_->answers_fd, &count);
    answers.swap(shared_->answers);
    for (const std::uint32_t uid : late) {
      // Behind threads that hang the queue would grow without end.
      if (std::erase(shared_->asked, uid) > 0) {
        shared_->under_way.erase(uid);
      }
    }
  }
  for (const std::uint32_t uid : late) {
    open_.erase(uid);
    keep(uid, "", now);
  }
  for (auto& [uid, name] : answers) {
    open_.erase(uid);
    keep(uid, std::move(name), now);
  }
}

void LoginNames::keep(std::uint32_t uid, std::string name, Instant now) {
  if (known_.size() >= kKeptMax && !known_.contains(uid)) {
    std::erase_if(known_, [&](const auto& each) { return each.second.until <= now; });
  }
  if (known_.size() >= kKeptMax && !known_.contains(uid)) {
    known_.erase(
        std::min_element(known_.begin(), known_.end(), [](const auto& left, const auto& right) {
          return left.second.until < right.second.until;
        }));
  }
  const Duration kept = name.empty() ? kNamelessKept : kKept;
  known_.insert_or_assign(uid, Known{std::move(name), now + kept});
}

Instant LoginNames::next_deadline() const {
  Instant first = kNever;
  for (const auto& [uid, asked_at] : open_) {
    first = std::min(first, asked_at + kPatience);
  }
  return first;
}

}  // namespace muster::agent
