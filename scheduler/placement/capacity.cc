#include "scheduler/placement/capacity.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

HostKind kind_of(const HostRecord& record) {
  HostKind kind;
  kind.gpu_type = folded(record.gpu_type);
  kind.labels = record.traits.labels;
  kind.has_namespaces = record.has_namespaces;
  if (const std::size_t gpus = record.gpus.size(); gpus != 0) {
    kind.cpus_a_gpu = static_cast<std::uint32_t>(std::uint64_t{record.cpus} * kOneCpu / gpus);
    kind.memory_mb_a_gpu = record.memory_mb / gpus;
  }
  if (record.cpus != 0) {
    kind.cpus_a_rank = kOneCpu;
    kind.memory_mb_a_rank = record.memory_mb / record.cpus;
  }
  return kind;
}

/// More islands than placement knows are taken as one.
void count_in(std::array<std::uint16_t, kIslandsMax>& islands, std::uint32_t island) {
  ++islands[island < kIslandsMax ? island : 0];
}

/// What is left of so much; nothing of what somebody holds more than there is.
std::uint64_t left_of(std::uint64_t all, std::uint64_t held) {
  return all - std::min(all, held);
}

/// The GPUs that a member gets: of the island that is left with the fewest, if one holds them all;
/// else island by island, the fullest first.
std::vector<GpuSlot> picked(std::vector<FreeGpu> free, std::uint32_t count) {
  std::map<std::uint32_t, std::uint32_t> islands;
  for (const FreeGpu& gpu : free) {
    ++islands[gpu.island];
  }
  const auto key = [&](const FreeGpu& gpu) {
    const std::uint32_t left = islands.at(gpu.island);
    const bool holds = left >= count;
    return std::tuple(!holds, holds ? left : UINT32_MAX - left, gpu.island);
  };
  std::stable_sort(free.begin(), free.end(),
                   [&](const FreeGpu& a, const FreeGpu& b) { return key(a) < key(b); });
  CHECK(free.size() >= count);
  std::vector<GpuSlot> slots;
  for (std::uint32_t i = 0; i < count; ++i) {
    slots.push_back(GpuSlot{std::move(free[i].uuid), 0});
  }
  return slots;
}

}  // namespace

Shape shape_of(const JobSpec& spec) {
  const Request& request = spec.request;
  Shape shape;
  shape.units = std::min(request.units(), kUnitsMax);
  shape.per_host = request.units_per_host();
  shape.share = request.gpus == 0 ? 0 : kWholeGpu;
  shape.cpus = request.cpus;
  shape.memory_mb = request.memory_mb;
  for (const std::string& type : request.gpu_types) {
    shape.types.push_back(folded(type));
  }
  shape.labels = request.labels;
  shape.not_labels = request.not_labels;
  shape.hosts = request.hosts;
  shape.not_hosts = request.not_hosts;
  shape.takes_bare_hosts = spec.keep_when_isolated;
  shape.pack = request.pack;
  return shape;
}

Shape relaxed_shape_of(const JobSpec& spec) {
  Shape shape = shape_of(spec);
  shape.pack = spec.request.pack_wait > Duration::zero() ? Pack::kAny : shape.pack;
  return shape;
}

Shape shape_of(const Job& job) {
  Shape shape = shape_of(job.spec);
  shape.pack = job.is_relaxed ? Pack::kAny : shape.pack;
  return shape;
}

void Capacity::begin_anew(const State& state) {
  *this = Capacity();
  for (const auto& [id, record] : state.hosts()) {
    on_changed(state, id);
  }
}

HostNumber Capacity::number(const HostId& host) {
  const auto next = static_cast<HostNumber>(hosts_.size());
  const auto [place, is_new] = numbers_.try_emplace(host, next);
  if (is_new) {
    hosts_.push_back(host);
  }
  return place->second;
}

void Capacity::on_changed(const State& state, const HostId& host) {
  const HostRecord* record = state.host(host);
  if (record == nullptr) {
    return;
  }
  const HostNumber number = this->number(host);
  const RackName rack{record->traits.spine, record->traits.rack};
  for (CapacityIndex* index : {&free_, &live_, &ever_}) {
    is_other_ = index->seat(number, rack) || is_other_;
  }
  name(number, *record);
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
  if (const auto free = free_space(state, number, free_.kind(kind), {})) {
    const HostSpace* before = free_.space(number);
    if (before == nullptr || before->kind != free->kind ||
        free->free_gpus() > before->free_gpus() || free->cpus > before->cpus ||
        free->memory_mb > before->memory_mb || free->islands > before->islands) {
      gained_.insert(number);
    }
    free_.set(number, *free);
  } else {
    free_.hide(number);
  }
  const bool was_up = !live_.is_hidden(number);
  if (record->is_up()) {
    const HostSpace now = whole_space(*record, live_.kind(kind), false);
    is_other_ = is_other_ || !was_up || *live_.space(number) != now;
    live_.set(number, now);
  } else {
    is_other_ = is_other_ || was_up;
    live_.hide(number);
  }
  if (record->verdict == Verdict::kLeft || record->is_removed) {
    ever_.hide(number);
  } else {
    ever_.set(number, whole_space(*record, ever_.kind(kind), true));
  }
}

