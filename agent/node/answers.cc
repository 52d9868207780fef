#include "agent/node/answers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/api/events.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/front/array_model.h"
#include "agent/front/read_model.h"
#include "agent/front/use_model.h"
#include "agent/front/why_model.h"
#include "agent/node/join.h"
#include "agent/node/roll_upkeep.h"
#include "agent/node/voter_outlook.h"
#include "gossip/base/version.h"
#include "scheduler/placement/impossible.h"
#include "scheduler/state/submission.h"

namespace muster::agent {
namespace {

constexpr const char* kNoLeader =
    "no leader is known, and without one nothing is placed or given up: see `muster quorum`";

/// Of a host's story: a death and its return make some ten.
constexpr std::uint64_t kStoryEvents = 20;

VoterInfo voter_info(const Known& known, HostId host,
                     const std::vector<scheduler::MemberLag>& lag) {
  VoterInfo info;
  info.id = host;
  info.name = known.hosts.addresses().name(host);
  const membership::Member* member = known.membership.member(host);
  info.state = member == nullptr ? "unknown" : membership::name_of(member->state);
  info.rack = member == nullptr ? "" : member->rack;
  const scheduler::Raft* raft = known.seat.raft();
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
          0, each.heard_at == Instant::min() ? 0 : to_ms(known.now - each.heard_at)));
      info.why = each.differs_at != LogIndex() ? "its state is not the others'"
                 : each.other_seat.has_value() ? "answers from another disk"
                                               : info.why;
    }
  }
  if (info.is_learner && info.why.empty()) {
    info.why = "catching up";
  }
  if (std::string next = voter_outlook(known, host); !next.empty()) {
    info.why = std::move(next);
  }
  return info;
}

std::vector<SeedInfo> seeds_unmet(const Known& known) {
  std::vector<SeedInfo> seeds;
  for (const UnmetSeed& seed : known.admission.unmet_seeds()) {
    seeds.push_back({seed.endpoint.text(), std::string(name_of(seed.silence))});
  }
  return seeds;
}

HostsKnown hosts_known(const Known& known) {
  return {known.membership.members(),
          [&known](HostId host) { return known.membership.accusations(host); },
          known.store,
          known.hosts.addresses(),
          known.seat.known_quorum(),
          known.now,
          known.membership.storm()};
}

EventRing::Names names_of(const Known& known) {
  EventRing::Names names;
  for (const auto& [host, member] : known.membership.members()) {
    names.emplace(host.short_hex(), known.hosts.addresses().name(host));
  }
  return names;
}

}  // namespace

Response good(const Known& known, std::string payload) {
  Response response;
  response.answered_by = known.options.name;
  response.payload = std::move(payload);
  response.age_ms = static_cast<std::uint64_t>(to_ms(known.seat.age(known.now)));
  return response;
}

Response done(const Known& known, std::string payload, std::string text) {
  Response response = good(known, std::move(payload));
  response.text = std::move(text);
  return response;
}

Response bad(const Known& known, ResponseStatus status, std::string text) {
  Response response;
  response.status = status;
  response.text = std::move(text);
  response.answered_by = known.options.name;
  return response;
}

Response not_understood(const Known& known, std::uint32_t version, bool is_ticket) {
  if (is_ticket && version == kProtocolVersion) {
    return bad(known, ResponseStatus::kDenied, kTicketsJoin);
  }
  return bad(known, ResponseStatus::kUsage,
             "this node speaks protocol " + std::to_string(kProtocolVersion) +
                 " and does not know that request");
}

std::optional<Response> why_not_named(const Known& known, const Request& request,
                                      bool may_forward) {
  const std::string& name = request.node;
  const std::string& own = known.options.name;
  if (!may_forward) {
    return bad(known, ResponseStatus::kNotFound,
               "host " + own + " was asked under the name '" + name +
                   "', and passes on nothing that another host passed on");
  }
  const HostId host = host_named(known, name);
  if (host.is_zero() || host == known.options.self) {
    return bad(known, ResponseStatus::kNotFound,
               "there is no host '" + name + "'; `muster hosts` lists them");
  }
  if (!is_reachable(known.membership, host)) {
    return bad(known, ResponseStatus::kNoQuorum,
               "host " + name + " is not reachable from host " + own + ": see `muster why-host " +
                   name + "`");
  }
  return std::nullopt;
}

