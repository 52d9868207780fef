#include "tests/scheduler/raft/checkers.h"

#include <algorithm>
#include <set>

#include "gossip/wire/wire.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/quorum.h"

namespace muster::scheduler::sim {
namespace {

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

/// The term in an encoded entry; 0 if the entry does not parse.
std::uint64_t term_of(const std::string& encoded) {
  const Result<gossip::Document> document = gossip::Document::parse(encoded);
  return document ? document->root().u64() : 0;
}

std::uint64_t snapshot_index(const crdt::Records& records) {
  const auto found = records.find(std::string(kSnapshotKey));
  return found == records.end() ? 0 : term_of(found->second);
}

bool holds(const crdt::Records& records, LogIndex index, const std::string& encoded) {
  if (snapshot_index(records) >= index.value()) {
    return true;
  }
  const auto found = records.find(crdt::key_of(kLogTable, index.value()));
  return found != records.end() && found->second == encoded;
}

/// A [number, number] record; zeroes if there is no such record.
LogPosition position_in(const crdt::Records& records, std::string_view key) {
  const auto found = records.find(std::string(key));
  if (found == records.end()) {
    return {};
  }
  const Result<gossip::Document> document = gossip::Document::parse(found->second);
  gossip::Reader in = document->root();
  const auto index = in.num<LogIndex>();
  return {index, in.num<Term>()};
}

/// The last entry on a disk, read by its key alone: this runs at every commit.
LogPosition last_of(const crdt::Records& records) {
  auto behind = records.lower_bound("log0");  // '0' follows '/'.
  if (behind != records.begin()) {
    --behind;
    if (const auto index = crdt::number_of(kLogTable, behind->first); index.has_value()) {
      return {LogIndex(*index), Term(term_of(behind->second))};
    }
  }
  return position_in(records, kSnapshotKey);
}

/// The contents of a disk once all writes handed over are synced.
crdt::Records with_pending(const Disk& disk) {
  crdt::Records records = disk.durable;
  for (const Raft::Persist& persist : disk.pending) {
    for (const crdt::Write& write : persist.writes) {
      if (write.value.has_value()) {
        records[write.key] = *write.value;
      } else {
        records.erase(write.key);
      }
    }
  }
  return records;
}

/// The newest configuration in the log on a disk.
Configuration configuration_in(const crdt::Records& records) {
  const std::uint64_t snapshot = snapshot_index(records);
  for (auto at = records.lower_bound("log0"); at != records.begin();) {
    --at;
    const auto index = crdt::number_of(kLogTable, at->first);
    if (!index.has_value() || *index <= snapshot) {
      break;
    }
    const Result<gossip::Document> document = gossip::Document::parse(at->second);
    gossip::Reader in = document->root();
    (void)in.u64();
    if (in.u64() == static_cast<std::uint64_t>(LogEntryKind::kConfiguration)) {
      return *decode_configuration(in.bytes());
    }
  }
  const auto base = records.find(std::string(kConfigurationKey));
  if (base != records.end()) {
    return *decode_configuration(base->second);
  }
  const auto founders = records.find(std::string(kVotersKey));
  if (founders == records.end()) {
    return {};
  }
  const Result<gossip::Document> document = gossip::Document::parse(founders->second);
  gossip::Reader in = document->root();
  return founding(read_voters(in));
}

SeatId seat_in(const crdt::Records& records) {
  const auto found = records.find(std::string(kSeatKey));
  return found == records.end() ? SeatId() : SeatId(term_of(found->second));
}

HardState hard_state_of(const crdt::Records& records) {
  const auto found = records.find(std::string(kHardStateKey));
  if (found == records.end()) {
    return {};
  }
  const Result<gossip::Document> document = gossip::Document::parse(found->second);
  gossip::Reader in = document->root();
  const auto term = in.num<Term>();
  return {term, in.id<HostId>()};
}

bool at_least(LogPosition candidate, LogPosition voter) {
  return candidate.term > voter.term ||
         (candidate.term == voter.term && candidate.index >= voter.index);
}

/// Raft figure 3, election safety: at most one leader a term.
class OneLeaderATerm : public Checker {
 public:
  std::string_view name() const override { return "one_leader_a_term"; }
  void on_event(const View&, std::size_t host, const Event& event) override {
    if (event.name != "leader_elected") {
      return;
    }
    const auto [at, added] = leaders_.emplace(event.field("term"), host);
    if (!added && at->second != host) {
      violate("term " + at->first + " has leaders " + number(at->second) + " and " + number(host));
    }
  }

