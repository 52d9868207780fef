#pragma once
// StuckGpus withholds GPUs on which processes of an earlier attempt may live: ranks that did not
// die, ranks whose supervisor does not answer, and orphans (supervisors without a live grant) that
// did not end. On a host whose GPUs can be looked at it also withholds each GPU on which ranks ran,
// until it was seen clean. The leader hears that such a GPU may not be used, and that it may be
// used again once no process of the old attempt lives. Owned by GangAgent.
//
// Invariants
// - An orphan is either being ended, and hello waits for it a while, or has been given up, and its
//   GPUs are withheld; never both.
// - While a GPU is withheld, a next look at it is planned.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/gang/gang_interface.h"
#include "agent/gang/gang_outbox.h"
#include "agent/gang/grants.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::agent {

class StuckGpus {
 public:
  /// Orphans have `patience` to end. Stuck processes are killed again after each `recheck`.
  StuckGpus(Duration patience, Duration recheck) : patience_(patience), recheck_(recheck) {}

  /// Ends a supervisor without a live grant.
  void add_orphan(Instant now, Token token, GangOutbox& out);
  /// No process is left under this token. The GPUs that it held; nullopt if it was no orphan.
  std::optional<std::vector<std::string>> forget_orphan(Token token);
  /// True if hello waits for an orphan.
  bool are_orphans_ending() const { return !orphans_.empty(); }
  /// True if an orphan that did not end may hold this GPU. GPUs of grants are guarded by the fence.
  bool is_orphans_gpu(const std::string& uuid) const;

  /// Withholds a GPU without ranks until it was seen clean. A Finish of `token` tells the leader,
  /// or the next hello.
  void add_dirty(Instant now, const std::string& uuid, Token token, GangOutbox& out);
  /// It was seen clean. It stays in withheld() until the Finish of its grant is acknowledged: a
  /// hello that came before would be overtaken by what the Finish says.
  void on_cleaned(const std::string& uuid);
  /// True if it was not seen clean yet.
  bool is_dirty(const std::string& uuid) const;
  /// All of those.
  std::set<std::string> dirty() const;

  /// Gives up orphans whose time is over: they keep their GPUs, not the host. If an orphan has no
  /// record, its GPUs are unknown, and it keeps `all_gpus`.
  void give_up_orphans(Instant now, const Grants& grants, const std::vector<std::string>& all_gpus,
                       GangOutbox& out);
  /// Looks at the withheld GPUs. True if the leader has to hear of them.
  bool watch(Instant now, const Grants& grants, GangOutbox& out);
  /// The withheld GPUs that the leader was last told of, sorted.
  const std::vector<std::string>& withheld() const { return withheld_; }

  Instant next_deadline() const { return std::min(recheck_at_, orphans_until_); }
  void check_invariants() const;

 private:
  struct Dirty {
    Token token;  ///< The grant whose ranks had it last.
    bool is_clean = false;
  };

  std::vector<std::string> uuids(const Grants& grants) const;
  void forget_clean(const Grants& grants);
  void tell_changes(const std::vector<std::string>& stuck, GangOutbox& out) const;
  void kill_again(const Grants& grants, GangOutbox& out) const;

  Duration patience_;
  Duration recheck_;
  std::set<Token> orphans_;         ///< Orphans that are being ended before hello.
  Instant orphans_until_ = kNever;  ///< From then on hello waits for them no longer.
  /// Orphans that did not end, each with the GPUs that it may hold.
  std::map<Token, std::vector<std::string>> stuck_orphans_;
  std::map<std::string, Dirty> dirty_;  ///< By uuid.
  std::set<std::string> cleaned_;       ///< They just left `dirty_`.
  std::vector<std::string> withheld_;
  Instant recheck_at_ = kNever;
};

}  // namespace muster::agent
