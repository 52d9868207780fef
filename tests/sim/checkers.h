#pragma once
// The checkers of the simulator: one checker judges one property. They read events, physical facts,
// disks and the applied state and rows of Nodes.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/world.h"

namespace muster::sim {

/// The number in a field of an event; 0 if the text is no number.
std::uint64_t number(std::string_view text);
/// How a violation names a host.
std::string where(std::uint32_t host);

/// Raft 5.2: at most one leader a term.
class OneLeaderATerm : public Checker {
 public:
  std::string name() const override { return "one_leader_a_term"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  std::map<std::string, std::uint32_t> leaders_;
};

/// Raft 5.3 and commit: what any host applied is, at that moment, on the durable disks of a
/// majority of the voters, the same bytes on each.
class CommitOnDurableMajority : public Checker {
 public:
  std::string name() const override { return "commit_on_durable_majority"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;

 private:
  std::map<std::uint64_t, std::uint64_t> committed_;  ///< Index -> term, which name an entry.
  bool voters_change_ = false;
};

/// The owner signs once a publish, however many fields it has.
class OneSignatureAPublish : public Checker {
 public:
  std::string name() const override { return "one_signature_a_publish"; }
  void at_end(World& world) override;
};

/// I1a: no GPU is occupied by two attempts at once, whatever anybody believes.
class NoGpuInTwoAttempts : public Checker {
 public:
  std::string name() const override { return "no_gpu_in_two_attempts"; }
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;
  std::uint64_t launches() const { return launches_; }

 private:
  std::map<std::string, Token> occupied_;
  std::uint64_t launches_ = 0;
};

/// I4: tokens launched on one GPU only rise.
class TokenMonotonic : public Checker {
 public:
  std::string name() const override { return "token_monotonic"; }
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;

 private:
  std::map<std::string, Token> highest_;
};

/// I1b: at most one attempt of a job completes in anybody's log; every rank of that one really
/// exited 0 unsignalled; and no rank of the job starts after that, but on a host that was frozen
/// and reads a Start of before its hold lapsed, whose attempt is over: its end counts for nothing.
class CompletesOnce : public Checker {
 public:
  std::string name() const override { return "completes_once"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;

 private:
  struct Successes {
    std::uint32_t wanted = 0;
    std::set<std::uint32_t> ranks;
  };
  std::map<std::string, Successes> attempts_;     ///< By token, as text.
  std::map<std::string, std::string> completed_;  ///< Job -> token.
};

/// I2: when a rank starts, every GPU of every member was durably reserved for its token.
class GangAllOrNothing : public Checker {
 public:
  std::string name() const override { return "gang_all_or_nothing"; }
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;
};

/// I3, I13: every acknowledged submit is a job of all voters at the end, and has ended; one key is
/// one job. Submits are made here, through any node, and retried under their key.
class SubmitsKept : public Checker {
 public:
  struct Submit {
    std::string key;
    scheduler::JobSpec spec;
    Instant sent_at;  ///< When the client said it first.
    std::uint64_t client = 0;
    JobId job;
    int tries = 0;
  };
  std::string name() const override { return "submits_kept"; }
  /// Submits `spec` through `host` at once; retried through other nodes until acknowledged.
  void submit(World& world, std::uint32_t host, const scheduler::JobSpec& spec);
  /// Says an earlier submit once more under its key: it must be the same job for ever.
  void repeat(World& world, std::uint32_t host, std::size_t index);
  void at_end(World& world) override;
  std::size_t acknowledged() const;
  std::size_t size() const { return submits_.size(); }
  /// Null if no submit of this run has the key.
  const Submit* find(std::string_view key) const;
  /// Of an earlier submit at random; 0 = nobody submitted, or it is not acknowledged yet.
  JobId some_job(Rng& rng) const {
    return submits_.empty() ? JobId() : submits_[rng.below(submits_.size())].job;
  }
  /// Every submit is acknowledged, and every job has ended at every voter.
  bool drained(World& world) const;

 private:
  static agent::Request request_of(const Submit& submit);
  void attempt(World& world, std::size_t index, std::uint32_t host);
  void look(World& world, std::size_t index);
  static bool has_ended(const scheduler::State& state, JobId id);
  void check_tasks(World& world, std::uint32_t host, const scheduler::State& state);
  static bool must_know(World& world, std::uint32_t host);

  std::vector<Submit> submits_;
};

/// I5: once faults stop, all running hosts hold the same rows and see each other alive.
class RowsConverge : public Checker {
 public:
  std::string name() const override { return "rows_converge"; }
  void at_end(World& world) override;
  /// The parts of the property that do not hold yet, in words.
  static std::vector<std::string> amiss(World& world);
};

/// Faults of its own making apart, no running and connected host is called unreachable. For runs
/// without cuts and freezes.
class NoFalseVerdict : public Checker {
 public:
  std::string name() const override { return "no_false_verdict"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
};

/// Where nothing was planted no voter says that its state is another than that of the others.
class NobodyDiverges : public Checker {
 public:
  std::string name() const override { return "nobody_diverges"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
};

/// No voter's log gives more CPUs or memory of a host than it has.
class AmountsHold : public Checker {
 public:
  std::string name() const override { return "amounts_hold"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
};

/// No rank is launched on a host by an attempt that was decided while the log had it drained.
class DrainHolds : public Checker {
 public:
  std::string name() const override { return "drain_holds"; }
  void on_event(World& world, std::uint32_t host, const Event& event) override;
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override;

 private:
  /// Host's short id -> log index -> whether it is drained from there on. Of the first epoch.
  std::map<std::string, std::map<std::uint64_t, bool>> words_;
};

/// The checkers of add_checkers() that runs ask something.
struct Checkers {
  SubmitsKept* submits = nullptr;
  NoGpuInTwoAttempts* gpus = nullptr;
};
/// Adds every checker that holds under all faults: they judge any run of whole nodes.
Checkers add_checkers(World& world);

}  // namespace muster::sim
