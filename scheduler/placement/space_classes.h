#pragma once
// Hosts by free space: a class is the set of hosts of one kind with one space. Placement looks at
// classes: there are a few hundred in a fleet of ten thousand whole-GPU hosts, and at worst as many
// as hosts. Owned by CapacityIndex; pure.
//
// Invariants: a host is in one class; a class counts its hosts; each class that came to have hosts
// since a reader's last look is among the births that the reader gets, or the reader has to begin
// again. Numbers of empty classes are given again, with a higher `life`.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/host_bits.h"
#include "scheduler/placement/host_space.h"

namespace muster::scheduler {

enum class ClassNumber : std::uint32_t {};
constexpr std::uint32_t index_of(ClassNumber number) {
  return static_cast<std::uint32_t>(number);
}

/// Empty classes that are kept, beyond as many as have hosts.
inline constexpr std::size_t kEmptyClassesKept = 4096;
/// Births that are kept for readers, beyond four for each class.
inline constexpr std::size_t kBirthsKept = 4096;

struct SpaceClass {
  HostSpace space;
  std::uint64_t hash = 0;  ///< Of its content: breaks the last tie independently of numbers.
  std::uint32_t hosts = 0;
  std::uint32_t life = 0;  ///< How often the number was given.
  HostBits bits;
};

class SpaceClasses {
 public:
  /// Puts the host at `position` into the class of `space`. `kind_hash`: HostKinds::hash().
  ClassNumber enter(const HostSpace& space, std::uint64_t kind_hash, std::uint32_t position);
  /// Precondition: the host is in that class.
  void leave(ClassNumber number, std::uint32_t position);

  const SpaceClass& at(ClassNumber number) const { return classes_[index_of(number)]; }
  /// Numbers are below it.
  std::size_t bound() const { return classes_.size(); }
  /// Number of classes with hosts.
  std::size_t live() const { return live_; }

  /// The position of a reader that has seen all births.
  std::uint64_t last_birth() const { return births_gone_ + births_.size(); }
  /// Classes that came to have hosts after `seen`, some of them perhaps empty again. nullopt if
  /// that was too long ago: the reader has to look at all classes.
  std::optional<std::span<const ClassNumber>> births_since(std::uint64_t seen) const;

 private:
  struct Content {
    std::uint64_t hash = 0;  ///< First, because it distinguishes most.
    HostSpace space;
    auto operator<=>(const Content&) const = default;
  };
  ClassNumber number_of(const HostSpace& space, std::uint64_t kind_hash);
  void give_births(ClassNumber number);
  void forget_empty();

  std::map<Content, ClassNumber> numbers_;
  std::vector<SpaceClass> classes_;
  std::vector<ClassNumber> unused_;  ///< Numbers that may be given again.
  std::size_t live_ = 0;
  std::vector<ClassNumber> births_;
  std::uint64_t births_gone_ = 0;  ///< Before the first of `births_`.
};

}  // namespace muster::scheduler
