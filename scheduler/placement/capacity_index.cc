#include "scheduler/placement/capacity_index.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {

bool CapacityIndex::seat(HostNumber number, const RackName& rack) {
  const std::uint32_t index = index_of(number);
  CHECK(index <= hosts_.size());
  if (index == hosts_.size()) {
    hosts_.emplace_back();
    hosts_.back().rack = rack;
    hosts_.back().position = rows_.add(number, rack);
  } else if (hosts_[index].rack != rack) {
    hosts_[index].rack = rack;
    is_laid_out_ = false;
    return true;
  }
  return false;
}

void CapacityIndex::set(HostNumber number, const HostSpace& space) {
  CHECK(index_of(number) < hosts_.size());
  IndexedHost& host = hosts_[index_of(number)];
  if (host.is_shown && host.space == space) {
    return;
  }
  forget(host);
  host.space = space;
  show(number);
}

void CapacityIndex::hide(HostNumber host) {
  CHECK(index_of(host) < hosts_.size());
  forget(hosts_[index_of(host)]);
}

bool CapacityIndex::is_hidden(HostNumber host) const {
  return index_of(host) >= hosts_.size() || !hosts_[index_of(host)].is_shown;
}

const HostSpace* CapacityIndex::space(HostNumber host) const {
  return is_hidden(host) ? nullptr : &hosts_[index_of(host)].space;
}

void CapacityIndex::set_usual(const Usual& usual) {
  usual_ = FillPotential::is_of_gpus(usual) ? std::make_unique<FillPotential>(usual) : nullptr;
  for (auto& [shape, ranked] : ranks_) {
    ranked.rank->rank_by(usual_.get());
  }
}

void CapacityIndex::show(HostNumber number) {
  IndexedHost& host = hosts_[index_of(number)];
  host.number = classes_.enter(host.space, kinds_.hash(host.space.kind), host.position);
  host.is_shown = true;
}

void CapacityIndex::forget(IndexedHost& host) {
  if (host.is_shown) {
    classes_.leave(host.number, host.position);
    host.is_shown = false;
  }
}

/// Lays out all hosts by number, as if each had been in its rack from the beginning.
void CapacityIndex::lay_out() {
  is_laid_out_ = true;
  classes_ = SpaceClasses();
  rows_ = RackRows();
  ranks_.clear();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    IndexedHost& host = hosts_[i];
    host.position = rows_.add(static_cast<HostNumber>(i), host.rack);
    if (host.is_shown) {
      show(static_cast<HostNumber>(i));
    }
  }
}

ShapeRank& CapacityIndex::rank_of(const Shape& shape) {
  if (!is_laid_out_) {
    lay_out();
  }
  auto found = ranks_.find(shape);
  if (found == ranks_.end()) {
    if (ranks_.size() >= kRanksKept) {
      ranks_.erase(std::min_element(ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) {
        return a.second.asked < b.second.asked;
      }));
    }
    found =
        ranks_.emplace(shape, Ranked{std::make_unique<ShapeRank>(shape, usual_.get()), 0}).first;
  }
  found->second.asked = ++asked_;
  found->second.rank->catch_up(kinds_, classes_);
  return *found->second.rank;
}

OpenPositions CapacityIndex::positions_of(const HostChoice& hosts) const {
  const auto positions = [&](const std::vector<HostNumber>& numbers) {
    std::vector<std::uint32_t> found;
    for (const HostNumber host : numbers) {
      if (!is_hidden(host)) {
        found.push_back(hosts_[index_of(host)].position);
      }
    }
    return found;
  };
  OpenPositions open{positions(hosts.barred), std::nullopt};
  if (hosts.only.has_value()) {
    open.only = positions(*hosts.only);
  }
  return open;
}

std::vector<HostShare> CapacityIndex::choose(const Shape& shape, const HostChoice& hosts) {
  ShapeRank& rank = rank_of(shape);
  return choose_hosts(Fleet{kinds_, classes_, rows_}, rank, positions_of(hosts));
}

std::uint32_t CapacityIndex::most(const Shape& shape, const HostChoice& hosts) {
  Shape boundless = shape;
  boundless.units = kUnitsMax;
  ShapeRank& rank = rank_of(boundless);
  return most_units(Fleet{kinds_, classes_, rows_}, rank, positions_of(hosts));
}

CapacityIndex CapacityIndex::copy() const {
  CapacityIndex other;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    other.kind(kinds_.at(static_cast<KindNumber>(i)));  // Gives the same numbers.
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const auto number = static_cast<HostNumber>(i);
    other.seat(number, hosts_[i].rack);
    if (hosts_[i].is_shown) {
      other.set(number, hosts_[i].space);
    }
  }
  return other;
}

bool CapacityIndex::says_the_same(const CapacityIndex& other) const {
  if (hosts_.size() != other.hosts_.size()) {
    return false;
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const IndexedHost& mine = hosts_[i];
    const IndexedHost& its = other.hosts_[i];
    if (mine.is_shown != its.is_shown || mine.rack != its.rack) {
      return false;
    }
    if (mine.is_shown &&
        (kinds_.at(mine.space.kind) != other.kinds_.at(its.space.kind) ||
         mine.space.islands != its.space.islands || mine.space.shared != its.space.shared ||
         mine.space.cpus != its.space.cpus || mine.space.memory_mb != its.space.memory_mb)) {
      return false;
    }
  }
  return true;
}

}  // namespace muster::scheduler
