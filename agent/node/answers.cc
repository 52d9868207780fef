#include "agent/node/answers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/api/verbs.h"
#include "agent/front/array_model.h"
#include "agent/front/audit_model.h"
#include "agent/front/job_sight.h"
#include "agent/front/queue_model.h"
#include "agent/front/read_model.h"
#include "agent/front/share_model.h"
#include "agent/front/use_model.h"
#include "agent/front/user_model.h"
#include "agent/front/why_model.h"
#include "agent/node/certifying.h"
#include "agent/node/gpu_board.h"
#include "agent/node/join.h"
#include "agent/node/request_target.h"
#include "agent/node/roll_upkeep.h"
#include "agent/node/voter_outlook.h"
#include "gossip/base/check.h"
#include "gossip/base/version.h"
#include "scheduler/access/authorize.h"
#include "scheduler/state/submission.h"
#include "scheduler/why/impossible.h"

namespace muster::agent {
namespace {

constexpr const char* kNoLeader =
    "no leader is known; without one no job is placed and no lost host is replaced: see `muster "
    "quorum`";

/// The events in the story of a host: a death and a return make about ten.
constexpr std::uint64_t kStoryEvents = 20;

VoterInfo voter_info(const NodeView& node, HostId host,
                     const std::vector<scheduler::MemberLag>& lag) {
  VoterInfo info;
  info.id = host;
  info.name = node.hosts.addresses().name(host);
  const membership::Member* member = node.membership.member(host);
  info.state = member == nullptr ? "unknown" : membership::name_of(member->state);
  info.rack = member == nullptr ? "" : member->rack;
  const scheduler::Raft* raft = node.seat.raft();
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
          0, each.heard_at == Instant::min() ? 0 : to_ms(node.now - each.heard_at)));
      info.why = each.differs_at != LogIndex() ? "its state differs from the other voters'"
                 : each.other_seat.has_value() ? "its disk was replaced"
                                               : info.why;
    }
  }
  if (info.is_learner && info.why.empty()) {
    info.why = "catching up";
  }
  if (std::string next = voter_outlook(node, host); !next.empty()) {
    info.why = std::move(next);
  }
  return info;
}

/// Leaves out silent seeds that are alive members: this host met them through others.
std::vector<SeedInfo> seeds_unmet(const NodeView& node) {
  std::vector<SeedInfo> seeds;
  for (const UnmetSeed& seed : node.message_gate.seeds().unmet()) {
    const std::optional<HostId> host = node.hosts.addresses().at(seed.endpoint);
    const membership::Member* member = host.has_value() ? node.membership.member(*host) : nullptr;
    const bool is_alive = member != nullptr && member->state == membership::MemberState::kAlive;
    if (!is_alive || seed.silence != SeedSilence::kSilent) {
      seeds.push_back({seed.endpoint.text(), std::string(name_of(seed.silence))});
    }
  }
  return seeds;
}

HostsKnown hosts_known(const NodeView& node) {
  return {node.membership.members(),
          [&node](HostId host) { return node.membership.accusations(host); },
          node.store,
          node.hosts.addresses(),
          node.seat.known_quorum(),
          node.now,
          node.membership.storm()};
}

EventRing::Names names_of(const NodeView& node) {
  EventRing::Names names;
  for (const auto& [host, member] : node.membership.members()) {
    names.emplace(host.short_hex(), node.hosts.addresses().name(host));
  }
  return names;
}

}  // namespace

Response good(const NodeView& node, std::string payload) {
  Response response;
  response.answered_by = node.options.name;
  response.payload = std::move(payload);
  response.age_ms = static_cast<std::uint64_t>(to_ms(node.seat.age(node.now)));
  return response;
}

Response done(const NodeView& node, std::string payload, std::string text) {
  Response response = good(node, std::move(payload));
  response.text = std::move(text);
  return response;
}

Response bad(const NodeView& node, ResponseStatus status, std::string text) {
  Response response;
  response.status = status;
  response.text = std::move(text);
  response.answered_by = node.options.name;
  return response;
}

