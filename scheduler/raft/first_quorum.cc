#include "scheduler/raft/first_quorum.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/state_machine.h"

namespace muster::scheduler {

static_assert(StateMachine<FirstQuorum>);

Status FirstQuorum::Config::validate() const {
  if (expect != 0 && expect != 1 && expect != 3 && expect != 5) {
    return Error{ErrorCode::kInvalid, "a first quorum has 1, 3 or 5 voters"};
  }
  if (expect != 0 && 2 * expect <= founder_count) {
    return Error{ErrorCode::kInvalid,
                 "a first quorum must be more than half of the founders: otherwise two clusters "
                 "could form"};
  }
  return ok();
}

FirstQuorum::FirstQuorum(const Config& config, HostId self, Rng rng, RecoveredQuorum recovered,
                         Instant now)
    : config_(config),
      self_(self),
      rng_(rng),
      formed_(std::move(recovered.formed)),
      promise_(std::move(recovered.promise)),
      refused_(std::move(recovered.refused)) {
  CHECK(config_.validate().has_value());
  if (formed_.has_value() || promise_.has_value()) {
    agreed_ = {self_};
    deadline_ = now;
  }
}

FirstQuorum::Output FirstQuorum::take_output() {
  return std::exchange(output_, Output());
}

void FirstQuorum::step(Instant now, Input input) {
  std::visit([&](const auto& fact) { handle(now, fact); }, input);
}

void FirstQuorum::tick(Instant now) {
  if (now < deadline_) {
    return;
  }
  deadline_ = kNever;
  if (formed_.has_value() || promise_.has_value()) {
    ask_members(now);
  } else if (std::optional<std::vector<HostId>> voters = best_set(); voters.has_value()) {
    propose(now, *std::move(voters));
  }
}

void FirstQuorum::handle(Instant now, const FoundersKnown& input) {
  const std::optional<std::vector<HostId>> before = best_set();
  founders_.clear();
  for (const Founder& founder : input.founders) {
    founders_.push_back(founder.host);
    cluster_exists_ = cluster_exists_ || founder.has_cluster;
  }
  std::sort(founders_.begin(), founders_.end());
  founders_.erase(std::unique(founders_.begin(), founders_.end()), founders_.end());
  if (!formed_.has_value() && !promise_.has_value() && best_set() != before) {
    plan_proposal(now);
  }
}

void FirstQuorum::handle(Instant now, const PeerMessage& input) {
  std::visit([&](const auto& message) { on_message(now, input.from, message); }, input.message);
}

void FirstQuorum::handle(Instant now, const Persisted& input) {
  CHECK(input.id <= last_batch_);
  durable_batch_ = std::max(durable_batch_, input.id);
  while (!held_.empty() && held_.front().batch <= durable_batch_) {
    output_.messages.push_back(std::move(held_.front().send));
    held_.pop_front();
  }
  if (formed_batch_ != 0 && formed_batch_ <= durable_batch_) {
    formed_batch_ = 0;
    output_.formed = formed_;
  }
  form_if_complete(now);
}

/// The lowest known founders, if there are enough, none has a cluster and this host is among them.
std::optional<std::vector<HostId>> FirstQuorum::best_set() const {
  if (config_.expect == 0 || cluster_exists_ || founders_.size() < config_.expect) {
    return std::nullopt;
  }
  std::vector<HostId> voters(founders_.begin(),
                             founders_.begin() + static_cast<std::ptrdiff_t>(config_.expect));
  if (!std::binary_search(voters.begin(), voters.end(), self_)) {
    return std::nullopt;
  }
  return voters;
}

void FirstQuorum::plan_proposal(Instant now) {
  deadline_ = kNever;
  const std::optional<std::vector<HostId>> voters = best_set();
  if (voters.has_value() && refused_.size() < kRefusalsMax) {
    const auto rank = std::find(voters->begin(), voters->end(), self_) - voters->begin();
    deadline_ = now + config_.takeover * static_cast<std::int64_t>(rank);
  }
}

void FirstQuorum::propose(Instant now, std::vector<HostId> voters) {
  std::array<std::uint8_t, ClusterId::kSizeBytes> bytes{};
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(rng_.below(256));
  }
  const QuorumProposal proposal{ClusterId(bytes), std::move(voters)};
  output_.events.push_back({Severity::kInfo,
                            "quorum_proposed",
                            {{"cluster", proposal.cluster.short_hex()},
                             {"voters", std::to_string(proposal.voters.size())}}});
  promise_to(now, proposal);
  ask_members(now);
}

void FirstQuorum::promise_to(Instant now, const QuorumProposal& proposal) {
  CHECK(!promise_.has_value());
  CHECK(!formed_.has_value());
  promise_ = proposal;
  agreed_ = {self_};
  persist({write_of_promise(promise_)});
  deadline_ = now + config_.takeover + rng_.between(Duration::zero(), config_.retry);
}

bool FirstQuorum::acceptable(const QuorumProposal& proposal) const {
  return !promise_.has_value() && !formed_.has_value() && !cluster_exists_ &&
         proposal.voters.size() == config_.expect;
}

bool FirstQuorum::refused(const ClusterId& cluster) const {
  return std::find(refused_.begin(), refused_.end(), cluster) != refused_.end();
}

void FirstQuorum::refuse(const ClusterId& cluster) {
  CHECK(refused_.size() < kRefusalsMax);
  refused_.push_back(cluster);
  persist({write_of_refused(refused_)});
}

