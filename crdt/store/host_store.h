#pragma once
// HostStore is the machine that holds the rows of all hosts. Owned by Node. It owns and signs the
// row of its host, merges the rows of others, which RowChecker has checked (crdt/rows/row_check.h),
// and floods each change over the links of the overlay. Node gives it links, carries its messages,
// writes its batches to Environment::kState, and tells membership and the scheduler of changes.
//
// It decides about each row; its parts do the rest: HeldRows keeps and digests the rows, Spread
// floods changes, Audit repairs losses of the flood (audit.h names the three ways).
//
// Invariants
// - Own fields wait to be sent if and only if a time for it is set, at most kPublishDelay after the
//   first of them came.
// - Each own field that is written takes the next sequence; no other sequence is ever sent.

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

/// Limit of the hosts whose rows are held. A row of a further host is refused with an event.
inline constexpr std::size_t kHostsMax = 16384;
/// Limit of a row, which must fit into a message: fields that would exceed it are not merged.
inline constexpr std::size_t kRowBytesMax = 256 << 10;
/// Time that a publish that is not urgent waits for others, to share their signature and message.
inline constexpr Duration kPublishDelay = std::chrono::seconds(1);

// Inputs.

/// A field of the own row has new bytes (at most kFieldBytesMax). Equal bytes are no change. An
/// urgent publish goes out at once, with all others that wait.
struct Publish {
  FieldId field{};
  std::string bytes;
  bool urgent = false;
};
struct RowsReceived {
  HostId from;
  RowsBody body;
};
/// A record of the authority about a host: FieldId::kRoll of its row. It is no news unless its
/// version is higher than the one held.
struct Vouch {
  HostId host;
  Field record;
};
/// Asks that peer for whole rows of these hosts.
struct AskFor {
  HostId peer;
  std::vector<HostId> hosts;
};
/// A link to this host is up: both sides compare all their rows.
struct PeerUp {
  HostId peer;
};
/// The neighbours of the overlay, to which changes are flooded. `relays`: whether this host floods
/// all changes of others, or only those that the owner of the row sent here itself.
struct NeighboursChanged {
  std::vector<HostId> neighbours;
  bool relays = true;
};
/// A probe ack named the version of its sender's row.
struct PeerVersion {
  HostId host;
  RowVersion version;
};

// Outputs.

/// A field that changed or was dropped: read it from the store. field() is null if it was dropped.
struct FieldChange {
  HostId host;
  FieldId field{};
  auto operator<=>(const FieldChange&) const = default;
};

struct HostStoreOutput {
  std::vector<RowsMessage> messages;
  WriteBatch writes;                 ///< For Environment::kState; no machine waits for them.
  std::vector<FieldChange> changes;  ///< Ascending, each once; own publishes included.
  std::vector<Event> events;
  /// A peer or the disk has our row from a later generation, or from another life of this one (a
  /// restored disk): start the agent again above it.
  std::optional<Generation> raise_above;
  /// An identity of ours that this agent did not write: that of the life before, from the own disk,
  /// or one of this generation or a later one, from a peer.
  std::optional<std::string> own_identity;
  /// Peers that sent FieldId::kLink of the own row, each with the version that it holds.
  std::vector<std::pair<HostId, RowVersion>> own_link_seen;
};

class HostStore {
 public:
  using Input =
      std::variant<Publish, RowsReceived, Vouch, AskFor, PeerUp, NeighboursChanged, PeerVersion>;
  using Output = HostStoreOutput;
  /// Counts since the start.
  struct Stats {
    std::uint64_t publishes = 0;      ///< Publishes sent, each of one or several own fields.
    std::uint64_t signed_times = 0;   ///< Signatures made; one covers all fields of a publish.
    std::uint64_t fields_merged = 0;  ///< Fields of others that were news.
  };

  /// `recovered` are the records of Environment::kState; a row that does not decode is dropped with
  /// an event. `generation` is that of this start; if a row of ours on disk is not below it, the
  /// first output has raise_above. `signer` is that of this host, never null.
  HostStore(HostId self, Generation generation, const Records& recovered, Rng rng,
            std::shared_ptr<const gossip::Signer> signer);

  void step(Instant now, Input input);
  /// Sets the lag of this host: news waits longer if the host is late (Spread).
  void be_late(Duration lag) { spread_.be_late(lag); }
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;
  /// CHECKs the invariants of all rows and of the digest over them: as slow as reading all rows.
  void check_rows() const { rows_.check_rows(); }

  const Row* row(HostId host) const;
  const Field* field(HostId host, FieldId id) const;
  /// Whether a row has a field that is not held, or holds one otherwise.
  bool is_news(const RowOf& news) const;
  /// All rows, in host id order.
  const std::map<HostId, HeldRow>& rows() const { return rows_.all(); }
  /// The digest over all rows: equal in two stores that hold the same rows; 0 if there are no rows.
  std::uint64_t digest() const { return rows_.digest(); }
  /// Highest version of the own row that Spread has, which sends it as soon as its pace allows.
  /// Probe acks carry it.
  RowVersion own_version() const { return sent_version_; }
  const Stats& stats() const { return stats_; }
  /// The message of a PeerUp, for a seed whose host id is not known yet. If it does not ask, it is
  /// the own row alone.
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

  Sequence sequence_;  ///< The last one used in the own row.
  RowVersion sent_version_;
  std::map<std::uint32_t, std::string> unsent_;  ///< Own fields that wait for publish_at_.
  Instant publish_at_ = kNever;

  std::set<FieldChange> changes_;
  Stats stats_;
  Output output_;
};

}  // namespace muster::crdt
