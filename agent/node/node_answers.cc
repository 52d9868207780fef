// What a node answers from what it knows itself: hosts, events, the quorum, jobs.

#include "agent/node/node.h"

#include <algorithm>
#include <utility>

#include "agent/front/read_model.h"
#include "gossip/base/version.h"

namespace muster::agent {
namespace {

constexpr const char* kNoLeader =
    "no leader is known, and without one nothing is placed or given up: see `muster quorum`";

}  // namespace

void Node::answer_here(Instant now, const Asker& asker, const Request& request) {
  std::string payload;
  if (request.verb == Verb::kVersion) {
    payload = encode_payload(VersionInfo{kProductVersion, kProtocolVersion, options_.name,
                                         options_.self, options_.start.generation, cluster_});
  } else if (request.verb == Verb::kHosts) {
    const auto query = decode_payload<HostsQuery>(request.arguments);
    const HostsKnown known{membership_.members(),
                           [this](HostId host) { return membership_.accusations(host); },
                           store_,
                           addresses_,
                           seat_.known_quorum(),
                           now};
    payload =
        encode_payload(query.has_value() ? hosts_page(known, query->after) : host_list(known));
  } else if (request.verb == Verb::kNodes) {
    payload = encode_payload(node_list());
  } else {
    const auto query = decode_payload<EventsQuery>(request.arguments);
    payload = encode_payload(recent_.page(now, query.has_value() ? query->after : 0));
  }
  Response response = good(now, std::move(payload));
  const bool has_rows = request.verb == Verb::kHosts;
  response.age_ms = has_rows ? static_cast<std::uint64_t>(to_ms(age_of_rows(now))) : 0;
  answer(asker, response);
}

NodeList Node::node_list() const {
  NodeList list;
  const auto add = [&](HostId host) {
    const auto endpoint = host == options_.self ? std::nullopt : addresses_.control(host);
    if (endpoint.has_value() && is_reachable(host) && list.addresses.size() < kNodesListedMax) {
      const std::string text = endpoint->text();
      if (std::find(list.addresses.begin(), list.addresses.end(), text) == list.addresses.end()) {
        list.addresses.push_back(text);
      }
    }
  };
  const crdt::QuorumView quorum = seat_.known_quorum();
  std::for_each(quorum.voters.begin(), quorum.voters.end(), add);
  std::for_each(neighbours_.begin(), neighbours_.end(), add);
  return list;
}

void Node::note_confirmed(Instant now, HostId host, const crdt::RowVersion& newest) {
  const auto slot = store_.rows().find(host);
  if (slot != store_.rows().end() && slot->second.version >= newest) {
    confirmed_[host] = now;
  }
}

/// The oldest confirmation among the hosts that this one watches and does not know to be gone: of
/// those that are, the verdict and its age are the news. Hosts that others watch change rows here
/// by flood; a node that is cut off misses its own first.
Duration Node::age_of_rows(Instant now) const {
  Instant oldest = now;
  for (const HostId host : membership_.subjects()) {
    const membership::Member* member = membership_.member(host);
    const bool is_shown_present =
        member != nullptr && (member->state == membership::MemberState::kAlive ||
                              member->state == membership::MemberState::kSuspect);
    if (is_shown_present) {
      const auto confirmed = confirmed_.find(host);
      oldest = std::min(oldest, confirmed == confirmed_.end() ? started_ : confirmed->second);
    }
  }
  return now - oldest;
}

VoterInfo Node::voter_info(Instant now, HostId host,
                           const std::vector<scheduler::MemberLag>& lag) const {
  VoterInfo info;
  info.id = host;
  info.name = addresses_.name(host);
  const membership::Member* member = membership_.member(host);
  info.state = member == nullptr ? "unknown" : membership::name_of(member->state);
  info.rack = member == nullptr ? "" : member->rack;
  const scheduler::Raft* raft = seat_.raft();
  const scheduler::Seat* voter = raft == nullptr ? nullptr : raft->configuration().voter(host);
  info.is_learner = raft != nullptr && raft->configuration().learner(host) != nullptr;
  if (voter != nullptr) {
    info.why = voter->id == SeatId() ? "founder" : "joined later";
  }
  for (const scheduler::MemberLag& each : lag) {
    if (each.host == host) {
      info.match_index = each.match.value();
      info.behind = each.behind;
      info.is_unheard = !each.has_answered;
      info.contact_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(
          0, each.heard_at == Instant::min() ? 0 : to_ms(now - each.heard_at)));
      info.why = each.differs_at != LogIndex() ? "its state is not the others'"
                 : each.other_seat.has_value() ? "answers from another disk"
                                               : info.why;
    }
  }
  if (info.is_learner && info.why.empty()) {
    info.why = "catching up";
  }
  return info;
}

