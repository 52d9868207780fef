#include "agent/edge/gpu/gpu_prober.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "agent/edge/gpu/pci_gpus.h"
#include "agent/edge/grant/child_spawn.h"
#include "gossip/base/overloaded.h"

namespace muster::agent {
namespace {

std::string joined_ids(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) {
    text += (text.empty() ? "" : ",") + id;
  }
  return text;
}

/// Bytes that a prober wrote and that are no whole frame yet.
constexpr std::size_t kBufferMax = kProbeFrameBytesMax + 4096;
/// Bytes that one call reads, so that a prober that writes without end does not hold the loop.
constexpr std::size_t kReadMax = 4 << 20;

/// Appends what is there. False at the end of the stream.
bool receive(int fd, std::string& buffer) {
  char bytes[65536];
  for (std::size_t taken = 0; taken < kReadMax && buffer.size() < kBufferMax;) {
    const ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) {
      return false;
    }
    if (got < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    buffer.append(bytes, static_cast<std::size_t>(got));
    taken += static_cast<std::size_t>(got);
  }
  return true;
}

/// By the descriptor: the number may be another process by now, if another wait took this one's
/// end.
void kill_by(const Fd& pidfd) {
  syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

bool has_ended(const Fd& pidfd) {
  pollfd entry{pidfd.get(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace

GpuProber::GpuProber(GpuProberOptions options)
    : options_(std::move(options)), plan_(options_.plan) {}

GpuProber::~GpuProber() {
  for (const auto& [id, prober] : probers_) {
    if (prober.pidfd.is_open()) {
      kill_by(prober.pidfd);
      waitpid(prober.pid, nullptr, WNOHANG);
    }
  }
}

void GpuProber::start(Instant now) {
  plan_.step(now, GpusListed{pci_gpus(options_.pci_directory)});
  obey(now);
}

std::vector<int> GpuProber::fds() const {
  std::vector<int> fds;
  for (const auto& [id, prober] : probers_) {
    for (const int fd : {prober.socket.get(), prober.pidfd.get()}) {
      if (fd >= 0) {
        fds.push_back(fd);
      }
    }
  }
  return fds;
}

void GpuProber::on_readable(Instant now, int fd) {
  const auto found = std::find_if(probers_.begin(), probers_.end(), [&](const auto& entry) {
    return entry.second.socket.get() == fd || entry.second.pidfd.get() == fd;
  });
  if (found == probers_.end()) {
    return;
  }
  const std::uint64_t id = found->first;
  // The last words of a process that has ended count.
  if (found->second.socket.is_open()) {
    read(now, id, found->second);
  }
  // The number of a descriptor may be that of a younger prober by now.
  if (found->second.pidfd.get() == fd && has_ended(found->second.pidfd)) {
    on_gone(now, id);
  }
  obey(now);
}

void GpuProber::on_time(Instant now) {
  plan_.tick(now);
  obey(now);
}

std::optional<ProbeView> GpuProber::take_view() {
  return std::exchange(has_changed_, false) ? std::optional(plan_.view()) : std::nullopt;
}

std::vector<XidEvent> GpuProber::take_xids() {
  return std::exchange(xids_, {});
}

std::vector<Event> GpuProber::take_events() {
  return std::exchange(events_, {});
}

void GpuProber::drain_plan() {
  ProbePlanOutput output = plan_.take_output();
  has_changed_ = has_changed_ || output.has_changed;
  orders_ = std::move(output.orders);
  std::move(output.events.begin(), output.events.end(), std::back_inserter(events_));
}

void GpuProber::obey(Instant now) {
  for (drain_plan(); !orders_.empty(); drain_plan()) {
    const std::vector<ProbeOrder> orders = std::exchange(orders_, {});
    for (const ProbeOrder& order : orders) {
      std::visit([&](const auto& each) { obey(now, each); }, order);
    }
  }
}

void GpuProber::obey(Instant now, const StartProber& order) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    plan_.step(now, ProberFailed{order.prober, "no socket for a prober: " + errno_text(errno)});
    return;
  }
  Prober& prober = probers_[order.prober];
  prober.kind = order.kind;
  prober.socket = Fd(ends[0]);
  const Fd theirs(ends[1]);
  ChildSpawn spawn;
  spawn.executable = options_.executable;
  spawn.arguments = {"muster", "probe", order.kind == ProberKind::kEvents ? "events" : "query"};
  if (!options_.library.empty()) {
    spawn.arguments.insert(spawn.arguments.end(), {"--library", options_.library});
  }
  if (!order.pci_ids.empty()) {
    spawn.arguments.insert(spawn.arguments.end(), {"--pci", joined_ids(order.pci_ids)});
  }
  spawn.socket = theirs.get();
  prober.pid = spawn_child(spawn);
  if (prober.pid > 0) {
    prober.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, prober.pid, 0)));
  }
  if (!prober.pidfd.is_open()) {
    const int code = prober.pid > 0 ? errno : -prober.pid;
    plan_.step(now, ProberFailed{order.prober, "cannot start a prober: " + errno_text(code)});
  }
}

void GpuProber::obey(Instant, const AskProber& order) {
  const auto found = probers_.find(order.prober);
  if (found != probers_.end() && found->second.socket.is_open()) {
    // One that takes no byte gives no answer either, and is found out by that.
    [[maybe_unused]] const ssize_t sent =
        send(found->second.socket.get(), &kLook, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

void GpuProber::obey(Instant now, const KillProber& order) {
  const auto found = probers_.find(order.prober);
  if (found != probers_.end() && found->second.pidfd.is_open()) {
    found->second.socket.reset();
    found->second.buffer.clear();
    kill_by(found->second.pidfd);
    return;
  }
  if (found != probers_.end() && found->second.pid > 0) {
    kill(found->second.pid, SIGKILL);
    waitpid(found->second.pid, nullptr, WNOHANG);
  }
  probers_.erase(order.prober);
  plan_.step(now, ProberEnded{order.prober});
}

void GpuProber::read(Instant now, std::uint64_t id, Prober& prober) {
  const bool is_open = receive(prober.socket.get(), prober.buffer);
  while (prober.socket.is_open()) {
    Result<std::optional<ProbeFrame>> frame = take_probe_frame(prober.buffer);
    if (!frame) {
      plan_.step(now, ProberFailed{id, frame.error().text});
      prober.socket.reset();
      return;
    }
    if (!frame->has_value()) {
      break;
    }
    hear(now, id, **frame);
  }
  if (!is_open) {
    prober.socket.reset();
  }
}

void GpuProber::hear(Instant now, std::uint64_t id, ProbeFrame& frame) {
  std::visit(Overloaded{
                 [&](MachineReading& reading) {
                   plan_.step(now, ProberAnswered{id, std::move(reading)});
                 },
                 [&](ProbeFailure& failure) {
                   plan_.step(now, ProberFailed{id, std::move(failure.text)});
                 },
                 [&](EventsReady&) { plan_.step(now, ProberReady{id}); },
                 [&](XidEvent& xid) {
                   if (xids_.size() == kXidsMax) {
                     xids_.erase(xids_.begin());
                   }
                   xids_.push_back(std::move(xid));
                 },
             },
             frame);
}

void GpuProber::on_gone(Instant now, std::uint64_t id) {
  const auto found = probers_.find(id);
  waitpid(found->second.pid, nullptr, WNOHANG);
  probers_.erase(found);
  plan_.step(now, ProberEnded{id});
}

}  // namespace muster::agent
