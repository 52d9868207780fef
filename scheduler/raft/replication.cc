#include "scheduler/raft/replication.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "scheduler/raft/quorum.h"

namespace muster::scheduler {

Replication::Replication(const RaftConfig& config, HostId self, const Configuration& configuration,
                         LogIndex last, Instant now)
    : config_(config), self_(self) {
  set_configuration(configuration, last.next(), now);
}

void Replication::set_configuration(const Configuration& configuration, LogIndex next,
                                    Instant now) {
  self_votes_ = configuration.voter(self_) != nullptr;
  std::map<HostId, Follower> before = std::exchange(followers_, {});
  const auto add = [&](const Seat& seat, bool is_voter) {
    if (seat.host == self_) {
      return;
    }
    const auto known = before.find(seat.host);
    if (known != before.end() && known->second.seat == seat) {
      known->second.is_voter = is_voter;
      followers_.insert(before.extract(known));
    } else {
      followers_.emplace(seat.host, Follower{Progress(next, now), seat, is_voter, {}});
    }
  };
  for (const Seat& seat : configuration.voters) {
    add(seat, true);
  }
  for (const Seat& seat : configuration.learners) {
    add(seat, false);
  }
}

void Replication::begin_round(const View& view, std::vector<RaftSend>& sends) {
  ++round_;
  for (auto& [to, follower] : followers_) {
    Progress& progress = follower.progress;
    if (progress.stalled(view.now, config_.retransmit)) {
      progress.restart();
    }
    AppendRequest beat;
    beat.term = view.term;
    beat.request = ++request_;
    beat.round = round_;
    // A compacted match has no term here any more; index 0 matches every log.
    if (const auto term = view.log.term_at(progress.match()); term.has_value()) {
      beat.previous = {progress.match(), *term};
    }
    beat.durable = view.log.durable();
    beat.commit = std::min(view.commit, beat.previous.index);
    beat.committed = view.commit;
    if (follower.agreed.form != 0 && can_do_without(follower, view)) {
      beat.agreed = follower.agreed;
    }
    sends.push_back({to, std::move(beat)});
  }
}

void Replication::replicate(const View& view, std::vector<RaftSend>& sends,
                            std::vector<Event>& events) {
  const LogIndex last = view.log.last().index;
  for (auto& [to, follower] : followers_) {
    Progress& progress = follower.progress;
    while (!follower.is_starting && progress.next() <= last && progress.may_send(config_.window)) {
      const bool has_it = progress.next() > view.log.start().index;
      if (has_it && progress.state() != Progress::State::kSnapshot) {
        send_append(view, to, progress, sends);
      } else if (!send_snapshot(view, to, follower, sends, events)) {
        break;
      }
    }
  }
}

void Replication::send_append(const View& view, HostId to, Progress& progress,
                              std::vector<RaftSend>& sends) {
  AppendRequest request;
  request.term = view.term;
  request.request = ++request_;
  request.round = round_;
  const LogIndex before = LogIndex(progress.next().value() - 1);
  request.previous = {before, *view.log.term_at(before)};
  request.commit = view.commit;
  request.durable = view.log.durable();
  request.entries =
      view.log.slice(progress.next(), config_.append_bytes_max, config_.append_entries_max);
  CHECK(!request.entries.empty());
  progress.on_sent(view.now, request_, LogIndex(before.value() + request.entries.size()));
  sends.push_back({to, std::move(request)});
}

/// One part of it. False when nothing can be sent.
bool Replication::send_snapshot(const View& view, HostId to, Follower& follower,
                                std::vector<RaftSend>& sends, std::vector<Event>& events) {
  Progress& progress = follower.progress;
  if (progress.state() != Progress::State::kSnapshot) {
    const Snapshot& newest = view.log.snapshot();
    const bool fits = newest.state.size() <= kSnapshotBytesMax;
    if (fits || !follower.told_too_large) {
      events.push_back({fits ? Severity::kInfo : Severity::kAlarm,
                        fits ? "snapshot_sent" : "snapshot_too_large",
                        {{"to", to.short_hex()},
                         {"index", std::to_string(newest.at.index.value())},
                         {"bytes", std::to_string(newest.state.size())}}});
    }
    follower.told_too_large = !fits;
    if (!fits) {
      return false;
    }
    progress.begin_snapshot(view.log.shared_snapshot());
  }
  const Snapshot& snapshot = progress.snapshot();
  SnapshotChunk chunk;
  chunk.term = view.term;
  chunk.request = ++request_;
  chunk.at = snapshot.at;
  chunk.configuration = snapshot.configuration;
  chunk.total = snapshot.state.size();
  chunk.offset = progress.snapshot_offset();
  chunk.bytes = snapshot.state.substr(chunk.offset, config_.snapshot_chunk_bytes);
  progress.on_chunk_sent(view.now, request_);
  sends.push_back({to, std::move(chunk)});
  return true;
}

template <class Reply>
Replication::Follower* Replication::replier(HostId from, const Reply& reply) {
  const auto found = followers_.find(from);
  if (found == followers_.end()) {
    return nullptr;
  }
  Follower& follower = found->second;
  if (reply.request <= follower.ignore_up_to) {
    return nullptr;
  }
  if (reply.seat != follower.seat.id && !mutant(Mutant::kRaftSeatIgnored)) {
    follower.other_seat = reply.seat;
    return nullptr;
  }
  follower.other_seat.reset();
  follower.is_starting = false;
  return &follower;
}

void Replication::begin_life(const View& view, HostId member) {
  const auto found = followers_.find(member);
  if (found != followers_.end()) {
    // The last entry again: the answer says what the log holds after the start.
    found->second.progress =
        Progress(std::max(view.log.last().index, view.log.start().index.next()), view.now);
    found->second.ignore_up_to = request_;
    found->second.is_starting = true;
  }
}

void Replication::on_reply(const View& view, HostId from, const AppendReply& reply) {
  Follower* follower = replier(from, reply);
  if (follower == nullptr) {
    return;
  }
  const bool asked = reply.request <= request_ && reply.round <= round_;
  if (!asked && !mutant(Mutant::kRaftStaleReplyCounted)) {
    return;
  }
  follower->level = reply.level;
  has_hash_news_ = follower->hashes.add(reply.state) || has_hash_news_;
  Progress& progress = follower->progress;
  progress.on_contact(view.now, reply.round);
  if (reply.matched) {
    progress.on_match(std::min(reply.match, view.log.last().index));
  } else {
    progress.on_refused(reply.request, view.log.last_not_after(reply.hint).index.next());
  }
}

void Replication::on_reply(const View& view, HostId from, const SnapshotAck& reply) {
  Follower* follower = replier(from, reply);
  if (follower == nullptr || reply.request > request_) {
    return;
  }
  follower->progress.on_contact(view.now, 0);
  if (reply.match >= reply.at) {
    follower->progress.on_match(std::min(reply.match, view.log.last().index));
  } else {
    follower->progress.on_chunk_wanted(reply.request, reply.at, reply.next);
  }
}

HashFindings Replication::compare_states(const StateHashes& own, std::vector<Event>& events) {
  std::vector<HashedMember> members = {{self_, self_votes_, &own}};
  for (const auto& [host, follower] : followers_) {
    members.push_back({host, follower.is_voter, &follower.hashes});
  }
  HashFindings findings = compare_hashes(members, own.newest().form);
  for (auto& [host, follower] : followers_) {
    const bool differed = follower.agreed.form != 0;
    follower.agreed = {};
    for (const HashFindings::Diverged& each : findings.diverged) {
      follower.agreed = each.host == host ? each.agreed : follower.agreed;
    }
    if (follower.agreed.form != 0 && !differed) {
      follower.differs_since_round = round_ + 1;
      events.push_back(
          {Severity::kAlarm,
           "member_differs",
           {{"host", host.short_hex()}, {"index", std::to_string(follower.agreed.index.value())}}});
    }
  }
  return findings;
}

/// As long as a voter whose state differs is needed for a majority its acknowledgements are better
/// than none: its log is right. A voter that agrees proves that it lives by its answer to a round
/// begun since; its hash is older.
bool Replication::can_do_without(const Follower& diverged, const View& view) const {
  std::size_t voters = self_votes_ ? 1 : 0;
  std::size_t agreeing = voters;
  for (const auto& [host, follower] : followers_) {
    const Progress& progress = follower.progress;
    const bool answers = progress.round() >= diverged.differs_since_round &&
                         !follower.other_seat.has_value() &&
                         view.now - progress.heard_at() < config_.check_quorum;
    voters += follower.is_voter ? 1U : 0U;
    agreeing += follower.is_voter && answers && follower.agreed.form == 0 ? 1U : 0U;
  }
  return !diverged.is_voter || agreeing >= majority_of(voters);
}

template <class Of>
std::uint64_t Replication::majority(std::uint64_t own, Of of) const {
  std::vector<std::uint64_t> numbers;
  if (self_votes_) {
    numbers.push_back(own);
  }
  for (const auto& [host, follower] : followers_) {
    if (follower.is_voter || mutant(Mutant::kRaftLearnerCounted)) {
      numbers.push_back(of(follower.progress));
    }
  }
  return majority_reached(std::move(numbers));
}

LogIndex Replication::majority_match(LogIndex own) const {
  return LogIndex(
      majority(own.value(), [](const Progress& progress) { return progress.match().value(); }));
}

std::uint64_t Replication::majority_round() const {
  return majority(round_, [](const Progress& progress) { return progress.round(); });
}

Instant Replication::majority_heard_at(Instant now) const {
  const auto count = [](Instant at) {
    return static_cast<std::uint64_t>(at.time_since_epoch().count());
  };
  const std::uint64_t heard =
      majority(count(now), [&](const Progress& progress) { return count(progress.heard_at()); });
  return Instant(Duration(static_cast<std::int64_t>(heard)));
}

std::optional<LogIndex> Replication::oldest_snapshot_sent(Instant now) const {
  std::optional<LogIndex> oldest;
  for (const auto& [host, follower] : followers_) {
    const Progress& progress = follower.progress;
    if (progress.state() == Progress::State::kSnapshot &&
        now - progress.heard_at() < config_.check_quorum) {
      const LogIndex at = progress.snapshot().at.index;
      oldest = std::min(oldest.value_or(at), at);
    }
  }
  return oldest;
}

LogIndex Replication::match_of(HostId host) const {
  const auto found = followers_.find(host);
  return found == followers_.end() ? LogIndex() : found->second.progress.match();
}

std::size_t Replication::live_voters(const Configuration& configuration, Instant since) const {
  std::size_t live = configuration.voter(self_) != nullptr ? 1 : 0;
  for (const auto& [host, follower] : followers_) {
    // A new leader counts from its election as if it had heard everyone: only a match is proof.
    const bool answers = follower.progress.match() > LogIndex() &&
                         follower.progress.heard_at() > since && !follower.other_seat.has_value();
    live += answers && configuration.has_voter(follower.seat) ? 1U : 0U;
  }
  return live;
}

bool Replication::differs(HostId host) const {
  const auto found = followers_.find(host);
  return found != followers_.end() && found->second.agreed.form != 0;
}

HostId Replication::answers_below(std::uint64_t level, const Configuration& configuration) const {
  for (const auto& [host, follower] : followers_) {
    const bool stays =
        configuration.voter(host) != nullptr || configuration.learner(host) != nullptr;
    if (stays && follower.progress.match() > LogIndex() && follower.level < level) {
      return host;
    }
  }
  return {};
}

HostId Replication::best_successor() const {
  HostId best;
  const Progress* found = nullptr;
  for (const auto& [host, follower] : followers_) {
    const Progress& progress = follower.progress;
    if (!follower.is_voter || follower.other_seat.has_value() || follower.agreed.form != 0) {
      continue;
    }
    const bool is_better =
        found == nullptr || progress.match() > found->match() ||
        (progress.match() == found->match() && progress.heard_at() > found->heard_at());
    best = is_better ? host : best;
    found = is_better ? &progress : found;
  }
  return best;
}

std::vector<MemberLag> Replication::lag(const View& view) const {
  const LogIndex last = view.log.last().index;
  std::vector<MemberLag> lags = {
      {self_, self_votes_, last, 0, view.now, std::nullopt, config_.level}};
  for (const auto& [host, follower] : followers_) {
    const LogIndex match = follower.progress.match();
    lags.push_back({host, follower.is_voter, match, last.value() - match.value(),
                    follower.progress.heard_at(), follower.other_seat, follower.level,
                    follower.agreed.index, follower.progress.has_answered()});
  }
  return lags;
}

void Replication::check_invariants(const RaftLog& log) const {
  for (const auto& [host, follower] : followers_) {
    CHECK(follower.progress.match() < follower.progress.next());
    CHECK(follower.progress.match() <= log.last().index);
  }
}

}  // namespace muster::scheduler
