#include "bench/lease_farm.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"
#include "membership/codec.h"

namespace muster::bench {
namespace {

constexpr int kBacklog = 4096;
constexpr std::size_t kEventsPerTurn = 512;
constexpr std::size_t kObservers = 10;
constexpr std::size_t kRowsPerMessage = 250;
/// Rows come a few at a time, as hosts join one by one: a leader that merges thousands of rows at
/// once misses its heartbeats, and each agent checks two signatures of each row, on shared cores.
constexpr Duration kIntroducePause = std::chrono::milliseconds(500);
constexpr Duration kTurnMax = std::chrono::milliseconds(50);
constexpr Duration kProbePeriod = std::chrono::seconds(5);

sockaddr_in socket_address(const gossip::Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  std::memcpy(&address.sin_addr, endpoint.ip.data() + 12, 4);
  return address;
}

gossip::Endpoint endpoint_of(const sockaddr_in& address) {
  std::array<std::uint8_t, 4> ip{};
  std::memcpy(ip.data(), &address.sin_addr, ip.size());
  return gossip::Endpoint::ipv4(ip[0], ip[1], ip[2], ip[3], ntohs(address.sin_port));
}

}  // namespace

LeaseFarm::LeaseFarm(FarmOptions options, Instant now)
    : options_(std::move(options)),
      authority_(agent::HostKey::from_seed(options_.membership.authority_seed)),
      rng_(options_.port),
      hosts_(options_.hosts) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    make_host(i, now);
  }
}

LeaseFarm::~LeaseFarm() {
  close(listener_);
  close(epoll_);
}

void LeaseFarm::make_host(std::size_t index, Instant now) {
  Host& host = hosts_[index];
  static_cast<FarmHost&>(host) = farm_host(index, options_.port, options_.gpus);
  if (index == 0) {
    host.link_keys = gossip::LinkKeys::from_seed(options_.membership.link_seed);
  }
  host.agent = std::make_unique<agent::GangAgent>(
      agent::GangAgentOptions(),
      agent::AgentIdentity{host.id, host.start, "boot-" + host.name, host.name}, crdt::Records(),
      agent::Inventory{"H100", host.gpus, 64, 1U << 20U, true}, rng_.fork(), now);
  host.relay.emplace(host.id, now);
  by_address_[host.control] = index;
  by_id_[host.id] = index;
  give(now, index, agent::SupervisorsScanned{});
}

bool LeaseFarm::listen() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // One descriptor for all addresses; only connections over the loopback reach it.
  setsockopt(listener_, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options_.port);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, kBacklog) != 0) {
    return false;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = listener_;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) == 0;
}

// Rows.

/// The next ten hosts; each real agent is the last observer of ten hosts.
std::vector<HostId> LeaseFarm::observers_of(std::size_t index) const {
  std::vector<HostId> observers;
  for (std::size_t i = 1; i <= kObservers && i < hosts_.size(); ++i) {
    observers.push_back(hosts_[(index + i) % hosts_.size()].id);
  }
  if (index / kObservers < options_.agents.size() && !observers.empty()) {
    observers.back() = options_.agents[index / kObservers].host;
  }
  std::sort(observers.begin(), observers.end());
  return observers;
}

crdt::RowOf LeaseFarm::row_of(std::size_t index) const {
  const agent::Contact& joined = options_.membership.own;
  const std::uint64_t edition = index == 0 ? joined.edition + 1 : 1;  // It may not vote any more.
  return bench::row_of(hosts_[index], "rack-" + std::to_string(index / options_.rack_hosts),
                       observers_of(index),
                       record_of(hosts_[index], joined.authority, edition, authority_));
}

void LeaseFarm::introduce() {
  crdt::RowsBody body;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    body.rows.push_back(row_of(i));
    if (body.rows.size() == kRowsPerMessage || i + 1 == hosts_.size()) {
      for (const RealAgent& agent : options_.agents) {
        send(0, agent.host, gossip::MessageType::kRows, Nonce(), crdt::encode(body));
      }
      body.rows.clear();
      run_until(boot_now() + kIntroducePause);
    }
  }
}

void LeaseFarm::on_rows(std::size_t host, int fd, const gossip::Message& message) {
  const auto body = crdt::decode_rows(message.body());
  if (!body.has_value()) {
    return;
  }
  for (const crdt::RowOf& row : body->rows) {
    const crdt::Field* field = row.row.field(crdt::FieldId::kQuorum);
    const auto view = field == nullptr ? std::nullopt : crdt::decode_quorum_view(field->bytes);
    if (view.has_value()) {
      hear_quorum(boot_now(), *view);
    }
  }
  crdt::RowsBody answer;
  for (const HostId& wanted : body->want) {
    if (wanted == hosts_[host].id) {
      answer.rows.push_back(row_of(host));
    }
  }
  if (!answer.rows.empty()) {
    reply(fd, host, gossip::MessageType::kRows, Nonce(), crdt::encode(answer));
  }
}

