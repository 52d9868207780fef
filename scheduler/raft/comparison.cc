#include "scheduler/raft/comparison.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace muster::scheduler {

Comparison::Comparison(HostId self, const std::vector<HostId>& voters, std::uint64_t question,
                       Instant now, bool is_of_copy)
    : self_(self),
      question_(question),
      voters_(voters.begin(), voters.end()),
      patient_until_(now + kPatience),
      ask_at_(now),
      is_of_copy_(is_of_copy),
      leads_without_at_(is_of_copy ? now + kLeadsWithoutCopy : now) {
  needed_ = voters_.size() / 2 + 1;
  needed_ -= voters_.erase(self);
}

void Comparison::also_ask(HostId host, Instant now) {
  const bool is_asked = host == self_ || voters_.contains(host) || also_.contains(host);
  if (!is_asked && also_.size() < kAlsoAskedMax) {
    if (voters_.empty() && also_.empty()) {
      patient_until_ = now + kPatience;  // Nobody could be asked before.
    }
    also_.insert(host);
    ask_at_ = now;
  }
}

void Comparison::await_learner(HostId host, Instant now) {
  const bool is_asked = host == self_ || voters_.contains(host) || learners_.contains(host);
  if (!is_asked && learners_.size() < kAlsoAskedMax) {
    learners_.insert(host);
    ask_at_ = now;
  }
}

std::vector<HostId> Comparison::due(Instant now) {
  if (now < ask_at_) {
    return {};
  }
  ask_at_ = now + kAskEvery;
  std::set<HostId> hosts = voters_;
  hosts.insert(also_.begin(), also_.end());
  hosts.insert(learners_.begin(), learners_.end());
  return {hosts.begin(), hosts.end()};
}

void Comparison::answered(HostId from, Term term, const Answer& answer, Instant now) {
  answered_.insert(from);
  if (answer.leads && !leader_answered_ && voters_.empty()) {
    patient_until_ = now + kPatience;  // The voters to wait for are known only now.
  }
  leader_answered_ = leader_answered_ || (answer.leads && now >= leads_without_at_);
  term_ = std::max(term_, term);
  const auto order = [](const LogPosition& at) { return std::tuple(at.term, at.index); };
  commit_ = std::max(commit_, answer.commit, [&](const LogPosition& a, const LogPosition& b) {
    return order(a) < order(b);
  });
  for (const HostId& voter : answer.voters) {
    also_ask(voter, now);
  }
  for (const HostId& learner : answer.learners) {
    await_learner(learner, now);
  }
}

bool Comparison::is_over(Instant now) const {
  if (is_of_copy_) {
    return false;
  }
  const auto count_of = [this](const std::set<HostId>& hosts) {
    return static_cast<std::size_t>(std::ranges::count_if(
        hosts, [this](const HostId& host) { return answered_.contains(host); }));
  };
  const std::size_t count = count_of(voters_);
  const bool is_patient = now < patient_until_;
  const bool has_majority = !voters_.empty() && count >= needed_;
  const bool has_all = count == voters_.size() && count_of(also_) == also_.size() &&
                       count_of(learners_) == learners_.size();
  return ((has_majority || leader_answered_) && (has_all || !is_patient)) ||
         (count_of(also_) > 0 && now >= patient_until_ + kPatienceWithStrangers);
}

std::vector<HostId> Comparison::asked_besides() const {
  std::vector<HostId> hosts(also_.begin(), also_.end());
  std::ranges::copy_if(learners_, std::back_inserter(hosts),
                       [this](const HostId& host) { return !also_.contains(host); });
  return hosts;
}

Instant Comparison::next_deadline() const {
  return voters_.empty() && also_.empty() && learners_.empty() ? kNever : ask_at_;
}

void Marks::heard(HostId host, SeatId seat, Term term) {
  const auto place = std::pair(host, seat);
  if (marks_.size() >= kMax && !marks_.contains(place)) {
    marks_.erase(marks_.begin());
  }
  Mark& mark = marks_[place];
  if (term > mark.term) {
    mark = {term};
  }
}

void Marks::heard_vote(HostId host, SeatId seat, Term term) {
  heard(host, seat, term);
  Mark& mark = marks_[{host, seat}];
  mark.has_voted = mark.has_voted || mark.term == term;
}

void Marks::heard_match(HostId host, SeatId seat, Term term, LogPosition match) {
  heard(host, seat, term);
  Mark& mark = marks_[{host, seat}];
  if (mark.term == term && match.index > mark.match.index) {
    mark.match = match;
  }
}

Mark Marks::of(HostId host, SeatId seat) const {
  const auto found = marks_.find({host, seat});
  return found == marks_.end() ? Mark() : found->second;
}

}  // namespace muster::scheduler
