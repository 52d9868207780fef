#pragma once
// HostStore: the rows of all hosts, as one pure machine. It owns its host's row, merges the others'
// and floods every change over the overlay's links; the node gives it links and carries its
// messages, writes its batches to Environment::kState and tells membership and the scheduler what
// changed (design 6).
//
// Three ways repair what a flood lost, cheapest first: a probe ack names the newest version of its
// sender's row; a new link compares digests of all rows both ways; every kAuditPeriod one random
// neighbour is asked whether its digest over everything is ours.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "crdt/rows/codec.h"
#include "crdt/rows/host_state.h"
#include "crdt/rows/row.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/recently_found.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"

namespace muster::crdt {

/// Rows of more hosts than this are refused with an event.
inline constexpr std::size_t kHostsMax = 16384;
/// A row outgrowing this is not merged further: it must fit into a message.
inline constexpr std::size_t kRowBytesMax = 256 << 10;
/// How long a publish that is not urgent waits for company.
inline constexpr Duration kPublishDelay = std::chrono::seconds(1);
/// How long news waits before it travels on. Raised: fewer copies, because neighbours that sent
/// the same news meanwhile are left out; lowered: a faster flood (a hop costs this much).
inline constexpr Duration kSpreadDelay = std::chrono::milliseconds(5);
inline constexpr Duration kAuditPeriod = std::chrono::seconds(10);
/// How long a flood may take before a version heard of in an ack is asked for.
inline constexpr Duration kAskDelay = std::chrono::milliseconds(500);

// Inputs.

/// A field of the own row has new bytes (at most kFieldBytesMax). The same bytes again are no
/// change. An urgent one goes out at once and takes everything waiting along.
struct Publish {
  FieldId field{};
  std::string bytes;
  bool urgent = false;
};
struct RowsReceived {
  HostId from;
  RowsBody body;
};
/// A link to this host was established: both sides compare everything they hold.
struct PeerUp {
  HostId peer;
};
/// Whom changes are flooded to, from the overlay.
struct NeighboursChanged {
  std::vector<HostId> neighbours;
};
/// A probe ack said how new its sender's row is.
struct PeerVersion {
  HostId host;
  RowVersion version;
};

/// `body` is an encoded RowsBody for an envelope of type kRows; no reply is expected.
struct RowsMessage {
  HostId to;
  std::string body;
};

/// A field that changed or was dropped (then field() yields nothing): read it from the store.
struct FieldChange {
  HostId host;
  FieldId field{};
  auto operator<=>(const FieldChange&) const = default;
};

class HostStore {
 public:
  using Input = std::variant<Publish, RowsReceived, PeerUp, NeighboursChanged, PeerVersion>;
  struct Output {
    std::vector<RowsMessage> messages;
    WriteBatch writes;                 ///< For Environment::kState; nothing waits for them.
    std::vector<FieldChange> changes;  ///< Ascending, each once; own publishes included.
    std::vector<Event> events;
    /// Peers hold rows of ours from a later generation, or from another life of this one (a
    /// restored disk): restart above it.
    std::optional<Generation> raise_above;
    /// An identity of ours, of this generation or a later one, that this agent did not write.
    std::optional<std::string> own_identity;
  };
  struct Slot {
    Row row;
    RowVersion version;        ///< Highest of the row's fields.
    std::uint64_t digest = 0;  ///< XXH3 over host id and row.
  };

  /// `recovered` is what Environment::kState held; a row that does not decode is dropped with an
  /// event. `generation` is this start's, higher than that of any row of ours on disk.
  HostStore(HostId self, Generation generation, const Records& recovered, Rng rng);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;
  /// The invariants of every row and of the digest over them: as slow as reading everything.
  void check_rows() const;

  const Row* row(HostId host) const;
  const Field* field(HostId host, FieldId id) const;
  /// All rows, in host id order.
  const std::map<HostId, Slot>& rows() const { return rows_; }
  /// Over all rows; two stores that hold the same have the same, 0 when empty.
  std::uint64_t digest() const { return digest_; }
  /// Highest version of the own row that was sent: what probe acks carry.
  RowVersion own_version() const { return sent_version_; }
  /// What PeerUp would send, for a seed whose host id is not known yet.
  std::string introduction() const;

 private:
  void on(Instant now, const Publish& input);
  void on(Instant now, const RowsReceived& input);
  void on(Instant now, const PeerUp& input);
  void on(Instant now, const NeighboursChanged& input);
  void on(Instant now, const PeerVersion& input);

  void recover(const Records& recovered);
  void begin_generation(Row& own);
  void flush_own();
  void merge(Instant now, HostId from, const RowOf& news);
  bool is_news(const RowOf& news) const;
  bool fits(HostId host, const Row& news) const;
  void note_heard(HostId from, const RowOf& news);
  void raise_above(Generation generation, std::string why);
  void see_own_row(const Row& seen);
  void changed(HostId host, Slot& slot, const std::vector<std::uint32_t>& fields);
  /// One field that waits to be spread.
  struct News {
    HostId host;
    const Row* row;
    std::map<std::uint32_t, Field>::const_iterator field;
    const std::vector<HostId>* have_it;
  };
  void spread();
  static std::vector<RowOf> rows_of(const std::vector<const News*>& news);
  void answer(HostId to, const RowsBody& question);
  void answer_digests(HostId to, const RowsBody& question, RowsBody& reply,
                      std::vector<HostId>& send) const;
  void send_rows(HostId to, std::vector<RowOf> rows);
  void send_whole(HostId to, const std::vector<HostId>& hosts);
  std::vector<RowsBody> summary() const;
  void send_summary(HostId to);
  void audit(Instant now);
  void ask_behind(Instant now);
  void write_dirty();
  void emit(Severity severity, std::string_view name, HostId about, std::string detail);

  const HostId self_;
  const Generation generation_;
  Rng rng_;
  std::map<HostId, Slot> rows_;  ///< None is ever erased.
  mutable RecentlyFound<Slot> recent_;
  std::uint64_t digest_ = 0;  ///< XOR of the slots' digests.
  std::vector<HostId> neighbours_;

  Sequence sequence_;  ///< Last one used in the own row.
  RowVersion sent_version_;
  std::set<std::uint32_t> unsent_;  ///< Own fields waiting for publish_at_.
  Instant publish_at_ = kNever;

  /// News waiting for spread_at_, with the neighbours that are known to have it.
  std::map<std::pair<HostId, std::uint32_t>, std::vector<HostId>> spread_;
  Instant spread_at_ = kNever;

  struct Behind {
    RowVersion version;
    Instant ask_at;
  };
  std::map<HostId, Behind> behind_;  ///< Hosts whose acks named a version we do not hold.
  Instant audit_at_;

  std::set<HostId> dirty_rows_;  ///< Changed and not written yet.
  std::set<FieldChange> changes_;
  Output output_;
};

}  // namespace muster::crdt