void LeaseFarm::hear_quorum(Instant now, const crdt::QuorumView& view) {
  if (view.term <= term_ || view.leader.is_zero() || told_ < hosts_.size()) {
    return;
  }
  leader_ = view.leader;
  term_ = view.term;
  news_.clear();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    news_.emplace(now + rng_.between(Duration(0), options_.flood), i);
  }
}

void LeaseFarm::tell_leader(Instant now, std::size_t count, HostId leader, Term term) {
  leader_ = leader;
  term_ = term;
  for (; count > 0 && told_ < hosts_.size(); --count) {
    hear_leader(now, told_++);
  }
}

// Links.

void LeaseFarm::add_link(int fd, std::size_t host, HostId peer) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (links_.size() <= static_cast<std::size_t>(fd)) {
    links_.resize(static_cast<std::size_t>(fd) + 1);
  }
  const RealAgent* agent = agent_of(peer);
  CurveSession session(hosts_[host].link_keys, agent == nullptr ? "" : agent->link_key);
  links_[static_cast<std::size_t>(fd)] = std::make_unique<Link>(fd, std::move(session), host, peer);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT;
  event.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void LeaseFarm::drop_link(int fd) {
  std::unique_ptr<Link> link = std::move(links_[static_cast<std::size_t>(fd)]);
  if (!link->peer.is_zero()) {
    hosts_[link->host].links.erase(link->peer);
  }
  ++counts_.lost_links;
}

const RealAgent* LeaseFarm::agent_of(HostId host) const {
  const auto agent = std::find_if(options_.agents.begin(), options_.agents.end(),
                                  [&](const RealAgent& each) { return each.host == host; });
  return agent == options_.agents.end() ? nullptr : &*agent;
}

int LeaseFarm::dial(std::size_t host, HostId to) {
  const RealAgent* agent = agent_of(to);
  const int fd =
      agent == nullptr ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  // Dials from its own address: each host has its own ports.
  const int on = 1;
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  gossip::Endpoint own = hosts_[host].control;
  own.port = 0;
  sockaddr_in from = socket_address(own);
  sockaddr_in peer = socket_address(agent->control);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&from), sizeof from) == 0;
  if (!bound ||
      (connect(fd, reinterpret_cast<sockaddr*>(&peer), sizeof peer) != 0 && errno != EINPROGRESS)) {
    close(fd);
    return -1;
  }
  ++counts_.dials;
  add_link(fd, host, to);
  hosts_[host].links[to] = fd;
  return fd;
}

void LeaseFarm::accept_all() {
  sockaddr_in address{};
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      return;
    }
    socklen_t size = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    const auto host = by_address_.find(endpoint_of(address));
    if (host == by_address_.end()) {
      close(fd);
      continue;
    }
    ++counts_.dialled;
    add_link(fd, host->second, HostId());
  }
}

void LeaseFarm::flush(Link& link) {
  if (!link.zmtp.flush()) {
    drop_link(link.zmtp.fd());
    return;
  }
  if (link.zmtp.wants_write() != link.watched_for_write) {
    link.watched_for_write = link.zmtp.wants_write();
    epoll_event event{};
    event.events = EPOLLIN;
    event.events |= link.watched_for_write ? static_cast<std::uint32_t>(EPOLLOUT) : 0U;
    event.data.fd = link.zmtp.fd();
    epoll_ctl(epoll_, EPOLL_CTL_MOD, link.zmtp.fd(), &event);
  }
}

