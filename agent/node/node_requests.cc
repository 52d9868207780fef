// What clients ask: answered here, by the leader, by a voter, or by the host that holds the files.

#include "agent/node/node.h"

#include <algorithm>
#include <utility>

#include "gossip/base/version.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {
namespace {

/// Whom this host heard within so long, it can reach. Longer: a leader that is gone is asked.
constexpr Duration kHeardLately = std::chrono::seconds(1);

ResponseStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return ResponseStatus::kUsage;
    case ErrorCode::kNotFound:
      return ResponseStatus::kNotFound;
    case ErrorCode::kConflict:
      return ResponseStatus::kConflict;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      return ResponseStatus::kFailed;
    case ErrorCode::kUnavailable:
      return ResponseStatus::kNoQuorum;
    case ErrorCode::kUnknown:
      return ResponseStatus::kUnknown;
    case ErrorCode::kImpossible:
      return ResponseStatus::kImpossible;
  }
  return ResponseStatus::kFailed;
}

JobId job_of(const Request& request) {
  const auto reference = decode_payload<JobRef>(request.arguments);
  return reference.has_value() ? reference->job : JobId();
}

/// "USER@HOST": who asked, and where.
std::string asker_text(const Request& request) {
  return request.user.empty() ? request.via : request.user + "@" + request.via;
}

/// The log's entry for an operator's word; what is unreadable is about no job and no host.
decltype(scheduler::input::ClientOrder::order) order_of(const Request& request) {
  namespace entry = scheduler::entry;
  const std::string by = asker_text(request);
  if (request.verb == Verb::kSuspend) {
    return entry::Suspend{job_of(request), by};
  }
  if (request.verb == Verb::kResume) {
    return entry::Resume{job_of(request), by};
  }
  if (request.verb == Verb::kRequeue) {
    const auto arguments = decode_payload<RequeueArgs>(request.arguments).value_or(RequeueArgs());
    const std::uint64_t attempt = std::min<std::uint64_t>(arguments.attempt, UINT32_MAX);
    return entry::Requeue{arguments.job, static_cast<std::uint32_t>(attempt), by};
  }
  if (request.verb == Verb::kFence) {
    return entry::Fence{decode_payload<FenceArgs>(request.arguments).value_or(FenceArgs()).host,
                        by};
  }
  return entry::Cancel{job_of(request), by};
}

}  // namespace

void Node::on_request(Instant now, const gossip::Message& message, gossip::Route route) {
  const gossip::Envelope& envelope = message.envelope();
  const Asker asker{route, envelope.nonce, envelope.trailing, envelope.trailing_count};
  auto request = decode_request(message.body());
  if (!request.has_value() || envelope.version != kProtocolVersion) {
    answer(asker, bad(ResponseStatus::kUsage, "this node speaks protocol " +
                                                  std::to_string(kProtocolVersion) +
                                                  " and does not know that request"));
    return;
  }
  // A request that another node passed on is never passed on again: no loops.
  const bool may_forward = envelope.from.is_zero();
  // Obeyed twice, an order would undo what was said in between. The answer to the first is on its
  // way.
  if (!may_forward && is_change(request->verb) && desk_.is_copy(envelope.from, envelope.nonce)) {
    ++dropped_count_;
    return;
  }
  if (may_forward || request->via.empty()) {
    request->via = options_.name;
  }
  switch (request->verb) {
    case Verb::kVersion:
    case Verb::kHosts:
    case Verb::kEvents:
    case Verb::kNodes:
      answer_here(now, asker, *request);
      return;
    case Verb::kLeave:
      leave(now, asker, *request);
      return;
    case Verb::kSubmit:
    case Verb::kCancel:
    case Verb::kChangeQuorum:
    case Verb::kSuspend:
    case Verb::kResume:
    case Verb::kRequeue:
    case Verb::kFence:
      ask_leader(now, {asker, *request}, may_forward);
      return;
    case Verb::kQuorum:
    case Verb::kJobs:
    case Verb::kShow:
    case Verb::kWhy:
      if (request->consistent && !mutant(scheduler::SchedulerMutant::kReadFromFollower)) {
        ask_leader(now, {asker, *request}, may_forward);
      } else if (request->verb != Verb::kWhy || !may_forward ||
                 !pass_to_leader(now, asker, *request)) {
        ask_voter(now, asker, *request, may_forward);
      }
      return;
    case Verb::kOutput:
      ask_output(now, asker, *request);
      return;
    case Verb::kRecover:
      ask_recovery(now, asker, *request);
      return;
  }
  answer(asker, bad(ResponseStatus::kUsage, "this node does not know that request"));
}

