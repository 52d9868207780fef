#include "agent/node/client_front.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/api/verbs.h"
#include "agent/front/access.h"
#include "agent/front/asker.h"
#include "agent/node/answers.h"
#include "agent/node/certifying.h"
#include "agent/node/join.h"
#include "agent/node/leaving.h"
#include "agent/node/request_target.h"
#include "agent/node/vouching.h"
#include "gossip/base/check.h"
#include "gossip/base/mutant.h"
#include "gossip/base/version.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {
namespace {

Response too_many(const NodeView& node) {
  return bad(node, ResponseStatus::kNoQuorum, kTooMany);
}

}  // namespace

ClientFront::Heard ClientFront::on_request(const RequestReach& reach,
                                           const gossip::Message& message,
                                           const gossip::Received& input) {
  const gossip::Envelope& envelope = message.envelope();
  const NodeOptions& own = reach.node.options;
  const gossip::Sender& sender = input.sender;
  const bool is_member = sender.kind == gossip::Sender::Kind::kHost;
  Asker asker{sender,
              is_member ? sender.host : own.self,
              {},
              {input.route, envelope.nonce, envelope.trailing, envelope.trailing_count}};
  if (sender.kind == gossip::Sender::Kind::kNobody ||
      (is_member && !reach.node.roll.allows(envelope.type, envelope.from, sender))) {
    return Heard::kCopy;  // The sender may not ask: dropped.
  }
  if (std::string why = why_denied(sender, own.clients.login); !why.empty()) {
    notes_.count_stranger();
    answer(reach, asker, bad(reach.node, ResponseStatus::kDenied, std::move(why)));
    return Heard::kTaken;
  }
  auto request = decode_request(message.body());
  if (!request.has_value() || envelope.version != kProtocolVersion) {
    const bool is_ticket = sender.kind == gossip::Sender::Kind::kTicket;
    answer(reach, asker, not_understood(reach.node, envelope.version, is_ticket));
    return Heard::kTaken;
  }
  name_login(*request, sender, own);
  if (std::string unnamed = why_not_named_so(*request, is_member); !unnamed.empty()) {
    answer(reach, asker, bad(reach.node, ResponseStatus::kUsage, std::move(unnamed)));
    return Heard::kTaken;
  }
  std::string denied = take_token(reach.node, *request, asker);
  if (denied.empty() && sender.kind != gossip::Sender::Kind::kTicket && !request->shows_token()) {
    denied = why_not_through(reach.node, *request, asker);
  }
  if (!denied.empty()) {
    notes_.count_stranger();
    answer(reach, asker, bad(reach.node, ResponseStatus::kDenied, std::move(denied)));
    return Heard::kTaken;
  }
  if (is_member && is_change(request->verb) && desk_.is_copy(envelope.from, envelope.nonce)) {
    return Heard::kCopy;
  }
  if (!is_member || request->via.empty()) {
    request->via = own.name;
  }
  const bool is_for_us = request->node == own.name;
  if (is_for_us) {
    request->node.clear();
  }
  asker.by = subject_of(reach.node, *request, asker.host);
  Question question{std::move(asker), *std::move(request), !is_member || is_for_us};
  const bool is_join =
      is(question.request.verb, Openness::kTicket) || sender.kind == gossip::Sender::Kind::kTicket;
  if (is_join && !take_join(reach, question)) {
    return Heard::kTaken;
  }
  const bool is_judged_first =
      is(question.request.verb, Openness::kRootOfVoter) ||
      (is_guest(sender, own.clients.login) && is(question.request.verb, Answerer::kTarget));
  if (is_judged_first && !lets_user(reach, question.asker, question.request)) {
    return Heard::kTaken;
  }
  if (!question.request.node.empty()) {
    ask_named(reach, question);
    return Heard::kTaken;
  }
  return on_question(reach, question);
}

