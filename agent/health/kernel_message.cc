#include "agent/health/kernel_message.h"

#include <algorithm>
#include <charconv>

#include "agent/health/xid_catalogue.h"

namespace muster::agent {
namespace {

constexpr std::string_view kDriver = "NVRM: Xid (";
constexpr std::string_view kSwitchDriver = "nvidia-nvswitch";
constexpr std::string_view kSwitchWord = ": SXid (";
constexpr std::size_t kUuidBytesMax = 64;
constexpr std::uint64_t kFacilityFactor = 8;

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

template <class Number>
std::optional<Number> take_number(std::string_view& text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// A hexadecimal number of `digits_min` to `digits_max` digits.
std::optional<std::uint32_t> take_hex(std::string_view& text, std::size_t digits_min,
                                      std::size_t digits_max) {
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
  if (digits < digits_min || digits > digits_max) {
    return std::nullopt;
  }
  return take_number<std::uint32_t>(text, 16);
}

std::string hex(std::uint32_t number, std::size_t digits) {
  char buffer[8] = {};
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number, 16);
  const std::string text(buffer, end);
  return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kLetters = "0123456789abcdefABCDEF-";
  return text.size() > 4 && text.size() <= kUuidBytesMax && text.starts_with("GPU-") &&
         text.find_first_not_of(kLetters, 4) == std::string_view::npos;
}

std::string printable(std::string_view text) {
  std::string clean(text.substr(0, kKernelTextBytesMax));
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

/// The text between the brackets. Takes the `): ` behind it, too.
std::optional<std::string_view> take_place(std::string_view& text) {
  const std::size_t end = text.find("): ");
  if (end == std::string_view::npos || end > kUuidBytesMax + 32) {
    return std::nullopt;
  }
  const std::string_view place = text.substr(0, end);
  text.remove_prefix(end + 3);
  return place;
}

/// A code from 1 to `max`, at the end of the message or before a comma. Takes both.
std::optional<std::uint32_t> take_code(std::string_view& text, std::uint32_t max) {
  const std::optional<std::uint32_t> code = take_number<std::uint32_t>(text);
  if (!code.has_value() || *code == 0 || *code > max || !(text.empty() || text.front() == ',')) {
    return std::nullopt;
  }
  text.remove_prefix(std::min<std::size_t>(text.starts_with(", ") ? 2 : 1, text.size()));
  return code;
}

/// The Xid behind `NVRM: Xid (`. A GPU instance of MIG stands behind a blank in the brackets.
std::optional<KernelXid> xid_in(std::string_view text) {
  const std::optional<std::string_view> place = take_place(text);
  const std::optional<std::uint32_t> code =
      place.has_value() ? take_code(text, kXidCodeMax) : std::nullopt;
  if (!code.has_value()) {
    return std::nullopt;
  }
  std::string_view device = place->substr(0, place->find(' '));
  if (is_uuid(device)) {
    return KernelXid{"", std::string(device), *code, printable(text)};
  }
  take(device, "PCI:");
  std::optional<std::string> pci = normal_pci_id(device);
  return pci.has_value() ? std::optional(KernelXid{*pci, "", *code, printable(text)})
                         : std::nullopt;
}

/// The error behind `nvidia-nvswitch`.
std::optional<KernelSwitchXid> switch_xid_in(std::string_view text) {
  constexpr std::size_t kDigitsMax = 3;
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || digits > kDigitsMax) {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  if (!take(text, kSwitchWord)) {
    return std::nullopt;
  }
  std::optional<std::string_view> place = take_place(text);
  const std::optional<std::uint32_t> code =
      place.has_value() ? take_code(text, kSwitchXidCodeMax) : std::nullopt;
  if (!code.has_value()) {
    return std::nullopt;
  }
  take(*place, "PCI:");
  std::optional<std::string> pci = normal_pci_id(*place);
  return pci.has_value() ? std::optional(KernelSwitchXid{
                               *pci, *code, !text.starts_with("Non-fatal"), printable(text)})
                         : std::nullopt;
}

}  // namespace

std::optional<std::string> normal_pci_id(std::string_view text) {
  const std::optional<std::uint32_t> domain = take_hex(text, 4, 8);
  if (!domain.has_value() || !take(text, ":")) {
    return std::nullopt;
  }
  const std::optional<std::uint32_t> bus = take_hex(text, 2, 2);
  if (!bus.has_value() || !take(text, ":")) {
    return std::nullopt;
  }
  const std::optional<std::uint32_t> device = take_hex(text, 2, 2);
  std::optional<std::uint32_t> function = 0;
  if (take(text, ".")) {
    function = take_hex(text, 1, 1);
  }
  if (!device.has_value() || !function.has_value() || !text.empty()) {
    return std::nullopt;
  }
  return hex(*domain, 4) + ":" + hex(*bus, 2) + ":" + hex(*device, 2) + "." + hex(*function, 1);
}

std::optional<KernelRecord> parse_kernel_record(std::string_view record) {
  const std::size_t semicolon = record.find(';');
  if (record.size() > kKernelRecordBytesMax || semicolon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view head = record.substr(0, semicolon);
  std::string_view text = record.substr(semicolon + 1);
  text = text.substr(0, text.find('\n'));
  const std::optional<std::uint64_t> priority = take_number<std::uint64_t>(head);
  if (!priority.has_value() || !take(head, ",")) {
    return std::nullopt;
  }
  const std::optional<std::uint64_t> sequence = take_number<std::uint64_t>(head);
  if (!sequence.has_value() || !take(head, ",") || !take_number<std::uint64_t>(head).has_value()) {
    return std::nullopt;
  }
  KernelRecord read{*sequence, *priority < kFacilityFactor, {}};
  if (!read.is_kernels) {
    return read;
  }
  if (take(text, kDriver)) {
    if (std::optional<KernelXid> xid = xid_in(text)) {
      read.found = std::move(*xid);
    }
  } else if (take(text, kSwitchDriver)) {
    if (std::optional<KernelSwitchXid> xid = switch_xid_in(text)) {
      read.found = std::move(*xid);
    }
  }
  return read;
}

}  // namespace muster::agent
