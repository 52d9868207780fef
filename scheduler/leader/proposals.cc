#include "scheduler/leader/proposals.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <variant>

#include <xxhash.h>

namespace muster::scheduler {

namespace {

using Words = std::array<std::uint64_t, 5>;

Words words(const HostId& host, std::uint64_t third = 0, std::uint64_t fourth = 0) {
  return {host.prefix(), host.suffix(), third, fourth, 0};
}
Words words(const Token& token) {
  return {token.epoch, token.index, 0, 0, 0};
}
Words words(JobId job, std::uint64_t second = 0) {
  return {job.value(), second, 0, 0, 0};
}
Words words(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64, 0, 0, 0};
}
Words words(const Token& token, const HostId& host, bool is_last = false) {
  return {token.epoch, token.index, host.prefix(), host.suffix(), is_last ? 1U : 0U};
}

struct Namer {
  Words operator()(const entry::Register& e) const {
    return words(e.host, e.start.generation.value(), e.start.start_id.value());
  }
  Words operator()(const entry::Submit& e) const { return words(e.key); }
  Words operator()(const entry::Cancel& e) const { return words(e.job); }
  Words operator()(const entry::Observe& e) const { return words(e.host); }
  Words operator()(const entry::Tick&) const { return {}; }
  Words operator()(const entry::Decide& e) const { return words(e.job); }
  Words operator()(const entry::Ready& e) const { return words(e.token, e.host); }
  Words operator()(const entry::Start& e) const { return words(e.token); }
  Words operator()(const entry::Stop& e) const { return words(e.token); }
  Words operator()(const entry::Finish& e) const { return words(e.token, e.host, e.last); }
  Words operator()(const entry::Abort& e) const { return words(e.token); }
  Words operator()(const entry::Condemn& e) const { return words(e.host); }
  Words operator()(const entry::Pardon& e) const { return words(e.host); }
  Words operator()(const entry::Expire& e) const { return words(e.token, e.host); }
  Words operator()(const entry::Suspend& e) const { return words(e.job); }
  Words operator()(const entry::Resume& e) const { return words(e.job); }
  Words operator()(const entry::Requeue& e) const { return words(e.job, e.attempt); }
  Words operator()(const entry::Fence& e) const { return words(e.host); }
  Words operator()(const entry::Adopt& e) const { return words(e.token); }
  Words operator()(const entry::Edit& e) const { return words(e.job); }
  Words operator()(const entry::Drain& e) const { return words(e.host); }
  Words operator()(const entry::Undrain& e) const { return words(e.host); }
  Words operator()(const entry::RemoveHost& e) const { return words(e.host); }
  Words operator()(const entry::MakeTicket& e) const { return words(e.key); }
  Words operator()(const entry::EndTicket& e) const { return words(e.key); }
  Words operator()(const entry::Enrol& e) const {
    // Two changes of a host's record at once have the same edition and other bytes.
    return {e.host.prefix(), e.host.suffix(), e.authority, e.edition,
            XXH3_64bits(e.record.data(), e.record.size())};
  }
  Words operator()(const entry::RotateKeys& e) const { return {e.round, 0, 0, 0, 0}; }
  Words operator()(const entry::ReplaceAuthority& e) const { return {e.number, 0, 0, 0, 0}; }
  Words operator()(const entry::FoundDirectory&) const { return {}; }
  Words operator()(const entry::ChangeDirectory&) const { return {}; }
  Words operator()(const entry::MakeAccessToken& e) const { return words(e.id.bytes()); }
  Words operator()(const entry::EndAccessToken& e) const { return words(e.id.bytes()); }
  Words operator()(const entry::ResetAdmin& e) const { return words(e.admin); }
  Words operator()(const entry::GpuOrder& e) const {
    return {e.host.prefix(), e.host.suffix(), XXH3_64bits(e.uuid.data(), e.uuid.size()), 0, 0};
  }
  Words operator()(const entry::SetQueues& e) const { return {e.expected, 0, 0, 0, 0}; }
  Words operator()(const entry::Preempt& e) const { return words(e.job); }
  Words operator()(const entry::NoteRequests& e) const {
    return words(e.host, e.generation, e.batch);
  }
};

}  // namespace

ProposalName proposal_name(const Entry& entry) {
  return {kind_of(entry), std::visit(Namer(), entry)};
}

std::uint64_t ProposalName::index_hash() const {
  std::uint64_t hash = static_cast<std::uint64_t>(kind);
  for (const std::uint64_t word : words) {
    hash = IndexHash::mixed(hash ^ word);
  }
  return hash;
}

bool Proposals::propose(const StepContext& step, const Entry& entry) {
  Instant& again = again_at_.try_emplace(proposal_name(entry), Instant::min()).first->second;
  const bool is_due = again <= step.now;
  if (is_due) {
    again = step.now + step.config.propose_again;
    step.output.proposals.push_back(encode(entry, step.unix_ms));
  }
  next_look_ = std::min(next_look_, again);
  const auto* condemn = std::get_if<entry::Condemn>(&entry);
  if (is_due && condemn != nullptr) {
    for (const Token& token : condemn->tokens) {
      condemning_.insert({token, condemn->host});
    }
  }
  return is_due;
}

void Proposals::on_applied(const Entry& entry) {
  again_at_.erase(proposal_name(entry));
  if (const auto* condemned = std::get_if<entry::Condemn>(&entry)) {
    for (const Token& token : condemned->tokens) {
      condemning_.erase({token, condemned->host});
    }
  }
}

bool Proposals::forget_lost(Instant now) {
  next_look_ = kNever;
  bool has_lost = false;
  for (auto item = again_at_.begin(); item != again_at_.end();) {
    const bool is_lost = item->second <= now;
    has_lost = has_lost || is_lost;
    item = is_lost ? again_at_.erase(item) : std::next(item);
  }
  // If a Condemn is applied after all, its time counts from then, later than any renewal until now.
  std::erase_if(condemning_, [&](const MemberKey& key) {
    return !again_at_.contains(proposal_name(entry::Condemn{key.second, {}}));
  });
  return has_lost;
}

Instant Proposals::free_at(const ProposalName& name) const {
  const auto on_its_way = again_at_.find(name);
  return on_its_way == again_at_.end() ? Instant::min() : on_its_way->second;
}

bool Proposals::is_registering(const HostId& host) {
  const auto first = again_at_.lower_bound({EntryKind::kRegister, words(host)});
  if (first == again_at_.end() || first->first.kind != EntryKind::kRegister ||
      words(host, first->first.words[2], first->first.words[3]) != first->first.words) {
    return false;
  }
  next_look_ = std::min(next_look_, first->second);
  return true;
}

}  // namespace muster::scheduler
