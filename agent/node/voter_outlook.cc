#include "agent/node/voter_outlook.h"

#include <algorithm>
#include <optional>

namespace muster::agent {
namespace {

using scheduler::ElectorateMember;
using scheduler::ElectorateView;

/// "now", "in 40s", "in 4m": minutes are rounded up.
std::string when_text(Duration left) {
  const std::int64_t seconds = to_ms(left) / 1000;
  constexpr std::int64_t kMinute = 60;
  if (seconds <= 0) {
    return "now";
  }
  return seconds < kMinute ? "in " + std::to_string(seconds) + "s"
                           : "in " + std::to_string((seconds + kMinute - 1) / kMinute) + "m";
}

bool is_away(const membership::Member* member) {
  return member == nullptr || member->state == membership::MemberState::kUnreachable ||
         member->state == membership::MemberState::kSuspect ||
         member->state == membership::MemberState::kLeft;
}

/// The time for which the voter has been silent: to the leader if this node leads, otherwise to
/// membership.
Duration silent_for(const NodeView& node, HostId voter) {
  const scheduler::Raft* raft = node.seat.leads() ? node.seat.raft() : nullptr;
  for (const scheduler::MemberLag& each :
       raft == nullptr ? std::vector<scheduler::MemberLag>() : raft->lag(node.now)) {
    if (each.host == voter && each.heard_at != Instant::min()) {
      return node.now - each.heard_at;
    }
  }
  const membership::Member* member = node.membership.member(voter);
  return member == nullptr ? Duration(0) : node.now - member->since;
}

ElectorateView view_of(const NodeView& node) {
  ElectorateView view;
  const scheduler::Raft* raft = node.seat.raft();
  const crdt::QuorumView quorum = node.seat.known_quorum();
  view.now = raft != nullptr ? raft->configuration() : scheduler::founding(quorum.voters);
  const auto add = [&](HostId host, bool is_voter) {
    const membership::Member* member = node.membership.member(host);
    ElectorateMember each;
    each.host = host;
    each.rack = member == nullptr ? "" : member->rack;
    each.is_voter = is_voter;
    each.is_leader = host == quorum.leader;
    each.behind = is_voter ? 0 : UINT64_MAX;  // It is on its way.
    view.members.push_back(each);
  };
  for (const scheduler::Seat& voter : view.now.voters) {
    add(voter.host, true);
  }
  for (const scheduler::Seat& learner : view.now.learners) {
    add(learner.host, false);
  }
  for (const scheduler::SeenHost& seen :
       seen_hosts(node.membership, node.roll, node.seat.state())) {
    const auto member =
        std::find_if(view.members.begin(), view.members.end(),
                     [&](const ElectorateMember& each) { return each.host == seen.host; });
    if (member != view.members.end()) {
      member->has_left = seen.has_left;
    } else if (!seen.has_left) {
      view.candidates.push_back({seen.host, seen.rack, std::nullopt, 0});
    }
  }
  return view;
}

}  // namespace

std::string replacement_text(const ElectorateView& view, HostId voter, Duration silent_for,
                             const crdt::AddressBook& names) {
  ElectorateView later = view;
  Duration left = scheduler::ElectorateOptions().replace_after - silent_for;
  for (ElectorateMember& member : later.members) {
    if (member.host == voter) {
      left = member.has_left ? Duration(0) : left;
      member.has_left = true;
    }
  }
  if (!later.now.learners.empty()) {
    return names.name(later.now.learners.front().host) + " is about to replace it";
  }
  const auto step = scheduler::next_step({}, later);
  if (step.has_value() && !step->invite.is_zero()) {
    return names.name(step->invite) + " replaces it " + when_text(left);
  }
  if (step.has_value() && step->next.has_value() && step->next->voter(voter) == nullptr) {
    return "it stops voting " + when_text(left);
  }
  return "no other host that may vote is here to replace it";
}

std::string voter_outlook(const NodeView& node, HostId voter) {
  const crdt::QuorumView quorum = node.seat.known_quorum();
  const bool is_voter =
      std::find(quorum.voters.begin(), quorum.voters.end(), voter) != quorum.voters.end();
  if (!is_voter || voter == node.options.self || !is_away(node.membership.member(voter))) {
    return "";
  }
  if (quorum.leader.is_zero()) {
    return "without a leader it is not replaced";
  }
  if (node.membership.storm().mode != StormMode::kNormal) {
    return "it is not replaced while so many hosts are silent";
  }
  return replacement_text(view_of(node), voter, silent_for(node, voter), node.hosts.addresses());
}

std::vector<std::string> voter_notes(const NodeView& node) {
  std::vector<std::string> notes;
  for (const HostId voter : node.seat.known_quorum().voters) {
    if (const std::string next = voter_outlook(node, voter); !next.empty()) {
      notes.push_back("voter " + node.hosts.addresses().name(voter) + " does not answer: " + next);
    }
  }
  return notes;
}

}  // namespace muster::agent
