#include "agent/step/outbox.h"

#include "gossip/base/check.h"
#include "gossip/base/version.h"

namespace muster::agent {

gossip::Envelope envelope_of(const NodeOptions& options, ClusterId cluster,
                             gossip::MessageType type, Nonce nonce) {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = type;
  envelope.cluster = cluster;
  envelope.from = options.self;
  envelope.generation = options.start.generation;
  envelope.nonce = nonce;
  return envelope;
}

void Outbox::begin_step(Instant now) {
  CHECK(now >= now_);
  CHECK(from_.is_zero());
  now_ = now;
}

void Outbox::carry_on(HostId from, gossip::Route route) {
  from_ = from;
  route_ = route;
}

void Outbox::end_step() {
  from_ = {};
  route_ = {};
}

void Outbox::send(HostId to, const crdt::AddressBook& addresses, const gossip::Envelope& envelope,
                  std::string_view body) {
  if (to == from_ && route_.value() != 0) {
    reply(route_, gossip::encode(envelope, body));
  } else if (const auto endpoint = addresses.control(to)) {
    send_to(*endpoint, gossip::Channel::kControl, gossip::encode(envelope, body));
  }
}

void Outbox::send_to(const gossip::Endpoint& to, gossip::Channel channel, std::string bytes) {
  output_.transport.push_back(gossip::Send{to, channel, std::move(bytes)});
}

void Outbox::reply(gossip::Route route, std::string bytes) {
  output_.transport.push_back(gossip::Reply{route, std::move(bytes)});
}

void Outbox::send_back(gossip::Route route, const gossip::Endpoint& link,
                       const std::string& link_key, std::string bytes) {
  if (route.value() != 0) {
    reply(route, std::move(bytes));
  } else if (!link.is_none()) {
    tell(gossip::Expect{link, link_key});
    send_to(link, gossip::Channel::kControl, std::move(bytes));
  }
}

void Outbox::drop_links(const std::vector<HostId>& hosts, const crdt::AddressBook& addresses) {
  for (const HostId host : hosts) {
    if (const auto endpoint = addresses.control(host)) {
      output_.transport.push_back(gossip::DropLink{*endpoint});
    }
  }
}

void Outbox::write(OwnedWrite whose, crdt::Environment environment, crdt::WriteBatch writes) {
  persist({pending_.hand_out(whose, now_), environment, std::move(writes)});
}

void Outbox::persist(Persist persist) {
  output_.persists.push_back(std::move(persist));
}

void Outbox::command(SupervisorCommand command) {
  output_.supervisor.push_back(std::move(command));
}

void Outbox::command(gpus::Command command) {
  output_.gpus.push_back(std::move(command));
}

void Outbox::check(crdt::RowsToCheck rows) {
  output_.checks.push_back(std::move(rows));
}

void Outbox::read(ReadOutput question) {
  output_.reads.push_back(std::move(question));
}

void Outbox::read(ReadStats question) {
  output_.stats_reads.push_back(question);
}

void Outbox::emit(Event event) {
  recent_.add(wall_clock_.unix_ms(now_), event);
  output_.events.push_back(std::move(event));
}

void Outbox::emit(Severity severity, std::string_view name,
                  std::vector<std::pair<std::string_view, std::string>> fields) {
  emit(Event{severity, name, std::move(fields)});
}

void Outbox::keep(std::vector<Event>& events) {
  for (Event& event : events) {
    emit(std::move(event));
  }
}

NodeOutput Outbox::take() {
  if (crdt::WriteBatch writes = recent_.take_writes(); !writes.empty()) {
    persist({0, crdt::Environment::kState, std::move(writes)});
  }
  return std::exchange(output_, {});
}

void Outbox::exit_refused(const std::string& why) {
  exit(false);
  output_.conflict = why;
}

void Outbox::exit(bool doubled) {
  output_.exit = true;
  output_.doubled = output_.doubled || doubled;
}

}  // namespace muster::agent
