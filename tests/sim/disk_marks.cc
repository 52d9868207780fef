#include "tests/sim/disk_marks.h"

#include <algorithm>

#include "gossip/wire/message.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/log.h"
#include "tests/sim/checkers.h"

namespace muster::sim {
namespace {

constexpr Duration kWatchEvery = std::chrono::milliseconds(20);

std::optional<scheduler::RecoveredLog> log_on(const World& world, std::uint32_t host) {
  auto log = scheduler::recover_log(world.disk(host).read(crdt::Environment::kRaft));
  return log ? std::optional(std::move(log).value()) : std::nullopt;
}

SeatId seat_on(const World& world, std::uint32_t host) {
  const auto& sealed = world.disk(host).sealed(crdt::Environment::kRaft);
  const auto found = sealed.find(std::string(scheduler::kSeatKey));
  if (found == sealed.end()) {
    return SeatId();
  }
  const auto document = gossip::Document::parse(*crdt::unseal(found->first, found->second));
  return document ? document->root().num<SeatId>() : SeatId();
}

scheduler::Configuration configuration_of(const World& world, std::uint32_t host) {
  const scheduler::Raft* raft = world.is_running(host) ? world.node(host).seat().raft() : nullptr;
  if (raft != nullptr) {
    return raft->configuration();
  }
  auto disk = log_on(world, host);
  return disk.has_value() ? scheduler::RaftLog(*disk).configuration() : scheduler::Configuration();
}

bool has_seat(const scheduler::Configuration& members, HostId host, SeatId seat) {
  const scheduler::Seat* voter = members.voter(host);
  const scheduler::Seat* learner = members.learner(host);
  return (voter != nullptr && voter->id == seat) || (learner != nullptr && learner->id == seat);
}

/// The words of a seat that no configuration names count nowhere, and promise nothing.
bool is_in_some_configuration(const World& world, HostId host, SeatId seat) {
  for (std::uint32_t index = 0; index < world.size(); ++index) {
    if (has_seat(configuration_of(world, index), host, seat)) {
      return true;
    }
  }
  return false;
}

std::optional<scheduler::RaftMessage> raft_word(const std::string& bytes) {
  const auto message = gossip::decode(bytes);
  if (!message.has_value()) {
    return std::nullopt;
  }
  auto body = scheduler::decode_raft_message(message->envelope().type, message->body());
  return body ? std::optional(*std::move(body)) : std::nullopt;
}

}  // namespace

void DiskMarks::note(Word& word, const Word& more) {
  if (more.term > word.term) {
    word = more;
  } else if (more.term == word.term) {
    word.match = std::max(word.match, more.match);
    word.votes.insert(more.votes.begin(), more.votes.end());
  }
}

/// In its own seat and term a voter loses nothing that it acknowledged, nor a vote.
bool DiskMarks::holds_less(const scheduler::RecoveredLog& disk, const Word& word) {
  const std::uint64_t last = disk.start.index.value() + disk.entries.size();
  if (word.term != disk.hard_state.term) {
    return word.term > disk.hard_state.term;
  }
  return word.match.value() > last ||
         std::any_of(word.votes.begin(), word.votes.end(),
                     [&](const HostId& vote) { return vote != disk.hard_state.vote; });
}

bool DiskMarks::reaches(World& world, std::uint32_t one, std::uint32_t other) {
  const NetworkFaults& faults = world.network().faults;
  return world.is_running(one) && world.is_running(other) && !world.is_frozen(one) &&
         !world.is_frozen(other) && !world.network().is_cut(one, other) &&
         !world.network().is_cut(other, one) && faults.loss == 0 && faults.late == 0;
}

void DiskMarks::on_said(World& world, std::uint32_t host, const std::string& bytes) {
  const auto word = raft_word(bytes);
  if (!word.has_value()) {
    return;
  }
  const auto say = [&](SeatId seat, Word what) {
    compared(world, host);  // Whatever it did before, now it speaks.
    note(said_[{world.id(host), seat}], std::move(what));
  };
  if (const auto* reply = std::get_if<scheduler::AppendReply>(&*word)) {
    if (!reply->answer.has_value()) {
      say(reply->seat, {reply->term, reply->matched ? reply->match : LogIndex(), {}});
    }
  } else if (const auto* ack = std::get_if<scheduler::SnapshotAck>(&*word)) {
    say(ack->seat, {ack->term, ack->match, {}});
  } else if (const auto* vote = std::get_if<scheduler::VoteReply>(&*word)) {
    if (!vote->pre_vote) {
      say(vote->seat, {vote->term, LogIndex(), {}});
    }
  } else if (const auto* append = std::get_if<scheduler::AppendRequest>(&*word);
             append != nullptr && append->term > Term()) {
    say(seat_on(world, host), {append->term, append->durable, {}});
  }
}

void DiskMarks::on_heard(World& world, std::uint32_t host, const gossip::Received& message) {
  const auto word = raft_word(message.bytes);
  const scheduler::Raft* raft = world.node(host).seat().raft();
  if (!word.has_value() || raft == nullptr) {
    return;
  }
  const bool leads = raft->role() == scheduler::Role::kLeader;
  const auto hear = [&](SeatId seat, Word what) {
    if (!has_seat(raft->configuration(), message.sender.host, seat)) {
      return;
    }
    note(heard_[host][{message.sender.host, seat}], what);
    // The host that a vote arrives at is the one it is for.
    note(said_[{message.sender.host, seat}], what);
  };
  if (const auto* reply = std::get_if<scheduler::AppendReply>(&*word)) {
    if (!reply->answer.has_value()) {
      const bool counts = leads && reply->matched && reply->term == raft->term();
      hear(reply->seat, {reply->term, counts ? reply->match : LogIndex(), {}});
    }
  } else if (const auto* ack = std::get_if<scheduler::SnapshotAck>(&*word)) {
    const bool counts = leads && ack->term == raft->term();
    hear(ack->seat, {ack->term, counts ? ack->match : LogIndex(), {}});
  } else if (const auto* vote = std::get_if<scheduler::VoteReply>(&*word)) {
    if (!vote->pre_vote) {
      hear(vote->seat, {vote->term, LogIndex(),
                        vote->granted ? std::set<HostId>{world.id(host)} : std::set<HostId>()});
    }
  }
}

void DiskMarks::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name == "agent_started") {
    forget(host);
    started(world, host);
  } else if (event.name == "disk_compared") {
    forget(host);  // It did not heed the words that it heard meanwhile.
    compared(world, host);
  } else if (event.name == "disk_went_back") {
    ++losses_.noticed;
    void_seats_.insert({world.id(host), seat_on(world, host)});
    losses_.known += starts_.contains(host) && !starts_[host].knowing.empty() ? 1U : 0U;
    starts_.erase(host);
    count_lost_seats(world);
  } else if (event.name == "seat_given_up" && world.is_copy(host)) {
    void_seats_.insert({world.id(host), seat_on(world, host)});
    count_lost_seats(world);
  } else if (event.name == "applied") {
    led(world, host, event);
  }
}

