#include "scheduler/placement/shape_rank.h"

#include <algorithm>
#include <span>

namespace muster::scheduler {

void ShapeRank::catch_up(const HostKinds& kinds, const SpaceClasses& classes) {
  const std::uint64_t last = classes.last_birth();
  if (is_begun_ && seen_ == last) {
    return;
  }
  const auto births = classes.births_since(seen_);
  held_.resize(classes.bound(), 0);
  const bool is_cheap = births.has_value() && births->size() < classes.bound() &&
                        places_ <= 2 * classes.bound() + kDeadPlacesMax;
  if (is_begun_ && is_cheap) {
    for (const ClassNumber number : *births) {
      consider(kinds, classes, number);
    }
  } else {
    types_.clear();
    places_ = 0;
    std::fill(held_.begin(), held_.end(), 0);
    for (std::size_t i = 0; i < classes.bound(); ++i) {
      consider(kinds, classes, static_cast<ClassNumber>(i));
    }
  }
  is_begun_ = true;
  seen_ = last;
}

void ShapeRank::consider(const HostKinds& kinds, const SpaceClasses& classes, ClassNumber number) {
  const SpaceClass& known = classes.at(number);
  if (known.hosts == 0 || held_[index_of(number)] == known.life) {
    return;
  }
  const HostKind& kind = kinds.at(known.space.kind);
  const std::optional<std::uint32_t> preferred = preference_of(kinds, known.space.kind);
  const std::uint32_t units = preferred ? units_in(shape_, kind, known.space) : 0;
  if (units == 0) {
    return;
  }
  const bool is_bare = shape_.share == 0;  // Without GPUs hosts of all types are alike.
  const std::uint32_t type = is_bare ? 0 : kinds.type(known.space.kind);
  if (type >= types_.size()) {
    types_.resize(type + 1);
  }
  Type& its = types_[type];
  its.preferred = is_bare ? 0 : *preferred;
  its.name = is_bare ? "" : kind.gpu_type;
  put(its.levels[units], place_of(kinds, classes, number, units));
}

ShapeRank::Place ShapeRank::place_of(const HostKinds& kinds, const SpaceClasses& classes,
                                     ClassNumber number, std::uint32_t units) const {
  const SpaceClass& known = classes.at(number);
  const HostKind& kind = kinds.at(known.space.kind);
  Place place;
  place.worse =
      usual_ == nullptr ? 0 : kScoreBest - usual_->score(shape_, kind, known.space, units);
  place.fit = fit_of(shape_, kind, known.space, units);
  place.hash = known.hash;
  place.number = number;
  place.life = known.life;
  return place;
}

std::optional<std::uint32_t> ShapeRank::preference_of(const HostKinds& kinds, KindNumber kind) {
  for (std::size_t i = preferences_.size(); i <= index_of(kind); ++i) {
    const auto preferred = preference(shape_, kinds.at(static_cast<KindNumber>(i)));
    preferences_.push_back(preferred ? *preferred + 1 : 0);
  }
  const std::uint32_t known = preferences_[index_of(kind)];
  return known == 0 ? std::nullopt : std::optional(known - 1);
}

bool ShapeRank::is_live(const SpaceClasses& classes, const Place& place) {
  const SpaceClass& known = classes.at(place.number);
  return known.life == place.life && known.hosts != 0;
}

std::optional<ShapeRank::Place> ShapeRank::best(const SpaceClasses& classes, Level& level) {
  while (!level.empty()) {
    if (is_live(classes, level.front())) {
      return level.front();
    }
    take(level);
  }
  return std::nullopt;
}

void ShapeRank::take(Level& level) {
  std::pop_heap(level.begin(), level.end(), std::greater<>());
  std::uint32_t& held = held_[index_of(level.back().number)];
  held = held == level.back().life ? 0 : held;
  level.pop_back();
  --places_;
}

void ShapeRank::put(Level& level, const Place& place) {
  held_[index_of(place.number)] = place.life;
  ++places_;
  level.push_back(place);
  std::push_heap(level.begin(), level.end(), std::greater<>());
}

}  // namespace muster::scheduler
