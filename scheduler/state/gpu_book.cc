#include "scheduler/state/gpu_book.h"

#include <algorithm>
#include <set>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

/// GPUs of a host that are searched one after the other; for more of them the index is asked.
constexpr std::size_t kTriesMax = 16;

}  // namespace

std::optional<GpuNumber> GpuBook::number_of(std::string_view uuid) const {
  const GpuNumber* known = numbers_.find(IndexHash()(uuid), [&](GpuNumber number) {
    return cells_[index_of(number)].uuid.view() == uuid;
  });
  return known == nullptr ? std::nullopt : std::optional(*known);
}

std::optional<GpuNumber> GpuBook::number_on(const HostHoldings& there, std::string_view uuid,
                                            std::size_t& next) const {
  for (std::size_t tried = 0; tried < there.gpus.size(); ++tried) {
    const GpuNumber number = there.gpus[next % there.gpus.size()];
    next = (next + 1) % there.gpus.size();
    if (cells_[index_of(number)].uuid.view() == uuid) {
      return number;
    }
    if (tried == kTriesMax) {
      break;
    }
  }
  return number_of(uuid);
}

const GpuBook::Cell* GpuBook::find(std::string_view uuid) const {
  const std::optional<GpuNumber> known = number_of(uuid);
  return known.has_value() ? &cells_[index_of(*known)] : nullptr;
}

GpuNumber GpuBook::numbered(std::string_view uuid) {
  if (const std::optional<GpuNumber> known = number_of(uuid)) {
    return *known;
  }
  GpuNumber number = static_cast<GpuNumber>(cells_.size());
  if (unused_.empty()) {
    cells_.emplace_back();
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  cells_[index_of(number)].uuid = uuid;
  numbers_.put(IndexHash()(uuid), number);
  return number;
}

void GpuBook::forget_if_unused(GpuNumber number) {
  const Cell& cell = cells_[index_of(number)];
  if (cell.offers == 0 && !cell.is_held()) {
    numbers_.remove(IndexHash()(cell.uuid.view()),
                    [&](GpuNumber other) { return other == number; });
    unused_.push_back(number);
  }
}

void GpuBook::offer(const HostId& host, const std::vector<std::string>& uuids) {
  std::vector<GpuNumber>& offered = hosts_[host].gpus;
  std::vector<GpuNumber> now;
  now.reserve(uuids.size());
  for (const std::string& uuid : uuids) {
    now.push_back(numbered(uuid));
    ++cells_[index_of(now.back())].offers;
  }
  offered.swap(now);
  for (const GpuNumber number : now) {
    --cells_[index_of(number)].offers;
    forget_if_unused(number);
  }
}

const HostHoldings& GpuBook::on(const HostId& host) const {
  static const HostHoldings kNone;
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? kNone : found->second;
}

bool GpuBook::is_held_beside(GpuNumber gpu, const std::set<Token>& tokens) const {
  const Cell& cell = cells_[index_of(gpu)];
  return (!cell.whole.token.is_none() && !tokens.contains(cell.whole.token)) ||
         std::any_of(cell.slices.begin(), cell.slices.end(),
                     [&](const auto& slot) { return !tokens.contains(slot.second.token); });
}

SlotHolders GpuBook::holders_of(std::string_view uuid) const {
  const Cell* cell = find(uuid);
  if (cell == nullptr) {
    return {};
  }
  SlotHolders holders = cell->slices;
  if (!cell->whole.token.is_none()) {
    holders.emplace(0, cell->whole);
  }
  return holders;
}

GpuHolders GpuBook::holders() const {
  GpuHolders holders;
  for (const Cell& cell : cells_) {
    if (cell.is_held()) {
      holders.emplace(cell.uuid.text(), holders_of(cell.uuid));
    }
  }
  return holders;
}

std::vector<std::string> GpuBook::free_on(const HostRecord& host) const {
  const std::vector<GpuNumber>& numbers = on(host.id).gpus;
  std::vector<std::string> free;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!is_held(numbers[i]) && host.offers(host.gpus[i])) {
      free.push_back(host.gpus[i]);
    }
  }
  return free;
}

bool GpuBook::is_held(std::string_view uuid) const {
  const Cell* cell = find(uuid);
  return cell != nullptr && cell->is_held();
}

