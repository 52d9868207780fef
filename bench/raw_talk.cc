#include "bench/raw_talk.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "gossip/base/rng.h"
#include "gossip/wire/endpoint.h"

namespace muster::bench {
namespace {

/// Silence after which no more bytes are expected.
constexpr int kQuietMs = 250;
/// Size of the greeting that every ZMTP peer sends before it knows its peer.
constexpr std::size_t kGreetingBytes = 64;

std::string zmtp_greeting(std::string mechanism) {
  mechanism.resize(20, '\0');
  return std::string("\xff") + std::string(8, '\0') + "\x7f\x03" + std::string(1, '\0') +
         mechanism + std::string(32, '\0');
}

/// Greetings of older protocols, which know no keys: a peer believes the frames behind them.
const std::string kGreetingOfTwo =
    std::string("\xff") + std::string(8, '\0') + std::string("\x7f\x01\x05\0\0", 5);
const std::string kGreetingOfOne("\x01\0", 2);

/// A frame of ZMTP 1.
std::string old_frame(const std::string& bytes) {
  std::string size(8, '\0');
  for (std::size_t i = 0; i < 4; ++i) {
    size[7 - i] = static_cast<char>(((bytes.size() + 1) >> (8 * i)) & 0xff);
  }
  return "\xff" + size + std::string(1, '\0') + bytes;
}

std::string command(std::string_view name, const std::string& body) {
  const std::string content =
      std::string(1, static_cast<char>(name.size())) + std::string(name) + body;
  std::string size(8, '\0');
  size[6] = static_cast<char>(content.size() >> 8);
  size[7] = static_cast<char>(content.size() & 0xff);
  return "\x06" + size + content;
}

std::string frame(const std::string& bytes) {
  std::string size(8, '\0');
  for (std::size_t i = 0; i < 4; ++i) {
    size[7 - i] = static_cast<char>((bytes.size() >> (8 * i)) & 0xff);
  }
  return "\x02" + size + bytes;
}

int connect_to(const std::string& where) {
  if (where.starts_with('/')) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, where.c_str(), sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
  }
  const auto at = gossip::Endpoint::parse(where, 0);
  if (!at.has_value()) {
    return -1;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::memcpy(&address.sin_addr, at->ip.data() + 12, 4);
  address.sin_port = htons(at->port);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

std::vector<std::pair<std::string, std::string>> openings(const std::vector<std::string>& messages,
                                                          Rng& rng) {
  std::string words;
  std::string old_words;
  std::string bare;
  for (const std::string& message : messages) {
    words += frame(message);
    old_words += old_frame(message);
    bare += message;
  }
  std::string noise(3000, '\0');
  for (char& byte : noise) {
    byte = static_cast<char>(rng.below(256));
  }
  const std::string ready =
      command("READY", std::string("\x0bSocket-Type") + std::string("\0\0\0\x06"
                                                                    "DEALER",
                                                                    10));
  const std::string hello =
      command("HELLO", std::string("\x01\x00", 2) + std::string(72, '\0') + noise.substr(0, 120));
  const std::string curve = zmtp_greeting("CURVE");
  return {{"silence", ""},
          {"noise", noise},
          {"HTTP", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
          {"a greeting without keys", zmtp_greeting("NULL") + ready + words},
          {"a greeting with a password",
           zmtp_greeting("PLAIN") + command("HELLO", std::string("\x04root\x04root")) + words},
          {"words behind the greeting", curve + words},
          {"a READY behind the greeting", curve + ready + words},
          {"a HELLO of noise", curve + hello + words},
          {"an INITIATE of noise", curve + command("INITIATE", noise.substr(0, 400)) + words},
          {"a MESSAGE of noise", curve + command("MESSAGE", noise.substr(0, 100)) + words},
          {"words of ZMTP 2", kGreetingOfTwo + words},
          {"words of ZMTP 1", kGreetingOfOne + old_words},
          {"words without a greeting", bare}};
}

struct RawLine {
  std::string what;
  int fd = -1;
  std::string heard{};
};

/// Reads from all connections until nothing comes or all are closed.
void hear_raw(std::vector<RawLine>& lines) {
  for (;;) {
    std::vector<pollfd> items;
    for (const RawLine& line : lines) {
      items.push_back({line.fd, POLLIN, 0});
    }
    const bool is_over =
        std::all_of(lines.begin(), lines.end(), [](const RawLine& line) { return line.fd < 0; });
    if (is_over || poll(items.data(), items.size(), kQuietMs) <= 0) {
      return;
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      char part[4096];
      if (items[i].revents == 0) {
        continue;
      }
      const ssize_t got = recv(lines[i].fd, part, sizeof part, 0);
      if (got > 0) {
        lines[i].heard.append(part, static_cast<std::size_t>(got));
      } else {
        close(std::exchange(lines[i].fd, -1));
      }
    }
  }
}

}  // namespace

std::optional<std::vector<RawAnswer>> talk_raw(const std::string& where,
                                               const std::vector<std::string>& messages) {
  Rng rng(1);
  std::vector<RawLine> lines;
  for (const auto& [what, bytes] : openings(messages, rng)) {
    const int fd = connect_to(where);
    if (fd < 0) {
      return std::nullopt;
    }
    (void)!::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    lines.push_back({what, fd});
  }
  hear_raw(lines);
  std::vector<RawAnswer> answers;
  for (RawLine& line : lines) {
    if (line.fd >= 0) {
      close(line.fd);
    }
    const bool is_greeting = line.heard.starts_with('\xff') && line.heard.size() <= kGreetingBytes;
    answers.push_back({line.what, is_greeting ? "" : std::move(line.heard)});
  }
  return answers;
}

}  // namespace muster::bench