void FirstQuorum::on_message(Instant now, HostId from, const QuorumPropose& message) {
  const QuorumProposal& proposal = message.proposal;
  const auto& voters = proposal.voters;
  const bool both_members = std::binary_search(voters.begin(), voters.end(), from) &&
                            std::binary_search(voters.begin(), voters.end(), self_);
  if (!both_members || from == self_) {
    return;
  }
  if (formed_.has_value() && formed_->cluster == proposal.cluster) {
    answer(from, proposal.cluster, PromiseAnswer::kFormed);
    return;
  }
  if (promise_ == proposal) {
    // A question is as good as a promise: only a member that promised asks.
    agreed_.insert(from);
    answer(from, proposal.cluster, PromiseAnswer::kPromised);
    form_if_complete(now);
    return;
  }
  if (!refused(proposal.cluster)) {
    if (refused_.size() >= kRefusalsMax) {
      return;
    }
    if (acceptable(proposal)) {
      promise_to(now, proposal);
      agreed_.insert(from);
      answer(from, proposal.cluster, PromiseAnswer::kPromised);
      return;
    }
    refuse(proposal.cluster);
  }
  answer(from, proposal.cluster, PromiseAnswer::kRefused);
}

void FirstQuorum::on_message(Instant now, HostId from, const QuorumPromise& message) {
  const std::optional<QuorumProposal>& current = formed_.has_value() ? formed_ : promise_;
  if (!current.has_value() || current->cluster != message.cluster ||
      !std::binary_search(current->voters.begin(), current->voters.end(), from)) {
    return;
  }
  if (formed_.has_value()) {
    if (message.answer == PromiseAnswer::kFormed) {
      agreed_.insert(from);
      deadline_ = agreed_.size() == formed_->voters.size() ? kNever : deadline_;
    }
    return;
  }
  switch (message.answer) {
    case PromiseAnswer::kRefused:
      free_promise(now, from);
      return;
    case PromiseAnswer::kPromised:
      agreed_.insert(from);
      form_if_complete(now);
      return;
    case PromiseAnswer::kFormed:
      form(now);
      agreed_.insert(from);
      return;
  }
}

void FirstQuorum::on_message(Instant now, HostId from, const QuorumForm& message) {
  const auto& voters = message.proposal.voters;
  if (!std::binary_search(voters.begin(), voters.end(), from)) {
    return;
  }
  if (promise_ == message.proposal) {
    form(now);
  }
  if (formed_ == message.proposal) {
    agreed_.insert(from);
    answer(from, message.proposal.cluster, PromiseAnswer::kFormed);
  }
}

/// `refuser` will never promise this set, so it can never be complete.
void FirstQuorum::free_promise(Instant now, HostId refuser) {
  output_.events.push_back(
      {Severity::kInfo,
       "quorum_promise_freed",
       {{"cluster", promise_->cluster.short_hex()}, {"refused_by", refuser.short_hex()}}});
  const ClusterId cluster = promise_->cluster;
  promise_.reset();
  agreed_.clear();
  persist({write_of_promise(promise_)});
  if (refused_.size() < kRefusalsMax) {
    refuse(cluster);
  }
  plan_proposal(now);
  if (deadline_ != kNever) {
    deadline_ += config_.retry + rng_.between(Duration::zero(), config_.retry);
  }
}

void FirstQuorum::form_if_complete(Instant now) {
  // The own promise counts when it is durable, like that of every member.
  if (promise_.has_value() && agreed_.size() == promise_->voters.size() &&
      durable_batch_ == last_batch_) {
    form(now);
  }
}

void FirstQuorum::form(Instant now) {
  CHECK(promise_.has_value());
  CHECK(!formed_.has_value());
  formed_ = std::exchange(promise_, std::nullopt);
  agreed_ = {self_};
  crdt::WriteBatch writes;
  write_formed_to(*formed_, writes);
  persist(std::move(writes));
  formed_batch_ = last_batch_;
  output_.events.push_back({Severity::kInfo,
                            "quorum_formed",
                            {{"cluster", formed_->cluster.short_hex()},
                             {"voters", std::to_string(formed_->voters.size())}}});
  ask_members(now);
}

/// A question leaves when the promise is durable, a Form when the set is.
void FirstQuorum::ask_members(Instant now) {
  const QuorumProposal& proposal = formed_.has_value() ? *formed_ : *promise_;
  deadline_ = agreed_.size() == proposal.voters.size() && formed_.has_value() ? kNever
                                                                              : now + config_.retry;
  for (const HostId& voter : proposal.voters) {
    if (!agreed_.contains(voter)) {
      const QuorumMessage message = formed_.has_value() ? QuorumMessage(QuorumForm{proposal})
                                                        : QuorumMessage(QuorumPropose{proposal});
      held_.push_back({last_batch_, {voter, message}});
    }
  }
  while (!held_.empty() && held_.front().batch <= durable_batch_) {
    output_.messages.push_back(std::move(held_.front().send));
    held_.pop_front();
  }
}

void FirstQuorum::answer(HostId to, const ClusterId& cluster, PromiseAnswer answer) {
  Send send{to, QuorumPromise{cluster, answer}};
  if (last_batch_ <= durable_batch_) {
    output_.messages.push_back(std::move(send));
  } else {
    held_.push_back({last_batch_, std::move(send)});
  }
}

void FirstQuorum::persist(crdt::WriteBatch writes) {
  if (output_.persists.empty()) {
    output_.persists.push_back({++last_batch_, {}});
  }
  crdt::WriteBatch& batch = output_.persists.back().writes;
  batch.insert(batch.end(), std::make_move_iterator(writes.begin()),
               std::make_move_iterator(writes.end()));
}

void FirstQuorum::check_invariants() const {
  CHECK(!(formed_.has_value() && promise_.has_value()));
  CHECK(refused_.size() <= kRefusalsMax);
  CHECK(!promise_.has_value() || !refused(promise_->cluster));
  CHECK(held_.empty() || held_.front().batch > durable_batch_);
}

}  // namespace muster::scheduler
