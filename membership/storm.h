#pragma once
// Storm: classifies the silent hosts as some deaths, a rack without power, many deaths, or a cut.
// Owned by Membership. It judges no host: verdicts stay what they are, and the mode says what may
// follow from them (PROTOCOL.md, 8). Pure: no clock, no network.
//
// Invariant: a mode outlasts its last sign by kStormQuiet; of two the more cautious holds.

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gossip/base/ids.h"
#include "gossip/base/storm_mode.h"
#include "gossip/base/time.h"
#include "membership/silent_hosts.h"

namespace muster::membership {

/// A mode ends after this time without a sign.
inline constexpr Duration kStormQuiet = std::chrono::seconds(60);
/// A lesser mode that would follow for less than this does not follow.
inline constexpr Duration kStormRest = std::chrono::seconds(10);
/// A smaller fleet has the rule of small clusters alone: two hosts silent within kPairWindow.
inline constexpr std::size_t kStormHostsMin = 20;
inline constexpr Duration kPairWindow = std::chrono::seconds(5);
/// Fewer hosts are no storm in a larger fleet.
inline constexpr std::size_t kStormLostMin = 3;
/// Deaths pass through the band in less; half a fleet that is cut off stays there.
inline constexpr Duration kBandPatience = std::chrono::milliseconds(500);

/// One moment as this host sees it: the input of the table of modes.
struct StormFacts {
  std::size_t fleet = 0;     ///< This host included.
  std::size_t striking = 0;  ///< Newly lost, or in the band.
  std::size_t in_band = 0;
  bool is_band_lasting = false;  ///< It was wide enough for kBandPatience.
  std::size_t isolated = 0;      ///< Observers, not silent themselves, that miss most subjects.
  std::size_t own_missing = 0;   ///< Own subjects that miss answers.
  std::size_t own_total = 0;
  bool is_isolated = false;              ///< This host is.
  std::optional<std::string> only_rack;  ///< The only rack with striking hosts.
  std::size_t lost_racks = 0;
  bool operator==(const StormFacts&) const = default;
};

struct StormSign {
  StormMode mode = StormMode::kNormal;
  std::string reason;  ///< For people: "14 of 24 hosts suspect".
  bool operator==(const StormSign&) const = default;
};

/// The table of modes for fleets of kStormHostsMin and more: the first row that holds.
StormSign look_up(const StormFacts& facts);
/// Whether `in_band` hosts in the band are a sign, once that lasts.
bool is_wide_band(std::size_t in_band, std::size_t fleet);

/// The mode, for people.
struct StormStatus {
  StormMode mode = StormMode::kNormal;
  Instant since;           ///< When it began, here.
  std::string reason;      ///< Of its latest sign; "" in kNormal.
  std::size_t silent = 0;  ///< Hosts of the fleet that are silent now.
  std::size_t fleet = 0;
};

class Storm {
 public:
  explicit Storm(Instant now) { status_.since = now; }

  void add_host(const std::string& rack) { hosts_.add_host(rack); }
  void drop_host(const std::string& rack) { hosts_.drop_host(rack); }
  void on_silence(Instant now, HostId host, const std::string& rack, Silence silence);
  /// A host that was alive until now fell silent: the rule of small clusters counts these. A host
  /// whose agent was down before, and whose kernel answers no more, is no second loss.
  void on_sudden_silence(Instant now, HostId host);
  /// An observer says that it misses most of what it watches (its claims are weak).
  void on_isolated(HostId observer, bool isolated);
  void on_own_subjects(std::size_t missing, std::size_t total, bool isolated);
  /// Call after any of these, and when next_deadline() has come. True if the mode changed.
  bool update(Instant now);
  Instant next_deadline() const { return next_deadline_; }

  StormMode mode() const { return status_.mode; }
  /// No host is silent and no mode lasts: update() would change nothing.
  bool is_quiet() const { return is_quiet_; }
  StormStatus status() const;
  /// Hosts in the band. Ascending.
  std::vector<HostId> suspects() const { return hosts_.suspects(); }
  void check_invariants() const;

 private:
  struct Lasting {
    Instant until = kLongAgo;
    std::string reason;
  };
  StormFacts facts(Instant now) const;
  StormSign sign(Instant now) const;
  void keep_modes(Instant now);

  SilentHosts hosts_;
  std::set<HostId> isolated_;
  StormFacts own_;               ///< Only the fields about this host itself are set.
  Instant band_since_ = kNever;  ///< The band has been wide since then.
  HostId last_silent_;
  Instant last_silent_at_ = kLongAgo;
  StormSign last_sign_;
  std::array<Lasting, 4> modes_;  ///< By mode.
  StormStatus status_;
  bool is_quiet_ = true;
  Instant next_deadline_ = kNever;
};

}  // namespace muster::membership
