#include "scheduler/placement/host_choice.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>

#include "scheduler/placement/rack_choice.h"

namespace muster::scheduler {
namespace {

using Place = ShapeRank::Place;
using Level = ShapeRank::Level;
using Levels = ShapeRank::Levels;

/// A chosen host, by its position.
struct Chosen {
  std::uint32_t position = 0;
  std::uint32_t units = 0;
};
struct Plan {
  std::vector<Chosen> chosen;
  std::uint32_t left_free = 0;
  std::string type;
};

/// Hosts of one rack, or spine, by the units that each holds, most first.
using GroupOffer = std::map<std::uint32_t, std::uint32_t, std::greater<>>;

std::uint64_t units_of(const GroupOffer& offer) {
  std::uint64_t units = 0;
  for (const auto& [held, hosts] : offer) {
    units += std::uint64_t{held} * hosts;
  }
  return units;
}

/// How many hosts of the group `wanted` units take. Precondition: they fit.
std::uint32_t hosts_for(const GroupOffer& offer, std::uint32_t wanted) {
  std::uint32_t used = 0;
  for (const auto& [held, hosts] : offer) {
    const std::uint32_t count = std::min(hosts, (wanted + held - 1) / held);
    used += count;
    wanted -= std::min(wanted, count * held);
  }
  return used;
}

bool is_better(const Plan& plan, const Plan& than) {
  if (plan.chosen.size() != than.chosen.size()) {
    return plan.chosen.size() < than.chosen.size();
  }
  return plan.left_free != than.left_free ? plan.left_free < than.left_free : plan.type < than.type;
}

std::uint32_t lowest(std::uint32_t bits) {
  return static_cast<std::uint32_t>(std::countr_zero(bits));
}

class Choice {
 public:
  Choice(const Fleet& fleet, ShapeRank& rank, const OpenPositions& open)
      : fleet_(fleet), rank_(rank) {
    if (open.only.has_value()) {
      masks_.assign(fleet_.rows.rows(), ~std::uint32_t{0});
      for (const std::uint32_t position : *open.only) {
        masks_[position / kRowBits] &= ~(std::uint32_t{1} << position % kRowBits);
      }
    }
    for (const std::uint32_t position : open.barred) {
      mask(position);
    }
  }

  std::vector<HostShare> hosts();
  std::uint32_t most();

 private:
  void mask(std::uint32_t position);
  /// The bits that are not masked.
  std::uint32_t open(std::uint32_t row, std::uint32_t bits) const {
    return masks_.empty() ? bits : bits & ~masks_[row];
  }
  template <class Visit>
  void for_each_row(ClassNumber number, Visit visit) const {
    fleet_.classes.at(number).bits.for_each_row([&](std::uint32_t row, std::uint32_t bits) {
      if (const std::uint32_t left = open(row, bits); left != 0) {
        visit(row, left);
      }
    });
  }
  std::uint32_t hosts_of(const Place& place) const;
  std::uint32_t hosts_in(const Level& level) const;
  std::optional<std::uint32_t> first_host(ClassNumber number,
                                          std::span<const std::uint32_t> racks) const;
  std::optional<Chosen> on_one_host(std::uint32_t preferred);
  std::optional<Plan> on_many(std::uint32_t preferred);
  std::optional<Plan> on_many(Levels& levels);
  bool is_in_group() const {
    return rank_.shape().pack == Pack::kRack || rank_.shape().pack == Pack::kSpine;
  }
  std::optional<std::uint32_t> best_group(const Levels& levels) const;
  void mask_all_but(std::uint32_t group);
  void choose(const Level& level, std::uint32_t units, std::uint32_t count, Plan& plan);
  bool choose_last(const Levels& levels, std::uint32_t units, Plan& plan);
  void add(std::uint32_t position, std::uint32_t units, Plan& plan);
  std::vector<std::uint32_t> racks_of(const Plan& plan) const;
  std::vector<GroupOffer> offers(const Levels& levels) const;