void Node::answer(const Asker& asker, const Response& response) {
  gossip::Envelope envelope = envelope_of(gossip::MessageType::kResponse, asker.nonce);
  envelope.trailing = asker.trailing;
  envelope.trailing_count = asker.trailing_count;
  std::string bytes = gossip::encode(envelope, encode(response));
  if (bytes.size() > gossip::kMessageBytesMax) {
    // No transport takes it, and silence would look like a dead node.
    bytes = gossip::encode(envelope, encode(bad(ResponseStatus::kFailed,
                                                "the answer has " + std::to_string(bytes.size()) +
                                                    " bytes, more than the 1 MiB of a message")));
  }
  output_.transport.push_back(gossip::Reply{asker.route, std::move(bytes)});
}

Response Node::good(Instant now, std::string payload) const {
  Response response;
  response.answered_by = options_.name;
  response.payload = std::move(payload);
  response.age_ms = static_cast<std::uint64_t>(to_ms(seat_.age(now)));
  return response;
}

Response Node::bad(ResponseStatus status, std::string text) const {
  Response response;
  response.status = status;
  response.text = std::move(text);
  response.answered_by = options_.name;
  return response;
}

/// What is passed on to a host that we cannot reach ourselves ends as "outcome unknown", which is
/// worse than a refusal: own claims count here before any verdict.
bool Node::is_reachable(HostId host) const {
  const membership::Member* member = membership_.member(host);
  return member != nullptr && !membership_.is_claimed_by_self(host) &&
         (member->state == membership::MemberState::kAlive ||
          member->state == membership::MemberState::kSuspect);
}

/// A leader that speaks to this host can be asked, whatever the verdict about it says: after a
/// fault it takes seconds to be refuted.
bool Node::is_leader_reachable(HostId leader) const {
  const bool was_heard = leader == told_leader_ && leader_heard_at_.has_value() &&
                         now_ - *leader_heard_at_ <= kHeardLately;
  return was_heard || is_reachable(leader);
}

void Node::ask_leader(Instant now, ClientDesk::Open question, bool may_forward) {
  if (seat_.leads()) {
    question.asked = HostId();
    lead_request(now, std::move(question));
    return;
  }
  const HostId leader = seat_.known_quorum().leader;
  if (may_forward && !leader.is_zero() && leader != options_.self && is_leader_reachable(leader)) {
    question.asked = leader;
    // The key makes two submits one; an order that is repeated may meet what came after it.
    const Verb verb = question.request.verb;
    question.follows_leader = verb == Verb::kSubmit || !is_change(verb);
    forward(now, std::move(question));
    return;
  }
  refuse(question, "no quorum is reachable from host " + options_.name +
                       "; repeat later, or ask another node with --node");
}

/// The leader before may be frozen or cut off, and then nothing would ever come of the question.
/// True when there were such questions.
bool Node::ask_anew(Instant now) {
  const HostId leader = seat_.ready_leader();
  if (leader == asked_leader_) {
    return false;
  }
  if (leader.is_zero()) {
    asked_leader_ = leader;
    return false;
  }
  if (leader != options_.self && !is_leader_reachable(leader)) {
    return false;  // Its first word to this host may be on the way.
  }
  asked_leader_ = leader;
  std::vector<ClientDesk::Open> questions = desk_.take_back(leader);
  for (ClientDesk::Open& question : questions) {
    question.is_repeated = true;
    ask_leader(now, std::move(question), true);
  }
  return !questions.empty();
}

/// Surely not done, unless an earlier leader was asked already. Why a job waits a voter knows too.
void Node::refuse(const ClientDesk::Open& question, const std::string& text) {
  const Request& request = question.request;
  const bool is_known = request.verb == Verb::kWhy && !request.consistent &&
                        seat_.knows_state() && seat_.state().job(job_of(request)) != nullptr;
  if (is_known) {
    answer(question.asker,
           answer_from_state(now_, request,
                             "the leader places it, and could not be asked: " + text));
  } else if (question.is_repeated && question.request.verb == Verb::kSubmit) {
    answer(question.asker, bad(ResponseStatus::kUnknown,
                               "the leader changed: it may or may not have been accepted; repeat "
                               "under the same key (" +
                                   text + ")"));
  } else {
    answer(question.asker, bad(ResponseStatus::kNoQuorum, text));
  }
}

