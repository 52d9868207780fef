#include "bench/zmtp_link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace muster::bench {
namespace {

constexpr std::size_t kGreetingBytes = 64;
constexpr unsigned char kFlagLong = 0x02;
constexpr unsigned char kFlagCommand = 0x04;
constexpr std::size_t kShortMax = 255;
constexpr std::size_t kMessageMax = 1 << 20;
constexpr std::size_t kReadBytes = 1 << 16;

std::string greeting_and_ready() {
  std::string bytes;
  bytes += '\xff';
  bytes.append(8, '\0');
  bytes += '\x7f';
  bytes += '\x03';
  bytes += '\0';
  bytes += "NULL";
  bytes.resize(kGreetingBytes, '\0');
  const std::string type = "ROUTER";
  const std::string key = "Socket-Type";
  std::string ready = "\x05READY";
  ready += static_cast<char>(key.size());
  ready += key;
  ready.append(3, '\0');
  ready += static_cast<char>(type.size());
  ready += type;
  bytes += static_cast<char>(kFlagCommand);
  bytes += static_cast<char>(ready.size());
  return bytes + ready;
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

}  // namespace

ZmtpLink::ZmtpLink(int fd) : fd_(fd), out_(greeting_and_ready()) {}

ZmtpLink::~ZmtpLink() {
  close(fd_);
}

void ZmtpLink::send(std::string_view message) {
  std::string& to = ready_ ? out_ : held_;
  if (message.size() <= kShortMax) {
    to += '\0';
    to += static_cast<char>(message.size());
  } else {
    to += static_cast<char>(kFlagLong);
    for (int shift = 56; shift >= 0; shift -= 8) {
      to += static_cast<char>(message.size() >> shift & 0xff);
    }
  }
  to += message;
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
    if ((flags & kFlagCommand) == 0) {
      messages.push_back(in_.substr(at + head, size));
    } else if (!ready_) {
      ready_ = true;
      out_ += held_;
      held_.clear();
      held_.shrink_to_fit();
    }
    at += head + size;
  }
  in_.erase(0, at);
  return true;
}

}  // namespace muster::bench
