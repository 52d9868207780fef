#pragma once
// The usual requests: counts of the most frequent requests, and the counts at the last look.
// Placement packs by the latter (placement/fill_potential.h), so they change seldom, and at the
// same entry at every voter. Counts are those of Space-Saving
// (Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data
// Streams", ICDT 2005, section 3): a new request takes the place and the count of the rarest. Owned
// by Books; pure.
//
// Invariants: at most kPopularMax requests are counted, each at least once; each usual request
// came at least once.

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
/// A gang counts as one request for each host, as if hosts had this many GPUs.
inline constexpr std::uint32_t kPopularGpusMax = 8;
/// Maximum count of one submit, with all tasks of an array and all hosts of their gangs.
inline constexpr std::uint64_t kPopularWeightMax = 1024;
/// A request that names more GPU types is not counted.
inline constexpr std::size_t kPopularNamedMax = 8;
/// Submits until the first look; further looks follow whenever twice as many came, and in the end
/// after each kPopularLast. From kPopularLast submits on, each look halves the counts.
inline constexpr std::uint64_t kPopularFirst = 64;
inline constexpr std::uint64_t kPopularLast = 16'384;
/// GPU types of the fleet that are distinguished.
inline constexpr std::size_t kPopularTypesMax = 63;

/// A request to one host.
struct PopularRequest {
  std::uint32_t gpus = 0;
  std::uint32_t share = 0;            ///< Of each, in thousandths; 0 = no GPU.
  std::optional<std::uint32_t> cpus;  ///< For each, thousandths; nullopt: its share of the host.
  std::vector<std::string> types;     ///< Folded, sorted; empty = any.
  auto operator<=>(const PopularRequest&) const = default;
};

struct Usual {
  std::map<PopularRequest, std::uint64_t> requests;  ///< How often each came.
  std::map<std::string, std::uint64_t> gpus;  ///< GPUs of the fleet, by folded type, at that time.
  bool operator==(const Usual&) const = default;
};

class Popularity {
 public:
  using Counts = std::map<PopularRequest, std::uint64_t>;

  Popularity() = default;
  /// From a snapshot.
  Popularity(Counts counts, std::uint64_t arrived, std::uint64_t look_at, Usual usual)
      : counts_(std::move(counts)),
        arrived_(arrived),
        look_at_(look_at),
        usual_(std::move(usual)) {}

  /// Counts a submit of `jobs` jobs.
  void note(const Request& request, std::uint32_t jobs);
  /// Counts a submit of one job on one host.
  void note(const PopularRequest& request) {
    ++arrived_;
    count(request, 1);
  }
  /// Whether so many submits arrived that look() is due.
  bool is_due() const { return arrived_ >= look_at_; }
  /// Makes the present counts the usual ones, in a fleet of these GPUs.
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
  std::uint64_t look_at_ = kPopularFirst;  ///< The value of `arrived_` at which a look is due.
  Usual usual_;
};

}  // namespace muster::scheduler