bool GpuBook::is_free_at(const GpuSlot& gpu) const {
  const Cell* cell = find(gpu.uuid);
  if (cell == nullptr || !cell->is_held()) {
    return true;
  }
  return gpu.slot != 0 && cell->whole.token.is_none() && !cell->slices.contains(gpu.slot);
}

bool GpuBook::add_if_free(const HostRecord& host, const Member& member,
                          const std::set<Token>& leaving, std::vector<GpuNumber>& numbers) const {
  const HostHoldings& there = on(host.id);
  std::size_t next = 0;
  for (const GpuSlot& gpu : member.gpus) {
    const std::optional<GpuNumber> number = number_on(there, gpu.uuid, next);
    const bool is_offered = number.has_value() && std::find(there.gpus.begin(), there.gpus.end(),
                                                            *number) != there.gpus.end();
    if (!is_offered || is_held_beside(*number, leaving) || !host.is_usable(gpu.uuid)) {
      return false;
    }
    numbers.push_back(*number);
  }
  return true;
}

void GpuBook::take(const Token& token, const Member& member) {
  HostHoldings& there = hosts_[member.host];
  const auto place = std::lower_bound(there.tokens.begin(), there.tokens.end(), token);
  if (place == there.tokens.end() || *place != token) {
    there.tokens.insert(place, token);
    if (!mutant(SchedulerMutant::kAmountsForgotten)) {
      ++there.amounts.members;
      there.amounts.cpus += member.cpus;
      there.amounts.memory_mb += member.memory_mb;
    }
  }
  std::size_t next = 0;
  for (const GpuSlot& gpu : member.gpus) {
    const std::optional<GpuNumber> known = number_on(there, gpu.uuid, next);
    Cell& cell = cells_[index_of(known.has_value() ? *known : numbered(gpu.uuid))];
    (gpu.slot == 0 ? cell.whole : cell.slices[gpu.slot]) = SlotHolder{token, member.host};
  }
}

void GpuBook::free(const Token& token, const Member& member) {
  std::size_t next = 0;
  for (const GpuSlot& gpu : member.gpus) {
    const std::optional<GpuNumber> number = number_on(on(member.host), gpu.uuid, next);
    if (!number.has_value()) {
      continue;
    }
    Cell& cell = cells_[index_of(*number)];
    if (gpu.slot == 0) {
      cell.whole = SlotHolder();
    } else {
      cell.slices.erase(gpu.slot);
    }
    forget_if_unused(*number);
  }
  const auto found = hosts_.find(member.host);
  if (found == hosts_.end()) {
    return;
  }
  HostHoldings& there = found->second;
  const auto place = std::lower_bound(there.tokens.begin(), there.tokens.end(), token);
  if (place != there.tokens.end() && *place == token) {
    there.tokens.erase(place);
    if (!mutant(SchedulerMutant::kAmountsForgotten)) {
      --there.amounts.members;
      there.amounts.cpus -= member.cpus;
      there.amounts.memory_mb -= member.memory_mb;
    }
  }
}

void GpuBook::check() const {
  CHECK(numbers_.size() + unused_.size() == cells_.size());
  std::vector<std::uint32_t> offers(cells_.size());
  for (const auto& [host, there] : hosts_) {
    for (const GpuNumber number : there.gpus) {
      ++offers[index_of(number)];
    }
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    const bool is_known = number_of(cell.uuid) == static_cast<GpuNumber>(i);
    CHECK(cell.whole.token.is_none() || cell.slices.empty());
    CHECK(is_known == (cell.is_held() || cell.offers != 0));
    CHECK(cell.offers == offers[i]);
  }
}

bool GpuBook::operator==(const GpuBook& other) const {
  const auto holds_the_same = [](const GpuBook& one, const GpuBook& two) {
    return std::all_of(one.hosts_.begin(), one.hosts_.end(), [&](const auto& item) {
      const HostHoldings& there = two.on(item.first);
      return there.tokens == item.second.tokens && there.amounts == item.second.amounts;
    });
  };
  return holders() == other.holders() && holds_the_same(*this, other) &&
         holds_the_same(other, *this);
}

}  // namespace muster::scheduler