/// What its newest events say of a host is the story of its view.
Response why_host(const Known& known, const Request& request) {
  const auto asked = decode_payload<HostRef>(request.arguments);
  const HostId host = asked.has_value() ? asked->host : HostId();
  std::optional<WhyHostInfo> info = why_host_info(hosts_known(known), host);
  if (!info.has_value()) {
    return bad(known, ResponseStatus::kNotFound,
               "there is no such host; `muster hosts` lists them");
  }
  EventsQuery query;
  query.newest = kStoryEvents;
  query.about = host.short_hex();
  info->events =
      known.recent.page(known.wall_clock.unix_ms(known.now), query, names_of(known)).events;
  Response response = good(known, encode_payload(*info));
  response.age_ms = static_cast<std::uint64_t>(to_ms(known.hosts.age(known.now, known.membership)));
  return response;
}

/// Of a voter: who uses the GPUs, and what operators said of hosts.
Response uses(const Known& known, const Request& request) {
  const scheduler::State& state = known.seat.state();
  const crdt::AddressBook& addresses = known.hosts.addresses();
  const std::int64_t now = known.wall_clock.unix_ms(known.now);
  if (request.verb == Verb::kHostUses) {
    const auto query = decode_payload<HostsQuery>(request.arguments).value_or(HostsQuery());
    return good(known, encode_payload(host_uses(state, addresses, now, query.after)));
  }
  if (request.verb == Verb::kUsage) {
    const auto list =
        usage_list(state, decode_payload<UsageQuery>(request.arguments).value_or(UsageQuery()));
    return list.has_value()
               ? good(known, encode_payload(*list))
               : bad(known, ResponseStatus::kUsage, "usage is told by user, type or name");
  }
  const HostId host = decode_payload<HostRef>(request.arguments).value_or(HostRef()).host;
  const auto detail = host_detail(state, addresses, now, host);
  return detail.has_value() ? good(known, encode_payload(*detail))
                            : bad(known, ResponseStatus::kNotFound,
                                  "that host has not registered with the quorum yet");
}

Response answer_here(const Known& known, const Request& request) {
  if (request.verb == Verb::kWhyHost) {
    return why_host(known, request);
  }
  std::string payload;
  if (request.verb == Verb::kVersion) {
    payload = encode_payload(VersionInfo{kProductVersion, kProtocolVersion, known.options.name,
                                         known.options.self, known.options.start.generation,
                                         known.cluster});
  } else if (request.verb == Verb::kKeys) {
    payload = encode_payload(keys_info(known));
  } else if (request.verb == Verb::kHosts) {
    const auto query = decode_payload<HostsQuery>(request.arguments);
    const HostsKnown hosts = hosts_known(known);
    HostList list = query.has_value() ? hosts_page(hosts, query->after) : host_list(hosts);
    list.seeds_unmet = seeds_unmet(known);
    list.voter_notes = voter_notes(known);
    payload = encode_payload(list);
  } else {
    const auto query = decode_payload<EventsQuery>(request.arguments);
    payload = encode_payload(known.recent.page(known.wall_clock.unix_ms(known.now),
                                               query.value_or(EventsQuery()), names_of(known)));
  }
  Response response = good(known, std::move(payload));
  const Duration age =
      request.verb == Verb::kHosts ? known.hosts.age(known.now, known.membership) : Duration(0);
  response.age_ms = static_cast<std::uint64_t>(to_ms(age));
  return response;
}

QuorumInfo quorum_info(const Known& known) {
  const crdt::QuorumView quorum = known.seat.known_quorum();
  QuorumInfo info;
  info.cluster = known.cluster;
  info.epoch = known.seat.epoch().counter;
  if (known.cluster.is_zero()) {
    info.founders_wanted = known.admission.roll().founders_wanted();
    info.founders_met = known.admission.roll().founders().size();
    info.seeds_unmet = seeds_unmet(known);
  }
  info.role = "none";
  info.term = quorum.term;
  info.leader = quorum.leader;
  info.leader_name = quorum.leader.is_zero() ? "" : known.hosts.addresses().name(quorum.leader);
  info.applied = quorum.applied;
  const std::size_t majority = quorum.voters.size() / 2 + 1;
  const std::size_t live = live_voters(known, quorum);
  info.tolerates = live < majority ? 0 : live - majority;
  const scheduler::Raft* raft = known.seat.raft();
  std::vector<HostId> members = quorum.voters;
  std::vector<scheduler::MemberLag> lag;
  if (raft != nullptr) {
    info.role = scheduler::text_of(raft->role());
    info.commit = raft->commit();
    info.applied = known.seat.state().applied();
    info.wanted = raft->configuration().target;
    lag = raft->lag(known.now);
    for (const scheduler::Seat& learner : raft->configuration().learners) {
      members.push_back(learner.host);
    }
  }
  for (const HostId host : members) {
    info.voters.push_back(voter_info(known, host, lag));
  }
  return info;
}

