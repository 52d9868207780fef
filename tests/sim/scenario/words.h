#pragma once
// A scenario: what happens to a cluster and what must follow, as one file says it
// (scenarios/LANGUAGE.md). Words alone; parser.h makes them of text, sets.h finds the hosts they
// name, player.h plays the acts on simulated hosts, scenarios/real on real agents, and judge.h
// judges both.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gossip/base/time.h"

namespace muster::sim::scenario {

/// Some hosts, as terms that are added or taken away in turn. Roles are looked up when an act
/// happens; all else is fixed: host i is in rack i mod the number of racks.
struct SetTerm {
  enum class Kind : std::uint8_t {
    kAll,
    kRest,
    kHost,
    kRack,
    kFirst,
    kLast,
    kLeader,
    kVoters,
    kGang,     ///< All hosts on which a job runs.
    kGangOne,  ///< One of them, which does not vote if there is such a one.
  };
  Kind kind = Kind::kAll;
  std::uint32_t number = 0;  ///< Of the host or rack; how many, or percent of all.
  bool is_percent = false;
  bool is_taken_away = false;
  std::string job = {};
};
struct HostSet {
  std::vector<SetTerm> terms;  ///< Empty = not given.
  bool empty() const { return terms.empty(); }
  bool has_role() const;
};

enum class Verb : std::uint8_t {
  kStart,
  kKill,
  kRestart,
  kFreeze,
  kThaw,
  kPowerOff,
  kPowerOn,
  kCut,
  kRing,
  kFlap,
  kHeal,
  kDelay,
  kSlowDisk,
  kFillDisk,
  kFreeDisk,
  kClockRate,
  kClockJump,
  kSubmit,
  kCancel,
  kLead,
};
inline constexpr std::size_t kVerbCount = static_cast<std::size_t>(Verb::kLead) + 1;

struct Act {
  Duration at{0};
  int line = 0;
  Verb verb = Verb::kStart;
  HostSet who;
  HostSet other;             ///< The far side of a cut.
  bool is_one_way = false;   ///< Words of `who` do not reach `other`; the other way they do.
  std::uint32_t loss = 100;  ///< Percent of what is said over a cut that is lost.
  Duration time{0};          ///< Each half of a flap, of a disk, a delay, a run, a jump.
  Duration length{0};        ///< Of a flap or a slow heal, in all; of a job: its hold.
  std::int64_t number = 0;   ///< GPUs, or parts per million.
  std::string name;          ///< Of a job.
};

/// A moment: of the n-th act of a verb, or of the start; of a submit, by its job's name.
struct Mark {
  std::optional<Verb> verb;
  std::uint32_t nth = 1;
  std::string name;
};

/// Events of a name, with these fields, about some hosts or a job, told by some hosts.
struct EventMatch {
  std::string event;
  std::map<std::string, std::string> fields;
  HostSet about;
  std::string job;
  HostSet on;
};

struct Condition {
  enum class Kind : std::uint8_t { kMode, kAllAlive, kUnreachable, kJob };
  Kind kind = Kind::kAllAlive;
  std::string word;  ///< The mode; the state of the job, or "again".
  std::string job;
  HostSet who;
  HostSet on;
};

struct Expectation {
  enum class Kind : std::uint8_t { kWithin, kNever, kFigure };
  Kind kind = Kind::kWithin;
  int line = 0;
  std::string text;  ///< As it stands in the file.
  Mark from;
  Duration limit{0};  ///< Of kWithin.
  EventMatch match;
  std::string figure;
  Condition until;
  std::optional<Duration> max;  ///< Of a figure.
};

struct Scenario {
  std::string path;
  std::string story;  ///< The comment it begins with.
  std::uint32_t hosts = 0;
  std::uint32_t gpus = 8;
  std::uint32_t racks = 0;
  Duration length{0};
  std::vector<Act> acts;  ///< In the order of their times, those of one time as in the file.
  std::vector<Expectation> expectations;
};

}  // namespace muster::sim::scenario
