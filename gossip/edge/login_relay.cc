#include "gossip/edge/login_relay.h"

#include <fcntl.h>
#include <linux/securebits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/zmtp_frames.h"
#include "gossip/wire/wire.h"

namespace muster::gossip {
namespace {

constexpr int kEventsMax = 64;
/// Connections that it accepts before the others have their turn.
constexpr int kAcceptedPerTurn = 32;
/// How often it asks again for messages that it holds back.
constexpr int kHeldPeriodMs = 10;
/// The pause after no descriptor was left: the listener stays readable.
constexpr Duration kNoDescriptorRest = std::chrono::milliseconds(100);

/// The subject of an event of epoll: an end of a link, or one of these.
constexpr std::uint64_t kWake = 0;
constexpr std::uint64_t kListener = 1;
constexpr std::uint64_t kFirstLink = 2;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset() {
    if (fd_ >= 0) {
      close(std::exchange(fd_, -1));
    }
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Lets the calling thread, and no other, act as `uid` until its end. With the user of the process
/// it changes nothing.
class ActingAs {
 public:
  explicit ActingAs(std::uint32_t uid) : own_(geteuid()), is_good_(uid == own_ || become(uid)) {}
  ~ActingAs() { CHECK(geteuid() == own_ || become(own_)); }
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;
  bool is_good() const { return is_good_; }

 private:
  /// The function of the C library would change all threads.
  static bool become(std::uint32_t uid) {
    return uid != std::uint32_t(-1) &&  // That number asks for no change.
           syscall(SYS_setresuid, uid_t(-1), static_cast<uid_t>(uid), uid_t(-1)) == 0;
  }
  const uid_t own_;
  const bool is_good_;
};

/// A connected socket at `path` whose peer sees the user `uid`.
Descriptor dialled_as(std::uint32_t uid, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Descriptor();
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) {
    return Descriptor();
  }
  const ActingAs login(uid);
  const bool is_connected =
      login.is_good() &&
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  return is_connected ? std::move(fd) : Descriptor();
}

/// Bytes of one direction that wait for the other end to take them.
struct Block {
  std::string bytes;
  std::size_t at = 0;        ///< Bytes in front of it have passed.
  std::size_t may_pass = 0;  ///< Bytes in front of it may pass, too.
  bool is_over = false;      ///< The end that it reads from sends no more.