/// Under which names a job may ask for the host.
void Capacity::name(HostNumber number, const HostRecord& record) {
  const std::array<std::string, 3> names = {record.name, record.id.short_hex(), record.id.hex()};
  if (index_of(number) < names_.size()) {
    if (names_[index_of(number)] == record.name) {
      return;
    }
    for (const std::string& text : {names_[index_of(number)], names[1], names[2]}) {
      const auto known = named_.find(text);
      if (known != named_.end() && known->second.erase(number) != 0 && known->second.empty()) {
        named_.erase(known);
      }
    }
  }
  names_.resize(std::max<std::size_t>(names_.size(), index_of(number) + 1));
  names_[index_of(number)] = record.name;
  is_other_ = true;
  for (const std::string& text : names) {
    named_[text].insert(number);
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

bool Capacity::is_given(const State& state, HostNumber host, const std::string& uuid,
                        const std::set<Token>& ended) const {
  const auto slots = state.grants().find(uuid);
  const bool is_granted =
      slots != state.grants().end() &&
      std::any_of(slots->second.begin(), slots->second.end(),
                  [&](const auto& slot) { return !ended.contains(slot.second.token); });
  if (is_granted || asked_gpus_.contains(uuid)) {
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

std::vector<FreeGpu> Capacity::free_gpus(const State& state, HostNumber number,
                                         const std::set<Token>& ended) const {
  const HostRecord* record = state.host(hosts_[index_of(number)]);
  std::vector<FreeGpu> free;
  for (std::size_t i = 0; i < record->gpus.size(); ++i) {
    const std::string& uuid = record->gpus[i];
    if (record->offers(uuid) && !is_given(state, number, uuid, ended)) {
      free.push_back({uuid, record->traits.islands.empty() ? 0 : record->traits.islands[i]});
    }
  }
  return free;
}

std::optional<HostSpace> Capacity::free_space(const State& state, HostNumber number,
                                              KindNumber kind, const std::set<Token>& ended) const {
  const HostId& id = hosts_[index_of(number)];
  const HostRecord& record = *state.host(id);
  if (!record.takes_work() || barred_.contains(id)) {
    return std::nullopt;
  }
  HostSpace space;
  space.kind = kind;
  for (const FreeGpu& gpu : free_gpus(state, number, ended)) {
    count_in(space.islands, gpu.island);
  }
  std::sort(space.islands.begin(), space.islands.end(), std::greater<>());
  HeldAmounts held = state.held_on(id);
  for (const Token& token : ended) {
    const Attempt* attempt = state.attempt(token);
    const MemberRecord* member = attempt == nullptr ? nullptr : attempt->find(id);
    if (member != nullptr && member->end == MemberEnd::kNone) {
      --held.grants;
      held.cpus -= member->member.cpus;
      held.memory_mb -= member->member.memory_mb;
    }
  }
  if (const auto asked = asked_amounts_.find(id); asked != asked_amounts_.end()) {
    held.grants += asked->second.grants;
    held.cpus += asked->second.cpus;
    held.memory_mb += asked->second.memory_mb;
  }
  if (held.grants >= kHostGrantsMax) {
    return std::nullopt;
  }
  space.cpus = static_cast<std::uint32_t>(left_of(std::uint64_t{record.cpus} * kOneCpu, held.cpus));
  space.memory_mb = left_of(record.memory_mb, held.memory_mb);
  return space;
}

std::optional<HostSpace> Capacity::free_without(const State& state, const HostId& host,
                                                const std::set<Token>& ended) const {
  const HostNumber number = number_of(host);
  const HostSpace* now = free_.space(number);
  return now == nullptr ? std::nullopt : free_space(state, number, now->kind, ended);
}

/// Whoever holds it; `is_ever`: in whatever state its GPUs are.
HostSpace Capacity::whole_space(const HostRecord& record, KindNumber kind, bool is_ever) const {
  HostSpace space;
  space.kind = kind;
  const bool are_all = is_ever || (record.unhealthy_gpus.empty() && record.quarantined.empty());
  for (std::size_t i = 0; i < record.gpus.size(); ++i) {
    if (are_all || record.offers(record.gpus[i])) {
      count_in(space.islands, record.traits.islands.empty() ? 0 : record.traits.islands[i]);
    }
  }
  std::sort(space.islands.begin(), space.islands.end(), std::greater<>());
  space.cpus = record.cpus * kOneCpu;
  space.memory_mb = record.memory_mb;
  return space;
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
    HeldAmounts& amounts = asked_amounts_[member.host];
    ++amounts.grants;
    amounts.cpus += member.cpus;
    amounts.memory_mb += member.memory_mb;
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
    const auto amounts = asked_amounts_.find(member.host);
    CHECK(amounts != asked_amounts_.end());
    --amounts->second.grants;
    amounts->second.cpus -= member.cpus;
    amounts->second.memory_mb -= member.memory_mb;
    if (amounts->second == HeldAmounts()) {
      asked_amounts_.erase(amounts);
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

HostChoice Capacity::choice(const Request& request) const {
  HostChoice hosts;
  const auto add = [&](const std::vector<std::string>& names, std::vector<HostNumber>& numbers) {
    for (const std::string& text : names) {
      if (const auto known = named_.find(text); known != named_.end()) {
        numbers.insert(numbers.end(), known->second.begin(), known->second.end());
      }
    }
  };
  if (!request.hosts.empty()) {
    add(request.hosts, hosts.only.emplace());
  }
  add(request.not_hosts, hosts.barred);
  return hosts;
}

HostChoice Capacity::choice(const Job& job, std::span<const HostId> more) const {
  HostChoice hosts = choice(job.spec.request);
  const auto add = [&](const HostId& host) {
    if (const auto known = numbers_.find(host); known != numbers_.end()) {
      hosts.barred.push_back(known->second);
    }
  };
  for (const LeftOut& left_out : job.left_out) {
    add(left_out.host);
  }
  for (const HostId& host : more) {
    add(host);
  }
  return hosts;
}

Member Capacity::member(const State& state, const Request& request, const HostShare& share) const {
  const HostRecord& record = *state.host(hosts_[index_of(share.host)]);
  Member member;
  member.host = record.id;
  member.start = record.start;
  Shape of_unit;
  of_unit.share = request.gpus == 0 ? 0 : kWholeGpu;
  of_unit.cpus = request.cpus;
  of_unit.memory_mb = request.memory_mb;
  const HostKind kind = kind_of(record);
  member.cpus = cpus_of_unit(of_unit, kind) * share.units;
  member.memory_mb = memory_of_unit(of_unit, kind) * share.units;
  if (request.gpus == 0) {
    member.ranks = share.units;
  } else {
    member.gpus = picked(free_gpus(state, share.host, {}), share.units);
    member.ranks = request.ranks_per_host;
  }
  return member;
}

std::optional<Placement> Capacity::place(const State& state, const Job& job) {
  const std::vector<HostShare> shares = free_.choose(shape_of(job), choice(job, {}));
  if (shares.empty()) {
    return std::nullopt;
  }
  Placement placement;
  std::uint32_t rank = 0;
  for (const HostShare& share : shares) {
    placement.members.push_back(member(state, job.spec.request, share));
    placement.members.back().first_rank = rank;
    rank += placement.members.back().rank_count();
  }
  placement.type = state.host(placement.members.front().host)->gpu_type;
  return placement;
}

std::uint32_t Capacity::free_for(const Job& job, const std::string& gpu_type,
                                 std::span<const HostId> without) {
  Shape shape = shape_of(job);
  if (shape.share != 0) {
    shape.types = {folded(gpu_type)};
  }
  return free_.most(shape, choice(job, without));
}

std::uint32_t Capacity::live_for(const Job& job) {
  return live_.most(shape_of(job), choice(job.spec.request));
}

std::uint32_t Capacity::ever_for(const Shape& shape) {
  Request named;
  named.hosts = shape.hosts;
  named.not_hosts = shape.not_hosts;
  return ever_.most(shape, choice(named));
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
  const HostKind kind = kind_of(record);
  const auto says = [&](const CapacityIndex& index, std::optional<HostSpace> counted) {
    const HostSpace* space = index.space(number);
    if (space == nullptr || !counted.has_value()) {
      return space == nullptr && !counted.has_value();
    }
    counted->kind = space->kind;
    return *space == *counted && index.kind_of(space->kind) == kind;
  };
  const auto whole = [&](bool is_ever) { return whole_space(record, KindNumber(), is_ever); };
  const bool has_left = record.verdict == Verdict::kLeft || record.is_removed;
  return says(free_, free_space(state, number, KindNumber(), {})) &&
         says(live_, record.is_up() ? std::optional(whole(false)) : std::nullopt) &&
         says(ever_, has_left ? std::nullopt : std::optional(whole(true)));
}

}  // namespace muster::scheduler
