#include "agent/edge/grant/supervise_protocol.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "gossip/wire/wire.h"
#include "scheduler/protocol/codec.h"

namespace muster::agent {
namespace {

using scheduler::RankResult;

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kTextsMax = 8192;

/// Numbers are the socket's: an old supervisor may talk to a newer agent.
enum class FrameType : std::uint64_t {
  kLaunch = 1,
  kTerminate = 2,
  kHold = 3,
  kDismiss = 4,
  kStatus = 5,
};

gossip::Encoder begin(FrameType type, std::size_t fields) {
  gossip::Encoder out;
  out.array(fields + 1).u64(static_cast<std::uint64_t>(type));
  return out;
}

void write_texts(gossip::Encoder& out, const std::vector<std::string>& texts) {
  out.array(texts.size());
  for (const std::string& text : texts) {
    out.text(text);
  }
}

std::vector<std::string> read_texts(gossip::Reader in) {
  std::vector<std::string> texts;
  while (in.ok() && in.left() > 0 && texts.size() < kTextsMax) {
    texts.push_back(in.text(kFrameBytesMax));
  }
  return texts;
}

void write_results(gossip::Encoder& out, const std::vector<RankResult>& results) {
  out.array(results.size());
  for (const RankResult& result : results) {
    scheduler::write(out, result);
  }
}

std::vector<RankResult> read_results(gossip::Reader in) {
  std::vector<RankResult> results;
  while (in.ok() && in.left() > 0) {
    results.push_back(scheduler::read_rank_result(in));
  }
  return results;
}

Instant read_instant(gossip::Reader& in) {
  return Instant(in.duration());
}

std::string encode_body(const LaunchOrder& order) {
  gossip::Encoder out = begin(FrameType::kLaunch, 8);
  write_texts(out, order.argv);
  out.text(order.directory);
  write_texts(out, order.environment);
  out.array(order.ranks.size());
  for (const RankPlan& rank : order.ranks) {
    out.array(2).u64(rank.rank);
    write_texts(out, rank.environment);
  }
  out.duration(order.grace).boolean(order.keep_when_isolated);
  out.duration(order.hold_until.time_since_epoch());
  scheduler::write(out, order.shell);
  return out.take();
}

std::string encode_body(const TerminateOrder& order) {
  return begin(FrameType::kTerminate, 2).duration(order.grace).text(order.reason).take();
}

std::string encode_body(const HoldOrder& order) {
  return begin(FrameType::kHold, 1).duration(order.hold_until.time_since_epoch()).take();
}

std::string encode_body(const DismissOrder&) {
  return begin(FrameType::kDismiss, 0).take();
}

std::string encode_body(const SupervisorStatus& status) {
  gossip::Encoder out = begin(FrameType::kStatus, 9);
  out.u64(static_cast<std::uint64_t>(status.phase)).boolean(status.has_namespace);
  out.u64(status.rank_count);
  scheduler::write(out, status.master);
  out.duration(status.hold_until.time_since_epoch());
  write_results(out, status.results);
  out.boolean(status.has_own_proc).array(status.dropped.size());
  for (const DroppedOutput& one : status.dropped) {
    out.array(3).u64(one.rank).u64(one.lost_bytes).u64(one.surplus_bytes);
  }
  return out.text(status.refusal).take();
}

LaunchOrder read_launch(gossip::Reader& in) {
  LaunchOrder order;
  order.argv = read_texts(in.array());
  order.directory = in.text();
  order.environment = read_texts(in.array());
  gossip::Reader ranks = in.array();
  while (ranks.ok() && ranks.left() > 0 && order.ranks.size() < kRanksPerHostMax) {
    gossip::Reader rank = ranks.array();
    RankPlan plan;
    plan.rank = static_cast<std::uint32_t>(rank.u64_at_most(UINT32_MAX));
    plan.environment = read_texts(rank.array());
    order.ranks.push_back(std::move(plan));
  }
  order.grace = in.duration();
  order.keep_when_isolated = in.boolean();
  order.hold_until = read_instant(in);
  if (in.left() > 0) {
    order.shell = scheduler::read_submit_shell(in);
  }
  return order;
}

std::vector<DroppedOutput> read_dropped(gossip::Reader in) {
  std::vector<DroppedOutput> dropped;
  while (in.ok() && in.left() > 0 && dropped.size() < kRanksPerHostMax) {
    gossip::Reader one = in.array();
    const auto rank = static_cast<std::uint32_t>(one.u64_at_most(UINT32_MAX));
    dropped.push_back({rank, one.u64(), one.u64()});
  }
  return dropped;
}

SupervisorStatus read_status(gossip::Reader& in) {
  using enum SupervisorStatus::Phase;
  SupervisorStatus status;
  status.phase =
      static_cast<SupervisorStatus::Phase>(in.u64_at_most(static_cast<std::uint64_t>(kEnded)));
  status.has_namespace = in.boolean();
  status.rank_count = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  status.master = scheduler::read_endpoint(in);
  status.hold_until = read_instant(in);
  status.results = read_results(in.array());
  status.has_own_proc = in.left() == 0 || in.boolean();
  if (in.left() > 0) {
    status.dropped = read_dropped(in.array());
  }
  if (in.left() > 0) {
    status.refusal = in.text();
  }
  return status;
}

std::optional<SupervisorFrame> decode_body(gossip::Reader in) {
  const auto type = static_cast<FrameType>(in.u64());
  std::optional<SupervisorFrame> frame;
  switch (type) {
    case FrameType::kLaunch:
      frame = read_launch(in);
      break;
    case FrameType::kTerminate: {
      const Duration grace = in.duration();
      frame = TerminateOrder{grace, in.text()};
      break;
    }
    case FrameType::kHold:
      frame = HoldOrder{read_instant(in)};
      break;
    case FrameType::kDismiss:
      frame = DismissOrder{};
      break;
    case FrameType::kStatus:
      frame = read_status(in);
      break;
  }
  return in.ok() ? frame : std::nullopt;
}

}  // namespace

std::string encode_frame(const SupervisorFrame& frame) {
  const std::string body = std::visit([](const auto& one) { return encode_body(one); }, frame);
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    bytes += static_cast<char>(body.size() >> (8 * i) & 0xff);
  }
  return bytes + body;
}

