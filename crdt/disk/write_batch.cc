#include "crdt/disk/write_batch.h"

#include <xxhash.h>

#include "gossip/base/check.h"
#include "gossip/base/version.h"

namespace muster::crdt {
namespace {

constexpr std::size_t kNumberBytes = 8;

void append_number(std::string& out, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    out += static_cast<char>(number >> shift & 0xff);
  }
}

std::uint64_t read_number(std::string_view bytes) {
  CHECK(bytes.size() == kNumberBytes);
  std::uint64_t number = 0;
  for (const char byte : bytes) {
    number = number << 8 | static_cast<std::uint8_t>(byte);
  }
  return number;
}

std::uint64_t digest_of(std::string_view key, std::string_view payload) {
  const std::uint64_t seed = XXH3_64bits(key.data(), key.size());
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

}  // namespace

std::string key_of(std::string_view table, std::uint64_t number) {
  std::string key(table);
  append_number(key, number);
  return key;
}

std::optional<std::uint64_t> number_of(std::string_view table, std::string_view key) {
  if (key.size() != table.size() + kNumberBytes || !key.starts_with(table)) {
    return std::nullopt;
  }
  return read_number(key.substr(table.size()));
}

std::string seal(std::string_view key, std::string_view payload) {
  std::string sealed;
  sealed.reserve(payload.size() + 1 + kNumberBytes);
  sealed += static_cast<char>(kDiskVersion);
  sealed += payload;
  append_number(sealed, digest_of(key, payload));
  return sealed;
}

bool is_of_earlier_build(std::string_view key, std::string_view sealed) {
  if (sealed.size() < 1 + kNumberBytes || sealed[0] < 1 ||
      sealed[0] >= static_cast<char>(kDiskVersion)) {
    return false;
  }
  const std::string_view payload = sealed.substr(1, sealed.size() - 1 - kNumberBytes);
  return read_number(sealed.substr(sealed.size() - kNumberBytes)) == digest_of(key, payload);
}

std::optional<std::string> unseal(std::string_view key, std::string_view sealed) {
  if (sealed.size() < 1 + kNumberBytes || sealed[0] != static_cast<char>(kDiskVersion)) {
    return std::nullopt;
  }
  const std::string_view payload = sealed.substr(1, sealed.size() - 1 - kNumberBytes);
  if (read_number(sealed.substr(sealed.size() - kNumberBytes)) != digest_of(key, payload)) {
    return std::nullopt;
  }
  return std::string(payload);
}

void Root::add(std::string_view key, std::string_view sealed) {
  ++count;
  digest ^= digest_of(key, sealed);
}

void Root::remove(std::string_view key, std::string_view sealed) {
  CHECK(count > 0);
  --count;
  digest ^= digest_of(key, sealed);
}

std::string Root::encode() const {
  std::string payload;
  append_number(payload, count);
  append_number(payload, digest);
  return payload;
}

std::optional<Root> Root::decode(std::string_view payload) {
  if (payload.size() != 2 * kNumberBytes) {
    return std::nullopt;
  }
  return Root{read_number(payload.substr(0, kNumberBytes)),
              read_number(payload.substr(kNumberBytes))};
}

Result<Records> check_records(const std::map<std::string, std::string>& sealed) {
  Records records;
  Root seen;
  std::optional<Root> stored;
  for (const auto& [key, value] : sealed) {
    std::optional<std::string> payload = unseal(key, value);
    if (is_of_earlier_build(key, value)) {
      return Error{ErrorCode::kIo,
                   "the data directory was written by an earlier build, whose format this one "
                   "does not read: start with an empty data directory"};
    }
    if (!payload.has_value()) {
      return Error{ErrorCode::kCorrupt, "record '" + key + "' does not match its checksum"};
    }
    if (key == kRootKey) {
      stored = Root::decode(*payload);
      continue;
    }
    seen.add(key, value);
    records.emplace(key, *std::move(payload));
  }
  if (sealed.empty()) {
    return records;
  }
  if (!stored.has_value() || *stored != seen) {
    return Error{ErrorCode::kCorrupt, "records are missing or doubled (root record differs)"};
  }
  return records;
}

}  // namespace muster::crdt