 private:
  std::map<std::string, std::size_t> leaders_;
};

/// Raft figure 3, log matching: entries of one index and term are the same on all disks, and so are
/// their predecessors.
class LogMatching : public Checker {
 public:
  std::string_view name() const override { return "log_matching"; }
  void on_durable(const View& view, std::size_t host, const crdt::WriteBatch& batch) override {
    const crdt::Records& records = view.disks[host].durable;
    for (const crdt::Write& write : batch) {
      const auto index = crdt::number_of(kLogTable, write.key);
      const auto found = records.find(write.key);
      if (!index.has_value() || found == records.end()) {
        continue;
      }
      const auto before = records.find(crdt::key_of(kLogTable, *index - 1));
      const std::uint64_t term_before = before == records.end() ? 0 : term_of(before->second);
      compare({*index, term_of(found->second)}, found->second, term_before);
    }
  }

 private:
  struct Known {
    std::string entry;
    std::uint64_t term_before = 0;  ///< 0 = not seen yet (compacted or first).
  };
  void compare(std::pair<std::uint64_t, std::uint64_t> place, const std::string& entry,
               std::uint64_t term_before) {
    Known& known = known_.emplace(place, Known{entry, term_before}).first->second;
    known.term_before = known.term_before == 0 ? term_before : known.term_before;
    if (known.entry != entry || (term_before != 0 && known.term_before != term_before)) {
      violate("two entries at index " + number(place.first) + " term " + number(place.second));
    }
  }
  std::map<std::pair<std::uint64_t, std::uint64_t>, Known> known_;
};

/// When an entry commits, the disks of the voters as they are hold it on a majority, and no voter
/// that lacks it could win an election among them (5.4.2, figure 8). The voters are those of the
/// host that committed it first, which is its leader, in the seats that it counts (thesis 4.1).
class DurableCommit : public Checker {
 public:
  std::string_view name() const override { return "durable_commit"; }
  void on_applied(const View& view, std::size_t host, const Applied& applied) override {
    if (applied.index.value() <= checked_) {
      return;
    }
    checked_ = applied.index.value();
    const std::string entry =
        *write_of(applied.index, {applied.term, applied.kind, applied.command}).value;
    const Configuration configuration = configuration_in(with_pending(view.disks[host]));
    std::vector<Voter> voters;
    for (std::size_t i = 0; i < view.disks.size(); ++i) {
      const crdt::Records& records = view.disks[i].durable;
      if (configuration.has_voter({view.hosts[i], seat_in(records)})) {
        voters.push_back({i, holds(records, applied.index, entry), last_of(records)});
      }
    }
    const std::size_t majority = majority_of(configuration.voters.size());
    const auto count = static_cast<std::size_t>(std::count_if(
        voters.begin(), voters.end(), [](const Voter& voter) { return voter.holds_it; }));
    // A disk that is gone may have held it when it was counted. It gives no vote any more, so the
    // other disks decide whether the entry can be lost.
    const std::size_t gone = configuration.voters.size() - voters.size();
    if (count + gone < majority) {
      violate("host " + number(host) + " committed index " + number(checked_) + " held by " +
              number(count) + " of " + number(configuration.voters.size()) + " disks");
    } else {
      check_losable(voters, majority);
    }
  }

 private:
  struct Voter {
    std::size_t host = 0;
    bool holds_it = false;
    LogPosition last;
  };
  void check_losable(const std::vector<Voter>& voters, std::size_t majority) {
    for (const Voter& candidate : voters) {
      const auto votes = static_cast<std::size_t>(
          std::count_if(voters.begin(), voters.end(),
                        [&](const Voter& voter) { return at_least(candidate.last, voter.last); }));
      if (!candidate.holds_it && votes >= majority) {
        violate("committed index " + number(checked_) + " could be lost: host " +
                number(candidate.host) + " lacks it and could be elected");
      }
    }
  }
  std::uint64_t checked_ = 0;
};

/// Raft figure 3, state machine safety: every host applies the same, in order.
class StateMachineSafety : public Checker {
 public:
  std::string_view name() const override { return "state_machine_safety"; }
  void on_applied(const View&, std::size_t host, const Applied& applied) override {
    const auto [at, added] = digests_.emplace(applied.index.value(), applied.digest);
    if (!added && at->second != applied.digest) {
      violate("host " + number(host) + " applied something else at index " + number(at->first));
    }
  }

