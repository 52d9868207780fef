#pragma once
// What is usually asked for: how often each request came, of those that came most, and what was
// usual when that was last looked at. Placement packs by the latter (placement/fill_potential.h),
// so it changes seldom, and at the same entry at every voter. Counts are those of Space-Saving
// (Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data
// Streams", ICDT 2005, section 3): a new request takes the place and the count of the rarest. Owned
// by Books; pure.
//
// Invariants: at most kPopularMax requests are counted, each at least once; what is usual has none
// that never came.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/protocol/request.h"

namespace muster::scheduler {

inline constexpr std::size_t kPopularMax = 256;
/// A gang counts as so many requests as it has hosts, if they had so many GPUs.
inline constexpr std::uint32_t kPopularGpusMax = 8;
/// What one submit counts as at most, with all tasks of an array and all hosts of their gangs.
inline constexpr std::uint64_t kPopularWeightMax = 1024;
/// Who names more types than these is not counted.
inline constexpr std::size_t kPopularNamedMax = 8;
/// Submits until something counts as usual; then it is looked at again whenever twice as many came,
/// and in the end after each kPopularLast, where older counts lose half their weight.
inline constexpr std::uint64_t kPopularFirst = 64;
inline constexpr std::uint64_t kPopularLast = 16'384;
/// GPU types of the fleet that are told apart.
inline constexpr std::size_t kPopularTypesMax = 63;

/// What one host is asked for.
struct PopularRequest {
  std::uint32_t gpus = 0;
  std::uint32_t share = 0;            ///< Of each, in thousandths; 0 = no GPU.
  std::optional<std::uint32_t> cpus;  ///< For each, in thousandths. Nothing: its share of the host.
  std::vector<std::string> types;     ///< Folded, sorted; empty = any.
  auto operator<=>(const PopularRequest&) const = default;
};

struct Usual {
  std::map<PopularRequest, std::uint64_t> requests;  ///< How often each came.
  std::map<std::string, std::uint64_t> gpus;  ///< Of the fleet, by folded type, at that time.
  bool operator==(const Usual&) const = default;
};

class Popularity {
 public:
  using Counts = std::map<PopularRequest, std::uint64_t>;

  Popularity() = default;
  /// Of a snapshot.
  Popularity(Counts counts, std::uint64_t arrived, std::uint64_t look_at, Usual usual)
      : counts_(std::move(counts)),
        arrived_(arrived),
        look_at_(look_at),
        usual_(std::move(usual)) {}

  /// A submit of so many jobs arrived.
  void note(const Request& request, std::uint32_t jobs);
  /// The same of one job on one host.
  void note(const PopularRequest& request) {
    ++arrived_;
    count(request, 1);
  }
  /// So much came that what is usual must be looked at again.
  bool is_due() const { return arrived_ >= look_at_; }
  /// What was counted is usual from here on, in a fleet of these GPUs.
  void look(std::map<std::string, std::uint64_t> gpus);

  const Usual& usual() const { return usual_; }
  const Counts& counts() const { return counts_; }
  std::uint64_t arrived() const { return arrived_; }
  std::uint64_t look_at() const { return look_at_; }
  void check() const;

 private:
  void count(const PopularRequest& request, std::uint64_t requests);

  Counts counts_;
  std::uint64_t arrived_ = 0;              ///< Submits.
  std::uint64_t look_at_ = kPopularFirst;  ///< When so many arrived.
  Usual usual_;
};

}  // namespace muster::scheduler
