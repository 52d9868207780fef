#pragma once
// Hooks are a site's own programs: DIRECTORY/health/NN-name tests a GPU, DIRECTORY/reset/NN-name
// resets one, DIRECTORY/prolog/NN-name prepares the host for a grant, and DIRECTORY/epilog/NN-name
// cleans up behind one. They run as the agent's user, one after the other in the order of their
// names, with a line of JSON on stdin, an empty environment but PATH, and a limit of time. A hook
// that exits with 0 agrees; the first line that one prints that does not is its reason. A program
// that somebody else could have written does not run: it counts as a failure, and so do a hang and
// a signal. Owned by GpuWatch and GrantHooks, each its own; no call waits.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/time.h"

namespace muster::agent {

enum class HookKind : std::uint8_t { kHealth, kReset, kProlog, kEpilog };
/// "health", "reset", "prolog", "epilog": the name of the folder.
std::string_view word_of(HookKind kind);

class Hooks {
 public:
  static constexpr std::size_t kHooksMax = 32;  ///< Of one kind; those beyond are left out.
  static constexpr std::size_t kRunsMax = 64;   ///< At once; above, start() fails at once.
  static constexpr std::size_t kVerdictBytesMax = 200;
  static constexpr Duration kHealthLimit = std::chrono::seconds(60);
  static constexpr Duration kResetLimit = std::chrono::minutes(5);
  static constexpr Duration kGrantLimit = std::chrono::seconds(60);  ///< Of a prolog or an epilog.
  /// Of all prologs of a grant together, and of all epilogs.
  static constexpr Duration kGrantRunLimit = std::chrono::minutes(5);

  struct Result {
    HookKind kind = HookKind::kHealth;
    std::string subject;
    Instant began{};
    std::string failure;  ///< "" = all agreed. "hook 10-test: too hot", "prolog 10-mount: ...".
  };

  explicit Hooks(std::string directory) : directory_(std::move(directory)) {}
  /// Kills those that run.
  ~Hooks();
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  /// Whether there is a program of that kind.
  bool has(HookKind kind) const { return !programs(kind).empty(); }
  /// Runs all of that kind about `subject`. A run about it that is under way goes on instead.
  void start(Instant now, HookKind kind, const std::string& subject, std::string json);
  /// Kills a run with its children. It has no result.
  void stop(HookKind kind, const std::string& subject);

  /// Changes with every call of this class; poll for POLLIN.
  std::vector<int> fds() const;
  bool owns(int fd) const;
  void on_readable(Instant now, int fd);
  void on_time(Instant now);
  Instant next_deadline() const;
  std::vector<Result> take_results();

 private:
  using Key = std::pair<HookKind, std::string>;
  struct Run {
    std::string json;
    std::deque<std::string> left;  ///< Paths.
    std::string program;           ///< That runs.
    Instant began{};
    Instant until{};
    Instant all_until = kNever;  ///< For this one and all that are left.
    Fd output;
    Fd process;
    int pid = 0;
    std::string said;
  };

  std::vector<std::string> programs(HookKind kind) const;
  void next(Instant now, const Key& key, Run& run);
  void abandon(Run& run);
  void end(const Key& key, std::string failure);

  std::string directory_;
  std::map<Key, Run> runs_;
  std::vector<Fd> dying_;  ///< Killed ones that are not reaped yet.
  std::vector<Result> results_;
};

}  // namespace muster::agent
