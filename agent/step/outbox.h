#pragma once
// Outbox collects the output of one step of the Node: it alone writes NodeOutput. It knows the time
// of the step. It also knows the connection of the message that the Node handles, for an answer
// goes back on the connection of its question. Owned by Node, which lends it to its parts for a
// call.
//
// Invariants: time never runs backwards. Between two steps there is no current connection.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/front/event_ring.h"
#include "agent/step/node_interface.h"
#include "agent/step/pending_writes.h"
#include "crdt/disk/write_batch.h"
#include "crdt/rows/address_book.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/lag.h"
#include "gossip/base/time.h"
#include "gossip/base/wall_clock.h"
#include "gossip/wire/message.h"
#include "gossip/wire/transport.h"

namespace muster::agent {

/// The envelope of a message of this host, without trailing elements.
gossip::Envelope envelope_of(const NodeOptions& options, ClusterId cluster,
                             gossip::MessageType type, Nonce nonce);

class Outbox {
 public:
  /// `kept` is the content of kState at the start.
  explicit Outbox(Instant now, std::int64_t unix_ms = 0, const crdt::Records& kept = {})
      : now_(now), wall_clock_(now, unix_ms), recent_(kept) {}

  /// Precondition: `now` is not before the last step.
  void begin_step(Instant now);
  /// Until the end of the step the Node handles a message of `from`, which came in on `route`.
  void carry_on(HostId from, gossip::Route route);
  void end_step();
  Instant now() const { return now_; }
  /// The wall clock is for people: no decision depends on it.
  void set_wall_clock(std::int64_t unix_ms) { wall_clock_ = WallClock(now_, unix_ms); }
  void expect_replay(LogIndex end) { recent_.expect_replay(end); }
  const WallClock& wall_clock() const { return wall_clock_; }
  HostId from() const { return from_; }
  gossip::Route route() const { return route_; }

  /// Sends to a host. If the current connection belongs to that host, the message goes back on it:
  /// that is the shortest way, and the only one to a host whose row is not known yet. Otherwise it
  /// goes to the host's control port. A message to a host without an address is dropped.
  void send(HostId to, const crdt::AddressBook& addresses, const gossip::Envelope& envelope,
            std::string_view body);
  void send_to(const gossip::Endpoint& to, gossip::Channel channel, std::string bytes);
  void reply(gossip::Route route, std::string bytes);
  /// Tells the transport which keys to admit, and which key to expect.
  void tell(gossip::TransportOutput word) { output_.transport.push_back(std::move(word)); }
  /// Sends on the connection `route`. If `route` is 0, it sends to `link`, where it expects the
  /// host with `link_key`. If there is no `link` either, it drops the message.
  void send_back(gossip::Route route, const gossip::Endpoint& link, const std::string& link_key,
                 std::string bytes);
  /// The next message to one of these hosts dials again.
  void drop_links(const std::vector<HostId>& hosts, const crdt::AddressBook& addresses);
  /// Hands out a write that its owner waits for. PendingWrites::on_persisted returns the owner once
  /// the write is durable.
  void write(OwnedWrite whose, crdt::Environment environment, crdt::WriteBatch writes);
  /// Hands out a write with its own id. If that is 0, no part waits for it.
  void persist(Persist persist);
  PendingWrites& pending() { return pending_; }
  const PendingWrites& pending() const { return pending_; }
  void command(SupervisorCommand command);
  void command(gpus::Command command);
  void read(ReadOutput question);
  void read(ReadStats question);
  void certified(CertificateAnswer answer) { output_.certificate = std::move(answer); }
  void check(crdt::RowsToCheck rows);
  /// This step does something that was due `late` ago.
  void note_late(Duration late) { lag_.saw(now_, late); }
  Duration lag() { return lag_.worst(now_); }
  /// The data that a view of the reflex is made of. If it changes, the view does.
  struct ReflexSource {
    Sequence newest;
    std::uint64_t overlay_epoch = 0;
    ClusterId cluster;
    ClusterEpoch epoch;
    bool operator==(const ReflexSource&) const = default;
  };
  bool is_reflex_news(const ReflexSource& source) {
    return std::exchange(reflex_source_, source) != source;
  }
  void tell_reflex(membership::ReflexView view) { output_.reflex = std::move(view); }
  /// For the log of this host, and for `muster events`.
  void emit(Event event);
  void emit(Severity severity, std::string_view name,
            std::vector<std::pair<std::string_view, std::string>> fields);
  void emit_all(std::vector<Event>&& events) {
    if (!events.empty()) {  // Inline, for there is almost never an event.
      keep(events);
    }
  }
  /// The process ends; if `doubled`, because another agent lives under this host's id.
  void exit(bool doubled);
  /// The process ends because the quorum refuses its start; `why` is for people.
  void exit_refused(const std::string& why);
  void restart_with(Generation generation) { output_.raise_to = generation; }

  bool exits() const { return output_.exit; }
  const EventRing& recent() const { return recent_; }
  NodeOutput take();

 private:
  void keep(std::vector<Event>& events);

  Instant now_;
  PendingWrites pending_;
  WallClock wall_clock_;
  HostId from_;
  gossip::Route route_;
  EventRing recent_;
  Lag lag_;
  ReflexSource reflex_source_;
  NodeOutput output_;
};

}  // namespace muster::agent
