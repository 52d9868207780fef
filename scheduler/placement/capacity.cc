#include "scheduler/placement/capacity.h"

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>
#include <utility>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// `all` without `held`; 0 if more is held than there is.
std::uint64_t left_of(std::uint64_t all, std::uint64_t held) {
  return all - std::min(all, held);
}

/// The GPUs of `free` that a member gets: all of one island, the one that is left with the fewest;
/// if no island holds them all, island by island, the one with most free GPUs first.
std::vector<std::uint32_t> picked(const HostFacts& facts, std::vector<std::uint32_t> free,
                                  std::uint32_t count) {
  CHECK(free.size() >= count);
  std::array<std::uint32_t, kIslandsMax> islands{};
  for (const std::uint32_t gpu : free) {
    ++islands[facts.gpus[gpu].island];
  }
  const auto key = [&](std::uint32_t gpu) {
    const std::uint32_t island = facts.gpus[gpu].island;
    const std::uint32_t left = islands[island];
    const bool holds = left >= count;
    return std::tuple(!holds, holds ? left : UINT32_MAX - left, island);
  };
  if (free.size() > count) {
    std::stable_sort(free.begin(), free.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    free.resize(count);
  }
  return free;
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
  shape.takes_bare_hosts = spec.limits.keep_when_isolated;
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
  shape.pack = job.life.is_relaxed ? Pack::kAny : shape.pack;
  return shape;
}

void Capacity::rebuild(const State& state) {
  *this = Capacity();
  std::vector<HostId> hosts(state.hosts().size());
  for (const auto& [id, record] : state.hosts()) {
    hosts.at(index_of(record.number)) = id;
  }
  for (const HostId& host : hosts) {
    on_changed(state, host);
  }
  on_usual(state);
}

void Capacity::on_changed(const State& state, const HostId& host) {
  const HostRecord* record = state.host(host);
  if (record == nullptr) {
    return;
  }
  const HostNumber number = record->number;
  CHECK(index_of(number) <= seats_.size());
  if (index_of(number) == seats_.size()) {
    seats_.emplace_back().is_barred = barred_.contains(host);
  }
  HostSeat& seat = seats_[index_of(number)];
  seat.facts = facts_of(*record);
  const HostKind kind = kind_of(*record);
  if (!kind.gpu_type.empty()) {
    gpu_types_.insert(kind.gpu_type);
  }
  for (CapacityIndex* index : {&free_, &live_, &ever_}) {
    is_other_ = index->seat(number, seat.facts.rack) || is_other_;
    seat.kind = index->kind(kind);
  }
  is_other_ = names_.set(host, number, record->name) || is_other_;
  std::set<HostNumber> others = offers_.sharers(number);
  offers_.set(number, state.gpus().on(host).gpus);
  others.merge(offers_.sharers(number));
  look(state, number);
  for (const HostNumber other : others) {
    look(state, other);
  }
}

void Capacity::on_held(const State& state, const HostId& host) {
  const std::optional<HostNumber> known = names_.number_of(host);
  if (!known.has_value()) {
    return;
  }
  look_at_free(state, *known);
  for (const HostNumber other : offers_.sharers(*known)) {
    look_at_free(state, other);
  }
}

void Capacity::look(const State& state, HostNumber number) {
  look_at_free(state, number);
  const HostSeat& seat = seats_[index_of(number)];
  const bool was_up = !live_.is_hidden(number);
  if (seat.facts.is_up) {
    const HostSpace now = whole_space(seat.facts, seat.kind, false);
    is_other_ = is_other_ || !was_up || *live_.space(number) != now;
    live_.set(number, now);
  } else {
    is_other_ = is_other_ || was_up;
    live_.hide(number);
  }
  if (seat.facts.is_gone) {
    ever_.hide(number);
  } else {
    ever_.set(number, whole_space(seat.facts, seat.kind, true));
  }
}

void Capacity::look_at_free(const State& state, HostNumber number) {
  const auto free = free_space(state, number, {});
  if (!free.has_value()) {
    free_.hide(number);
    return;
  }
  const HostSpace* before = free_.space(number);
  if (before == nullptr || before->kind != free->kind || free->free_gpus() > before->free_gpus() ||
      free->cpus > before->cpus || free->memory_mb > before->memory_mb ||
      free->islands > before->islands) {
    gained_.push_back(number);
  }
  free_.set(number, *free);
}

std::optional<std::vector<std::pair<HostKind, HostSpace>>> Capacity::take_gains() {
  std::sort(gained_.begin(), gained_.end());
  gained_.erase(std::unique(gained_.begin(), gained_.end()), gained_.end());
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

/// Whether the GPU was asked for, or counts for another host that offers it.
bool Capacity::is_given(HostNumber host, GpuNumber gpu) const {
  if (asked_.is_taken(gpu)) {
    return true;
  }
  if (!offers_.is_any_shared()) {
    return false;
  }
  const std::set<HostNumber>& hosts = offers_.several(gpu);
  return std::any_of(hosts.begin(), hosts.end(), [&](HostNumber other) {
    return other < host && seats_[index_of(other)].facts.takes_work;
  });
}

std::vector<std::uint32_t> Capacity::free_gpus(const State& state, HostNumber number) const {
  const HostFacts& facts = seats_[index_of(number)].facts;
  const std::vector<GpuNumber>& gpus = state.gpus().on(facts.id).gpus;
  std::vector<std::uint32_t> free;
  free.reserve(gpus.size());
  for (std::uint32_t i = 0; i < gpus.size(); ++i) {
    if (facts.gpus[i].is_usable && !state.gpus().is_held(gpus[i]) && !is_given(number, gpus[i])) {
      free.push_back(i);
    }
  }
  return free;
}

std::optional<HostSpace> Capacity::free_space(const State& state, HostNumber number,
                                              const std::set<Token>& ended) const {
  const HostSeat& seat = seats_[index_of(number)];
  if (!seat.facts.takes_work || seat.is_barred) {
    return std::nullopt;
  }
  const HostHoldings& there = state.gpus().on(seat.facts.id);
  HostSpace space;
  space.kind = seat.kind;
  for (std::size_t i = 0; i < there.gpus.size(); ++i) {
    const GpuNumber gpu = there.gpus[i];
    const bool is_held =
        ended.empty() ? state.gpus().is_held(gpu) : state.gpus().is_held_beside(gpu, ended);
    const HostFacts::Gpu& its = seat.facts.gpus[i];
    if (its.is_usable && !is_held && !is_given(number, gpu)) {
      ++space.islands[its.island];
    }
  }
  std::sort(space.islands.begin(), space.islands.end(), std::greater<>());
  HeldAmounts held = there.amounts;
  for (const Token& token : ended) {
    const Attempt* attempt = state.attempt(token);
    const MemberRecord* member = attempt == nullptr ? nullptr : attempt->find(seat.facts.id);
    if (member != nullptr && member->end == MemberEnd::kNone) {
      --held.members;
      held.cpus -= member->member.cpus;
      held.memory_mb -= member->member.memory_mb;
    }
  }
  const HeldAmounts asked = asked_.on(number);
  held.members += asked.members;
  held.cpus += asked.cpus;
  held.memory_mb += asked.memory_mb;
  if (held.members >= kHostGrantsMax) {
    return std::nullopt;
  }
  space.cpus = static_cast<std::uint32_t>(left_of(seat.facts.cpus, held.cpus));
  space.memory_mb = left_of(seat.facts.memory_mb, held.memory_mb);
  return space;
}

std::optional<HostSpace> Capacity::free_without(const State& state, const HostId& host,
                                                const std::set<Token>& ended) const {
  return free_on(host) == nullptr ? std::nullopt : free_space(state, number_of(host), ended);
}

void Capacity::bar(const State& state, const HostId& host, bool is_barred) {
  const bool is_changed = is_barred ? barred_.insert(host).second : barred_.erase(host) != 0;
  const std::optional<HostNumber> known = names_.number_of(host);
  if (is_changed && known.has_value()) {
    seats_[index_of(*known)].is_barred = is_barred;
    look_at_free(state, *known);
  }
}

void Capacity::ask(const State& state, JobId job, const Placement& placement) {
  settle(state, job);
  std::vector<AskedShare> shares;
  shares.reserve(placement.members.size());
  auto next = placement.gpus.begin();
  for (const Member& member : placement.members) {
    const auto end = next + static_cast<std::ptrdiff_t>(member.gpus.size());
    shares.push_back({number_of(member.host), {next, end}, member.cpus, member.memory_mb});
    next = end;
  }
  asked_.add(job, std::move(shares));
  for (const Member& member : placement.members) {
    on_held(state, member.host);
  }
}

void Capacity::settle(const State& state, JobId job) {
  for (const AskedShare& share : asked_.remove(job)) {
    on_held(state, seats_[index_of(share.host)].facts.id);
    // Its host may not offer it any more, and another host may offer a GPU that got its number.
    for (const GpuNumber gpu : share.gpus) {
      const std::optional<HostNumber> offers = offers_.first(gpu);
      if (offers.has_value() && *offers != share.host) {
        on_held(state, seats_[index_of(*offers)].facts.id);
      }
    }
  }
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
      const std::vector<HostNumber> known = names_.called(text);
      numbers.insert(numbers.end(), known.begin(), known.end());
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
    if (const std::optional<HostNumber> known = names_.number_of(host)) {
      hosts.barred.push_back(*known);
    }
  };
  for (const LeftOut& left_out : job.life.left_out) {
    add(left_out.host);
  }
  for (const HostId& host : more) {
    add(host);
  }
  return hosts;
}

void Capacity::add_member(const State& state, const Request& request, const HostShare& share,
                          Placement& placement) const {
  const HostSeat& seat = seats_[index_of(share.host)];
  const HostRecord& record = *state.host(seat.facts.id);
  Member& member = placement.members.emplace_back();
  member.host = record.id;
  member.start = record.start;
  Shape of_unit;
  of_unit.share = request.gpus == 0 ? 0 : kWholeGpu;
  of_unit.cpus = request.cpus;
  of_unit.memory_mb = request.memory_mb;
  const HostKind& kind = free_.kind_of(seat.kind);
  member.cpus = cpus_of_unit(of_unit, kind) * share.units;
  member.memory_mb = memory_of_unit(of_unit, kind) * share.units;
  if (request.gpus == 0) {
    member.ranks = share.units;
  } else {
    const std::vector<GpuNumber>& numbers = state.gpus().on(record.id).gpus;
    member.gpus.reserve(share.units);
    for (const std::uint32_t gpu : picked(seat.facts, free_gpus(state, share.host), share.units)) {
      member.gpus.push_back(GpuSlot{record.gpus[gpu], 0});
      placement.gpus.push_back(numbers[gpu]);
    }
    member.ranks = request.ranks_per_host;
  }
}

/// The shape of the job, with these GPU types alone; nullopt if it accepts none of them. A job that
/// names no type has no preference among all of them; among some, it takes them in their order.
std::optional<Shape> Capacity::shape_within(const Job& job,
                                            std::span<const std::string> types) const {
  Shape shape = shape_of(job);
  const auto is_meant = [types](const std::string& type) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  if (types.empty() || shape.share == 0) {
    return shape;
  }
  if (!shape.types.empty()) {
    std::erase_if(shape.types, [&](const std::string& type) { return !is_meant(type); });
    return shape.types.empty() ? std::nullopt : std::optional(std::move(shape));
  }
  if (!std::all_of(gpu_types_.begin(), gpu_types_.end(), is_meant)) {
    shape.types.assign(types.begin(), types.end());
  }
  return shape;
}

std::optional<Placement> Capacity::place(const State& state, const Job& job,
                                         std::span<const std::string> types,
                                         std::span<const HostNumber> without) {
  ++tried_;
  const std::optional<Shape> shape = shape_within(job, types);
  if (!shape.has_value()) {
    return std::nullopt;
  }
  HostChoice hosts = choice(job, {});
  hosts.barred.insert(hosts.barred.end(), without.begin(), without.end());
  const std::vector<HostShare> shares = free_.choose(*shape, hosts);
  if (shares.empty()) {
    return std::nullopt;
  }
  Placement placement;
  std::uint32_t rank = 0;
  placement.members.reserve(shares.size());
  for (const HostShare& share : shares) {
    add_member(state, job.spec.request, share, placement);
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

std::uint32_t Capacity::live_for(const Job& job, std::span<const std::string> types) {
  const std::optional<Shape> shape = shape_within(job, types);
  return shape.has_value() ? live_.most(*shape, choice(job, {})) : 0;
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
  return seats_.size() == state.hosts().size() && usual_ == state.usual();
}

bool Capacity::is_right(const State& state, std::uint64_t which) const {
  if (seats_.empty()) {
    return state.hosts().empty();
  }
  const auto number = static_cast<HostNumber>(which % seats_.size());
  const HostSeat& seat = seats_[index_of(number)];
  const HostRecord& record = *state.host(seat.facts.id);
  const HostKind kind = kind_of(record);
  const auto says = [&](const CapacityIndex& index, std::optional<HostSpace> counted) {
    const HostSpace* space = index.space(number);
    return space == nullptr || !counted.has_value()
               ? space == nullptr && !counted.has_value()
               : *space == *counted && index.kind_of(space->kind) == kind;
  };
  const auto whole = [&](bool is_ever) { return whole_space(seat.facts, seat.kind, is_ever); };
  return record.number == number && seat.facts == facts_of(record) &&
         number_of(record.id) == number && seat.is_barred == barred_.contains(record.id) &&
         says(free_, free_space(state, number, {})) &&
         says(live_, record.is_up() ? std::optional(whole(false)) : std::nullopt) &&
         says(ever_, seat.facts.is_gone ? std::nullopt : std::optional(whole(true)));
}

}  // namespace muster::scheduler
