#pragma once
// What a step of the Node comes to: whatever leaves it passes here, and nothing else writes
// NodeOutput. It knows the moment of the step, and the connection whose message is being carried
// on, because an answer goes back on the connection that the question came in on. The Node's; its
// other parts are handed it for a call.
//
// Invariants: time never runs backwards; between two steps no connection is at hand.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/front/event_ring.h"
#include "agent/step/pending_writes.h"
#include "agent/step/words.h"
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

/// Of a message of this host, with nothing behind the body.
gossip::Envelope envelope_of(const NodeOptions& options, ClusterId cluster,
                             gossip::MessageType type, Nonce nonce);

class Outbox {
 public:
  /// `kept`: what kState held.
  explicit Outbox(Instant now, std::int64_t unix_ms = 0, const crdt::Records& kept = {})
      : now_(now), wall_clock_(now, unix_ms), recent_(kept) {}

  /// Precondition: `now` is not before the last step.
  void begin_step(Instant now);
  /// From here to the end of the step a message of `from` is carried on, which came in on `route`.
  void carry_on(HostId from, gossip::Route route);
  void end_step();
  Instant now() const { return now_; }
  /// For people: nothing is decided by it.
  void set_wall_clock(std::int64_t unix_ms) { wall_clock_ = WallClock(now_, unix_ms); }
  void expect_replay(LogIndex end) { recent_.expect_replay(end); }
  const WallClock& wall_clock() const { return wall_clock_; }
  HostId from() const { return from_; }
  gossip::Route route() const { return route_; }

  /// To a host: on the connection at hand when it is that host's, which is the shortest way and the
  /// only one to a host whose row is not known yet; else to its control port. Without an address it
  /// is dropped.
  void send(HostId to, const crdt::AddressBook& addresses, const gossip::Envelope& envelope,
            std::string_view body);
  void send_to(const gossip::Endpoint& to, gossip::Channel channel, std::string bytes);
  void reply(gossip::Route route, std::string bytes);
  /// Whom to let in, and whose key to expect.
  void tell(gossip::TransportOutput word) { output_.transport.push_back(std::move(word)); }
  /// On the connection `route`; where that is none, to `link`, if it is any, where who has
  /// `link_key` is expected.
  void send_back(gossip::Route route, const gossip::Endpoint& link, const std::string& link_key,
                 std::string bytes);
  /// The next word to such a host dials anew.
  void drop_links(const std::vector<HostId>& hosts, const crdt::AddressBook& addresses);
  /// Somebody waits for it: PendingWrites::on_persisted says so once it is durable.
  void write(OwnedWrite whose, crdt::Environment environment, crdt::WriteBatch writes);
  /// As it is: where its id is 0, nobody waits for it.
  void persist(Persist persist);
  PendingWrites& pending() { return pending_; }
  const PendingWrites& pending() const { return pending_; }
  void command(SupervisorCommand command);
  void read(ReadOutput question);
  void read(ReadStats question);
  void check(crdt::RowsToCheck rows);
  /// Something is done now, at the moment of the step, that was to be done so long ago.
  void note_late(Duration late) { lag_.saw(now_, late); }
  Duration lag() { return lag_.worst(now_); }
  /// A view of the reflex is made of this: another one makes another view.
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
    if (!events.empty()) {  // Asked here, for there is almost never one.
      keep(events);
    }
  }
  /// The process ends, `doubled` because another agent lives under this host's id.
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
