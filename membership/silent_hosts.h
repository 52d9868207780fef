#pragma once
// SilentHosts: counts the hosts that this one sees silent: in the fleet and in each rack, newly
// lost or for long, suspected or with a verdict. Owned by Storm, which judges the counts.
//
// A healthy host costs nothing; a change costs the logarithm of the number of silent hosts. A host
// whose agent is down is not silent: its kernel answers.
//
// Limit: no more hosts than Membership holds.

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

/// A host is newly lost if it is silent for no longer than this.
inline constexpr Duration kStormWindow = std::chrono::seconds(30);
/// A host that has a verdict this long after kStormWindow leaves the fleet until it is back. A host
/// in the band stays for this long again: a cut is a sign for as long as it lasts.
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
  /// A host of this rack joins the fleet. "" is a rack of its own.
  void add_host(const std::string& rack);
  /// A host of this rack leaves the fleet. Precondition: it is not silent (on_silence).
  void drop_host(const std::string& rack);
  void on_silence(Instant now, HostId host, const std::string& rack, Silence silence);
  void age(Instant now);
  Instant next_deadline() const { return ages_.empty() ? kNever : ages_.begin()->first; }

  std::size_t fleet() const { return fleet_; }
  std::size_t silent() const { return silent_.size() - forgotten_; }
  std::size_t in_band() const { return in_band_; }
  /// Newly lost, or in the band.
  std::size_t striking() const { return striking_; }
  /// The only rack with striking hosts. nullopt if there are several such racks, or no such rack.
  std::optional<std::string> only_rack() const { return racks_.only_striking(); }
  std::size_t lost_racks() const { return racks_.lost(); }
  bool is_any_silent() const { return !silent_.empty(); }
  bool is_silent(HostId host) const { return silent_.contains(host); }
  /// The hosts in the band. Ascending.
  std::vector<HostId> suspects() const;
  void check_invariants() const;

 private:
  struct Record {
    std::string rack;
    Silence silence = Silence::kNone;
    Instant ages_at;  ///< As in ages_; kNever if the record has no entry there.
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
