#include "scheduler/raft/replication.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "scheduler/raft/quorum.h"

namespace muster::scheduler {

Replication::Replication(const RaftConfig& config, HostId self, const std::vector<HostId>& voters,
                         LogIndex last, Instant now)
    : config_(config), self_(self) {
  for (const HostId& voter : voters) {
    if (voter != self) {
      followers_.emplace(voter, Progress(last.next(), now));
    }
  }
}

void Replication::begin_round(const View& view, std::vector<RaftSend>& sends) {
  ++round_;
  for (auto& [to, progress] : followers_) {
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
    beat.commit = std::min(view.commit, beat.previous.index);
    sends.push_back({to, std::move(beat)});
  }
}

void Replication::replicate(const View& view, std::vector<RaftSend>& sends,
                            std::vector<Event>& events) {
  const LogIndex last = view.log.last().index;
  for (auto& [to, progress] : followers_) {
    while (progress.next() <= last && progress.may_send(config_.window)) {
      if (progress.next() > view.log.start().index) {
        send_append(view, to, progress, sends);
      } else if (!send_snapshot(view, to, progress, sends, events)) {
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
  request.entries =
      view.log.slice(progress.next(), config_.append_bytes_max, config_.append_entries_max);
  CHECK(!request.entries.empty());
  progress.on_sent(view.now, request_, LogIndex(before.value() + request.entries.size()));
  sends.push_back({to, std::move(request)});
}

bool Replication::send_snapshot(const View& view, HostId to, Progress& progress,
                                std::vector<RaftSend>& sends, std::vector<Event>& events) {
  const Snapshot& snapshot = view.log.snapshot();
  const bool fits = snapshot.state.size() <= kSnapshotBytesMax;
  events.push_back({fits ? Severity::kInfo : Severity::kAlarm,
                    fits ? "snapshot_sent" : "snapshot_too_large",
                    {{"to", to.short_hex()},
                     {"index", std::to_string(snapshot.at.index.value())},
                     {"bytes", std::to_string(snapshot.state.size())}}});
  // A snapshot that does not fit still occupies the follower until its retransmit time, so that the
  // alarm repeats every few seconds and not with every entry.
  progress.on_snapshot_sent(view.now, ++request_, snapshot.at.index);
  if (fits) {
    sends.push_back({to, SnapshotRequest{view.term, request_, snapshot}});
  }
  return fits;
}

void Replication::on_reply(const View& view, HostId from, const AppendReply& reply) {
  const auto found = followers_.find(from);
  if (found == followers_.end()) {
    return;
  }
  const bool asked = reply.request <= request_ && reply.round <= round_;
  if (!asked && !mutant(Mutant::kRaftStaleReplyCounted)) {
    return;
  }
  Progress& progress = found->second;
  progress.on_contact(view.now, reply.round);
  if (reply.matched) {
    progress.on_match(std::min(reply.match, view.log.last().index));
  } else {
    progress.on_refused(reply.request, view.log.last_not_after(reply.hint).index.next());
  }
}

void Replication::on_reply(const View& view, HostId from, const SnapshotReply& reply) {
  const auto found = followers_.find(from);
  if (found == followers_.end() || reply.request > request_) {
    return;
  }
  found->second.on_contact(view.now, 0);
  found->second.on_match(std::min(reply.match, view.log.last().index));
}

LogIndex Replication::majority_match(LogIndex own) const {
  std::vector<std::uint64_t> matches = {own.value()};
  for (const auto& [voter, progress] : followers_) {
    matches.push_back(progress.match().value());
  }
  return LogIndex(majority_reached(std::move(matches)));
}

std::uint64_t Replication::majority_round() const {
  std::vector<std::uint64_t> rounds = {round_};
  for (const auto& [voter, progress] : followers_) {
    rounds.push_back(progress.round());
  }
  return majority_reached(std::move(rounds));
}

Instant Replication::majority_heard_at(Instant now) const {
  std::vector<std::uint64_t> heard = {static_cast<std::uint64_t>(now.time_since_epoch().count())};
  for (const auto& [voter, progress] : followers_) {
    heard.push_back(static_cast<std::uint64_t>(progress.heard_at().time_since_epoch().count()));
  }
  return Instant(Duration(static_cast<std::int64_t>(majority_reached(std::move(heard)))));
}

std::vector<VoterLag> Replication::lag(const View& view) const {
  const LogIndex last = view.log.last().index;
  std::vector<VoterLag> lags = {{self_, last, 0, view.now}};
  for (const auto& [voter, progress] : followers_) {
    lags.push_back(
        {voter, progress.match(), last.value() - progress.match().value(), progress.heard_at()});
  }
  return lags;
}

void Replication::check_invariants(const RaftLog& log) const {
  for (const auto& [voter, progress] : followers_) {
    CHECK(progress.match() < progress.next());
    CHECK(progress.match() <= log.last().index);
  }
}

}  // namespace muster::scheduler