/// A leader counts its own disk and tells no host: that it applied an entry is its word.
void DiskMarks::led(World& world, std::uint32_t host, const Event& applied) {
  const scheduler::Raft* raft = world.node(host).seat().raft();
  const std::uint64_t index = number(applied.field("index"));
  const auto& sealed = world.disk(host).sealed(crdt::Environment::kRaft);
  if (raft != nullptr && raft->role() == scheduler::Role::kLeader) {
    leaders_ = raft->configuration();
  }
  if (raft != nullptr && raft->role() == scheduler::Role::kLeader &&
      sealed.contains(crdt::key_of(scheduler::kLogTable, index))) {
    note(said_[{world.id(host), seat_on(world, host)}], {raft->term(), LogIndex(index), {}});
  }
}

/// Its memory, not its disk.
void DiskMarks::forget(std::uint32_t host) {
  heard_.erase(host);
  for (auto& [other, start] : starts_) {
    start.knowing.erase(host);
  }
}

void DiskMarks::started(World& world, std::uint32_t host) {
  starts_.erase(host);
  const auto disk = log_on(world, host);
  // An image may be of an earlier seat, or of none.
  for (const auto& [place, word] : said_) {
    if (place.first == world.id(host) && disk.has_value() && place.second != disk->seat) {
      void_seats_.insert(place);
    }
  }
  count_lost_seats(world);
  const auto said = disk.has_value() ? said_.find({world.id(host), disk->seat}) : said_.end();
  if (said == said_.end() || !holds_less(*disk, said->second) ||
      !is_in_some_configuration(world, world.id(host), disk->seat)) {
    return;
  }
  ++losses_.went_back;
  Start& start = starts_[host];
  start.number = ++last_start_;
  for (const auto& [hearer, words] : heard_) {
    const auto word = words.find(said->first);
    if (hearer != host && world.is_running(hearer) && word != words.end() &&
        holds_less(*disk, word->second)) {
      start.knowing.insert(hearer);
      start.is_heard = true;
    }
  }
  world.at(world.now(),
           [this, &world, host, number = start.number] { watch(world, host, number); });
}

void DiskMarks::watch(World& world, std::uint32_t host, std::uint64_t number) {
  const auto found = starts_.find(host);
  if (found == starts_.end() || found->second.number != number) {
    return;
  }
  std::erase_if(found->second.knowing,
                [&](std::uint32_t other) { return !reaches(world, host, other); });
  world.at(world.now() + kWatchEvery, [this, &world, host, number] { watch(world, host, number); });
}

void DiskMarks::compared(World& world, std::uint32_t host) {
  const auto found = starts_.find(host);
  if (found == starts_.end()) {
    return;
  }
  Start start = std::move(found->second);
  starts_.erase(found);
  std::erase_if(start.knowing, [&](std::uint32_t other) { return !reaches(world, host, other); });
  said_.erase({world.id(host), seat_on(world, host)});  // Told once.
  void_seats_.insert({world.id(host), seat_on(world, host)});
  if (start.knowing.empty()) {
    ++losses_.unknown;
    losses_.unheard += start.is_heard ? 0U : 1U;
  } else {
    ++losses_.known;
    world.violation(name(), "host " + std::to_string(host) +
                                " goes on from a disk that went back, as host " +
                                std::to_string(*start.knowing.begin()) + " knows");
  }
  count_lost_seats(world);
}

void DiskMarks::disk_lost(World& world, std::uint32_t host) {
  void_seats_.insert({world.id(host), seat_on(world, host)});
  count_lost_seats(world);
}

/// In any configuration that some voter goes by, or that the last leader went by: all may have lost
/// theirs.
void DiskMarks::count_lost_seats(World& world) {
  if (void_seats_.size() == counted_seats_) {
    return;
  }
  counted_seats_ = void_seats_.size();
  const auto is_lost = [&](const scheduler::Configuration& members) {
    const auto& voters = members.voters;
    const auto lost = std::count_if(voters.begin(), voters.end(), [&](const auto& seat) {
      return void_seats_.contains({seat.host, seat.id});
    });
    return !voters.empty() && 2 * static_cast<std::size_t>(lost) >= voters.size();
  };
  bool is_majority = is_lost(leaders_);
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    is_majority = is_majority || is_lost(configuration_of(world, host));
  }
  losses_.majorities += is_majority ? 1U : 0U;
}

}  // namespace muster::sim
