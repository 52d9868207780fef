#pragma once
// The disk of one simulated host: the durable records, and the writes that are not synced yet. It
// has the same seal and root record as LMDB; a crash keeps a prefix of the writes under way.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "crdt/disk/write_batch.h"
#include "gossip/base/rng.h"

namespace muster::sim {

class Disk {
 public:
  /// A write asked for; nothing of it is durable before complete(id) or a lucky crash.
  void submit(std::uint64_t id, crdt::Environment environment, crdt::WriteBatch batch);
  /// Writes complete in the order they were submitted: everything up to `id` is durable now.
  void complete(std::uint64_t id);
  /// The process is gone: a random prefix of what was under way made it.
  void crash(Rng& rng);
  /// Power loss: as crash(), and the unsynced rows may be gone altogether.
  void lose_power(Rng& rng);
  /// From now on what it says to be durable in that environment may go with the power: a tail of
  /// it, once.
  void begin_lying(crdt::Environment environment);
  /// Everything is as it was then.
  void go_back_to(const Disk& image);
  /// Written by an agent that starts, before its node is made.
  void commit(crdt::Environment environment, const crdt::WriteBatch& batch);
  /// The environment is gone, and an agent begins it again with these.
  void clear(crdt::Environment environment, const crdt::WriteBatch& first);
  /// The records that a starting agent reads back. CHECKs the seals: no fault flips bytes here.
  crdt::Records read(crdt::Environment environment) const;
  /// Durable records as they are, for checkers.
  const std::map<std::string, std::string>& sealed(crdt::Environment environment) const;
  /// The records of the log that losses took away, the last version of each: another life of raft/
  /// began, the disk had lied, or went back.
  const std::map<std::string, std::string>& lost() const { return lost_; }
  bool idle() const { return pending_.empty(); }

 private:
  struct Pending {
    std::uint64_t id;
    crdt::Environment environment;
    crdt::WriteBatch batch;
  };
  struct Image {
    std::map<std::string, std::string> sealed;
    crdt::Root root;
  };
  /// The values that a write replaced.
  struct Undo {
    std::map<std::string, std::optional<std::string>> before;
    crdt::Root root;
  };
  static void apply(Image& image, const crdt::WriteBatch& batch);
  void lose_what_it_lied_about(Rng& rng);
  void keep_lost(const std::map<std::string, std::string>& log);
  Image& image(crdt::Environment environment);

  Image images_[3];
  std::map<std::string, std::string> lost_;
  std::optional<crdt::Environment> lies_in_;
  std::deque<Undo> undo_;  ///< Since it lies, oldest first.
  std::deque<Pending> pending_;
};

}  // namespace muster::sim
