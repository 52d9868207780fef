#pragma once
// The classes of hosts that one shape can use, in the order of their use: by GPU type, by how many
// units a host of the class holds, by FillPotential::score() once there are usual requests, and by
// fit_of(). A rank reads the births of classes when it is asked, and drops dead classes as it meets
// them, so a change of a host costs the shapes nothing until they are placed. Owned by
// CapacityIndex; pure.
//
// Invariant: after catch_up() each class with hosts that holds a unit is in exactly one level.

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/placement/fill_potential.h"
#include "scheduler/placement/host_kinds.h"
#include "scheduler/placement/shape.h"
#include "scheduler/placement/space_classes.h"

namespace muster::scheduler {

/// Places of a rank beyond two for each class: with more it is built again, without the dead.
inline constexpr std::size_t kDeadPlacesMax = 1024;

class ShapeRank {
 public:
  /// `usual`: the rule to pack by; null = no usual requests yet. It outlives this rank, or
  /// rank_by() replaces it.
  explicit ShapeRank(Shape shape, FillPotential* usual = nullptr)
      : shape_(std::move(shape)), usual_(usual) {}

  const Shape& shape() const { return shape_; }
  void catch_up(const HostKinds& kinds, const SpaceClasses& classes);
  /// Replaces the rule; the next catch_up() orders all classes again.
  void rank_by(FillPotential* usual) {
    usual_ = usual;
    is_begun_ = false;
  }

  struct Place {
    std::uint32_t worse = 0;  ///< Than the best score.
    std::uint64_t fit = 0;
    std::uint64_t hash = 0;
    ClassNumber number{};
    std::uint32_t life = 0;
    std::strong_ordering operator<=>(const Place& other) const {
      return std::tie(worse, fit, hash) <=> std::tie(other.worse, other.fit, other.hash);
    }
    bool operator==(const Place& other) const = default;
  };
  /// A heap: the best place is at its front.
  using Level = std::vector<Place>;
  /// By the units that a host holds, most first. Levels may hold dead places.
  using Levels = std::map<std::uint32_t, Level, std::greater<>>;
  struct Type {
    std::uint32_t preferred = 0;  ///< preference()
    std::string name;
    Levels levels;
  };
  /// By HostKinds::type; a type that does not suit the shape has no levels.
  std::vector<Type>& types() { return types_; }

  /// The best place of the level that has hosts; nullopt if the level has none. Drops dead places
  /// before it.
  std::optional<Place> best(const SpaceClasses& classes, Level& level);
  /// Takes the best place out, so that best() gives the next one; put() brings it back.
  void take(Level& level);
  void put(Level& level, const Place& place);
  /// The place of a class for `units` units, which its hosts hold.
  Place place_of(const HostKinds& kinds, const SpaceClasses& classes, ClassNumber number,
                 std::uint32_t units) const;
  static bool is_live(const SpaceClasses& classes, const Place& place);

 private:
  void consider(const HostKinds& kinds, const SpaceClasses& classes, ClassNumber number);
  std::optional<std::uint32_t> preference_of(const HostKinds& kinds, KindNumber kind);

  Shape shape_;
  FillPotential* usual_;
  std::vector<Type> types_;
  /// By class: the life under which it is in a level; 0 = it is in no level.
  std::vector<std::uint32_t> held_;
  /// By kind: preference() + 1; 0 = its hosts do not suit the shape.
  std::vector<std::uint32_t> preferences_;
  std::size_t places_ = 0;  ///< In all levels, including dead ones.
  std::uint64_t seen_ = 0;  ///< Births read so far.
  bool is_begun_ = false;
};

}  // namespace muster::scheduler