Response unreadable(const NodeView& node, const VerbRow* row) {
  return bad(node, ResponseStatus::kUsage,
             row == nullptr
                 ? "this node does not know that request"
                 : "host " + node.options.name + " cannot read the arguments of '" +
                       std::string(row->name) + "': compare `muster version` here and there");
}

std::string member_already(const NodeView& node) {
  return "host " + node.options.name + " is a member of a cluster already" +
         (node.cluster.is_zero() ? ", which is being founded" : ": " + node.cluster.short_hex());
}

Response not_understood(const NodeView& node, std::uint32_t version, bool is_ticket) {
  if (is_ticket && version == kProtocolVersion) {
    return bad(node, ResponseStatus::kDenied, kTicketsJoin);
  }
  return bad(node, ResponseStatus::kUsage,
             "this node speaks protocol " + std::to_string(kProtocolVersion) +
                 " and does not know that request");
}

std::optional<Response> why_not_named(const NodeView& node, const Request& request,
                                      bool may_forward) {
  const std::string& name = request.node;
  const std::string& own = node.options.name;
  if (!may_forward) {
    return bad(node, ResponseStatus::kNotFound,
               "host " + own + " was asked for host '" + name +
                   "', and does not forward what another host forwarded: ask that host itself");
  }
  const HostId host = host_named(node, name);
  if (host.is_zero() || host == node.options.self) {
    return bad(node, ResponseStatus::kNotFound,
               "there is no host '" + name + "'; `muster hosts` lists them");
  }
  if (!is_reachable(node.membership, host)) {
    return bad(node, ResponseStatus::kNoQuorum,
               "host " + name + " is not reachable from host " + own + ": see `muster why-host " +
                   name + "`");
  }
  return std::nullopt;
}

namespace {

/// Replaces the age of the quorum's state by the age of this node's view.
Response aged(Response response, Duration age) {
  response.age_ms = static_cast<std::uint64_t>(to_ms(age));
  return response;
}

/// Adds the newest events about the host: they tell how this node came to its view.
Response why_host(const NodeView& node, const Request& request) {
  const auto asked = decode_payload<HostRef>(request.arguments);
  const HostId host = asked.has_value() ? asked->host : HostId();
  std::optional<WhyHostInfo> info = why_host_info(hosts_known(node), host);
  if (!info.has_value()) {
    return bad(node, ResponseStatus::kNotFound, "there is no such host; `muster hosts` lists them");
  }
  EventsQuery query;
  query.newest = kStoryEvents;
  query.about = host.short_hex();
  info->events = node.recent.page(node.wall_clock.unix_ms(node.now), query, names_of(node)).events;
  return aged(good(node, encode_payload(*info)), node.hosts.age(node.now, node.membership));
}

Response version_of(const NodeView& node, const Request&) {
  return aged(good(node, encode_payload(VersionInfo{kProductVersion, kProtocolVersion,
                                                    node.options.name, node.options.self,
                                                    node.options.start.generation, node.cluster})),
              Duration(0));
}

Response keys_of(const NodeView& node, const Request&) {
  return aged(good(node, encode_payload(keys_info(node))), Duration(0));
}

Response hosts_of(const NodeView& node, const Request& request) {
  const auto query = decode_payload<HostsQuery>(request.arguments);
  const HostsKnown hosts = hosts_known(node);
  HostList list = query.has_value() ? hosts_page(hosts, query->after) : host_list(hosts);
  list.seeds_unmet = seeds_unmet(node);
  list.voter_notes = voter_notes(node);
  return aged(good(node, encode_payload(list)), node.hosts.age(node.now, node.membership));
}

/// The host of the login is the one that the client asked. If it may not vouch, it hears nothing of
/// the user that it names.
Response whoami_of(const NodeView& node, const Request& request) {
  const bool is_own = request.via == node.options.name;
  WhoamiInfo info;
  info.user = request.user;
  info.host_name = request.via;
  info.is_vouched = node.roll.may_vouch(is_own ? node.options.self : host_named(node, request.via));
  // A token proves its user, on whatever host it is shown.
  info.is_vouched = info.is_vouched || !request.token.is_zero();
  if (info.is_vouched) {
    describe_user(directory_of(node), info);
    name_keys(info.keys, *node.options.credentials.verifier);
  }
  info.token = token_info(directory_of(node), request.token, cluster_time_of(node));
  info.cluster = node.cluster;
  return aged(good(node, encode_payload(info)),
              node.seat.knows_state() ? node.seat.age(node.now)
                                      : node.contact.users().age(node.now).value_or(Duration(0)));
}

Response gpu_board_of(const NodeView& node, const Request& request) {
  const GpusSeen seen{node.gpus.reading(), node.gpus.health(), node.gpus.dirty()};
  GpuBoard board = gpu_board(node.now, seen, node.gang_agent.inventory().gpus);
  board.host = node.options.self;
  const JobSight sight(node.seat.state(), directory_of(node), request.user);
  return aged(
      good(node, encode_payload(sight.is_limited() ? without_processes(std::move(board)) : board)),
      Duration(0));
}

Response http_root_of(const NodeView& node, const Request&) {
  return aged(http_root_answer(node), Duration(0));
}

struct HereRow {
  Verb verb{};
  Response (*answer)(const NodeView& node, const Request& request) = nullptr;
};
constexpr HereRow kHere[] = {
    {Verb::kVersion, version_of},    {Verb::kHosts, hosts_of},   {Verb::kWhyHost, why_host},
    {Verb::kKeys, keys_of},          {Verb::kWhoami, whoami_of}, {Verb::kGpuBoard, gpu_board_of},
    {Verb::kHttpRoot, http_root_of},
};
static_assert(has_row_for_those(kHere, &HereRow::verb, [](Verb verb) {
  return is(verb, Answerer::kAsked) || is(verb, Answerer::kAskedAnyway);
}));

}  // namespace