bool ClientFront::lets_user(const ClientReach& reach, const Asker& asker, const Request& request) {
  const auto refusal = why_not_of_user(reach.node, request, asker);
  if (refusal.has_value() && refusal->status == ResponseStatus::kDenied) {
    refuse_person(reach, asker, request, *refusal);
  } else if (refusal.has_value()) {
    answer(reach, asker, *refusal);
  }
  return !refusal.has_value();
}

void ClientFront::refuse_person(const ClientReach& reach, const Asker& asker,
                                const Request& request, Response refusal) {
  const std::uint64_t number = note(reach.node, asker, request, false, refusal.text);
  const bool may_wait = number != 0 && reach.node.seat.leads();
  if (!may_wait || !held_.hold(reach.node.now, number, {asker, refusal})) {
    answer(reach, asker, refusal);
  }
}

void ClientFront::on_notes_settled(const ClientReach& reach) {
  for (const HeldRefusal& each : held_.take(reach.node.now, notes_.settled())) {
    answer(reach, each.asker, each.response);
  }
}

std::uint64_t ClientFront::note(const NodeView& node, const Asker& asker, const Request& request,
                                bool was_done, std::string why) {
  if (directory_of(node).user(request.user).role == scheduler::UserRole::kNone) {
    notes_.count_stranger();
    return 0;
  }
  scheduler::RequestNote note{asker.by, std::string(find_verb(request.verb)->name),
                              object_of(node, request), was_done, std::move(why)};
  if (was_done) {
    notes_.note_read(node.now, std::move(note));
    return 0;
  }
  return notes_.note(node.now, std::move(note));
}

bool ClientFront::take_join(const RequestReach& reach, Question& question) {
  const gossip::Sender& sender = question.asker.proven;
  const auto refused = [&](ResponseStatus status, std::string text) {
    answer(reach, question.asker, bad(reach.node, status, std::move(text)));
    return false;
  };
  auto join = decode_payload<JoinArgs>(question.request.arguments);
  if (!is(question.request.verb, Openness::kTicket) && mutant(Mutant::kTicketMayMore)) {
    return true;
  }
  if (!is(question.request.verb, Openness::kTicket) || !join.has_value()) {
    return refused(ResponseStatus::kDenied, kTicketsJoin);
  }
  const bool is_passed_on = sender.kind == gossip::Sender::Kind::kHost;
  if (is_passed_on ? !reach.node.roll.may_vote(sender.host)
                   : sender.kind != gossip::Sender::Kind::kTicket) {
    return refused(ResponseStatus::kDenied, "a ticket is needed to join");
  }
  if (const Status good = check(*join); !good) {
    return refused(ResponseStatus::kUsage, good.error().text);
  }
  if (!is_passed_on) {
    join->ticket = sender.ticket;
    question.request.node.clear();
    question.request.arguments = encode_payload(*join);
  }
  if (!reach.founding.founding.is_open() || !reach.node.cluster.is_zero()) {
    return true;
  }
  const HostId host = reach.node.options.credentials.verifier->host_of(join->identity_key);
  const auto record = reach.founding.founding.record(reach.node.now, *join, reach.node.roll,
                                                     reach.founding.store, reach.outbox);
  if (!record) {
    return refused(status_of(record.error().code), record.error().text);
  }
  answer(reach, question.asker,
         good(reach.node, encode_payload(join_info(reach.node, host, *record))));
  return false;
}

