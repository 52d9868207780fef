#pragma once
// HostStore: the rows of all hosts, as one pure machine. It owns and signs its host's row, merges
// the others', which were checked before they come here (crdt/rows/row_check.h),
// and floods every change over the overlay's links; the node gives it links and carries its
// messages, writes its batches to Environment::kState and tells membership and the scheduler what
// changed.
//
// It decides what becomes of a row; its parts do the rest: HeldRows keeps and digests what is held,
// Spread floods what is new, Audit repairs what a flood lost (audit.h names the three ways).
//
// Invariants
// - Own fields wait to be sent exactly when a time for it is set, kPublishDelay at most from when
//   the first came.
// - Every own field that is written takes the next sequence; none was sent that was not taken.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "crdt/disk/write_batch.h"
#include "crdt/rows/codec.h"
#include "crdt/rows/host_state.h"
#include "crdt/rows/row.h"
#include "crdt/store/audit.h"
#include "crdt/store/held_rows.h"
#include "crdt/store/rows_message.h"
#include "crdt/store/spread.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/signing.h"
#include "gossip/base/time.h"

namespace muster::crdt {

/// Rows of more hosts than this are refused with an event.
inline constexpr std::size_t kHostsMax = 16384;
/// A row outgrowing this is not merged further: it must fit into a message.
inline constexpr std::size_t kRowBytesMax = 256 << 10;
/// How long a publish that is not urgent waits for company.
inline constexpr Duration kPublishDelay = std::chrono::seconds(1);

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
/// What the authority says of a host: FieldId::kRoll of its row. Of no higher version than the one
/// held, it is no news.
struct Vouch {
  HostId host;
  Field record;
};
/// Rows to ask that peer for, as a whole.
struct AskFor {
  HostId peer;
  std::vector<HostId> hosts;
};
/// A link to this host was established: both sides compare everything they hold.
struct PeerUp {
  HostId peer;
};
/// Whom changes are flooded to, from the overlay; and whether those of others are, or only what
/// their hosts said here themselves.
struct NeighboursChanged {
  std::vector<HostId> neighbours;
  bool relays = true;
};
/// A probe ack said how new its sender's row is.
struct PeerVersion {
  HostId host;
  RowVersion version;
};

// Outputs.

/// A field that changed or was dropped (then field() yields nothing): read it from the store.
struct FieldChange {
  HostId host;
  FieldId field{};
  auto operator<=>(const FieldChange&) const = default;
};

struct HostStoreOutput {
  std::vector<RowsMessage> messages;
  WriteBatch writes;                 ///< For Environment::kState; nothing waits for them.
  std::vector<FieldChange> changes;  ///< Ascending, each once; own publishes included.
  std::vector<Event> events;
  /// Peers hold rows of ours from a later generation, or from another life of this one (a
  /// restored disk): restart above it.
  std::optional<Generation> raise_above;
  /// An identity of ours that this agent did not write: that of the life before, from the own disk,
  /// or one of this generation or a later one.
  std::optional<std::string> own_identity;
  /// Peers that showed FieldId::kLink of the own row, and which version of it.
  std::vector<std::pair<HostId, RowVersion>> own_link_seen;
};

class HostStore {
 public:
  using Input =
      std::variant<Publish, RowsReceived, Vouch, AskFor, PeerUp, NeighboursChanged, PeerVersion>;
  using Output = HostStoreOutput;
  /// Since the start.
  struct Stats {
    std::uint64_t publishes = 0;      ///< Times that own fields went out, together.
    std::uint64_t signed_times = 0;   ///< Signatures made, each of all that one publish has.
    std::uint64_t fields_merged = 0;  ///< Of others, which were news.
  };

  /// `recovered` is what Environment::kState held; a row that does not decode is dropped with an
  /// event. `generation` is this start's, higher than that of any row of ours on disk.
  /// `signer`: the owner's, never null.
  HostStore(HostId self, Generation generation, const Records& recovered, Rng rng,
            std::shared_ptr<const gossip::Signer> signer);

  void step(Instant now, Input input);
  /// So late this host comes to what it has to do: news waits longer (Spread).
  void be_late(Duration lag) { spread_.be_late(lag); }
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;
  /// The invariants of every row and of the digest over them: as slow as reading everything.
  void check_rows() const { rows_.check_rows(); }

  const Row* row(HostId host) const;
  const Field* field(HostId host, FieldId id) const;
  /// Whether a row says what is not held yet, or says it otherwise.
  bool is_news(const RowOf& news) const;
  /// All rows, in host id order.
  const std::map<HostId, HeldRow>& rows() const { return rows_.all(); }
  /// Over all rows; two stores that hold the same have the same, 0 when empty.
  std::uint64_t digest() const { return rows_.digest(); }
  /// Highest version of the own row that was given to the flood, which sends it as soon as its pace
  /// allows: what probe acks carry.
  RowVersion own_version() const { return sent_version_; }
  const Stats& stats() const { return stats_; }
  /// What PeerUp would send, for a seed whose host id is not known yet; or the own row alone, which
  /// asks for nothing.
  std::string introduction(bool asks = true) const { return audit_.introduction(rows_, asks); }

 private:
  void on_publish(Instant now, const Publish& input);
  void on_rows(Instant now, const RowsReceived& input);
  void on_neighbours(Instant now, const NeighboursChanged& input);
  void take_own_record(Instant now, HostId from, const Field& record);

  void recover(const Records& recovered);
  void begin_generation(Row& own);
  void write_own(const std::vector<std::uint32_t>& fields, Row& own);
  void flush_own(Instant now);
  void send_own(Instant now, const std::vector<std::uint32_t>& fields);
  void see_own_row(Instant now, const Row& seen);
  void say_again(Instant now, HeldRow& own, Sequence beyond);
  void raise_above(Generation generation, std::string why);

  bool fits(HostId host, const Row& news) const;
  void merge(Instant now, HostId from, const RowOf& news);
  void changed(HostId host, HeldRow& held, const std::vector<std::uint32_t>& fields);
  void emit(Severity severity, std::string_view name, HostId about, std::string detail);

  const HostId self_;
  const Generation generation_;
  const std::shared_ptr<const gossip::Signer> signer_;
  HeldRows rows_;
  Spread spread_;
  Audit audit_;

  Sequence sequence_;  ///< Last one used in the own row.
  RowVersion sent_version_;
  std::map<std::uint32_t, std::string> unsent_;  ///< Own fields waiting for publish_at_.
  Instant publish_at_ = kNever;

  std::set<FieldChange> changes_;
  Stats stats_;
  Output output_;
};

}  // namespace muster::crdt
