#include "scheduler/placement/capacity.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

HostKind kind_of(const HostRecord& record) {
  return HostKind{record.gpu_type, {}, record.has_namespaces, 0, 0};
}

/// A host without islands is one.
HostSpace space_of(KindNumber kind, std::size_t free) {
  HostSpace space;
  space.kind = kind;
  space.islands.front() = static_cast<std::uint16_t>(free);
  return space;
}

std::size_t offered(const HostRecord& record) {
  if (record.unhealthy_gpus.empty() && record.quarantined.empty()) {
    return record.gpus.size();
  }
  return static_cast<std::size_t>(
      std::count_if(record.gpus.begin(), record.gpus.end(),
                    [&](const std::string& uuid) { return record.offers(uuid); }));
}

}  // namespace

Shape shape_of(const JobSpec& spec) {
  Shape shape;
  shape.units = std::min(spec.gpus, kUnitsMax);
  if (!spec.gpu_type.empty()) {
    shape.types.push_back(spec.gpu_type);
  }
  shape.takes_bare_hosts = spec.keep_when_isolated;
  return shape;
}

void Capacity::begin_anew(const State& state) {
  *this = Capacity();
  for (const auto& [id, record] : state.hosts()) {
    on_changed(state, id);
  }
}

HostNumber Capacity::number_of(const HostId& host) {
  const auto next = static_cast<HostNumber>(hosts_.size());
  const auto [place, is_new] = numbers_.try_emplace(host, next);
  if (is_new) {
    hosts_.push_back(host);
    free_.seat(next, "");
    live_.seat(next, "");
  }
  return place->second;
}

void Capacity::on_changed(const State& state, const HostId& host) {
  const HostRecord* record = state.host(host);
  if (record == nullptr) {
    return;
  }
  const HostNumber number = number_of(host);
  std::set<HostNumber> others = offers_.sharers(number);
  offers_.set(number, record->gpus);
  others.merge(offers_.sharers(number));
  look(state, number);
  for (const HostNumber other : others) {
    look(state, other);
  }
}

void Capacity::look(const State& state, HostNumber number) {
  const HostRecord* record = state.host(hosts_[index_of(number)]);
  CHECK(record != nullptr);
  const HostKind kind = kind_of(*record);
  if (const auto free = free_space(state, number, free_.kind(kind))) {
    const HostSpace* before = free_.space(number);
    if (before == nullptr || before->kind != free->kind ||
        free->free_gpus() > before->free_gpus()) {
      gained_.insert(number);
    }
    free_.set(number, *free);
  } else {
    free_.hide(number);
  }
  const bool was_up = !live_.is_hidden(number);
  if (record->is_up()) {
    const HostSpace now = space_of(live_.kind(kind), offered(*record));
    is_other_ = is_other_ || !was_up || *live_.space(number) != now;
    live_.set(number, now);
  } else {
    is_other_ = is_other_ || was_up;
    live_.hide(number);
  }
}

std::optional<std::vector<std::pair<HostKind, HostSpace>>> Capacity::take_gains() {
  std::vector<std::pair<HostKind, HostSpace>> gains;
  const bool is_other = is_other_ || gained_.size() > kGainsMax;
  for (const HostNumber number : gained_) {
    if (const HostSpace* space = is_other ? nullptr : free_.space(number)) {
      gains.emplace_back(free_.kind_of(space->kind), *space);
    }
  }
  gained_.clear();
  is_other_ = false;
  return is_other ? std::nullopt : std::optional(std::move(gains));
}

bool Capacity::is_given(const State& state, HostNumber host, const std::string& uuid) const {
  if (state.grants().contains(uuid) || asked_gpus_.contains(uuid)) {
    return true;
  }
  if (!offers_.is_any_shared()) {
    return false;
  }
  const std::set<HostNumber>& hosts = offers_.several(uuid);
  return std::any_of(hosts.begin(), hosts.end(), [&](HostNumber other) {
    const HostRecord* record = state.host(hosts_[index_of(other)]);
    return other < host && record != nullptr && record->takes_work();
  });
}

std::vector<std::string> Capacity::free_gpus(const State& state, HostNumber number) const {
  const HostRecord* record = state.host(hosts_[index_of(number)]);
  std::vector<std::string> free;
  for (const std::string& uuid : record->gpus) {
    if (record->offers(uuid) && !is_given(state, number, uuid)) {
      free.push_back(uuid);
    }
  }
  return free;
}

std::optional<HostSpace> Capacity::free_space(const State& state, HostNumber number,
                                              KindNumber kind) const {
  const HostId& id = hosts_[index_of(number)];
  if (!state.host(id)->takes_work() || barred_.contains(id)) {
    return std::nullopt;
  }
  return space_of(kind, free_gpus(state, number).size());
}