ClientFront::Heard ClientFront::on_question(const RequestReach& reach, const Question& question) {
  const Request& request = question.request;
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr) {
    answer(reach, question.asker, unreadable(reach.node, row));
    return Heard::kTaken;
  }
  switch (row->answerer) {
    case Answerer::kAsked:
      // A token that this host does not know hears that, whatever it asks.
      if ((row->openness != Openness::kAll || (request.shows_token() && request.token.is_zero())) &&
          !lets_user(reach, question.asker, request)) {
        return Heard::kTaken;
      }
      [[fallthrough]];
    case Answerer::kAskedAnyway:
      answer(reach, question.asker,
             row->is_readable(request.arguments) ? answer_here(reach.node, request)
                                                 : unreadable(reach.node, row));
      return Heard::kTaken;
    case Answerer::kTarget:
      return ask_target(reach, question);
    case Answerer::kLeader:
      ask_leader(reach, {question.asker, request}, question.may_forward);
      return Heard::kTaken;
    case Answerer::kVoter:
    case Answerer::kVoterOrAsked:
    case Answerer::kPlacer:
      if (request.consistent && !mutant(scheduler::SchedulerMutant::kReadFromFollower)) {
        ask_leader(reach, {question.asker, request}, question.may_forward);
      } else if (row->answerer != Answerer::kPlacer || !question.may_forward ||
                 !pass_to_leader(reach, question)) {
        ask_voter(reach, question);
      }
      return Heard::kTaken;
    case Answerer::kSigner:
      answer(reach, question.asker,
             certificate_answer(reach.node, request, question.asker, certify_pace_));
      return Heard::kTaken;
    case Answerer::kUnjoined:
      answer(reach, question.asker,
             bad(reach.node, ResponseStatus::kConflict, member_already(reach.node)));
      return Heard::kTaken;
  }
  return Heard::kTaken;
}

ClientFront::Heard ClientFront::ask_target(const RequestReach& reach, const Question& question) {
  struct Row {
    Verb verb{};
    /// The refusal if the target is not reachable; nullptr if the verb is never passed on.
    const char* why_not = nullptr;
    Heard (ClientFront::*ask)(const RequestReach& reach, const Question& question) = nullptr;
  };
  static constexpr Row kTargets[] = {
      {Verb::kEvents, " is not reachable, and its events are kept only there",
       &ClientFront::ask_events},
      {Verb::kOutput, " is not reachable, and its ranks' output is kept only there",
       &ClientFront::ask_output},
      {Verb::kStats, " is not reachable", &ClientFront::ask_stats},
      {Verb::kRecover, " is not reachable", &ClientFront::ask_recovery},
      {Verb::kLeave, nullptr, &ClientFront::ask_to_leave},
  };
  static_assert(has_row_for_those(kTargets, &Row::verb,
                                  [](Verb verb) { return is(verb, Answerer::kTarget); }));
  const Row* row = find_row(kTargets, &Row::verb, question.request.verb);
  CHECK(row != nullptr);
  if (row->why_not != nullptr && pass_to_target(reach, question, row->why_not)) {
    return Heard::kTaken;
  }
  const VerbRow* verb = find_verb(row->verb);
  if (verb == nullptr || !verb->is_readable(question.request.arguments)) {
    answer(reach, question.asker, unreadable(reach.node, verb));
    return Heard::kTaken;
  }
  return lets_user(reach, question.asker, question.request) ? (this->*row->ask)(reach, question)
                                                            : Heard::kTaken;
}

/// Precondition: the request names another node.
void ClientFront::ask_named(const ClientReach& reach, const Question& question) {
  if (const auto refusal = why_not_named(reach.node, question.request, question.may_forward)) {
    answer(reach, question.asker, *refusal);
    return;
  }
  const HostId host = host_named(reach.node, question.request.node);
  forward(reach, {question.asker, question.request, host});
}

ClientFront::Heard ClientFront::ask_to_leave(const RequestReach& reach, const Question& question) {
  const HostId target = question.request.target;
  if (!target.is_zero() && target != reach.node.options.self) {
    answer(
        reach, question.asker,
        bad(reach.node, ResponseStatus::kUsage, "a host leaves through its own agent: use --node"));
    return Heard::kTaken;
  }
  std::string remains;
  const std::string why_not = why_not_leave(reach.node, question.request, remains);
  if (!why_not.empty()) {
    answer(reach, question.asker, bad(reach.node, ResponseStatus::kConflict, why_not));
    return Heard::kTaken;
  }
  answer(reach, question.asker, done(reach.node, "", std::move(remains)));
  return Heard::kLeave;
}

