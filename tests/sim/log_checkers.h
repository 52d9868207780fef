#pragma once
// Checkers that hold what the log says against what really ran. The log is read where it was
// applied; what ran is known from the simulated processes alone.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/checkers.h"

namespace muster::sim {

/// Each Decide gives a token above those of all Decides before it, and each voter the same one.
class DecideRaisesToken : public Checker {
 public:
  std::string name() const override { return "decide_raises_token"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  std::map<std::uint64_t, std::string> tokens_;  ///< By the index of the entry, as text.
};

/// I12: when the log frees a host's GPUs, no rank of that attempt runs there. A host that stood
/// still past its hold ends its ranks as it wakes: that time is left out.
class FreedIsEmpty : public Checker {
 public:
  std::string name() const override { return "freed_is_empty"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;

 private:
  struct Running {
    Token token;
    std::set<std::uint32_t> hosts;
  };
  void take_word(World& world, const Event& event);

  std::map<std::string, Running> running_;      ///< By token, as text.
  std::map<std::uint64_t, std::string> words_;  ///< Log index -> short id of the host.
};

/// An agent ends a grant for the leader's word only when the log says so: Stop is logged, or the
/// host's share is over. No rank is killed without need (scheduler/PROTOCOL.md, 9).
class EndedByTheLog : public Checker {
 public:
  std::string name() const override { return "ended_by_the_log"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  std::set<std::string> ending_;  ///< Tokens of which some voter applied that, as text.
};

/// Rule 8: a host's registrations are of ever higher generations, and one generation is one start.
class GenerationsRise : public Checker {
 public:
  std::string name() const override { return "generations_rise"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  /// By host and index of the entry.
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> generations_;
  std::map<std::pair<std::string, std::uint64_t>, StartId> starts_;
};

/// I2: no rank of an attempt that the log aborted ever starts, before or after.
class AbortedNeverRan : public Checker {
 public:
  std::string name() const override { return "aborted_never_ran"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;

 private:
  std::set<std::string> aborted_;  ///< Tokens, as text.
  std::set<std::string> launched_;
};

/// I1b, before it is too late: a job that ran is queued again only when its attempt can surely not
/// complete any more. Some rank of it failed or died, or the log holds a member for over that
/// reported nothing (rule 6).
class RerunOnlyBroken : public Checker {
 public:
  std::string name() const override { return "rerun_only_broken"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;

 private:
  struct Share {
    std::size_t successes = 0;
    std::size_t failures = 0;
  };
  bool is_broken(const World& world, const scheduler::Attempt& attempt) const;

  std::map<std::pair<Token, std::uint32_t>, Share> shares_;  ///< By token and host.
};

/// Voters that applied the log up to the same entry hold the same state, byte for byte.
class StatesAgree : public Checker {
 public:
  std::string name() const override { return "states_agree"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  std::map<std::uint64_t, std::uint64_t> digests_;              ///< Applied index -> digest.
  std::pair<std::uint32_t, std::uint64_t> looked_at_ = {0, 0};  ///< Host and step of the world.
};

/// No rank is launched on a GPU by an attempt that was decided while the log had it masked.
class MaskHolds : public Checker {
 public:
  std::string name() const override { return "mask_holds"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;

 private:
  /// Host's short id and uuid -> log index -> whether it is masked from there on. Of the first
  /// epoch.
  std::map<std::pair<std::string, std::string>, std::map<std::uint64_t, bool>> words_;
};

/// In the end each host that is there has heard the last order about each of its GPUs.
class OrdersHeard : public Checker {
 public:
  std::string name() const override { return "orders_heard"; }
  void at_end(World& world) override;
};

/// The life of each job, as the voters tell it: legal edges of job_life.h only, the same at every
/// voter, and nothing after an end (I7).
class LegalJobLife : public Checker {
 public:
  std::string name() const override { return "legal_job_life"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  /// An entry may move a job more than once: by index of the entry, then which of its moves.
  using Place = std::pair<std::uint64_t, std::uint32_t>;
  struct Told {
    Place place;
    std::uint64_t step = 0;  ///< Of the world.
  };
  std::map<std::string, std::map<Place, scheduler::JobState>> lives_;  ///< By job.
  std::map<std::pair<std::uint32_t, std::string>, Told> told_;         ///< By host and job.
};

/// All of the above; add_checkers() has them, too.
void add_log_checkers(World& world);

}  // namespace muster::sim