/// What only a leader knows is best asked there. False: this host leads, or knows no leader.
bool Node::pass_to_leader(Instant now, const Asker& asker, const Request& request) {
  const HostId leader = seat_.ready_leader();
  if (seat_.leads() || leader.is_zero() || leader == options_.self ||
      !is_leader_reachable(leader)) {
    return false;
  }
  ClientDesk::Open question{asker, request, leader};
  question.follows_leader = true;
  forward(now, std::move(question));
  return true;
}

void Node::lead_request(Instant now, ClientDesk::Open question) {
  const Request request = question.request;
  const auto number = desk_.open(now, question);
  if (!number.has_value()) {
    refuse(question, "too many requests at once: repeat in a moment");
    return;
  }
  if (request.verb == Verb::kSubmit) {
    auto arguments = decode_payload<SubmitArgs>(request.arguments);
    if (!arguments.has_value()) {
      finish_client({*number, std::nullopt, false, ErrorCode::kInvalid, "malformed submit"});
      return;
    }
    seat_.step(now, scheduler::input::ClientSubmit{*number, std::move(arguments->key),
                                                   std::move(arguments->spec),
                                                   asker_text(request)});
  } else if (request.verb == Verb::kChangeQuorum) {
    const auto wish = decode_payload<QuorumWish>(request.arguments);
    if (!wish.has_value()) {
      finish_client({*number, std::nullopt, false, ErrorCode::kInvalid, "malformed wish"});
      return;
    }
    seat_.step(now, scheduler::input::ChangeQuorum{*number, wish->action, wish->host});
  } else if (is_change(request.verb)) {
    seat_.step(now, scheduler::input::ClientOrder{*number, order_of(request)});
  } else {
    seat_.step(now, scheduler::input::Read{*number});
  }
}

void Node::ask_voter(Instant now, const Asker& asker, const Request& request, bool may_forward) {
  if (seat_.knows_state() || (seat_.trusts_own_seat() && request.verb == Verb::kQuorum)) {
    answer(asker, answer_from_state(now, request));
    return;
  }
  const crdt::QuorumView quorum = seat_.known_quorum();
  HostId to;
  for (const HostId voter : quorum.voters) {
    if (voter != options_.self && is_reachable(voter) && (to.is_zero() || voter == quorum.leader)) {
      to = voter;
    }
  }
  if (may_forward && !to.is_zero()) {
    forward(now, {asker, request, to});
  } else if (request.verb == Verb::kQuorum) {
    answer(asker, good(now, encode_payload(quorum_info(now))));
  } else {
    answer(asker,
           bad(ResponseStatus::kNoQuorum, "host " + options_.name +
                                              " reaches no voter, and jobs are kept by voters: "
                                              "repeat later or ask another node"));
  }
}

void Node::answer_read(Instant now, std::uint64_t request, bool granted) {
  if (const auto open = desk_.close(request)) {
    answer(open->asker, granted ? answer_from_state(now, open->request)
                                : bad(ResponseStatus::kNoQuorum,
                                      "leadership was lost before a majority confirmed the read: "
                                      "repeat"));
  }
}

void Node::forward(Instant now, ClientDesk::Open question) {
  const crdt::Identity* target = addresses_.identity(question.asked);
  const auto number = target == nullptr ? std::nullopt : desk_.open(now, question);
  if (!number.has_value()) {
    refuse(question, "too many requests at once: repeat in a moment");
    return;
  }
  gossip::Envelope envelope = envelope_of(gossip::MessageType::kRequest, Nonce(*number));
  envelope.trailing = question.asker.trailing;
  envelope.trailing_count = question.asker.trailing_count;
  const Request& request = question.request;
  const bool is_bulk = request.verb == Verb::kOutput;
  output_.transport.push_back(
      gossip::Send{is_bulk ? target->bulk : target->control,
                   is_bulk ? gossip::Channel::kBulk : gossip::Channel::kControl,
                   gossip::encode(envelope, encode(request))});
}

void Node::on_response(const gossip::Message& message) {
  const auto open = desk_.close(message.envelope().nonce.value());
  if (!open.has_value()) {
    return;
  }
  Asker asker = open->asker;
  asker.trailing = message.envelope().trailing;
  asker.trailing_count = message.envelope().trailing_count;
  const auto response = decode_response(message.body());
  const bool is_mine = open->is_repeated || open->request.verb == Verb::kWhy;
  if (response.has_value() && response->status == ResponseStatus::kNoQuorum && is_mine) {
    refuse(*open, response->text);
    return;
  }
  answer(asker, response.has_value()
                    ? *response
                    : bad(ResponseStatus::kUnknown, "the node that knows gave no readable answer"));
}

