#include "bench/zmtp_link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace muster::bench {
namespace {

constexpr std::size_t kGreetingBytes = 64;
constexpr std::size_t kRoleAt = 32;
constexpr unsigned char kFlagLong = 0x02;
constexpr unsigned char kFlagCommand = 0x04;
constexpr std::size_t kShortMax = 255;
constexpr std::size_t kMessageMax = 1 << 20;
constexpr std::size_t kReadBytes = 1 << 16;

std::string greeting(bool is_server) {
  std::string bytes;
  bytes += '\xff';
  bytes.append(8, '\0');
  bytes += '\x7f';
  bytes += '\x03';
  bytes += '\0';
  bytes += "CURVE";
  bytes.resize(kRoleAt, '\0');
  bytes += is_server ? '\x01' : '\0';
  bytes.resize(kGreetingBytes, '\0');
  return bytes;
}

std::string frame_of(unsigned char flags, std::string_view body) {
  std::string frame;
  if (body.size() <= kShortMax) {
    frame += static_cast<char>(flags);
    frame += static_cast<char>(body.size());
  } else {
    frame += static_cast<char>(flags | kFlagLong);
    for (int shift = 56; shift >= 0; shift -= 8) {
      frame += static_cast<char>(body.size() >> shift & 0xff);
    }
  }
  return frame += body;
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

}  // namespace

ZmtpLink::ZmtpLink(int fd, CurveSession session)
    : fd_(fd), session_(std::move(session)), out_(greeting(!session_.dials())) {}

ZmtpLink::~ZmtpLink() {
  close(fd_);
}

void ZmtpLink::send(std::string_view message) {
  if (session_.is_ready()) {
    out_ += frame_of(0, session_.seal(message));
  } else {
    held_.emplace_back(message);
  }
}

bool ZmtpLink::flush() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      return errno == EAGAIN || errno == EINPROGRESS || errno == ENOTCONN || errno == EINTR;
    }
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

bool ZmtpLink::read(std::vector<std::string>& messages) {
  static thread_local std::string chunk(kReadBytes, '\0');
  const ssize_t got = recv(fd_, chunk.data(), chunk.size(), 0);
  if (got <= 0) {
    return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
  in_.append(chunk, 0, static_cast<std::size_t>(got));
  return take_greeting() && take_frames(messages);
}

bool ZmtpLink::take_greeting() {
  if (greeted_ || in_.size() < kGreetingBytes) {
    return true;
  }
  greeted_ = true;
  const bool is_zmtp = in_[0] == '\xff' && in_[9] == '\x7f' && in_[10] >= 3;
  in_.erase(0, kGreetingBytes);
  if (const std::string word = session_.begin(); !word.empty()) {
    out_ += frame_of(kFlagCommand, word);
  }
  return is_zmtp;
}

bool ZmtpLink::take_frames(std::vector<std::string>& messages) {
  std::size_t at = 0;
  while (greeted_ && in_.size() - at >= 2) {
    const auto flags = static_cast<unsigned char>(in_[at]);
    const bool is_long = (flags & kFlagLong) != 0;
    const std::size_t head = is_long ? 9 : 2;
    if (in_.size() - at < head) {
      break;
    }
    const std::uint64_t size = big_endian(std::string_view(in_).substr(at + 1, head - 1));
    if (size > kMessageMax) {
      return false;
    }
    if (in_.size() - at - head < size) {
      break;
    }
    if (!take_frame(std::string_view(in_).substr(at + head, size), messages)) {
      return false;
    }
    at += head + size;
  }
  in_.erase(0, at);
  return true;
}

/// Skips a box that does not open, or holds a command.
bool ZmtpLink::take_frame(std::string_view frame, std::vector<std::string>& messages) {
  if (session_.is_ready()) {
    if (auto message = session_.open(frame)) {
      messages.push_back(*std::move(message));
    }
    return true;
  }
  const auto answer = session_.answer(frame);
  if (!answer.has_value()) {
    return false;
  }
  if (!answer->empty()) {
    out_ += frame_of(kFlagCommand, *answer);
  }
  if (session_.is_ready()) {
    for (const std::string& message : std::exchange(held_, {})) {
      send(message);
    }
  }
  return true;
}

}  // namespace muster::bench
