#pragma once
// Which hosts hold a request, without a look at all of them: hosts by what is free on them, and for
// each shape that is asked for the order in which it uses them. It is told of each host what it
// has and what of that is free, and answers from that alone, the same wherever it was told the
// same. Nothing of it is logged: a voter keeps it beside its state. Pure; integers only.
//
// Costs: a change of a host O(1); a choice on one host O(1) for what changed since this shape was
// asked for last; a gang O(its hosts, and racks).
//
// Invariant: it says what an index says that was told only the last word of each host.

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

/// Shapes whose order is kept; of more, the one that was asked for longest ago is forgotten, and
/// made anew in O(classes) when it is wanted again.
inline constexpr std::size_t kRanksKept = 1024;

/// Which hosts a job may get, by name. In any order.
struct HostChoice {
  std::vector<HostNumber> barred;
  std::optional<std::vector<HostNumber>> only;  ///< Nothing: any that is not barred.
};

/// A host of the index: where it stands, and under which class while it is shown.
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
  /// The host stands in that rack. Hosts are numbered by who calls, from 0, without
  /// gaps; a new one is hidden.
  /// True: it stood in another one.
  bool seat(HostNumber host, const RackName& rack);
  /// What is free on the host from here on; `space.kind` by kind(). A host without anything free is
  /// told as well. Precondition of this and of hide(): it has its seat.
  void set(HostNumber host, const HostSpace& space);
  /// Nothing of it may be given away, until set() says otherwise.
  void hide(HostNumber host);
  bool is_hidden(HostNumber host) const;
  const HostSpace* space(HostNumber host) const;
  /// What is packed by from here on; nothing of it with GPUs: by fit_of() alone. In O(requests and
  /// shapes), and for each shape O(classes) when it is asked for next.
  void set_usual(const Usual& usual);
  const HostKind& kind_of(KindNumber number) const { return kinds_.at(number); }

  /// See host_choice.h.
  std::vector<HostShare> choose(const Shape& shape, const HostChoice& hosts = {});
  /// The most units a job of this shape, of any number of units, could get now.
  std::uint32_t most(const Shape& shape, const HostChoice& hosts = {});
  /// One that says the same, but orders hosts by fit_of() alone: for who asks what would be.
  /// O(hosts).
  CapacityIndex copy() const;
  /// Racks, that of the hosts which name none among them.
  std::uint32_t racks() const { return rows_.racks(); }
  std::size_t classes() const { return classes_.live(); }
  /// Of two that were told the same. In O(hosts): for tests.
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
    std::uint64_t asked = 0;  ///< The last time, counted.
  };
  std::unique_ptr<FillPotential> usual_;  ///< Null: nothing is usual yet.
  std::map<Shape, Ranked> ranks_;
  std::uint64_t asked_ = 0;
  bool is_laid_out_ = true;  ///< False: a host changed its rack, and all are laid out anew.
};

}  // namespace muster::scheduler
