#include "scheduler/placement/host_names.h"

#include <array>
#include <string_view>

namespace muster::scheduler {
namespace {

/// The lowest id that the text, hex digits of a whole or short id, may stand for.
std::optional<HostId> lowest_id(std::string_view text) {
  if (text.size() != HostId().short_hex().size() && text.size() != 2 * HostId::kSizeBytes) {
    return std::nullopt;
  }
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(text[i]);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    bytes[i / 2] = static_cast<std::uint8_t>(bytes[i / 2] << 4 | digit);
  }
  return HostId(bytes);
}

}  // namespace

bool HostNames::set(const HostId& id, HostNumber number, const std::string& name) {
  const auto [place, is_new] = hosts_.try_emplace(id);
  Known& known = place->second;
  known.number = number;
  if (!is_new && known.name == name) {
    return false;
  }
  if (const auto before = named_.find(known.name); before != named_.end()) {
    before->second.erase(number);
    if (before->second.empty()) {
      named_.erase(before);
    }
  }
  known.name = name;
  named_[name].insert(number);
  return true;
}

std::optional<HostNumber> HostNames::number_of(const HostId& id) const {
  const auto known = hosts_.find(id);
  return known == hosts_.end() ? std::nullopt : std::optional(known->second.number);
}

std::vector<HostNumber> HostNames::called(const std::string& text) const {
  std::vector<HostNumber> hosts;
  if (const auto known = named_.find(text); known != named_.end()) {
    hosts.assign(known->second.begin(), known->second.end());
  }
  const std::optional<HostId> lowest = lowest_id(text);
  if (!lowest.has_value()) {
    return hosts;
  }
  for (auto item = hosts_.lower_bound(*lowest); item != hosts_.end(); ++item) {
    if (item->first.short_hex() != text && item->first.hex() != text) {
      break;
    }
    hosts.push_back(item->second.number);
  }
  return hosts;
}

}  // namespace muster::scheduler
