#pragma once
// LinkRotation replaces the key with which this host proves its links, while everything goes on. It
// makes the next key and writes it to disk. Then it announces the key in the own row, until its
// peers show that they have heard of it. Then it uses the key: all connections end, as announced,
// and are dialled again. Owned by OwnKeys.
//
// Invariants: an announced key is on disk. A key is used only after most voters have heard of it.
// LinkRotation waits at most kToldMax for other peers. A peer that missed the key hears of it from
// other hosts, or from this host, which tries its previous key on a peer that refuses the new one.
// A host that does not reach the voters keeps its key for that time. Therefore, if two hosts do not
// hear each other, only the one on the side of the voters changes its key and can still dial the
// other. If both changed theirs, neither could dial the other.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/roll/link_record.h"
#include "agent/step/node_interface.h"
#include "agent/step/outbox.h"
#include "crdt/rows/link_cert.h"
#include "crdt/rows/roll.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// The hosts that hear of the next key before it is used.
struct Audience {
  std::set<HostId> peers;      ///< The reachable peers.
  std::vector<HostId> voters;  ///< All voters, this host among them if it votes.
};

class LinkRotation {
 public:
  /// Time between two questions to peers that have not shown that they heard of the next key.
  static constexpr Duration kAskPeriod = std::chrono::milliseconds(100);
  /// The longest wait for such peers.
  static constexpr Duration kToldMax = std::chrono::seconds(3);
  /// From then on the time between two questions to voters, until most of them have heard.
  static constexpr Duration kAskVotersPeriod = std::chrono::seconds(1);

  LinkRotation(HostId self, const Credentials& credentials, const crdt::Records& id_records);

  /// Publishes the keys of the links, and goes on with a change that an earlier life began.
  void begin(Instant now, crdt::HostStore& store);
  /// The own record of the roll changed. It may ask for another key.
  void on_record(const crdt::RollRecord& record, Outbox& outbox);
  /// The last write is durable. True: the new key is in use from now on, and every connection of
  /// this host ends.
  bool on_persisted(Instant now, std::uint64_t step, crdt::HostStore& store, Outbox& outbox);
  /// Peers showed the own row.
  void on_seen(const std::vector<std::pair<HostId, crdt::RowVersion>>& seen);
  Instant next_deadline() const;
  /// Returns the hosts to ask for the own row now. Once most voters have heard of the next key,
  /// and all peers have or kToldMax is over, it begins to use the key.
  std::vector<HostId> tick(Instant now, const Audience& audience, Outbox& outbox);

  /// The public key of the pair in use.
  std::string link_key() const { return key_of(record_.seed); }
  /// True if it is no longer the key of the membership record.
  bool was_changed() const { return record_.serial > 0; }

 private:
  enum class Step : std::uint8_t {
    kNone,
    kMaking,  ///< The next key is being written.
    kTold,    ///< The own row announces it.
    kTaking,  ///< The record that it is in use is being written.
  };
  std::string key_of(const std::string& seed) const;
  crdt::LinkProof proof_of(const std::string& seed) const;
  void make(Outbox& outbox);
  void publish(Instant now, crdt::HostStore& store);
  void tell(Instant now);
  void write(Step step, Outbox& outbox);
  void take(Outbox& outbox);
  bool have_most_heard(const std::vector<HostId>& voters) const;
  /// The hosts that have not heard of the next key.
  template <class Hosts>
  std::set<HostId> deaf(const Hosts& hosts) const;

  HostId self_;
  std::shared_ptr<const gossip::KeyMaker> maker_;
  LinkRecord record_;
  std::uint64_t wanted_round_ = 0;
  Step step_ = Step::kNone;
  std::uint64_t written_ = 0;  ///< Number of writes so far; on_persisted() names the last one.
  std::set<HostId> heard_;
  std::set<HostId> waits_for_;  ///< Hosts that were asked last and have not answered yet.
  crdt::RowVersion told_version_;
  Instant ask_at_ = kNever;
  Instant told_until_ = kNever;
};

}  // namespace muster::agent
