#include "agent/api/json/audit_chain.h"

#include <charconv>

namespace muster::agent {
namespace {

constexpr std::string_view kPrev = "{\"prev\":\"";
constexpr std::string_view kNumber = "\",\"number\":";
constexpr std::size_t kHexDigits = 2 * gossip::kSha256Bytes;

std::string chain_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<std::uint8_t>(byte) >> 4U];
    text += kDigits[static_cast<std::uint8_t>(byte) & 0xfU];
  }
  return text;
}

/// The head of a line.
struct Head {
  std::string_view prev;
  std::uint64_t number = 0;
};

std::optional<Head> head_of(std::string_view line) {
  if (line.size() > kChainLineBytesMax || !line.starts_with(kPrev) || !line.ends_with('}') ||
      line.substr(kPrev.size()).size() < kHexDigits) {
    return std::nullopt;
  }
  Head head;
  head.prev = line.substr(kPrev.size(), kHexDigits);
  line.remove_prefix(kPrev.size() + kHexDigits);
  if (!line.starts_with(kNumber)) {
    return std::nullopt;
  }
  line.remove_prefix(kNumber.size());
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), head.number);
  const bool is_number = error == std::errc() && end != line.data() + line.size() &&
                         (*end == ',' || *end == '}') && head.number > 0;
  return is_number ? std::optional(head) : std::nullopt;
}

}  // namespace

ChainEnd chain_begin() {
  return {0, std::string(kHexDigits, '0')};
}

std::string chain_line(const ChainEnd& before, std::uint64_t number, std::string_view rest) {
  std::string line;
  line.append(kPrev).append(before.digest).append(kNumber).append(std::to_string(number));
  line.append(rest.empty() ? "" : ",").append(rest).append("}");
  return line;
}

std::optional<ChainEnd> end_of_line(const gossip::Verifier& verifier, std::string_view line) {
  const std::optional<Head> head = head_of(line);
  return head.has_value() ? std::optional(ChainEnd{head->number, chain_hex(verifier.sha256(line))})
                          : std::nullopt;
}

std::string ChainReader::take(std::string_view line) {
  const std::optional<Head> head = head_of(line);
  if (!head.has_value()) {
    return "it is no line of an audit file";
  }
  if (head->prev != end_.digest) {
    return lines_ == 0
               ? "it is not the first line of a file: lines before it are missing"
               : "it does not follow the line before: one of the two was changed, or a line "
                 "between them was removed, added or moved";
  }
  if (head->number <= end_.number) {
    return "its number is not above that of the line before";
  }
  end_ = {head->number, chain_hex(verifier_.sha256(line))};
  ++lines_;
  return "";
}

}  // namespace muster::agent