void LeaseFarm::on_ready(int fd, std::uint32_t events) {
  Link* link = links_[static_cast<std::size_t>(fd)].get();
  if (link == nullptr) {
    return;
  }
  std::vector<std::string> messages;
  const bool is_over =
      (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0 && !link->zmtp.read(messages);
  for (std::string& message : messages) {
    on_message(fd, std::move(message));
  }
  link = links_[static_cast<std::size_t>(fd)].get();
  if (link == nullptr) {
    return;
  }
  if (is_over) {
    drop_link(fd);
  } else {
    flush(*link);
  }
}

std::string LeaseFarm::envelope(std::size_t host, gossip::MessageType type, Nonce nonce,
                                const std::string& body) const {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = type;
  envelope.cluster = options_.cluster;
  envelope.from = hosts_[host].id;
  envelope.generation = hosts_[host].start.generation;
  envelope.nonce = nonce;
  return gossip::encode(envelope, body);
}

void LeaseFarm::reply(int fd, std::size_t host, gossip::MessageType type, Nonce nonce,
                      const std::string& body) {
  const std::string bytes = envelope(host, type, nonce, body);
  ++counts_.sent;
  ++counts_.sent_types[type];
  counts_.sent_bytes += bytes.size();
  Link& link = *links_[static_cast<std::size_t>(fd)];
  link.zmtp.send(bytes);
  flush(link);
}

void LeaseFarm::send(std::size_t host, HostId to, gossip::MessageType type, Nonce nonce,
                     const std::string& body) {
  const auto known = hosts_[host].links.find(to);
  const int fd = known != hosts_[host].links.end() ? known->second : dial(host, to);
  if (fd >= 0) {
    reply(fd, host, type, nonce, body);
  }
}

void LeaseFarm::on_message(int fd, std::string bytes) {
  const Link* link = links_[static_cast<std::size_t>(fd)].get();
  if (link == nullptr) {
    return;
  }
  const std::size_t host = link->host;
  ++counts_.heard;
  counts_.heard_bytes += bytes.size();
  const auto message = gossip::decode(std::move(bytes));
  if (!message) {
    return;
  }
  const gossip::Envelope& head = message->envelope();
  ++counts_.heard_types[head.type];
  if (head.type == gossip::MessageType::kProbe) {
    const membership::Ack ack{kProbePeriod, Sequence(kFarmRowSequence)};
    reply(fd, host, gossip::MessageType::kAck, head.nonce, membership::encode(ack));
  } else if (head.type == gossip::MessageType::kRows) {
    on_rows(host, fd, *message);
  } else if (auto said = scheduler::decode_agent_message(head.type, message->body())) {
    hear(boot_now(), host, {head.from, head.nonce, *std::move(said)});
  }
}

// Agents.

void LeaseFarm::give(Instant now, std::size_t host, agent::GangAgentInput input) {
  hosts_[host].agent->step(now, std::move(input));
  drain(now, host);
  schedule(host);
}

void LeaseFarm::hear_leader(Instant now, std::size_t host) {
  std::vector<int> others;  // An agent lets them idle for a minute; descriptors are few here.
  for (const auto& [peer, fd] : hosts_[host].links) {
    if (peer != leader_) {
      others.push_back(fd);
    }
  }
  for (const int fd : others) {
    drop_link(fd);
  }
  hosts_[host].relay->leader_changed(now, leader_);
  give(now, host,
       agent::LeaderChanged{leader_, term_,
                            agent::hello_spread(hosts_.size() + options_.agents.size())});
}

void LeaseFarm::hear(Instant now, std::size_t host, agent::LeaderMessage said) {
  if (auto* acks = std::get_if<scheduler::RelayedAcks>(&said.message)) {
    hosts_[host].relay->acked(std::move(*acks));
    drain_relay(now, host);
    schedule(host);
    return;
  }
  if (std::holds_alternative<scheduler::RenewAck>(said.message)) {
    hosts_[host].relay->own_acked(said.nonce);
  }
  give(now, host, std::move(said));
}

void LeaseFarm::drain_relay(Instant now, std::size_t host) {
  for (agent::AgentSend& each : hosts_[host].relay->take_messages()) {
    const auto mate = by_id_.find(each.to);
    if (mate == by_id_.end()) {
      send(host, each.to, scheduler::type_of(each.message), each.nonce,
           scheduler::encode(each.message));
    } else if (auto* renew = std::get_if<scheduler::Renew>(&each.message)) {
      hosts_[mate->second].relay->carry(now, hosts_[host].id, each.nonce, std::move(*renew));
      schedule(mate->second);
    } else {
      hear(now, mate->second, {hosts_[host].id, each.nonce, std::move(each.message)});
    }
  }
}

/// Its disk and its supervisors answer at once.
void LeaseFarm::drain(Instant now, std::size_t host) {
  while (true) {
    agent::GangAgentOutput output = hosts_[host].agent->take_output();
    std::vector<agent::GangAgentInput> facts;
    for (const agent::AgentPersist& each : output.persists) {
      facts.emplace_back(agent::Persisted{each.id});
    }
    for (const agent::SupervisorCommand& command : output.commands) {
      carry_out(now, host, command, facts);
    }
    for (agent::AgentSend& each : output.messages) {
      auto* renew = std::get_if<scheduler::Renew>(&each.message);
      if (renew != nullptr && options_.relays) {
        const HostId relay = hosts_[host / options_.rack_hosts * options_.rack_hosts].id;
        hosts_[host].relay->carry_own(now, relay, each.nonce, std::move(*renew));
      } else {
        send(host, each.to, scheduler::type_of(each.message), each.nonce,
             scheduler::encode(each.message));
      }
    }
    drain_relay(now, host);
    if (facts.empty()) {
      return;
    }
    for (agent::GangAgentInput& fact : facts) {
      hosts_[host].agent->step(now, std::move(fact));
    }
  }
}

void LeaseFarm::carry_out(Instant now, std::size_t host, const agent::SupervisorCommand& command,
                          std::vector<agent::GangAgentInput>& facts) {
  if (const auto* prepare = std::get_if<agent::Prepare>(&command)) {
    hosts_[host].ready_at = now;
    gossip::Endpoint master = hosts_[host].control;
    master.port = prepare->hold_master_port ? 29500 : 0;
    facts.emplace_back(agent::SupervisorPrepared{
        prepare->token, prepare->hold_master_port ? master : gossip::Endpoint(), true});
  } else if (const auto* launch = std::get_if<agent::Launch>(&command)) {
    facts.emplace_back(agent::RanksStarted{launch->record.token});
    hosts_[host].runs = true;
    hosts_[host].start_time = now - hosts_[host].ready_at;
  } else if (std::holds_alternative<agent::Terminate>(command)) {
    ++ended_;
  } else if (const auto* renewed = std::get_if<agent::RenewHold>(&command)) {
    note_ack(now, hosts_[host], *renewed);
  }
}

void LeaseFarm::note_ack(Instant now, Host& host, const agent::RenewHold& renewed) {
  const agent::GrantRecord* record = host.agent->find(renewed.token);
  if (record == nullptr || renewed.hold_until == now + record->hold) {
    return;  // The hold begins here, at Ready.
  }
  const Instant sent = renewed.hold_until - record->hold;
  if (host.acks > 0) {
    host.gap = std::max(host.gap, now - host.acked_at);
    host.gap_from_send = std::max(host.gap_from_send, now - host.acked_sent);
  }
  ++host.acks;
  ++counts_.acks;
  host.acked_at = now;
  host.acked_sent = sent;
}

std::size_t LeaseFarm::registered() const {
  return static_cast<std::size_t>(std::count_if(hosts_.begin(), hosts_.end(), [](const Host& host) {
    return host.agent->is_registered() && !host.agent->offered_gpus().empty();
  }));
}

std::size_t LeaseFarm::running() const {
  return static_cast<std::size_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [](const Host& host) { return host.runs; }));
}