  const Fleet& fleet_;
  ShapeRank& rank_;
  std::vector<std::uint32_t> masks_;  ///< By row; empty = no host is masked.
};

void Choice::mask(std::uint32_t position) {
  masks_.resize(fleet_.rows.rows(), 0);
  masks_[position / kRowBits] |= std::uint32_t{1} << position % kRowBits;
}

std::uint32_t Choice::hosts_of(const Place& place) const {
  if (!ShapeRank::is_live(fleet_.classes, place)) {
    return 0;
  }
  if (masks_.empty()) {
    return fleet_.classes.at(place.number).hosts;
  }
  std::uint32_t hosts = 0;
  for_each_row(place.number, [&](std::uint32_t, std::uint32_t bits) {
    hosts += static_cast<std::uint32_t>(std::popcount(bits));
  });
  return hosts;
}

std::uint32_t Choice::hosts_in(const Level& level) const {
  std::uint32_t hosts = 0;
  for (const Place& place : level) {
    hosts += hosts_of(place);
  }
  return hosts;
}

/// The first host of the class in these racks; in any rack if the class has no host there.
std::optional<std::uint32_t> Choice::first_host(ClassNumber number,
                                                std::span<const std::uint32_t> racks) const {
  if (masks_.empty() && racks.empty()) {
    return fleet_.classes.at(number).bits.first();
  }
  std::optional<std::uint32_t> first;
  std::optional<std::uint32_t> in_rack;
  for_each_row(number, [&](std::uint32_t row, std::uint32_t bits) {
    const std::uint32_t position = row * kRowBits + lowest(bits);
    first = first.value_or(position);
    if (!in_rack.has_value() && !racks.empty() &&
        std::binary_search(racks.begin(), racks.end(), fleet_.rows.rack_of_row(row))) {
      in_rack = position;
    }
  });
  return in_rack.has_value() ? in_rack : first;
}

std::optional<Chosen> Choice::on_one_host(std::uint32_t preferred) {
  const std::uint32_t units = rank_.shape().units;
  std::optional<Place> best;
  std::optional<Chosen> chosen;
  for (ShapeRank::Type& type : rank_.types()) {
    const auto found = type.levels.find(units);
    if (type.preferred != preferred || found == type.levels.end()) {
      continue;
    }
    Level& level = found->second;
    std::vector<Place> passed;  // Places with masked hosts only.
    for (std::optional<Place> place = rank_.best(fleet_.classes, level);
         place.has_value() && (!best.has_value() || *place < *best);
         place = rank_.best(fleet_.classes, level)) {
      if (const auto position = first_host(place->number, {})) {
        best = place;
        chosen = Chosen{*position, units};
        break;
      }
      rank_.take(level);
      passed.push_back(*place);
    }
    for (const Place& place : passed) {
      rank_.put(level, place);
    }
  }
  return chosen;
}

void Choice::add(std::uint32_t position, std::uint32_t units, Plan& plan) {
  plan.chosen.push_back({position, units});
  mask(position);
}

std::vector<std::uint32_t> Choice::racks_of(const Plan& plan) const {
  std::vector<std::uint32_t> racks;
  for (const Chosen& host : plan.chosen) {
    racks.push_back(fleet_.rows.rack_of_row(host.position / kRowBits));
  }
  std::sort(racks.begin(), racks.end());
  racks.erase(std::unique(racks.begin(), racks.end()), racks.end());
  return racks;
}

/// Takes `count` hosts of the level, in each rack the best places first. Precondition: there are as
/// many.
void Choice::choose(const Level& level, std::uint32_t units, std::uint32_t count, Plan& plan) {
  std::vector<Place> places;
  std::vector<std::uint32_t> offered(fleet_.rows.racks(), 0);
  for (const Place& place : level) {
    if (ShapeRank::is_live(fleet_.classes, place)) {
      places.push_back(place);
      for_each_row(place.number, [&](std::uint32_t row, std::uint32_t bits) {
        offered[fleet_.rows.rack_of_row(row)] += static_cast<std::uint32_t>(std::popcount(bits));
      });
    }
  }
  std::sort(places.begin(), places.end());
  std::vector<std::uint32_t> quota = hosts_by_rack(offered, racks_of(plan), count);
  for (const Place& place : places) {
    for_each_row(place.number, [&](std::uint32_t row, std::uint32_t bits) {
      std::uint32_t& left = quota[fleet_.rows.rack_of_row(row)];
      for (; bits != 0 && left != 0; bits &= bits - 1, --left) {
        add(row * kRowBits + lowest(bits), units, plan);
      }
    });
  }
}

/// Takes one more host, for `units` units. False if no host holds them.
bool Choice::choose_last(const Levels& levels, std::uint32_t units, Plan& plan) {
  std::vector<std::pair<Place, std::uint32_t>> places;
  for (auto level = levels.begin(); level != levels.end() && level->first >= units; ++level) {
    for (const Place& place : level->second) {
      if (hosts_of(place) != 0) {
        const Place as_last = rank_.place_of(fleet_.kinds, fleet_.classes, place.number, units);
        places.push_back({as_last, level->first});
      }
    }
  }
  if (places.empty()) {
    return false;
  }
  const auto& [best, held] = *std::min_element(places.begin(), places.end());
  add(*first_host(best.number, racks_of(plan)), units, plan);
  plan.left_free = held - units;
  return true;
}

/// Offers by number of the rack, or spine.
std::vector<GroupOffer> Choice::offers(const Levels& levels) const {
  std::vector<GroupOffer> offers(fleet_.rows.groups());
  for (const auto& [units, level] : levels) {
    for (const Place& place : level) {
      if (ShapeRank::is_live(fleet_.classes, place)) {
        for_each_row(place.number, [&](std::uint32_t row, std::uint32_t bits) {
          if (const auto group = fleet_.rows.group_of_row(row, rank_.shape().pack)) {
            offers[*group][units] += static_cast<std::uint32_t>(std::popcount(bits));
          }
        });
      }
    }
  }
  return offers;
}

std::optional<std::uint32_t> Choice::best_group(const Levels& levels) const {
  const std::uint32_t wanted = rank_.shape().units;
  const std::vector<GroupOffer> by_group = offers(levels);
  std::optional<std::uint32_t> best;
  std::pair<std::uint32_t, std::uint64_t> best_key;
  for (std::uint32_t group = 0; group < by_group.size(); ++group) {
    const std::uint64_t units = units_of(by_group[group]);
    if (units < wanted) {
      continue;
    }
    const std::pair key(hosts_for(by_group[group], wanted), units);
    if (!best.has_value() || key < best_key) {
      best = group;
      best_key = key;
    }
  }
  return best;
}

void Choice::mask_all_but(std::uint32_t group) {
  masks_.resize(fleet_.rows.rows(), 0);
  for (std::uint32_t row = 0; row < masks_.size(); ++row) {
    masks_[row] |=
        fleet_.rows.group_of_row(row, rank_.shape().pack) == group ? 0 : ~std::uint32_t{0};
  }
}

std::optional<Plan> Choice::on_many(Levels& levels) {
  if (is_in_group()) {
    const std::optional<std::uint32_t> group = best_group(levels);
    if (!group.has_value()) {
      return std::nullopt;
    }
    mask_all_but(*group);
  }
  std::uint32_t wanted = rank_.shape().units;
  Plan plan;
  for (const auto& [units, level] : levels) {
    const std::uint32_t hosts = hosts_in(level);
    const std::uint32_t count = std::min(hosts, wanted / units);
    if (count != 0) {
      choose(level, units, count, plan);
      wanted -= count * units;
    }
    if (wanted == 0 || hosts > count) {
      break;  // One host holds the rest.
    }
  }
  if (wanted != 0 && (rank_.shape().per_host != 0 || !choose_last(levels, wanted, plan))) {
    return std::nullopt;
  }
  return plan;
}

std::optional<Plan> Choice::on_many(std::uint32_t preferred) {
  const Shape& shape = rank_.shape();
  std::optional<Plan> best;
  const std::vector<std::uint32_t> masks = masks_;
  for (ShapeRank::Type& type : rank_.types()) {
    if (shape.is_for_one_host() || type.preferred != preferred) {
      continue;
    }
    masks_ = masks;
    std::optional<Plan> plan = on_many(type.levels);
    if (plan.has_value()) {
      plan->type = type.name;
      if (!best.has_value() || is_better(*plan, *best)) {
        best = std::move(plan);
      }
    }
  }
  masks_ = masks;
  return best;
}

std::vector<HostShare> Choice::hosts() {
  const std::size_t preferences = std::max<std::size_t>(1, rank_.shape().types.size());
  Plan plan;
  for (std::uint32_t preferred = 0; preferred < preferences && plan.chosen.empty(); ++preferred) {
    if (const std::optional<Chosen> one = on_one_host(preferred)) {
      return {{fleet_.rows.host_at(one->position), one->units}};
    }
    plan = on_many(preferred).value_or(Plan());
  }
  const auto place_of = [&](const Chosen& host) {
    return std::pair(fleet_.rows.rack_of_row(host.position / kRowBits), host.position);
  };
  std::sort(plan.chosen.begin(), plan.chosen.end(),
            [&](const Chosen& a, const Chosen& b) { return place_of(a) < place_of(b); });
  std::vector<HostShare> shares;
  for (const Chosen& host : plan.chosen) {
    shares.push_back({fleet_.rows.host_at(host.position), host.units});
  }
  return shares;
}

std::uint32_t Choice::most() {
  const Shape& shape = rank_.shape();
  std::uint64_t most = 0;
  for (const ShapeRank::Type& type : rank_.types()) {
    std::uint64_t all = 0;
    std::uint64_t on_one = 0;
    for (const auto& [units, level] : type.levels) {
      const std::uint32_t hosts = hosts_in(level);
      all += std::uint64_t{hosts} * units;
      on_one = std::max<std::uint64_t>(on_one, hosts == 0 ? 0 : units);
    }
    if (is_in_group()) {
      most = std::max(most, on_one);
      for (const GroupOffer& offer : offers(type.levels)) {
        most = std::max(most, units_of(offer));
      }
    } else {
      most = std::max(most, shape.is_for_one_host() ? on_one : all);
    }
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, kUnitsMax));
}

}  // namespace

std::vector<HostShare> choose_hosts(const Fleet& fleet, ShapeRank& rank,
                                    const OpenPositions& open) {
  return Choice(fleet, rank, open).hosts();
}

std::uint32_t most_units(const Fleet& fleet, ShapeRank& rank, const OpenPositions& open) {
  return Choice(fleet, rank, open).most();
}

}  // namespace muster::scheduler