Response answer_here(const NodeView& node, const Request& request) {
  const HereRow* row = find_row(kHere, &HereRow::verb, request.verb);
  CHECK(row != nullptr);
  return row->answer(node, request);
}

Response events_of(const NodeView& node, const Request& request) {
  const auto query = decode_payload<EventsQuery>(request.arguments);
  const JobSight sight(node.seat.state(), directory_of(node), request.user);
  EventsPage page = node.recent.page(node.wall_clock.unix_ms(node.now),
                                     query.value_or(EventsQuery()), names_of(node));
  std::erase_if(page.events, [&](const EventInfo& event) { return !sight.sees_event(event.text); });
  for (EventInfo& event : page.events) {
    event.text = sight.seen_event(std::move(event.text));
  }
  return aged(good(node, encode_payload(page)), Duration(0));
}

QuorumInfo quorum_info(const NodeView& node) {
  const crdt::QuorumView quorum = node.seat.known_quorum();
  QuorumInfo info;
  info.cluster = node.cluster;
  info.epoch = node.seat.epoch().counter;
  if (node.cluster.is_zero()) {
    info.founders_wanted = node.roll.founders_wanted();
    info.founders_met = node.roll.founders().size();
    info.seeds_unmet = seeds_unmet(node);
  }
  info.role = "none";
  info.term = quorum.term;
  info.leader = quorum.leader;
  info.leader_name = quorum.leader.is_zero() ? "" : node.hosts.addresses().name(quorum.leader);
  info.applied = quorum.applied;
  info.tolerates = failures_tolerated(node, quorum);
  const scheduler::Raft* raft = node.seat.raft();
  std::vector<HostId> members = quorum.voters;
  std::vector<scheduler::MemberLag> lag;
  if (raft != nullptr) {
    info.role = scheduler::text_of(raft->role());
    info.commit = raft->commit();
    info.applied = node.seat.state().applied();
    info.wanted = raft->configuration().target;
    lag = raft->lag(node.now);
    for (const scheduler::Seat& learner : raft->configuration().learners) {
      members.push_back(learner.host);
    }
  }
  for (const HostId host : members) {
    info.voters.push_back(voter_info(node, host, lag));
  }
  return info;
}

