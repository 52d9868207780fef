// The World's network: links that are dialled, break and are lost with their hosts.

#include <algorithm>
#include <utility>

#include "agent/api/request.h"
#include "gossip/base/check.h"
#include "tests/sim/world.h"
#include "tests/sim/world_host.h"

namespace muster::sim {
namespace {

constexpr Duration kDialTimeout = std::chrono::milliseconds(1500);

gossip::Route route_of(std::uint32_t from, gossip::Channel channel, std::uint32_t epoch) {
  return gossip::Route((std::uint64_t{from} + 1) << 33 | static_cast<std::uint64_t>(channel) << 32 |
                       epoch);
}

}  // namespace

World::Link& World::link(std::uint32_t from, std::uint32_t to, gossip::Channel channel) {
  return const_cast<Link&>(std::as_const(*this).link(from, to, channel));
}

const World::Link& World::link(std::uint32_t from, std::uint32_t to,
                               gossip::Channel channel) const {
  return links_[(std::size_t{from} * hosts_.size() + to) * 2 + static_cast<std::size_t>(channel)];
}

std::optional<std::pair<std::uint32_t, gossip::Channel>> World::resolve(
    const gossip::Endpoint& endpoint) const {
  const std::uint32_t address = std::uint32_t{endpoint.ip[14]} << 8 | endpoint.ip[15];
  const auto channel =
      endpoint.port == kBulkPort ? gossip::Channel::kBulk : gossip::Channel::kControl;
  if (are_moved_) {
    const auto host = std::ranges::find(hosts_, address, &Host::address);
    return host == hosts_.end() ? std::nullopt
                                : std::optional(std::pair(
                                      static_cast<std::uint32_t>(host - hosts_.begin()), channel));
  }
  return address < hosts_.size() ? std::optional(std::pair(address, channel)) : std::nullopt;
}

gossip::Endpoint World::endpoint(std::uint32_t host, std::uint16_t port) const {
  return endpoint_of(hosts_[host]->address, port);
}

bool World::dial(std::uint32_t from, std::uint32_t to, gossip::Channel channel, Link& wanted) {
  const Host& target = *hosts_[to];
  const bool reachable =
      target.is_powered && !network_.is_cut(from, to) && !network_.is_cut(to, from);
  const Duration round_trip = network_.one_way() + network_.one_way();
  ++wanted.epoch;
  wanted.target_life = target.listening_life;
  wanted.last_arrival = now_;
  wanted.ready = now_ + round_trip;
  wanted.state = Link::State::kDialing;
  const LinkLost lost{from, to, channel, wanted.epoch, hosts_[from]->life, !reachable};
  if (!reachable) {
    queue_.push(now_ + kDialTimeout, lost);
    return false;
  }
  if (target.node == nullptr) {
    queue_.push(wanted.ready, lost);
    return false;
  }
  if (options_.handshake > Duration(0)) {
    wanted.ready = shake_hands(from, to, wanted.ready);
  } else if (processors_.is_on()) {
    const Duration cost = processors_.prices().handshake;
    wanted.ready = std::max(
        {wanted.ready, processors_.charge(now_, from, cost), processors_.charge(now_, to, cost)});
  }
  const std::uint16_t port = channel == gossip::Channel::kControl ? kControlPort : kBulkPort;
  if (!are_proven(from, to, endpoint(to, port))) {
    const auto expected = hosts_[from]->expected.find(endpoint(to, port));
    LinkLost refused = lost;
    refused.timed_out = true;  // No news of its health.
    refused.unproven =
        expected != hosts_[from]->expected.end() && expected->second != target.link_key;
    queue_.push(wanted.ready, refused);
    return false;
  }
  wanted.state = Link::State::kUp;
  queue_.push(wanted.ready, Deliver{from, hosts_[from]->life, gossip::LinkUp{endpoint(to, port)}});
  return true;
}

/// Both ends show the key that the other asks for. As the transport does: who is refused tries its
/// previous key next.
bool World::are_proven(std::uint32_t from, std::uint32_t to, const gossip::Endpoint& at) {
  Host& dialler = *hosts_[from];
  const Host& target = *hosts_[to];
  const auto expected = dialler.expected.find(at);
  if (expected != dialler.expected.end() && expected->second != target.link_key) {
    return false;
  }
  const bool is_previous = dialler.dials_with_previous.contains(at);
  const auto admitted =
      target.admitted.find(is_previous ? dialler.previous_link_key : dialler.link_key);
  if (admitted != target.admitted.end() && admitted->second == dialler.id) {
    return true;
  }
  if (is_previous) {
    dialler.dials_with_previous.erase(at);
  } else if (!dialler.previous_link_key.empty()) {
    dialler.dials_with_previous.insert(at);
  }
  return false;
}

void World::deliver(std::uint32_t from, std::uint32_t to, Link& via, gossip::Received message) {
  if (options_.check_messages) {
    for (const auto& checker : checkers_) {
      checker->on_said(*this, from, message.bytes);
    }
  }
  if (options_.tcp_links) {
    const bool is_answer = &via == &link(to, from, message.channel);
    const StreamKey key = is_answer ? StreamKey{to, from, message.channel, true}
                                    : StreamKey{from, to, message.channel, false};
    return send_over_tcp(key, via, std::move(message));
  }
  const auto [delays, count] = network_.arrivals(from, to, message.bytes);
  for (std::size_t i = 0; i < count; ++i) {
    Instant when = std::max(now_, via.ready) + delays[i];
    if (i == 0 && delays[i] <= network_.faults.delay_max) {
      when = std::max(when, via.last_arrival);  // TCP keeps order; late copies are the fault.
      via.last_arrival = when;
    }
    gossip::Received copy = i + 1 < count ? message : std::move(message);
    queue_.push(when, Deliver{to, hosts_[to]->life, std::move(copy)});
  }
}

void World::carry(std::uint32_t from, gossip::Send send) {
  const auto target = resolve(send.to);
  if (!target.has_value() || target->first == from ||
      hosts_[from]->shut_out.contains(hosts_[target->first]->id)) {
    return;
  }
  // Where hosts never moved, all know from the start whose key is where.
  if (are_moved_ && hosts_[from]->expected[send.to].empty()) {
    queue_.push(now_, Deliver{from, hosts_[from]->life,
                              gossip::LinkDown{send.to, gossip::LinkLoss::kUnproven}});
    return;
  }
  const auto [to, channel] = *target;
  Link& used = link(from, to, channel);
  if (used.state == Link::State::kDialing ||
      (used.state == Link::State::kNone && !dial(from, to, channel, used))) {
    return;
  }
  const Host& host = *hosts_[to];
  const bool is_other_process = used.target_life != host.listening_life || host.node == nullptr;
  if (is_other_process && !(options_.tcp_links && !host.is_powered)) {
    const bool answers = host.is_powered && !network_.is_cut(from, to);
    if (answers) {
      queue_.push(now_ + network_.one_way() + network_.one_way(),
                  LinkLost{from, to, channel, used.epoch, hosts_[from]->life, false});
    }
    return;
  }
  deliver(from, to, used,
          gossip::Received{route_of(from, channel, used.epoch),
                           channel,
                           std::move(send.bytes),
                           {},
                           member(hosts_[from]->id)});
}

void World::carry(std::uint32_t from, gossip::Reply reply) {
  if ((reply.route.value() & kClientRoute) != 0) {
    const std::uint64_t client = reply.route.value() & ~kClientRoute;
    Result<gossip::Message> message = gossip::decode(std::move(reply.bytes));
    CHECK(message.has_value());
    const auto response = agent::decode_response(message->body());
    CHECK(response.has_value());
    replies_[client] = ClientReply{client, *response, now_};
    return;
  }
  if (reply.route == gossip::Route(kStrangerRoute)) {
    return;
  }
  const auto to = static_cast<std::uint32_t>((reply.route.value() >> 33) - 1);
  const auto channel = static_cast<gossip::Channel>(reply.route.value() >> 32 & 1);
  Link& used = link(to, from, channel);
  if (to >= hosts_.size() || used.state != Link::State::kUp ||
      used.epoch != static_cast<std::uint32_t>(reply.route.value()) ||
      used.target_life != hosts_[from]->listening_life || hosts_[to]->node == nullptr) {
    return;
  }
  const std::uint16_t port = channel == gossip::Channel::kControl ? kControlPort : kBulkPort;
  // As the transport does: an answer is of the host that has the expected key, if that is let in.
  const auto expected = hosts_[to]->expected.find(endpoint(from, port));
  if (expected != hosts_[to]->expected.end() && !hosts_[to]->admitted.contains(expected->second)) {
    return;
  }
  deliver(from, to, used,
          gossip::Received{gossip::Route(), channel, std::move(reply.bytes), endpoint(from, port),
                           member(hosts_[from]->id)});
}

void World::carry(std::uint32_t from, const gossip::Admit& word) {
  std::map<std::string, HostId>& admitted = hosts_[from]->admitted;
  if (word.who.kind == gossip::Sender::Kind::kHost) {
    admitted[word.key] = word.who.host;
    hosts_[from]->shut_out.erase(word.who.host);
    return;
  }
  if (word.who.kind == gossip::Sender::Kind::kTicket) {
    hosts_[from]->tickets.insert(word.key);
    return;
  }
  hosts_[from]->tickets.erase(word.key);
  const auto shut_out = admitted.find(word.key);
  if (shut_out == admitted.end()) {
    return;
  }
  const HostId whose = shut_out->second;
  admitted.erase(shut_out);
  const bool has_another = std::any_of(admitted.begin(), admitted.end(),
                                       [&](const auto& each) { return each.second == whose; });
  if (const auto other = find(whose); other.has_value() && !has_another) {
    end_links_between(from, *other);
  }
  if (!has_another) {
    hosts_[from]->shut_out.insert(whose);
  }
}

void World::carry(std::uint32_t from, const gossip::Expect& word) {
  std::string& expected = hosts_[from]->expected[word.at];
  if (std::exchange(expected, word.key) != word.key) {
    carry(from, gossip::DropLink{word.at});
  }
}

/// Its own links are gone without a word; the others notice.
void World::carry(std::uint32_t from, const gossip::Rekey& word) {
  Host& host = *hosts_[from];
  const std::string key = host.key_maker->link_key_of(word.link_seed);
  host.previous_link_key = std::exchange(host.link_key, key);
  host.dials_with_previous.clear();
  ++host.listening_life;
  lose_links_of(from);
  lose_links_to(from);
}

/// How long until the other end knows that a connection was closed: what says so may be lost, and
/// is said again as TCP does.
Duration World::time_of_last_word(std::uint32_t from, std::uint32_t to) {
  Duration waited{0};
  if (!options_.tcp_links) {
    return waited + network_.one_way();
  }
  for (Duration again = kResendMin; again <= kResendMax && !network_.carries(from, to);
       again *= 2) {
    waited += again;
  }
  return waited + network_.delay(from, to);
}

/// He who shuts the other out closes at once, and the other notices.
void World::end_links_between(std::uint32_t host, std::uint32_t other) {
  for (const auto& [from, to] : {std::pair(host, other), std::pair(other, host)}) {
    for (const gossip::Channel channel : {gossip::Channel::kControl, gossip::Channel::kBulk}) {
      const Link& lost = link(from, to, channel);
      if (lost.state == Link::State::kUp) {
        queue_.push(now_ + (from == host ? Duration(0) : time_of_last_word(host, other)),
                    LinkLost{from, to, channel, lost.epoch, hosts_[from]->life, false});
      }
    }
  }
}

bool World::admits(std::uint32_t host, std::uint32_t other) const {
  return hosts_[host]->admitted.contains(hosts_[other]->link_key);
}

bool World::are_linked(std::uint32_t one, std::uint32_t other) const {
  for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
    for (const gossip::Channel channel : {gossip::Channel::kControl, gossip::Channel::kBulk}) {
      if (link(from, to, channel).state == Link::State::kUp) {
        return true;
      }
    }
  }
  return false;
}

void World::carry(std::uint32_t from, const gossip::DropLink& drop) {
  const auto target = resolve(drop.peer);
  if (target.has_value()) {
    Link& dropped = link(from, target->first, target->second);
    dropped.state = Link::State::kNone;
    ++dropped.epoch;
  }
}

/// The next agent there dials again.
void World::lose_links_of(std::uint32_t host) {
  for (std::uint32_t to = 0; to < hosts_.size(); ++to) {
    for (const gossip::Channel channel : {gossip::Channel::kControl, gossip::Channel::kBulk}) {
      Link& lost = link(host, to, channel);
      lost.state = Link::State::kNone;
      ++lost.epoch;
    }
  }
}

void World::lose_links_to(std::uint32_t host) {
  for (std::uint32_t from = 0; from < hosts_.size(); ++from) {
    for (const gossip::Channel channel : {gossip::Channel::kControl, gossip::Channel::kBulk}) {
      const Link& lost = link(from, host, channel);
      if (lost.state == Link::State::kUp && !network_.is_cut(host, from)) {
        queue_.push(now_ + network_.one_way(),
                    LinkLost{from, host, channel, lost.epoch, hosts_[from]->life, false});
      }
    }
  }
}

}  // namespace muster::sim
