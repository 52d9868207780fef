#include "scheduler/leader/proposals.h"

#include <algorithm>
#include <variant>

namespace muster::scheduler {

std::string proposal_name(const Entry& entry) {
  struct Namer {
    std::string operator()(const entry::Register& e) const {
      return e.host.hex() + "/" + std::to_string(e.start.generation.value()) + "/" +
             std::to_string(e.start.start_id.value());
    }
    std::string operator()(const entry::Submit& e) const { return e.key; }
    std::string operator()(const entry::Cancel& e) const { return std::to_string(e.job.value()); }
    std::string operator()(const entry::Observe& e) const { return e.host.hex(); }
    std::string operator()(const entry::Tick&) const { return ""; }
    std::string operator()(const entry::Decide& e) const { return std::to_string(e.job.value()); }
    std::string operator()(const entry::Ready& e) const { return e.token.text() + e.host.hex(); }
    std::string operator()(const entry::Start& e) const { return e.token.text(); }
    std::string operator()(const entry::Stop& e) const { return e.token.text(); }
    std::string operator()(const entry::Finish& e) const {
      return e.token.text() + e.host.hex() + (e.last ? "/last" : "");
    }
    std::string operator()(const entry::Abort& e) const { return e.token.text(); }
    std::string operator()(const entry::Condemn& e) const { return e.host.hex(); }
    std::string operator()(const entry::Pardon& e) const { return e.host.hex(); }
    std::string operator()(const entry::Expire& e) const { return e.token.text() + e.host.hex(); }
    std::string operator()(const entry::Suspend& e) const { return std::to_string(e.job.value()); }
    std::string operator()(const entry::Resume& e) const { return std::to_string(e.job.value()); }
    std::string operator()(const entry::Requeue& e) const {
      return std::to_string(e.job.value()) + "/" + std::to_string(e.attempt);
    }
    std::string operator()(const entry::Fence& e) const { return e.host.hex(); }
    std::string operator()(const entry::Adopt& e) const { return e.token.text(); }
    std::string operator()(const entry::Edit& e) const { return std::to_string(e.job.value()); }
    std::string operator()(const entry::Drain& e) const { return e.host.hex(); }
    std::string operator()(const entry::Undrain& e) const { return e.host.hex(); }
    std::string operator()(const entry::RemoveHost& e) const { return e.host.hex(); }
    std::string operator()(const entry::MakeTicket& e) const { return e.key; }
    std::string operator()(const entry::EndTicket& e) const { return e.key; }
    std::string operator()(const entry::Admit& e) const {
      return e.host.hex() + "/" + std::to_string(e.authority) + "/" + std::to_string(e.edition);
    }
    std::string operator()(const entry::RotateKeys& e) const { return std::to_string(e.round); }
    std::string operator()(const entry::ReplaceAuthority& e) const {
      return std::to_string(e.number);
    }
  };
  return std::to_string(static_cast<int>(kind_of(entry))) + "/" + std::visit(Namer(), entry);
}

bool Proposals::propose(const Turn& turn, const Entry& entry) {
  Instant& again = again_at_.try_emplace(proposal_name(entry), Instant::min()).first->second;
  const bool is_due = again <= turn.now;
  if (is_due) {
    again = turn.now + turn.config.propose_again;
    turn.output.proposals.push_back(encode(entry, turn.unix_ms));
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
  const auto lost = std::erase_if(again_at_, [&](const auto& item) { return item.second <= now; });
  // Should a Condemn come yet, its time counts from then: after whatever is acknowledged until
  // then.
  std::erase_if(condemning_, [&](const MemberKey& key) {
    return !again_at_.contains(proposal_name(entry::Condemn{key.second, {}}));
  });
  return lost != 0;
}

Instant Proposals::free_at(const std::string& name) const {
  const auto on_its_way = again_at_.find(name);
  return on_its_way == again_at_.end() ? Instant::min() : on_its_way->second;
}

bool Proposals::is_registering(const HostId& host) {
  const std::string prefix =
      std::to_string(static_cast<int>(EntryKind::kRegister)) + "/" + host.hex() + "/";
  const auto first = again_at_.lower_bound(prefix);
  if (first == again_at_.end() || !first->first.starts_with(prefix)) {
    return false;
  }
  next_look_ = std::min(next_look_, first->second);
  return true;
}

}  // namespace muster::scheduler
