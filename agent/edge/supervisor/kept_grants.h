#pragma once
// The ended grants on disk: directories in DATA/grants that hold nothing but output and complaints.
// A directory that is too old is removed. If there are too many bytes, the oldest directory goes
// first; if there are too many files, the oldest one of the job that has most of them: a long array
// or a retry loop pushes out its own output, not that of others. The grants that went, and by which
// rule, are remembered (pruned_grants.h). Owned by RankSupervisors.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/api/output.h"
#include "agent/edge/supervisor/pruned_grants.h"
#include "gossip/base/ids.h"

namespace muster::agent {

struct KeptLimits {
  OutputRule rule{};
  /// No more than this part of the file system's inodes, either.
  std::uint32_t inodes_percent = 10;
};

class KeptGrants {
 public:
  /// `folder`: DATA/grants.
  KeptGrants(std::string folder, KeptLimits limits);

  /// Another rule: it counts from the next add() or expire() on.
  void keep(const OutputRule& rule) { limits_.rule = rule; }
  const OutputRule& rule() const { return limits_.rule; }
  /// The ranks of this grant are of this job; an array counts as one job. Call before they begin.
  static void name_job(const std::string& directory, JobId job, const OutputOwner& owner);
  /// The owner of the output in that directory of a grant.
  static OutputOwner owner_of(const std::string& directory);
  /// `directory` of this token is of no more use but to readers; measured now. Without any output
  /// it is removed; and so are others beyond the limits, but never the last.
  void add(Token token, const std::string& directory);
  /// Removes what ended, or was written to last, longer ago than the rule says, at most kRemovedMax
  /// of it at once. To be called now and then.
  void expire(std::uint64_t unix_ms);
  static constexpr std::size_t kRemovedMax = 4;

  /// The grants removed since the last call, in order.
  std::vector<PrunedGrant> take_pruned();
  /// The rule by which its output went; nullopt if that is not remembered.
  std::optional<PruneRule> pruned(Token token) const { return pruned_.find(token); }

 private:
  struct Kept {
    std::string directory;
    std::string job;  ///< Of a task: the number of its array. "" = not known.
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;    ///< The directory among them.
    std::uint64_t unix_ms = 0;  ///< When it ended, or was written to last.
  };
  struct OfJob {
    std::uint64_t files = 0;
    std::set<Token> tokens;
  };
  using Entry = std::map<Token, Kept>::iterator;
  static Kept measured(const std::string& directory);
  Entry oldest_of_largest_job(Token newest);
  void count_out(Entry one);
  Entry remove(Entry one, PruneRule rule);

  KeptLimits limits_;
  std::uint64_t files_max_ = 0;
  std::map<Token, Kept> kept_;
  std::map<std::string, OfJob> by_job_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
  PrunedGrants pruned_;
  std::vector<PrunedGrant> untold_;
};

/// Free space under which a host takes no new grants: the smaller of the two.
struct DiskReserve {
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint32_t percent = 5;    ///< Of the file system.
  std::uint64_t inodes = 1000;  ///< Or one of a hundred.
};

/// Why nothing new may begin on the file system of `path`; nullopt if there is room, or if that
/// cannot be found out.
std::optional<std::string> disk_shortage(const std::string& path, const DiskReserve& reserve);

}  // namespace muster::agent
