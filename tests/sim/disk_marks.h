#pragma once
// Finds the disks of voters that went back, and the hosts that could have known: from the words on
// the wire, from the disks, and from what a leader applies; else never from a machine's word. A
// voter whose disk holds less than it said may break every promise of the quorum. While a live
// voter that it reaches heard more of it than its disk holds, no promise may break, and it must not
// vote again in its seat; any other such run is only counted, and so is one of a quorum that lost a
// majority of its disks.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "scheduler/raft/types.h"
#include "tests/sim/world.h"

namespace muster::sim {

struct DiskLosses {
  std::uint64_t went_back = 0;   ///< Starts from a disk that holds less than its voter said.
  std::uint64_t known = 0;       ///< Of those: some live voter that it reached knew.
  std::uint64_t noticed = 0;     ///< Seats that were given up.
  std::uint64_t unknown = 0;     ///< Voters that went on, and none that they reached knew.
  std::uint64_t unheard = 0;     ///< Of those: no live voter knew.
  std::uint64_t majorities = 0;  ///< Times a majority of some quorum's disks was lost.
  /// A violation of such a run breaks no promise.
  bool all_bets_are_off() const { return unknown + majorities > 0; }
};

class DiskMarks : public Checker {
 public:
  std::string name() const override { return "disk_marks"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void on_said(World& world, std::uint32_t host, const std::string& bytes) override;
  void on_heard(World& world, std::uint32_t host, const gossip::Received& message) override;
  /// The raft/ of that voter was taken away.
  void disk_lost(World& world, std::uint32_t host);
  const DiskLosses& losses() const { return losses_; }

 private:
  struct Word {
    Term term;
    LogIndex match;
    std::set<HostId> votes;  ///< For whom, in that term: one at most, unless it broke its word.
  };
  /// One that starts from a disk that went back, until it has compared.
  struct Start {
    std::uint64_t number = 0;
    bool is_heard = false;            ///< Somebody alive knew as it started.
    std::set<std::uint32_t> knowing;  ///< Reached all the while.
  };
  static void note(Word& word, const Word& more);
  static bool holds_less(const scheduler::RecoveredLog& disk, const Word& word);
  static bool reaches(World& world, std::uint32_t one, std::uint32_t other);
  void led(World& world, std::uint32_t host, const Event& applied);
  void forget(std::uint32_t host);
  void started(World& world, std::uint32_t host);
  void watch(World& world, std::uint32_t host, std::uint64_t number);
  void compared(World& world, std::uint32_t host);
  void count_lost_seats(World& world);

  DiskLosses losses_;
  std::map<std::pair<HostId, SeatId>, Word> said_;
  /// By hearer: what it heard since it runs.
  std::map<std::uint32_t, std::map<std::pair<HostId, SeatId>, Word>> heard_;
  std::map<std::uint32_t, Start> starts_;
  scheduler::Configuration leaders_;  ///< Of the host that applied last as the leader.
  std::set<std::pair<HostId, SeatId>> void_seats_;  ///< That went back, noticed or not.
  std::size_t counted_seats_ = 0;
  std::uint64_t last_start_ = 0;
};

}  // namespace muster::sim