Result<std::optional<SupervisorFrame>> take_frame(std::string& buffer) {
  if (buffer.size() < kLengthBytes) {
    return std::optional<SupervisorFrame>();
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    size |= static_cast<std::size_t>(static_cast<std::uint8_t>(buffer[i])) << (8 * i);
  }
  if (size > kFrameBytesMax) {
    return Error{ErrorCode::kInvalid, "frame too long"};
  }
  if (buffer.size() < kLengthBytes + size) {
    return std::optional<SupervisorFrame>();
  }
  Result<gossip::Document> document = gossip::Document::parse(buffer.substr(kLengthBytes, size));
  buffer.erase(0, kLengthBytes + size);
  if (!document) {
    return document.error();
  }
  std::optional<SupervisorFrame> frame = decode_body(document->root());
  if (!frame.has_value()) {
    return Error{ErrorCode::kInvalid, "not a frame of this protocol"};
  }
  return frame;
}

std::string encode_results(const std::vector<RankResult>& results) {
  gossip::Encoder out;
  write_results(out, results);
  return out.take();
}

std::optional<std::vector<RankResult>> decode_results(const std::string& bytes) {
  Result<gossip::Document> document = gossip::Document::parse(bytes);
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  std::vector<RankResult> results;
  while (in.ok() && in.left() > 0) {
    results.push_back(scheduler::read_rank_result(in));
  }
  return in.ok() ? std::optional(std::move(results)) : std::nullopt;
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() {
  return std::exchange(fd_, -1);
}

void Fd::reset() {
  if (fd_ >= 0) {
    close(release());
  }
}

std::string errno_text(int code) {
  return std::strerror(code);
}

std::optional<std::string> read_file(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    return std::nullopt;
  }
  std::string bytes;
  char chunk[4096];
  for (ssize_t got = 0; (got = read(fd.get(), chunk, sizeof chunk)) != 0;) {
    if (got < 0 || bytes.size() > kFrameBytesMax) {
      return std::nullopt;
    }
    bytes.append(chunk, static_cast<std::size_t>(got));
  }
  return bytes;
}

Status write_file_durably(const std::string& directory, const std::string& name,
                          const std::string& bytes) {
  const std::string path = directory + "/" + name;
  const std::string beside = path + ".new";
  const Fd folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool is_written =
      folder.is_open() && file.is_open() &&
      write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      fsync(file.get()) == 0 && rename(beside.c_str(), path.c_str()) == 0 &&
      fsync(folder.get()) == 0;
  if (!is_written) {
    return Error{ErrorCode::kIo, path + ": " + errno_text(errno)};
  }
  return ok();
}

bool send_all(int fd, const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return false;
    }
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

bool receive_some(int fd, std::string& buffer) {
  char chunk[kReadBytes];
  const ssize_t count = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);
  if (count > 0) {
    buffer.append(chunk, static_cast<std::size_t>(count));
    return true;
  }
  return count < 0 && (errno == EAGAIN || errno == EINTR);
}

std::optional<std::uint64_t> start_time_of(int pid) {
  static constexpr int kFieldsAfterName = 19;  // State is the first; start time the 20th.
  const std::optional<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat.has_value()) {
    return std::nullopt;
  }
  std::size_t at = stat->rfind(") ");
  for (int i = 0; i <= kFieldsAfterName && at != std::string::npos; ++i) {
    at = stat->find(' ', at + 1);
  }
  if (at == std::string::npos) {
    return std::nullopt;
  }
  return std::strtoull(stat->c_str() + at, nullptr, 10);
}

}  // namespace muster::agent