QuorumInfo Node::quorum_info(Instant now) const {
  const crdt::QuorumView known = seat_.known_quorum();
  QuorumInfo info;
  info.cluster = cluster_;
  info.epoch = seat_.epoch().counter;
  info.role = "none";
  info.term = known.term;
  info.leader = known.leader;
  info.leader_name = known.leader.is_zero() ? "" : addresses_.name(known.leader);
  info.applied = known.applied;
  const std::size_t majority = known.voters.size() / 2 + 1;
  const std::size_t live = live_voters(known, HostId());
  info.tolerates = live < majority ? 0 : live - majority;
  const scheduler::Raft* raft = seat_.raft();
  std::vector<HostId> members = known.voters;
  std::vector<scheduler::MemberLag> lag;
  if (raft != nullptr) {
    info.role = scheduler::text_of(raft->role());
    info.commit = raft->commit();
    info.applied = seat_.state().applied();
    info.wanted = raft->configuration().target;
    lag = raft->lag(now);
    for (const scheduler::Seat& learner : raft->configuration().learners) {
      members.push_back(learner.host);
    }
  }
  for (const HostId host : members) {
    info.voters.push_back(voter_info(now, host, lag));
  }
  return info;
}

Response Node::answer_from_state(Instant now, const Request& request,
                                 const std::string& unled) const {
  if (request.verb == Verb::kQuorum) {
    return good(now, encode_payload(quorum_info(now)));
  }
  const scheduler::State& state = seat_.state();
  if (request.verb == Verb::kJobs) {
    const auto query = decode_payload<JobsQuery>(request.arguments);
    return good(now, encode_payload(query.has_value() ? jobs_page(state, addresses_, query->after)
                                                      : newest_jobs(state, addresses_)));
  }
  const HostId leader = seat_.ready_leader();
  const bool is_led = seat_.leads() || (!leader.is_zero() && is_leader_reachable(leader));
  const HostViews hosts{addresses_, [this](HostId host) { return membership_.member(host); }, now,
                        seat_.left_out(), !unled.empty() ? unled : is_led ? "" : kNoLeader};
  const JobId job = decode_payload<JobRef>(request.arguments).value_or(JobRef()).job;
  if (state.job(job) == nullptr) {
    return bad(ResponseStatus::kNotFound, "there is no job " + std::to_string(job.value()) +
                                              "; `muster jobs --all` lists them");
  }
  if (request.verb == Verb::kShow) {
    return good(now, encode_payload(*job_detail(state, hosts, job)));
  }
  return good(now, encode_payload(why_info(state, hosts, job)));
}

/// Voters that this node takes for able to vote, `without` one of them.
std::size_t Node::live_voters(const crdt::QuorumView& quorum, HostId without) const {
  return static_cast<std::size_t>(
      std::count_if(quorum.voters.begin(), quorum.voters.end(), [&](HostId voter) {
        return voter != without && (voter == options_.self || is_reachable(voter));
      }));
}

}  // namespace muster::agent