std::vector<Duration> LeaseFarm::start_times() const {
  std::vector<Duration> times;
  for (const Host& host : hosts_) {
    if (host.runs) {
      times.push_back(host.start_time);
    }
  }
  return times;
}

void LeaseFarm::watch_gaps(Instant now) {
  for (Host& host : hosts_) {
    host.gap = {};
    host.gap_from_send = {};
    if (host.acks == 0) {
      host.acked_at = now;
      host.acked_sent = now;
    }
    host.acks = 1;
  }
}

LeaseFarm::Gaps LeaseFarm::gaps(Instant now) const {
  Gaps gaps;
  for (const Host& host : hosts_) {
    gaps.between.push_back(std::max(host.gap, now - host.acked_at));
    gaps.from_send.push_back(std::max(host.gap_from_send, now - host.acked_sent));
    gaps.never += host.acks <= 1 ? 1U : 0U;
  }
  return gaps;
}

// Time.

void LeaseFarm::schedule(std::size_t host) {
  const Instant due =
      std::min(hosts_[host].agent->next_deadline(), hosts_[host].relay->next_deadline());
  if (due != hosts_[host].due) {
    timers_.erase({hosts_[host].due, host});
    hosts_[host].due = due;
    if (due != kNever) {
      timers_.insert({due, host});
    }
  }
}

void LeaseFarm::run_timers(Instant now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const std::size_t host = timers_.begin()->second;
    hosts_[host].agent->tick(now);
    hosts_[host].relay->tick(now);
    drain(now, host);
    schedule(host);
  }
  while (!news_.empty() && news_.begin()->first <= now) {
    const std::size_t host = news_.begin()->second;
    news_.erase(news_.begin());
    hear_leader(now, host);
  }
}

void LeaseFarm::run_until(Instant until) {
  std::array<epoll_event, kEventsPerTurn> events{};
  for (Instant now = boot_now(); now < until; now = boot_now()) {
    run_timers(now);
    Instant next = std::min(until, now + kTurnMax);
    next = timers_.empty() ? next : std::min(next, timers_.begin()->first);
    next = news_.empty() ? next : std::min(next, news_.begin()->first);
    const auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(std::max(next - now, Duration(0))).count();
    const int count =
        epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(wait));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == listener_) {
        accept_all();
      } else {
        on_ready(event.data.fd, event.events);
      }
    }
  }
}

}  // namespace muster::bench