void ClientFront::ask_leader(const OrderReach& reach, ClientDesk::Open question, bool may_forward) {
  const NodeView& node = reach.node;
  if (node.seat.leads()) {
    question.asked = HostId();
    lead(reach, question);
    return;
  }
  const HostId leader = node.seat.known_quorum().leader;
  if (may_forward && !leader.is_zero() && leader != node.options.self &&
      is_leader_reachable(node, leader)) {
    question.asked = leader;
    // The key makes it safe to repeat a submission; a repeated order might undo a later one.
    const Verb verb = question.request.verb;
    question.follows_leader = is(verb, Effect::kSubmits) || !is_change(verb);
    forward(reach, question);
    return;
  }
  if (wait_for_first_leader(reach, question, may_forward)) {
    return;
  }
  refuse(reach, question,
         "no quorum is reachable from host " + node.options.name +
             "; repeat later, or ask another node with --node");
}

/// False if this host has met a leader, or has had the time to hear of one.
bool ClientFront::wait_for_first_leader(const ClientReach& reach, const ClientDesk::Open& question,
                                        bool may_forward) {
  if (has_met_leader_ || !may_forward || reach.node.now >= started_ + kFirstLeaderWait) {
    return false;
  }
  ClientDesk::Open waiting = question;
  waiting.waits = true;
  return desk_.open(reach.node.now, std::move(waiting), kFirstLeaderPatience).has_value();
}

/// Passes the question to the leader, which knows more. False if this host leads, or knows no
/// leader that it can reach.
bool ClientFront::pass_to_leader(const ClientReach& reach, const Question& question) {
  const NodeView& node = reach.node;
  const HostId leader = node.seat.ready_leader();
  if (node.seat.leads() || leader.is_zero() || leader == node.options.self ||
      !is_leader_reachable(node, leader)) {
    return false;
  }
  ClientDesk::Open passed_on{question.asker, question.request, leader};
  passed_on.follows_leader = true;
  forward(reach, passed_on);
  return true;
}

void ClientFront::ask_voter(const ClientReach& reach, const Question& question) {
  const NodeView& node = reach.node;
  const Request& request = question.request;
  const bool is_known_here = is(request.verb, Answerer::kVoterOrAsked);
  if (node.seat.knows_state() || (node.seat.trusts_own_seat() && is_known_here)) {
    if (lets_user(reach, question.asker, request)) {
      answer(reach, question.asker, replica_answer(node, request));
    }
    return;
  }
  const crdt::QuorumView quorum = node.seat.known_quorum();
  HostId to;
  for (const HostId voter : quorum.voters) {
    if (voter != node.options.self && is_reachable(node.membership, voter) &&
        (to.is_zero() || voter == quorum.leader)) {
      to = voter;
    }
  }
  if (question.may_forward && !to.is_zero()) {
    forward(reach, {question.asker, request, to});
  } else if (is_known_here) {
    answer(reach, question.asker, replica_answer(node, request));
  } else if (!wait_for_first_leader(reach, {question.asker, request}, question.may_forward)) {
    answer(reach, question.asker,
           bad(node, ResponseStatus::kNoQuorum,
               "host " + node.options.name +
                   " reaches no voter, and only voters know the jobs: repeat later or ask another "
                   "node"));
  }
}

bool ClientFront::pass_to_target(const ClientReach& reach, const Question& question,
                                 const std::string& why_not) {
  const HostId target = question.request.target;
  if (target.is_zero() || target == reach.node.options.self) {
    return false;
  }
  if (is_reachable(reach.node.membership, target)) {
    forward(reach, {question.asker, question.request, target});
  } else {
    answer(reach, question.asker,
           bad(reach.node, ResponseStatus::kNotFound,
               "host " + reach.node.hosts.addresses().name(target) + why_not));
  }
  return true;
}

ClientFront::Heard ClientFront::ask_events(const RequestReach& reach, const Question& question) {
  answer(reach, question.asker, events_of(reach.node, question.request));
  return Heard::kTaken;
}

ClientFront::Heard ClientFront::ask_output(const RequestReach& reach, const Question& question) {
  const auto query =
      decode_payload<OutputQuery>(question.request.arguments).value_or(OutputQuery());
  if (const auto number = desk_.open(reach.node.now, {question.asker, question.request})) {
    reach.outbox.read(ReadOutput{*number, query});
  } else {
    answer(reach, question.asker, too_many(reach.node));
  }
  return Heard::kTaken;
}

