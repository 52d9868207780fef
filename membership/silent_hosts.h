#pragma once
// The hosts that this one sees silent, counted: in the whole fleet and in each rack, newly lost or
// for long, suspected or with a verdict. What the counts look like says storm.h.
//
// Healthy hosts cost nothing, a change the logarithm of those that are away. A host whose agent is
// down is not silent: its kernel answers.
//
// Limit: no more hosts than the membership holds.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/time.h"
#include "membership/member.h"
#include "membership/rack_counts.h"

namespace muster::membership {

/// What is newly lost: silent since no longer than this.
inline constexpr Duration kStormWindow = std::chrono::seconds(30);
/// Who has a verdict for so long is no part of the fleet until it is back. Those in the band stay:
/// a cut that lasts is a sign for as long as it lasts.
inline constexpr Duration kForgottenAfter = std::chrono::minutes(10);

enum class Silence : std::uint8_t {
  kNone,
  kSuspect,  ///< In the band: some observers miss it, too few for a verdict.
  kVerdict,
};

/// An agent that is down under a kernel that answers is not silent.
Silence silence_of(const Member& member);

class SilentHosts {
 public:
  /// A host of this rack ("" = a rack of its own) belongs to the fleet now, or no more.
  void add_host(const std::string& rack);
  /// Precondition: it is not silent (on_silence).
  void drop_host(const std::string& rack);
  void on_silence(Instant now, HostId host, const std::string& rack, Silence silence);
  void age(Instant now);
  Instant next_deadline() const { return ages_.empty() ? kNever : ages_.begin()->first; }

  std::size_t fleet() const { return fleet_; }
  std::size_t silent() const { return silent_.size() - forgotten_; }
  std::size_t in_band() const { return in_band_; }
  /// Newly lost, or in the band.
  std::size_t striking() const { return striking_; }
  /// The one rack in which all that is striking lies.
  std::optional<std::string> only_rack() const { return racks_.only_striking(); }
  std::size_t lost_racks() const { return racks_.lost(); }
  bool is_any_silent() const { return !silent_.empty(); }
  bool is_silent(HostId host) const { return silent_.contains(host); }
  /// Those in the band. Ascending.
  std::vector<HostId> suspects() const;
  void check_invariants() const;

 private:
  struct Record {
    std::string rack;
    Silence silence = Silence::kNone;
    Instant ages_at;  ///< In ages_; kNever = no more.
    bool is_new = true;
    bool is_forgotten = false;
  };
  /// Adds this host to all counts, or takes it out of them.
  void count(HostId host, const Record& record, bool in);

  std::map<HostId, Record> silent_;
  std::set<std::pair<Instant, HostId>> ages_;  ///< When a record stops being new, is forgotten.
  RackCounts racks_;
  std::size_t fleet_ = 0;
  std::size_t forgotten_ = 0;
  std::size_t in_band_ = 0;
  std::size_t striking_ = 0;
};

}  // namespace muster::membership
