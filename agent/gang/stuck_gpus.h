#pragma once
// StuckGpus: the GPUs that are not offered because something of an earlier attempt may live on
// them: ranks that did not die, ranks of which nobody knows, and supervisors of no live grant that
// did not end. A part of GangAgent. The leader hears of a GPU that may not be used, and that it may
// be used again as soon as nothing of the old attempt lives.
//
// Invariants
// - An orphan is either being ended, and hello waits for it a while, or has been given up, and its
//   GPUs are withheld; never both.
// - While anything is withheld there is a next look at it.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/gang/gang_outbox.h"
#include "agent/gang/grants.h"
#include "agent/gang/words.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::agent {

class StuckGpus {
 public:
  /// Orphans have `patience` to end; what is stuck is killed again after each `recheck`.
  StuckGpus(Duration patience, Duration recheck) : patience_(patience), recheck_(recheck) {}

  /// A supervisor of no live grant: it is ended.
  void add_orphan(Instant now, Token token, GangOutbox& out);
  /// Nothing is left under this token; true when it was an orphan.
  bool forget_orphan(Token token);
  /// Hello waits for some orphan.
  bool are_orphans_ending() const { return !orphans_.empty(); }
  /// It may be that of an orphan that did not end. Of grants the fence speaks.
  bool is_orphans_gpu(const std::string& uuid) const;

  /// What does not die keeps its GPUs, not the host. Without a record nobody knows which those are:
  /// then it is all of `all_gpus`.
  void give_up_orphans(Instant now, const Grants& grants, const std::vector<std::string>& all_gpus,
                       GangOutbox& out);
  /// Looks at what is withheld; true when the leader has to hear of it.
  bool watch(Instant now, const Grants& grants, GangOutbox& out);
  /// As the leader was last told, sorted.
  const std::vector<std::string>& withheld() const { return withheld_; }

  Instant next_deadline() const { return std::min(recheck_at_, orphans_until_); }
  void check_invariants() const;

 private:
  std::vector<std::string> uuids(const Grants& grants) const;
  void tell_changes(const std::vector<std::string>& stuck, GangOutbox& out) const;
  void kill_again(const Grants& grants, GangOutbox& out) const;

  Duration patience_;
  Duration recheck_;
  std::set<Token> orphans_;         ///< Being ended before hello.
  Instant orphans_until_ = kNever;  ///< When hello waits for them no longer.
  /// Those that did not end, and the GPUs that may be theirs.
  std::map<Token, std::vector<std::string>> stuck_orphans_;
  std::vector<std::string> withheld_;
  Instant recheck_at_ = kNever;
};

}  // namespace muster::agent