namespace {

/// One line of it, or why its first waiting task waits.
Response about_array(const Known& known, const JobsKnown& jobs, const HostViews& hosts, Verb verb,
                     const scheduler::TaskArray& array) {
  if (verb == Verb::kShow) {
    JobDetail detail = array_detail(jobs.state, array, hosts);
    detail.output_rule = known.options.clients.output;
    return good(known, encode_payload(detail));
  }
  WhyInfo why;
  if (const std::optional<JobId> task = telling_task(jobs.state, array)) {
    why = why_info(jobs, hosts, *task);
  } else {
    const JobSummary summary = array_summary(jobs.state, array, hosts);
    why.job = array.id;
    why.state = summary.state;
    why.headline =
        summary.reason + (summary.tasks_failed > 0
                              ? "; `muster show " + text_of(array.id) + "` names those that failed"
                              : "");
  }
  why.storm = storm_info(known.membership.storm(), known.now);
  return good(known, encode_payload(why));
}

/// What stands against a submit stands against this in the same words.
Response about_dry_run(const Known& known, const JobsKnown& jobs, const HostViews& hosts,
                       const Request& request) {
  const auto asked = decode_payload<SubmitArgs>(request.arguments);
  if (!asked.has_value()) {
    return bad(known, ResponseStatus::kUsage, "the request is not understood");
  }
  if (const Status valid = scheduler::validate(asked->spec); !valid) {
    return bad(known, ResponseStatus::kUsage, valid.error().text);
  }
  std::string why_not = scheduler::why_impossible(jobs.state, jobs.capacity, asked->spec);
  if (!why_not.empty()) {
    return bad(known, ResponseStatus::kImpossible, std::move(why_not));
  }
  WhyInfo why = dry_run_info(jobs, hosts, asked->spec);
  why.storm = storm_info(known.membership.storm(), known.now);
  return good(known, encode_payload(why));
}

}  // namespace

Response answer_from_state(const Known& known, const Request& request, const std::string& unled) {
  if (request.verb == Verb::kQuorum) {
    return good(known, encode_payload(quorum_info(known)));
  }
  if (request.verb == Verb::kTickets) {
    return good(known, encode_payload(ticket_list(known)));
  }
  const scheduler::State& state = known.seat.state();
  if (request.verb == Verb::kHostUses || request.verb == Verb::kHostDetail ||
      request.verb == Verb::kUsage) {
    return uses(known, request);
  }
  const HostId leader = known.seat.ready_leader();
  const bool is_led =
      known.seat.leads() || (!leader.is_zero() && is_leader_reachable(known, leader));
  const HostViews hosts{known.hosts.addresses(),
                        [&known](HostId host) { return known.membership.member(host); },
                        known.now,
                        known.seat.left_out(),
                        !unled.empty() ? unled
                        : is_led       ? ""
                                       : kNoLeader,
                        known.wall_clock.unix_ms(known.now)};
  const JobsKnown jobs{state, known.seat.capacity()};
  if (request.verb == Verb::kJobs) {
    const auto query = decode_payload<JobsQuery>(request.arguments);
    return good(
        known, encode_payload(query.has_value() ? jobs_page(jobs, hosts, query->after, query->array)
                                                : newest_jobs(jobs, hosts)));
  }
  if (request.verb == Verb::kDryRun) {
    return about_dry_run(known, jobs, hosts, request);
  }
  const JobId job = decode_payload<JobRef>(request.arguments).value_or(JobRef()).job;
  const scheduler::TaskArray* array = state.array(array_of(job));
  if (array != nullptr && !is_task(job)) {
    return about_array(known, jobs, hosts, request.verb, *array);
  }
  if (state.job(job) == nullptr) {
    if (std::string why = array == nullptr ? "" : text_of_folded(*array, job); !why.empty()) {
      return bad(known, ResponseStatus::kNotFound, std::move(why));
    }
    return bad(known, ResponseStatus::kNotFound,
               "there is no job " + text_of(job) + "; `muster jobs --all` lists them");
  }
  if (request.verb == Verb::kShow) {
    JobDetail detail = *job_detail(jobs, hosts, job);
    detail.output_rule = known.options.clients.output;
    return good(known, encode_payload(detail));
  }
  WhyInfo why = why_info(jobs, hosts, job);
  why.storm = storm_info(known.membership.storm(), known.now);
  return good(known, encode_payload(why));
}

}  // namespace muster::agent
