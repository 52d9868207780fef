#pragma once
// One simulated host's disk: what is durable, and what was asked for but not synced yet. The same
// seal and root record as on LMDB; a crash keeps a prefix of the writes that were under way.

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "crdt/write_batch.h"
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
  /// The environment is gone, and an agent begins it anew with these.
  void begin_anew(crdt::Environment environment, const crdt::WriteBatch& first);
  /// What a starting agent reads back. CHECKs the seals: nobody flips bytes here unasked.
  crdt::Records read(crdt::Environment environment) const;
  /// Durable records as they are, for checkers.
  const std::map<std::string, std::string>& sealed(crdt::Environment environment) const;
  /// Of the environment that the last begin_anew() took away.
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
  static void apply(Image& image, const crdt::WriteBatch& batch);
  Image& image(crdt::Environment environment);

  Image images_[3];
  std::map<std::string, std::string> lost_;
  std::deque<Pending> pending_;
};

}  // namespace muster::sim