  bool is_empty() const { return at == bytes.size(); }
  std::string_view rest() const { return std::string_view(bytes).substr(may_pass); }
};

struct Link {
  Descriptor client;
  Descriptor inner;
  std::uint32_t uid = 0;
  ZmtpFrames frames{kMessageBytesMax};
  Block to_inner;
  Block to_client;
  std::uint32_t client_events = 0;  ///< That epoll tells of.
  std::uint32_t inner_events = 0;
  bool is_held = false;
  /// libzmq has ended the inner end. It may still be read, but epoll would tell of its end without
  /// a pause, and is no longer asked.
  bool is_inner_gone = false;
};

enum class Passed { kEverything, kSome, kBroken };

/// Reads if there is room. False if the descriptor failed.
bool fill(int fd, Block& block) {
  if (!block.is_empty() || block.is_over) {
    return true;
  }
  block.bytes.resize(LoginRelay::kBlockBytes);
  const ssize_t got = recv(fd, block.bytes.data(), block.bytes.size(), MSG_DONTWAIT);
  const int error = errno;
  block.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  block.at = block.may_pass = 0;
  block.is_over = got == 0;
  return got >= 0 || error == EAGAIN || error == EINTR;
}

Passed drain(int fd, Block& block) {
  while (block.at < block.may_pass) {
    const ssize_t sent = send(fd, block.bytes.data() + block.at, block.may_pass - block.at,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      const bool is_later =
          errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM;
      return is_later ? Passed::kSome : Passed::kBroken;
    }
    block.at += static_cast<std::size_t>(sent);
  }
  return block.is_empty() ? Passed::kEverything : Passed::kSome;
}

}  // namespace

class LoginRelay::Loop {
 public:
  explicit Loop(Options options)
      : options_(std::move(options)),
        connections_(options_.limits),
        dials_(options_.own, options_.dials),
        messages_(options_.own, options_.messages),
        poll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Loop() {
    if (thread_.joinable()) {
      is_ending_ = true;
      wake();
      thread_.join();
    }
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  bool start() {
    if (!poll_.is_open() || !wake_.is_open() || !watch(wake_.get(), kWake, EPOLLIN)) {
      return false;
    }
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }
  void accept_at(Descriptor listener) {
    {
      const std::lock_guard lock(mutex_);
      next_listener_ = std::move(listener);
    }
    wake();
  }
  Stats stats() const { return {counts_.refused, counts_.failed, counts_.held}; }

 private:
  /// Both ends of a link have its number.
  static constexpr std::uint64_t event_of(std::uint64_t link, bool is_client) {
    return link * 2 + (is_client ? 1 : 0);
  }

  void run();
  void wake();
  void take_listener();
  void leave_listener();
  bool watch(int fd, std::uint64_t id, std::uint32_t events, int how = EPOLL_CTL_ADD);
  void accept_some();
  void accept_one(Descriptor client);
  void serve(std::uint64_t id, std::uint32_t events);
  void pass(std::uint64_t number, Link& link);
  bool pass_to_inner(std::uint64_t number, Link& link);
  bool pass_to_client(Link& link);
  bool watch_again(std::uint64_t number, Link& link);
  void leave_inner(Link& link);
  void end(std::uint64_t number);
  void ask_again();
  int patience_ms(std::optional<Instant> end) const;

  const Options options_;
  LoginConnections connections_;
  LoginPace dials_;
  LoginPace messages_;
  Descriptor poll_;
  Descriptor wake_;
  struct Door {
    Descriptor listener;
    Instant rests_until = kLongAgo;  ///< It is not looked at before.
    bool is_watched = false;
  };
  Door door_;
  std::unordered_map<std::uint64_t, Link> links_;
  std::uint64_t next_link_ = kFirstLink;
  struct Held {
    std::set<std::uint64_t> links;  ///< They wait for the pace of their login.
    std::uint64_t last_asked = 0;   ///< All have a turn.
  };
  Held held_;

  std::mutex mutex_;
  std::optional<Descriptor> next_listener_;
  std::atomic<bool> is_ending_ = false;
  struct Counts {
    std::atomic<std::uint64_t> refused = 0;
    std::atomic<std::uint64_t> failed = 0;
    std::atomic<std::uint64_t> held = 0;
  };
  Counts counts_;
  std::thread thread_;
};

void LoginRelay::Loop::wake() {
  const std::uint64_t one = 1;
  CHECK(write(wake_.get(), &one, sizeof one) == sizeof one || errno == EAGAIN);
}

bool LoginRelay::Loop::watch(int fd, std::uint64_t id, std::uint32_t events, int how) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(poll_.get(), how, fd, &event) == 0;
}

int LoginRelay::Loop::patience_ms(std::optional<Instant> end) const {
  int patience = held_.links.empty() ? -1 : kHeldPeriodMs;
  const auto at_most = [&patience](Duration limit) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    const int most = static_cast<int>(std::max<std::int64_t>(ms, 0));
    patience = patience < 0 ? most : std::min(patience, most);
  };
  if (door_.listener.is_open() && !door_.is_watched) {
    at_most(door_.rests_until - boot_now());
  }
  if (end.has_value()) {
    at_most(*end - boot_now());
  }
  return patience;
}

void LoginRelay::Loop::run() {
  prctl(PR_SET_NAME, "login-relay");
  // The agent's own socket lies where only root may go: the right to pass stays with the thread
  // when it acts as a login.
  prctl(PR_SET_SECUREBITS, prctl(PR_GET_SECUREBITS) | SECBIT_NO_SETUID_FIXUP);
  std::optional<Instant> end;
  while (!end.has_value() || (!links_.empty() && boot_now() < *end)) {
    std::array<epoll_event, kEventsMax> events{};
    const int count = epoll_wait(poll_.get(), events.data(), kEventsMax, patience_ms(end));
    for (int i = 0; i < count; ++i) {
      const epoll_event& each = events[static_cast<std::size_t>(i)];
      if (each.data.u64 == kListener) {
        accept_some();
      } else if (each.data.u64 != kWake) {
        serve(each.data.u64, each.events);
      } else {
        std::uint64_t times = 0;
        CHECK(read(wake_.get(), &times, sizeof times) == sizeof times || errno == EAGAIN);
      }
    }
    ask_again();
    take_listener();
    if (is_ending_ && !end.has_value()) {
      end = boot_now() + kLastAnswers;
      leave_listener();
    }
  }
}