ClientFront::Heard ClientFront::ask_stats(const RequestReach& reach, const Question& question) {
  if (const auto number = desk_.open(reach.node.now, {question.asker, question.request})) {
    reach.outbox.read(ReadStats{*number});
  } else {
    answer(reach, question.asker, too_many(reach.node));
  }
  return Heard::kTaken;
}

ClientFront::Heard ClientFront::ask_recovery(const RequestReach& reach, const Question& question) {
  const NodeView& node = reach.node;
  const auto arguments =
      decode_payload<RecoverArgs>(question.request.arguments).value_or(RecoverArgs());
  answer(reach, question.asker,
         arguments.is_order ? reach.epochs.recover(node, arguments, reach.seat)
                            : good(node, encode_payload(reach.epochs.recovery_info(node))));
  return Heard::kTaken;
}

/// Precondition: this host leads.
void ClientFront::lead(const OrderReach& reach, const ClientDesk::Open& question) {
  const Request& request = question.request;
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr || !row->is_readable(request.arguments)) {
    answer(reach, question.asker, unreadable(reach.node, row));
    return;
  }
  if (!lets_user(reach, question.asker, request)) {
    return;
  }
  const auto number = desk_.open(reach.node.now, question);
  if (!number.has_value()) {
    refuse(reach, question, kTooMany);
    return;
  }
  auto input = seat_input_of(reach.node, request, *number, question.asker);
  if (!input) {
    on_seat_reply(reach, {*number, std::nullopt, false, input.error().code, input.error().text});
    return;
  }
  if (const auto refusal = why_not_signed(reach.node, request, *input)) {
    desk_.close(*number);
    // With a payload it asks for a signature, or for one with another number.
    refusal->payload.empty() ? refuse_person(reach, question.asker, request, *refusal)
                             : answer(reach, question.asker, *refusal);
    return;
  }
  reach.seat.step(reach.node.now, *std::move(input));
}

void ClientFront::forward(const ClientReach& reach, const ClientDesk::Open& question) {
  const crdt::Identity* target = reach.node.hosts.addresses().identity(question.asked);
  const auto number = target == nullptr ? std::nullopt : desk_.open(reach.node.now, question);
  if (!number.has_value()) {
    refuse(reach, question, kTooMany);
    return;
  }
  const gossip::Envelope envelope =
      envelope_for(reach.node, gossip::MessageType::kRequest, Nonce(*number), question.asker.back);
  const bool is_bulk = is(question.request.verb, Answer::kBulk);
  reach.outbox.send_to(is_bulk ? target->bulk : target->control,
                       is_bulk ? gossip::Channel::kBulk : gossip::Channel::kControl,
                       gossip::encode(envelope, encode(to_pass_on(reach.node, question.request))));
}

void ClientFront::on_response(const ClientReach& reach, const gossip::Message& message) {
  const auto open = desk_.close(message.envelope().nonce.value());
  if (!open.has_value()) {
    return;
  }
  if (open->asked != message.envelope().from) {
    end_unanswered(reach, {*open}, "another host answered than the one that was asked");
    return;
  }
  Asker asker = open->asker;
  asker.back.trailing = message.envelope().trailing;
  asker.back.trailing_count = message.envelope().trailing_count;
  const auto response = decode_response(message.body());
  const bool is_mine = open->is_repeated || is(open->request.verb, Answerer::kPlacer);
  if (response.has_value() && response->status == ResponseStatus::kNoQuorum && is_mine) {
    refuse(reach, *open, response->text);
    return;
  }
  answer(reach, asker,
         response.has_value()
             ? *response
             : bad(reach.node, ResponseStatus::kUnknown,
                   "cannot read the answer of the host that was asked: compare `muster version`"));
}

