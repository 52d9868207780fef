#pragma once
// How this host comes to prove its links with another key, while everything goes on. The next key
// is made and on disk before it is told; it is told in the own row, and its peers show that they
// have heard of it; only then is it used. All connections end at that moment, announced, and are
// dialled anew. The Node's.
//
// Invariants: what is told is on disk; a key is used only after most of the voters have heard of
// it. Peers that do not answer are waited for kToldMax at most: who missed it hears of it from
// others, and from this host, which tries its previous key on who refuses it. A host that does not
// reach the voters keeps its key, for as long as that lasts. So of two hosts that do not hear each
// other, those that change are on one side, and can still dial the others. Were both to change,
// none could dial the other any more.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/roll/link_record.h"
#include "agent/step/outbox.h"
#include "agent/step/words.h"
#include "crdt/rows/link_cert.h"
#include "crdt/rows/roll.h"
#include "crdt/store/host_store.h"
#include "gossip/base/ids.h"
#include "gossip/base/signing.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// Who is to hear of the next key before it is used.
struct Audience {
  std::set<HostId> peers;      ///< Those that are reachable.
  std::vector<HostId> voters;  ///< All of them, this host among them if it votes.
};

class LinkRotation {
 public:
  /// Peers that have not shown that they heard of the next key are asked so often ...
  static constexpr Duration kAskPeriod = std::chrono::milliseconds(100);
  /// ... and waited for no longer than this.
  static constexpr Duration kToldMax = std::chrono::seconds(3);
  /// From then on the voters are asked so often, until most of them have heard.
  static constexpr Duration kAskVotersPeriod = std::chrono::seconds(1);

  LinkRotation(HostId self, const Credentials& credentials, const crdt::Records& id_records);

  /// Says what the links are proven with; goes on with what an earlier life began.
  void begin(Instant now, crdt::HostStore& store);
  /// The own record of the roll, as it is now: it may wish for another key.
  void on_record(const crdt::RollRecord& record, Outbox& outbox);
  /// What was written last is durable. True: the new key is in use from now on, and every
  /// connection of this host is over.
  bool on_persisted(Instant now, std::uint64_t step, crdt::HostStore& store, Outbox& outbox);
  /// Peers showed the own row.
  void on_seen(const std::vector<std::pair<HostId, crdt::RowVersion>>& seen);
  Instant next_deadline() const;
  /// Whom to ask for the own row now; uses the key when all have heard, or most of the voters and
  /// time is up.
  std::vector<HostId> tick(Instant now, const Audience& audience, Outbox& outbox);

  /// Public, of the pair in use.
  std::string link_key() const { return key_of(record_.seed); }
  /// It is not that of the record any more.
  bool was_changed() const { return record_.serial > 0; }

 private:
  enum class Step : std::uint8_t {
    kNone,
    kMaking,  ///< The next key is being written.
    kTold,    ///< It is in the own row; peers hear of it.
    kTaking,  ///< That it is in use is being written.
  };
  std::string key_of(const std::string& seed) const;
  crdt::LinkProof proof_of(const std::string& seed) const;
  void make(Outbox& outbox);
  void publish(Instant now, crdt::HostStore& store);
  void tell(Instant now);
  void write(Step step, Outbox& outbox);
  void take(Outbox& outbox);
  bool have_most_heard(const std::vector<HostId>& voters) const;
  /// Those of them that have not heard of the next key.
  template <class Hosts>
  std::set<HostId> deaf(const Hosts& hosts) const;

  HostId self_;
  std::shared_ptr<const gossip::KeyMaker> maker_;
  LinkRecord record_;
  std::uint64_t wanted_round_ = 0;
  Step step_ = Step::kNone;
  std::uint64_t written_ = 0;  ///< Writes so far: what is durable is the last of them.
  std::set<HostId> heard_;
  std::set<HostId> waits_for_;  ///< Those that were asked last and did not answer yet.
  crdt::RowVersion told_version_;
  Instant ask_at_ = kNever;
  Instant told_until_ = kNever;
};

}  // namespace muster::agent
