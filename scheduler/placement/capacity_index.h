#pragma once
// An index that finds the hosts for a request without a look at all hosts: hosts by free space, and
// for each shape that is asked for the order in which it uses them. The caller tells it the kind
// and the free space of each host. Indexes that were told the same give the same answers. It is not
// in the log: a voter keeps it beside its state. Owned by Capacity; pure; integers only.
//
// Costs: a change of a host O(1); a choice on one host O(1) for what changed since this shape was
// asked for last; a gang O(its hosts, and racks).
//
// Invariant: it gives the same answers as an index that was told only the last space of each host.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/placement/fill_potential.h"
#include "scheduler/placement/host_choice.h"
#include "scheduler/placement/host_kinds.h"
#include "scheduler/placement/rack_rows.h"
#include "scheduler/placement/shape_rank.h"
#include "scheduler/placement/space_classes.h"

namespace muster::scheduler {

/// Shapes whose order is kept. Beyond it the one that was asked for longest ago is forgotten, and
/// built again in O(classes) when it is needed.
inline constexpr std::size_t kRanksKept = 1024;

/// The hosts that a job may get by name. Lists are in any order.
struct HostChoice {
  std::vector<HostNumber> barred;
  std::optional<std::vector<HostNumber>> only;  ///< nullopt: any host that is not barred.
};

/// A host of the index: its position, and its class while it is shown.
struct IndexedHost {
  RackName rack;
  std::uint32_t position = kNoPosition;
  bool is_shown = false;
  ClassNumber number{};
  HostSpace space;
};

class CapacityIndex {
 public:
  KindNumber kind(const HostKind& kind) { return kinds_.number_of(kind); }
  /// Seats the host in that rack. The caller numbers hosts from 0, without gaps; a new one is
  /// hidden.
  /// True if it was in another rack before.
  bool seat(HostNumber host, const RackName& rack);
  /// Sets the free space of the host; `space.kind` is from kind(). Call it also for a host without
  /// free space. Precondition of this and of hide(): the host has its seat.
  void set(HostNumber host, const HostSpace& space);
  /// No request gets the host until the next set().
  void hide(HostNumber host);
  bool is_hidden(HostNumber host) const;
  const HostSpace* space(HostNumber host) const;
  /// Sets the requests to pack by; without requests for GPUs it packs by fit_of() alone. O(requests
  /// and shapes), and for each shape O(classes) when it is asked for next.
  void set_usual(const Usual& usual);
  const HostKind& kind_of(KindNumber number) const { return kinds_.at(number); }

  /// See host_choice.h.
  std::vector<HostShare> choose(const Shape& shape, const HostChoice& hosts = {});
  /// The most units that a job of this shape, of any number of units, could get now.
  std::uint32_t most(const Shape& shape, const HostChoice& hosts = {});
  /// An index of the same hosts that orders them by fit_of() alone, for WhatIf. O(hosts).
  CapacityIndex copy() const;
  /// Number of racks. All hosts that name no rack count for one rack.
  std::uint32_t racks() const { return rows_.racks(); }
  std::size_t classes() const { return classes_.live(); }
  /// Whether both hold the same hosts. O(hosts), for tests.
  bool says_the_same(const CapacityIndex& other) const;

 private:
  void lay_out();
  void show(HostNumber host);
  void forget(IndexedHost& host);
  ShapeRank& rank_of(const Shape& shape);
  OpenPositions positions_of(const HostChoice& hosts) const;

  HostKinds kinds_;
  SpaceClasses classes_;
  RackRows rows_;
  std::vector<IndexedHost> hosts_;
  struct Ranked {
    std::unique_ptr<ShapeRank> rank;
    std::uint64_t asked = 0;  ///< Value of `asked_` at the last question.
  };
  std::unique_ptr<FillPotential> usual_;  ///< Null: no usual requests yet.
  std::map<Shape, Ranked> ranks_;
  std::uint64_t asked_ = 0;
  bool is_laid_out_ = true;  ///< False: a host changed its rack, and all must be laid out again.
};

}  // namespace muster::scheduler