namespace {

struct Views {
  JobsKnown jobs;
  HostViews hosts;
};

Views views_of(const NodeView& node, const std::string& unled) {
  const HostId leader = node.seat.ready_leader();
  const bool is_led = node.seat.leads() || (!leader.is_zero() && is_leader_reachable(node, leader));
  return {{node.seat.state(), node.seat.capacity(), node.seat.pending().queue()},
          {node.hosts.addresses(), [&node](HostId host) { return node.membership.member(host); },
           node.now, node.seat.left_out(),
           !unled.empty() ? unled
           : is_led       ? ""
                          : kNoLeader,
           node.wall_clock.unix_ms(node.now)}};
}

JobSight sight_of(const NodeView& node, const Request& request) {
  return JobSight(node.seat.state(), node.seat.state().directory(), request.user);
}

/// Others than those who may read the output do not see the command, which may hold secrets.
JobDetail as_shown(const NodeView& node, const Request& request, JobDetail detail) {
  const scheduler::Directory& directory = node.seat.state().directory();
  detail.output_rule = node.options.clients.output;
  detail.is_private =
      directory.is_founded() && !why_denied(directory, request.user, Right::kMayReadOutput,
                                            {"", detail.spec.user, detail.spec.team})
                                     .empty();
  if (detail.is_private) {
    detail.spec.command = {};
  }
  return sight_of(node, request).seen(std::move(detail));
}

WhyInfo as_told(const NodeView& node, WhyInfo why) {
  why.storm = storm_info(node.membership.storm(), node.now);
  return why;
}

/// The array with that number; nullptr if the number is that of a job or a task.
const scheduler::TaskArray* array_meant(const scheduler::State& state, JobId job) {
  return is_task(job) ? nullptr : state.array(array_of(job));
}

/// The refusal if there is no such job; nullopt if there is one.
std::optional<Response> why_no_job(const NodeView& node, JobId job) {
  const scheduler::State& state = node.seat.state();
  if (state.job(job) != nullptr) {
    return std::nullopt;
  }
  const scheduler::TaskArray* array = state.array(array_of(job));
  if (std::string why = array == nullptr ? "" : text_of_folded(*array, job); !why.empty()) {
    return bad(node, ResponseStatus::kNotFound, std::move(why));
  }
  return bad(node, ResponseStatus::kNotFound,
             "there is no job " + text_of(job) + "; `muster jobs --all` lists them");
}

Response quorum_answer(const NodeView& node, const Request&, const std::string&) {
  return good(node, encode_payload(quorum_info(node)));
}

Response tickets_answer(const NodeView& node, const Request&, const std::string&) {
  return good(node, encode_payload(ticket_list(node)));
}

Response users_answer(const NodeView& node, const Request& request, const std::string&) {
  const auto query = decode_payload<UsersQuery>(request.arguments).value_or(UsersQuery());
  UserList list = user_list(node.seat.state().directory(), query.after);
  for (UserInfo& user : list.users) {
    name_keys(user.keys, *node.options.credentials.verifier);
  }
  return good(node, encode_payload(list));
}

Response tokens_answer(const NodeView& node, const Request& request, const std::string&) {
  const auto query = decode_payload<TokensQuery>(request.arguments).value_or(TokensQuery());
  return good(node, encode_payload(token_list(node.seat.state().directory(), request.user, query,
                                              cluster_time_of(node))));
}

Response audit_answer(const NodeView& node, const Request& request, const std::string&) {
  auto query = decode_payload<AuditQuery>(request.arguments).value_or(AuditQuery());
  const scheduler::State& state = node.seat.state();
  bool is_own = false;
  if (std::string why = why_not_audit(state.directory(), request.user, query, is_own);
      !why.empty()) {
    return bad(node, ResponseStatus::kDenied, std::move(why));
  }
  AuditPage page = audit_page(state.audit(), query, node.wall_clock.unix_ms(node.now),
                              [&](HostId host) { return node.hosts.addresses().name(host); });
  page.is_own = is_own;
  return good(node, encode_payload(page));
}

Response host_uses_answer(const NodeView& node, const Request& request, const std::string&) {
  const auto query = decode_payload<HostsQuery>(request.arguments).value_or(HostsQuery());
  return good(node,
              encode_payload(sight_of(node, request)
                                 .seen(host_uses(node.seat.state(), node.hosts.addresses(),
                                                 node.wall_clock.unix_ms(node.now), query.after))));
}

Response host_detail_answer(const NodeView& node, const Request& request, const std::string&) {
  const auto detail = host_detail(node.seat.state(), node.hosts.addresses(),
                                  node.wall_clock.unix_ms(node.now), host_of(request));
  return detail.has_value() ? good(node, encode_payload(sight_of(node, request).seen(*detail)))
                            : bad(node, ResponseStatus::kNotFound,
                                  "that host has not registered with the quorum yet");
}

Response gpus_answer(const NodeView& node, const Request& request, const std::string&) {
  const auto query = decode_payload<GpusQuery>(request.arguments).value_or(GpusQuery());
  return good(node, encode_payload(sight_of(node, request)
                                       .seen(gpu_list(node.seat.state(), node.hosts.addresses(),
                                                      node.wall_clock.unix_ms(node.now), query),
                                             query.job)));
}

Response usage_answer(const NodeView& node, const Request& request, const std::string&) {
  const auto list = usage_list(node.seat.state(),
                               decode_payload<UsageQuery>(request.arguments).value_or(UsageQuery()),
                               sight_of(node, request));
  return list.has_value()
             ? good(node, encode_payload(*list))
             : bad(node, ResponseStatus::kUsage, "usage is grouped by user, type or name");
}

Response queues_answer(const NodeView& node, const Request& request, const std::string& unled) {
  const Views views = views_of(node, unled);
  const JobSight sight = sight_of(node, request);
  const std::int64_t now = views.hosts.now_unix_ms;
  const auto owed = scheduler::owed_waits(views.jobs.state, views.jobs.capacity, views.jobs.queue,
                                          now, scheduler::kOwedWaitTold);
  return good(node, encode_payload(queue_list(node.seat.state(), {now, &sight, owed})));
}

Response shares_answer(const NodeView& node, const Request& request, const std::string&) {
  const auto query = decode_payload<SharesQuery>(request.arguments).value_or(SharesQuery());
  const auto list = share_list(
      node.seat.state(), [&](std::string_view pool) { return node.seat.pending().first_in(pool); },
      query.path, sight_of(node, request));
  return list ? good(node, encode_payload(*list))
              : bad(node, status_of(list.error().code), list.error().text);
}

Response jobs_answer(const NodeView& node, const Request& request, const std::string& unled) {
  const Views views = views_of(node, unled);
  const auto query = decode_payload<JobsQuery>(request.arguments);
  JobList list = query.has_value() ? jobs_page(views.jobs, views.hosts, query->after, query->array)
                                   : newest_jobs(views.jobs, views.hosts);
  return good(node, encode_payload(sight_of(node, request).seen(std::move(list))));
}

Response show_answer(const NodeView& node, const Request& request, const std::string& unled) {
  const Views views = views_of(node, unled);
  const JobId job = job_of(request);
  if (const scheduler::TaskArray* array = array_meant(views.jobs.state, job)) {
    return good(node, encode_payload(as_shown(
                          node, request, array_detail(views.jobs.state, *array, views.hosts))));
  }
  if (auto refusal = why_no_job(node, job)) {
    return *std::move(refusal);
  }
  return good(node,
              encode_payload(as_shown(node, request, *job_detail(views.jobs, views.hosts, job))));
}

Response why_answer(const NodeView& node, const Request& request, const std::string& unled) {
  const Views views = views_of(node, unled);
  const JobId job = job_of(request);
  if (const scheduler::TaskArray* array = array_meant(views.jobs.state, job)) {
    return good(
        node, encode_payload(sight_of(node, request)
                                 .seen(as_told(node, why_array(views.jobs, views.hosts, *array)))));
  }
  if (auto refusal = why_no_job(node, job)) {
    return *std::move(refusal);
  }
  return good(
      node,
      encode_payload(
          sight_of(node, request).seen(as_told(node, why_info(views.jobs, views.hosts, job)))));
}

/// Refuses a job for the same reasons, with the same texts, as a submission.
Response dry_run_answer(const NodeView& node, const Request& request, const std::string& unled) {
  const Views views = views_of(node, unled);
  auto asked = decode_payload<SubmitArgs>(request.arguments);
  if (!asked.has_value()) {
    return bad(node, ResponseStatus::kUsage, "the request is not understood");
  }
  scheduler::JobSpec& spec = asked->spec;
  if (const Status valid = scheduler::validate(spec); !valid) {
    return bad(node, ResponseStatus::kUsage, valid.error().text);
  }
  spec.user = request.user.empty() ? spec.user : request.user;
  if (const Status settled = views.jobs.state.settle(spec); !settled) {
    return bad(node, status_of(settled.error().code), settled.error().text);
  }
  const JobSight sight = sight_of(node, request);
  if (const Status seen = sight.check_after(spec.eligibility); !seen) {
    return bad(node, status_of(seen.error().code), seen.error().text);
  }
  const auto wait = views.jobs.state.wait_of(spec.eligibility, 0);
  if (!wait) {
    return bad(node, status_of(wait.error().code), wait.error().text);
  }
  std::string why_not = scheduler::why_impossible(views.jobs.state, views.jobs.capacity, spec);
  if (!why_not.empty()) {
    return bad(node, ResponseStatus::kImpossible, std::move(why_not));
  }
  return good(
      node, encode_payload(sight.seen(as_told(node, dry_run_info(views.jobs, views.hosts, spec)))));
}

struct StateRow {
  Verb verb{};
  Response (*answer)(const NodeView& node, const Request& request,
                     const std::string& unled) = nullptr;
};
constexpr StateRow kFromState[] = {
    {Verb::kQuorum, quorum_answer},
    {Verb::kJobs, jobs_answer},
    {Verb::kShow, show_answer},
    {Verb::kWhy, why_answer},
    {Verb::kDryRun, dry_run_answer},
    {Verb::kHostUses, host_uses_answer},
    {Verb::kHostDetail, host_detail_answer},
    {Verb::kUsage, usage_answer},
    {Verb::kTickets, tickets_answer},
    {Verb::kUsers, users_answer},
    {Verb::kTokens, tokens_answer},
    {Verb::kAudit, audit_answer},
    {Verb::kGpus, gpus_answer},
    {Verb::kQueues, queues_answer},
    {Verb::kShares, shares_answer},
};
static_assert(has_row_for_those(kFromState, &StateRow::verb, [](Verb verb) {
  return is(verb, Answerer::kVoter) || is(verb, Answerer::kVoterOrAsked) ||
         is(verb, Answerer::kPlacer);
}));

}  // namespace

Response answer_from_state(const NodeView& node, const Request& request, const std::string& unled) {
  const StateRow* row = find_row(kFromState, &StateRow::verb, request.verb);
  CHECK(row != nullptr);
  return row->answer(node, request, unled);
}

Response replica_answer(const NodeView& node, const Request& request) {
  const VerbRow* row = find_verb(request.verb);
  return row != nullptr && row->is_readable(request.arguments) ? answer_from_state(node, request)
                                                               : unreadable(node, row);
}

}  // namespace muster::agent