void ClientFront::on_output_read(const ClientReach& reach, const OutputRead& read) {
  if (const auto open = desk_.close(read.request)) {
    const std::string denied =
        read.chunk.has_value()
            ? why_output_denied({directory_of(reach.node), cluster_time_of(reach.node)},
                                open->request, read.owner)
            : "";
    if (!denied.empty()) {
      refuse_person(reach, open->asker, open->request,
                    bad(reach.node, ResponseStatus::kDenied, denied));
      return;
    }
    if (read.chunk.has_value() && read.owner.user != open->request.user) {
      note(reach.node, open->asker, open->request, true, "output of user " + read.owner.user);
    }
    answer(reach, open->asker,
           read.chunk.has_value()
               ? good(reach.node, encode_payload(*read.chunk))
               : bad(reach.node, ResponseStatus::kNotFound,
                     "host " + reach.node.options.name + " has no output of that rank" +
                         (read.why_not.empty() ? "" : ": " + read.why_not)));
  }
}

void ClientFront::on_stats_read(const ClientReach& reach, const StatsRead& read) {
  if (const auto open = desk_.close(read.request)) {
    answer(reach, open->asker, good(reach.node, encode_payload(read.stats)));
  }
}

void ClientFront::on_seat_answers(const ClientReach& reach, const scheduler::SeatAnswers& answers) {
  for (const scheduler::SeatReply& reply : answers.replies) {
    on_seat_reply(reach, reply);
  }
  for (const std::uint64_t request : answers.confirmed_reads) {
    on_read_done(reach, request, true);
  }
  for (const std::uint64_t request : answers.refused_reads) {
    on_read_done(reach, request, false);
  }
}

void ClientFront::on_seat_reply(const ClientReach& reach, const scheduler::SeatReply& reply) {
  const auto open = desk_.close(reply.request);
  if (!open.has_value()) {
    return;
  }
  if (reply.done) {
    answer(reach, open->asker,
           done(reach.node, payload_of_done(reach.node, open->request), reply.text));
    return;
  }
  if (!reply.job.has_value() && status_of(reply.code) == ResponseStatus::kNoQuorum) {
    refuse(reach, *open, reply.text, reply.retry_after);
    return;
  }
  answer(reach, open->asker,
         reply.job.has_value() ? good(reach.node, encode_payload(JobRef{*reply.job}))
                               : bad(reach.node, status_of(reply.code), reply.text));
}

void ClientFront::on_read_done(const ClientReach& reach, std::uint64_t request, bool is_confirmed) {
  if (const auto open = desk_.close(request)) {
    answer(reach, open->asker,
           is_confirmed ? answer_from_state(reach.node, open->request)
                        : bad(reach.node, ResponseStatus::kNoQuorum,
                              "leadership was lost before a majority confirmed the read: "
                              "repeat"));
  }
}

bool ClientFront::on_leader_ready(const OrderReach& reach) {
  const HostId leader = reach.node.seat.ready_leader();
  if (!is_leader_news(leader)) {
    return false;
  }
  if (leader.is_zero()) {
    asked_leader_ = leader;
    return false;
  }
  if (leader != reach.node.options.self && !is_leader_reachable(reach.node, leader)) {
    return false;  // Its first message to this host may be on the way.
  }
  asked_leader_ = leader;
  has_met_leader_ = true;
  std::vector<ClientDesk::Open> questions = desk_.take_back(leader);
  for (ClientDesk::Open& question : questions) {
    question.is_repeated = !std::exchange(question.waits, false);
    ask_leader(reach, std::move(question), true);
  }
  return !questions.empty();
}

void ClientFront::on_host_gone(const ClientReach& reach, HostId host) {
  end_unanswered(reach, desk_.give_up(host),
                 "host " + reach.node.hosts.addresses().name(host) + " went away");
}

void ClientFront::tick(const ClientReach& reach) {
  end_unanswered(reach, desk_.expire(reach.node.now),
                 "no answer within " +
                     std::to_string(ClientDesk::kForwardTimeout / std::chrono::seconds(1)) + " s");
  on_notes_settled(reach);
}

}  // namespace muster::agent