/// The socket has other descriptors, and epoll would go on to tell of it.
void LoginRelay::Loop::leave_listener() {
  if (door_.is_watched) {
    epoll_ctl(poll_.get(), EPOLL_CTL_DEL, door_.listener.get(), nullptr);
  }
  door_.is_watched = false;
  door_.listener.reset();
}

/// A new listener takes the place of the one before; after a rest it is looked at again.
void LoginRelay::Loop::take_listener() {
  {
    const std::lock_guard lock(mutex_);
    if (next_listener_.has_value()) {
      leave_listener();
      door_.listener = std::move(*next_listener_);
      next_listener_.reset();
    }
  }
  if (door_.listener.is_open() && !door_.is_watched && boot_now() >= door_.rests_until) {
    door_.is_watched = watch(door_.listener.get(), kListener, EPOLLIN);
    door_.rests_until = boot_now() + (door_.is_watched ? Duration(0) : kNoDescriptorRest);
  }
}

void LoginRelay::Loop::accept_some() {
  for (int i = 0; i < kAcceptedPerTurn && door_.listener.is_open(); ++i) {
    Descriptor client(
        accept4(door_.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.is_open()) {
      accept_one(std::move(client));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      epoll_ctl(poll_.get(), EPOLL_CTL_DEL, door_.listener.get(), nullptr);
      door_.is_watched = false;
      door_.rests_until = boot_now() + kNoDescriptorRest;
    }
    return;
  }
}

void LoginRelay::Loop::accept_one(Descriptor client) {
  const auto uid = uid_of_peer(client.get());
  if (!uid.has_value() || !connections_.take(*uid)) {
    ++counts_.refused;
    return;
  }
  if (!dials_.take(*uid, boot_now())) {
    connections_.give_back(*uid);
    ++counts_.refused;
    return;
  }
  Link link;
  link.uid = *uid;
  link.inner = dialled_as(*uid, options_.inner);
  link.client = std::move(client);
  const std::uint64_t number = next_link_++;
  if (!link.inner.is_open() || !watch(link.client.get(), event_of(number, true), EPOLLIN) ||
      !watch(link.inner.get(), event_of(number, false), EPOLLIN)) {
    connections_.give_back(*uid);
    ++counts_.failed;
    return;
  }
  link.client_events = link.inner_events = EPOLLIN;
  links_.emplace(number, std::move(link));
}

void LoginRelay::Loop::serve(std::uint64_t id, std::uint32_t events) {
  const std::uint64_t number = id / 2;
  const auto found = links_.find(number);
  if (found == links_.end()) {
    return;  // An earlier event of this turn ended it.
  }
  Link& link = found->second;
  const bool is_client = id == event_of(number, true);
  const bool is_gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
  if (is_gone && is_client && (link.is_inner_gone || !link.to_inner.is_empty())) {
    // Its last words could only wait, and epoll would tell of its end without a pause.
    end(number);
    return;
  }
  if (is_gone && !is_client) {
    leave_inner(link);
  }
  pass(number, link);
}

void LoginRelay::Loop::leave_inner(Link& link) {
  if (!link.is_inner_gone) {
    link.is_inner_gone = true;
    epoll_ctl(poll_.get(), EPOLL_CTL_DEL, link.inner.get(), nullptr);
  }
}

void LoginRelay::Loop::pass(std::uint64_t number, Link& link) {
  const bool is_there = pass_to_inner(number, link) && pass_to_client(link);
  if (!is_there || !watch_again(number, link)) {
    end(number);
  }
}

/// False if the client has gone, or sends what is no ZeroMQ.
bool LoginRelay::Loop::pass_to_inner(std::uint64_t number, Link& link) {
  Block& block = link.to_inner;
  if (link.is_inner_gone) {
    held_.links.erase(number);
    return true;
  }
  if (!fill(link.client.get(), block)) {
    return false;
  }
  const auto more =
      link.frames.pass(block.rest(), [&] { return messages_.take(link.uid, boot_now()); });
  if (!more.has_value()) {
    return false;
  }
  block.may_pass += *more;
  const bool is_held = block.may_pass < block.bytes.size();
  counts_.held += is_held && !link.is_held ? 1U : 0U;
  link.is_held = is_held;
  if (is_held) {
    held_.links.insert(number);
  } else {
    held_.links.erase(number);
  }
  if (drain(link.inner.get(), block) == Passed::kBroken) {
    leave_inner(link);
    return true;  // It may have left an answer.
  }
  return !(block.is_over && block.is_empty());
}

/// False if either end has gone and there is no more to tell.
bool LoginRelay::Loop::pass_to_client(Link& link) {
  Block& block = link.to_client;
  Passed passed = Passed::kEverything;
  do {
    const bool is_there = fill(link.inner.get(), block);
    // An end that has gone and has no bytes says no more.
    block.is_over = block.is_over || !is_there || (link.is_inner_gone && block.is_empty());
    block.may_pass = block.bytes.size();
    passed = drain(link.client.get(), block);
  } while (passed == Passed::kEverything && link.is_inner_gone && !block.is_over);
  return passed != Passed::kBroken && !(block.is_over && block.is_empty());
}

/// False if the kernel has no memory left for it.
bool LoginRelay::Loop::watch_again(std::uint64_t number, Link& link) {
  const Block& in = link.to_inner;
  const Block& out = link.to_client;
  const auto change = [this](int fd, std::uint64_t id, std::uint32_t& now, std::uint32_t wanted) {
    if (now == wanted) {
      return true;
    }
    now = wanted;
    return watch(fd, id, wanted, EPOLL_CTL_MOD);
  };
  const bool hears_client = in.is_empty() && !link.is_inner_gone;
  const std::uint32_t client = (hears_client ? EPOLLIN : 0U) | (out.is_empty() ? 0U : EPOLLOUT);
  const std::uint32_t inner =
      (out.is_empty() ? EPOLLIN : 0U) | (in.at < in.may_pass ? EPOLLOUT : 0U);
  return change(link.client.get(), event_of(number, true), link.client_events, client) &&
         (link.is_inner_gone ||
          change(link.inner.get(), event_of(number, false), link.inner_events, inner));
}

void LoginRelay::Loop::end(std::uint64_t number) {
  const auto gone = links_.find(number);
  connections_.give_back(gone->second.uid);
  held_.links.erase(number);
  links_.erase(gone);
}

/// Each held link asks once, from the one behind that which asked last.
void LoginRelay::Loop::ask_again() {
  for (std::size_t asked = 0, count = held_.links.size(); asked < count && !held_.links.empty();
       ++asked) {
    auto next = held_.links.upper_bound(held_.last_asked);
    next = next == held_.links.end() ? held_.links.begin() : next;
    held_.last_asked = *next;
    pass(held_.last_asked, links_.at(held_.last_asked));
  }
}

LoginRelay::LoginRelay(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
LoginRelay::~LoginRelay() = default;

Result<std::unique_ptr<LoginRelay>> LoginRelay::start(Options options) {
  auto loop = std::make_unique<Loop>(std::move(options));
  if (!loop->start()) {
    return Error{ErrorCode::kIo, "cannot accept other logins: no descriptor or thread is left"};
  }
  return std::unique_ptr<LoginRelay>(new LoginRelay(std::move(loop)));
}

void LoginRelay::accept_no_more() {
  loop_->accept_at(Descriptor());
}

void LoginRelay::accept_at(const LoginListener& listener) {
  if (!listener.is_open() || listener.edition() == edition_) {
    return;
  }
  Descriptor copy(listener.copy());
  if (copy.is_open()) {
    edition_ = listener.edition();
    loop_->accept_at(std::move(copy));
  }
}

LoginRelay::Stats LoginRelay::stats() const {
  return loop_->stats();
}

}  // namespace muster::gossip