void Capacity::bar(const State& state, const HostId& host, bool is_barred) {
  const bool is_changed = is_barred ? barred_.insert(host).second : barred_.erase(host) != 0;
  if (is_changed && numbers_.contains(host)) {
    look(state, numbers_.at(host));
  }
}

void Capacity::look_at(const State& state, const std::vector<Member>& members) {
  for (const Member& member : members) {
    on_changed(state, member.host);
  }
}

void Capacity::ask(const State& state, JobId job, std::vector<Member> members) {
  settle(state, job);
  for (const Member& member : members) {
    for (const GpuSlot& gpu : member.gpus) {
      asked_gpus_.insert(gpu.uuid);
    }
  }
  look_at(state, members);
  asked_.emplace(job, std::move(members));
}

void Capacity::settle(const State& state, JobId job) {
  const auto asked = asked_.extract(job);
  if (asked.empty()) {
    return;
  }
  for (const Member& member : asked.mapped()) {
    for (const GpuSlot& gpu : member.gpus) {
      asked_gpus_.erase(gpu.uuid);
    }
  }
  look_at(state, asked.mapped());
}

std::vector<JobId> Capacity::asked() const {
  std::vector<JobId> jobs;
  for (const auto& [job, members] : asked_) {
    jobs.push_back(job);
  }
  return jobs;
}

void Capacity::forget_leader(const State& state) {
  for (const JobId job : asked()) {
    settle(state, job);
  }
  for (const HostId& host : std::set<HostId>(barred_)) {
    bar(state, host, false);
  }
}

std::vector<HostNumber> Capacity::numbers_of(const Job& job, std::span<const HostId> more) const {
  std::vector<HostNumber> numbers;
  const auto add = [&](const HostId& host) {
    if (const auto known = numbers_.find(host); known != numbers_.end()) {
      numbers.push_back(known->second);
    }
  };
  for (const LeftOut& left_out : job.left_out) {
    add(left_out.host);
  }
  for (const HostId& host : more) {
    add(host);
  }
  return numbers;
}

std::vector<Member> Capacity::members(const State& state,
                                      const std::vector<HostShare>& shares) const {
  std::vector<Member> members;
  std::uint32_t rank = 0;
  for (const HostShare& share : shares) {
    std::vector<std::string> free = free_gpus(state, share.host);
    CHECK(free.size() >= share.units);
    const HostRecord& record = *state.host(hosts_[index_of(share.host)]);
    Member member{record.id, record.start, {}, rank};
    for (std::uint32_t i = 0; i < share.units; ++i) {
      member.gpus.push_back(GpuSlot{std::move(free[i]), 0});
    }
    rank += share.units;
    members.push_back(std::move(member));
  }
  return members;
}

std::optional<Placement> Capacity::place(const State& state, const Job& job) {
  const std::vector<HostShare> shares = free_.choose(shape_of(job.spec), numbers_of(job, {}));
  if (shares.empty()) {
    return std::nullopt;
  }
  std::vector<Member> chosen = members(state, shares);
  return Placement{state.host(chosen.front().host)->gpu_type, std::move(chosen)};
}

std::uint32_t Capacity::free_for(const Job& job, const std::string& gpu_type,
                                 std::span<const HostId> without) {
  Shape shape = shape_of(job.spec);
  shape.types = {gpu_type};
  return free_.most(shape, numbers_of(job, without));
}

std::uint32_t Capacity::live_for(const JobSpec& spec) {
  return live_.most(shape_of(spec));
}

bool Capacity::is_right(const State& state) const {
  for (std::size_t i = 0; i < state.hosts().size(); ++i) {
    if (!is_right(state, i)) {
      return false;
    }
  }
  return hosts_.size() == state.hosts().size();
}

bool Capacity::is_right(const State& state, std::uint64_t which) const {
  if (hosts_.empty()) {
    return state.hosts().empty();
  }
  const auto number = static_cast<HostNumber>(which % hosts_.size());
  const HostRecord& record = *state.host(hosts_[index_of(number)]);
  const HostSpace* free = free_.space(number);
  const HostSpace* live = live_.space(number);
  const auto counted = free_space(state, number, free == nullptr ? KindNumber() : free->kind);
  return (free == nullptr) == !counted.has_value() && (free == nullptr || *free == *counted) &&
         (free == nullptr || free_.kind_of(free->kind) == kind_of(record)) &&
         (live == nullptr) == !record.is_up() &&
         (live == nullptr ||
          (live->free_gpus() == offered(record) && live_.kind_of(live->kind) == kind_of(record)));
}

}  // namespace muster::scheduler