void Node::ask_output(Instant now, const Asker& asker, const Request& request) {
  if (!request.target.is_zero() && request.target != options_.self) {
    if (is_reachable(request.target)) {
      forward(now, {asker, request, request.target});
    } else {
      answer(asker, bad(ResponseStatus::kNotFound,
                        "host " + addresses_.name(request.target) +
                            " is not reachable, and its ranks' output is kept there alone"));
    }
    return;
  }
  const auto query = decode_payload<OutputQuery>(request.arguments);
  const auto number = query.has_value() ? desk_.open(now, {asker, request}) : std::nullopt;
  if (!number.has_value()) {
    answer(asker, bad(ResponseStatus::kUsage, "malformed question for output"));
    return;
  }
  output_.reads.push_back({*number, *query});
}

void Node::on(Instant now, OutputRead input) {
  if (const auto open = desk_.close(input.request)) {
    answer(open->asker, input.chunk.has_value()
                            ? good(now, encode_payload(*input.chunk))
                            : bad(ResponseStatus::kNotFound,
                                  "host " + options_.name + " has no output of that rank"));
  }
}

void Node::leave(Instant now, const Asker& asker, const Request& request) {
  const std::vector<GrantView> held = gang_agent_.grants();
  const auto grants = std::count_if(held.begin(), held.end(), [](const GrantView& grant) {
    return grant.state != scheduler::GrantState::kAborted;
  });
  if (grants > 0) {
    answer(asker, bad(ResponseStatus::kConflict,
                      std::to_string(grants) + (grants == 1 ? " gang has" : " gangs have") +
                          " ranks on host " + options_.name +
                          ": cancel them or wait for their end, then leave"));
    return;
  }
  Response response = good(now, std::string());
  const crdt::QuorumView quorum = seat_.known_quorum();
  if (std::find(quorum.voters.begin(), quorum.voters.end(), options_.self) != quorum.voters.end()) {
    const auto arguments = decode_payload<LeaveArgs>(request.arguments);
    const std::size_t live = live_voters(quorum, options_.self);
    const std::string left =
        std::to_string(live) + " of " + std::to_string(quorum.voters.size()) + " voters";
    if (live < quorum.voters.size() / 2 + 1 && !(arguments.has_value() && arguments->force)) {
      answer(asker, bad(ResponseStatus::kConflict,
                        "host " + options_.name + " is a voter, and without it " + left +
                            " would be alive, which is no majority: start the others first, or "
                            "leave with --force and lose the quorum"));
      return;
    }
    response.text = "host " + options_.name + " is a voter: until another host takes its place, " +
                    left + " remain";
  }
  answer(asker, response);
  on(now, LeaveAsked{});
}

void Node::finish_client(const scheduler::SeatReply& reply) {
  const auto open = desk_.close(reply.request);
  if (!open.has_value()) {
    return;
  }
  if (reply.done) {
    Response response = good(now_, std::string());
    response.text = reply.text;
    answer(open->asker, response);
    return;
  }
  if (!reply.job.has_value() && status_of(reply.code) == ResponseStatus::kNoQuorum) {
    refuse(*open, reply.text);
    return;
  }
  answer(open->asker, reply.job.has_value() ? good(now_, encode_payload(JobRef{*reply.job}))
                                            : bad(status_of(reply.code), reply.text));
}

void Node::expire_questions(Instant now) {
  end_unanswered(desk_.expire(now),
                 "no answer within " +
                     std::to_string(ClientDesk::kForwardTimeout / std::chrono::seconds(1)) + " s");
}

/// An answer would have come on the connection that is gone: the client tries elsewhere at once.
void Node::give_up_on(HostId host) {
  end_unanswered(desk_.give_up(host), "host " + addresses_.name(host) + " went away");
}

void Node::end_unanswered(const std::vector<ClientDesk::Open>& questions, const std::string& why) {
  for (const ClientDesk::Open& open : questions) {
    if (!is_change(open.request.verb)) {
      refuse(open, why + ": repeat");
    } else {
      answer(open.asker, bad(ResponseStatus::kUnknown,
                             why + ": it may or may not have been accepted; repeat under the same "
                                   "key"));
    }
  }
}

}  // namespace muster::agent