 private:
  std::map<std::uint64_t, std::uint64_t> digests_;
};

/// Raft figure 3, leader completeness: a new leader holds everything committed before.
class LeaderCompleteness : public Checker {
 public:
  std::string_view name() const override { return "leader_completeness"; }
  void on_applied(const View&, std::size_t, const Applied& applied) override {
    committed_.emplace(
        applied.index.value(),
        *write_of(applied.index, {applied.term, applied.kind, applied.command}).value);
  }
  void on_event(const View& view, std::size_t host, const Event& event) override {
    if (event.name != "leader_elected" || committed_.empty()) {
      return;
    }
    // Writes that it handed to its disk count: the machine answers for them.
    const crdt::Records records = with_pending(view.disks[host]);
    for (const auto& [index, entry] : committed_) {
      if (!holds(records, LogIndex(index), entry)) {
        violate("leader " + number(host) + " of term " + std::string(event.field("term")) +
                " lacks committed index " + number(index));
        return;
      }
    }
  }

 private:
  std::map<std::uint64_t, std::string> committed_;
};

/// Thesis 6.4: a read is confirmed at an index no lower than anything applied anywhere before it
/// was asked.
class LinearizableReads : public Checker {
 public:
  std::string_view name() const override { return "linearizable_reads"; }
  void on_applied(const View&, std::size_t, const Applied& applied) override {
    highest_ = std::max(highest_, applied.index);
  }
  void on_read(const View&, std::uint64_t context) override { asked_[context] = highest_; }
  void on_confirmed(const View&, const ConfirmedRead& read) override {
    if (read.index < asked_[read.context]) {
      violate("read confirmed at " + number(read.index.value()) + " although " +
              number(asked_[read.context].value()) + " was applied before it was asked");
    }
    asked_.erase(read.context);
  }

 private:
  LogIndex highest_;
  std::map<std::uint64_t, LogIndex> asked_;
};

/// 5.2: a vote that leaves a host is on its disk.
class DurableVote : public Checker {
 public:
  std::string_view name() const override { return "durable_vote"; }
  void on_sent(const View& view, std::size_t from, std::size_t to,
               const RaftMessage& message) override {
    const auto* reply = std::get_if<VoteReply>(&message);
    if (reply == nullptr || reply->pre_vote || !reply->granted) {
      return;
    }
    const HardState disk = hard_state_of(view.disks[from].durable);
    const bool later = disk.term > reply->term;
    const bool given = disk == HardState{reply->term, view.hosts[to]};
    if (!later && !given) {
      violate("host " + number(from) + " sent a vote of term " + number(reply->term.value()) +
              " that its disk does not hold");
    }
  }
};

/// Thesis 4.2.3: a host that heard a leader within the smallest election timeout gives no pre-vote.
class StickyVoters : public Checker {
 public:
  std::string_view name() const override { return "sticky_voters"; }
  void on_delivered(const View& view, std::size_t to, const RaftMessage&, bool followed) override {
    if (followed) {
      heard_[to] = view.now;
    }
  }
  void on_forgets_leader(const View&, std::size_t host) override { heard_.erase(host); }
  void on_sent(const View& view, std::size_t from, std::size_t,
               const RaftMessage& message) override {
    const auto* reply = std::get_if<VoteReply>(&message);
    if (reply == nullptr || !reply->pre_vote || !reply->granted || !heard_.contains(from)) {
      return;
    }
    if (view.now - heard_[from] < RaftConfig().election_timeout_min) {
      violate("host " + number(from) + " gave a pre-vote " +
              number(static_cast<std::uint64_t>(to_ms(view.now - heard_[from]))) +
              " ms after it heard its leader");
    }
  }

 private:
  std::map<std::size_t, Instant> heard_;
};

/// No schedule here contains a reason to halt.
class NobodyHalts : public Checker {
 public:
  std::string_view name() const override { return "nobody_halts"; }
  void on_event(const View&, std::size_t host, const Event& event) override {
    if (event.name == "raft_halted") {
      violate("host " + number(host) + ": " + event.text());
    }
  }
};

}  // namespace

std::vector<std::unique_ptr<Checker>> all_checkers() {
  std::vector<std::unique_ptr<Checker>> checkers;
  checkers.push_back(std::make_unique<OneLeaderATerm>());
  checkers.push_back(std::make_unique<LogMatching>());
  checkers.push_back(std::make_unique<DurableCommit>());
  checkers.push_back(std::make_unique<StateMachineSafety>());
  checkers.push_back(std::make_unique<LeaderCompleteness>());
  checkers.push_back(std::make_unique<LinearizableReads>());
  checkers.push_back(std::make_unique<DurableVote>());
  checkers.push_back(std::make_unique<StickyVoters>());
  checkers.push_back(std::make_unique<NobodyHalts>());
  return checkers;
}

}  // namespace muster::scheduler::sim
