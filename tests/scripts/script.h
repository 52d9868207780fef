#pragma once
// A golden conversation: a named story played with a fixed seed, whose messages and events as text
// are compared with golden/NAME.txt. A change of behaviour shows as a diff of these files;
// `MUSTER_REWRITE=1` writes them again, and the diff is then read line by line.
//
// A line is `who  what`: an event of a host, `log` for what applying the log said (every voter says
// it; it is told once), `rank` for what really ran, `h0 > h1` for a message as it is sent, and
// `--` for the story's own hand. Messages a host sends itself stay inside it.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/protocol/job.h"
#include "tests/scripts/names.h"
#include "tests/sim/world.h"

namespace muster::scripts {

/// The words of a conversation that a story tells of; all others are left out. Warnings and alarms
/// are told always.
using Words = std::set<std::string, std::less<>>;
extern const Words kAliveWords;   ///< Claims, calls, verdicts.
extern const Words kQuorumWords;  ///< Founding, votes, leaders.
extern const Words kGangWords;    ///< Jobs, attempts, grants, ranks.
extern const Words kHelloWords;   ///< Registration of agents.
Words operator+(Words a, const Words& b);

/// The text and the failures of a story; a machine's story writes its lines itself.
class Script {
 public:
  explicit Script(std::uint64_t seed) : seed_(seed) {}
  virtual ~Script() = default;

  std::uint64_t seed() const { return seed_; }
  Names& names() { return names_; }
  void line(const std::string& who, const std::string& what);
  /// Writes an act of the story, or a remark for its reader.
  void say(const std::string& what) { line("--", what); }
  /// A sentence that must hold. It is written down either way, and fails the test when it does not.
  void expect(bool holds, const std::string& sentence);

  const std::string& text() const { return text_; }
  const std::vector<std::string>& failures() const { return failures_; }

 protected:
  void fail(const std::string& what) { failures_.push_back(what); }
  virtual std::string time() const { return ""; }

 private:
  std::uint64_t seed_;
  Names names_;
  std::string text_;
  std::vector<std::string> failures_;
};

struct CastOptions {
  std::uint32_t hosts = 3;
  std::uint32_t gpus_per_host = 2;
  Words words;
  bool times = false;  ///< Where time is the story: seconds since the curtain rose.
  std::uint64_t compact_entries = sim::WorldOptions().compact_entries;
  /// All in one rack, whose renewals go through a relay.
  bool relay = false;
};

/// A script on a whole cluster, under every checker of the simulator.
class ClusterScript : public Script {
 public:
  ClusterScript(std::uint64_t seed, CastOptions options);
  ~ClusterScript() override;

  sim::World& world() { return *world_; }
  /// Records from here on.
  void listen();
  /// Runs until one host leads, all are registered and each sees each alive; then listens.
  void settle();
  /// Runs until the condition holds; a failure of the script when `limit` passes first.
  void until(const std::string& what, const std::function<bool()>& condition,
             Duration limit = std::chrono::seconds(60));
  void pass(Duration time) { world_->run_for(time); }
  /// True if any host said this word since the script listens, told or not.
  bool heard(std::string_view word) const;
  /// The host is cut off from everyone, both ways, or reachable again.
  void cut_off(std::uint32_t host);
  void heal() { world_->network().heal_all(); }
  /// The last word of the checkers.
  void end();

  std::uint32_t leader() const;  ///< world().size() if no host leads.
  bool has_leader() const { return leader() < world_->size(); }
  /// Some host that runs and does not lead, counted from 0.
  std::uint32_t follower(std::uint32_t number = 0) const;
  const scheduler::Job* job(std::uint64_t id) const;
  bool is(std::uint64_t id, scheduler::JobState state) const;
  bool launched(std::uint32_t host) const { return !world_->farm(host).is_idle(); }
  /// Asks `host` and waits for the answer; both are told. Status kUnknown after 20 s of silence.
  agent::Response ask(std::uint32_t host, const std::string& what, agent::Request request);
  agent::Response submit(std::uint32_t host, const std::string& key,
                         const scheduler::JobSpec& spec);
  agent::Response cancel(std::uint32_t host, std::uint64_t id);

 protected:
  std::string time() const override;

 private:
  class Recorder;
  CastOptions options_;
  std::unique_ptr<sim::World> world_;
  Recorder* recorder_ = nullptr;  ///< Owned by the world.
  Instant curtain_;
};

/// A job of `gpus` ranks that run for `run` and end well unless `more` words of the simulated
/// program say otherwise.
scheduler::JobSpec job_of(std::uint32_t gpus, Duration run,
                          const std::vector<std::string>& more = {});

struct Story {
  std::string name;
  std::string happens;
  std::string holds;
  std::function<std::unique_ptr<Script>(std::uint64_t seed)> play;
};

/// A story of a whole cluster.
Story story(std::string name, std::string happens, std::string holds, CastOptions options,
            std::function<void(ClusterScript&)> play);
/// A story of one machine.
Story story(std::string name, std::string happens, std::string holds,
            std::function<void(Script&)> play);

std::vector<Story> alive_stories();
std::vector<Story> quorum_stories();
std::vector<Story> gang_stories();
std::vector<Story> failure_stories();
std::vector<Story> agent_stories();

}  // namespace muster::scripts
