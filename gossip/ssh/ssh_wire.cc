#include "gossip/ssh/ssh_wire.h"

#include "gossip/base/check.h"

namespace muster::gossip {

std::string_view SshReader::take(std::size_t count) {
  if (!ok_ || count > left_.size()) {
    ok_ = false;
    left_ = {};
    return {};
  }
  const std::string_view taken = left_.substr(0, count);
  left_.remove_prefix(count);
  return taken;
}

std::uint8_t SshReader::byte() {
  const std::string_view taken = take(1);
  return taken.empty() ? 0 : static_cast<std::uint8_t>(taken.front());
}

std::uint32_t SshReader::u32() {
  std::uint32_t value = 0;
  for (const char each : take(sizeof value)) {
    value = value << 8 | static_cast<unsigned char>(each);
  }
  return value;
}

std::string_view SshReader::string() {
  const std::uint32_t size = u32();
  return take(size);
}

std::string_view SshReader::rest() {
  return take(left_.size());
}

SshWriter& SshWriter::byte(std::uint8_t value) {
  bytes_ += static_cast<char>(value);
  return *this;
}

SshWriter& SshWriter::u32(std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) {
    byte(static_cast<std::uint8_t>(value >> shift));
  }
  return *this;
}

SshWriter& SshWriter::string(std::string_view value) {
  CHECK(value.size() <= UINT32_MAX);
  return u32(static_cast<std::uint32_t>(value.size())).raw(value);
}

SshWriter& SshWriter::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

}  // namespace muster::gossip
