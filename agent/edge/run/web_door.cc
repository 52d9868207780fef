#include "agent/edge/run/web_door.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "agent/api/rest/problem.h"
#include "agent/api/rest/proof.h"
#include "agent/api/verbs.h"
#include "agent/edge/door/page_files.h"
#include "gossip/base/version.h"
#include "gossip/wire/message.h"

namespace muster::agent {
namespace {

constexpr char kHealthPath[] = "/healthz";

/// A file of the page, which holds no data and asks for no proof; nullopt if the request is for
/// something else.
std::optional<HttpAnswer> page_answer(const HttpRequest& request) {
  const bool is_read = request.method == HttpMethod::kGet || request.method == HttpMethod::kHead;
  const PageFile* file = is_read ? page_file(request.path) : nullptr;
  if (file == nullptr) {
    return std::nullopt;
  }
  HttpAnswer answer;
  answer.content_type = file->content_type;
  answer.fields = {{"etag", std::string(file->etag)},
                   {"cache-control", "no-cache"},
                   {"content-security-policy", std::string(kPagePolicy)}};
  if (agent::field_of(request.fields, "if-none-match") == file->etag) {
    answer.status = 304;
  } else {
    answer.body = file->bytes;
  }
  return answer;
}

HttpAnswer unproven(std::string text) {
  return problem(401, ResponseStatus::kDenied, std::move(text));
}

constexpr char kTooMany[] =
    "this host has too many requests, and did nothing about this one: repeat it";
constexpr std::uint64_t kTooManyRetryMs = 2'000;
/// Between two looks for questions that wait too long.
constexpr Duration kLateLookPeriod = std::chrono::milliseconds(100);

void refuse(HttpServer& server, std::uint64_t question) {
  server.answer(question, problem(503, ResponseStatus::kNoQuorum, kTooMany, kTooManyRetryMs));
}

Duration cpu_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The answer at once of a question that the node is not to hear, or its proof.
std::variant<HttpAnswer, Proof> admit(const HttpQuestion& question) {
  const bool is_login = question.peer.uid.has_value();
  std::variant<HttpAnswer, Proof> read = read_proof(question.request, !is_login);
  const auto* refusal = std::get_if<HttpAnswer>(&read);
  const bool has_proof_in_query = refusal != nullptr && refusal->status == 400;
  if (std::optional<HttpAnswer> page = page_answer(question.request);
      page.has_value() && !has_proof_in_query) {
    return *std::move(page);
  }
  const Proof* proof = std::get_if<Proof>(&read);
  if (proof != nullptr && !is_login && proof->line.empty() &&
      question.request.path != kHealthPath) {
    return unproven(
        "show an access token: `Authorization: Bearer LINE`, with the line that "
        "`muster token create` printed");
  }
  return read;
}

bool changes(Verb verb) {
  const VerbRow* row = find_verb(verb);
  return row != nullptr && row->effect != Effect::kReads;
}

Response unanswered() {
  Response response;
  response.status = ResponseStatus::kUnknown;
  response.text = "this host gave no answer in time: repeat the request, a submit under its key";
  return response;
}

}  // namespace

WebDoor::WebDoor(std::vector<std::unique_ptr<HttpServer>> servers, RestChance chance, Rng rng)
    : servers_(std::move(servers)), chance_(std::move(chance)), rng_(rng), desk_(rng_.fork()) {}

HttpServer& WebDoor::add(std::unique_ptr<HttpServer> server) {
  servers_.push_back(std::move(server));
  return *servers_.back();
}

void WebDoor::close(const HttpServer& server) {
  for (auto at = calls_.begin(); at != calls_.end();) {
    const auto call = at++;
    if (call->second.server == &server) {
      forget(call);
    }
  }
  desk_.close(server);
  waiting_.forget(server);
  lists_.forget(server);
  std::erase_if(servers_, [&server](const auto& each) { return each.get() == &server; });
}

std::vector<int> WebDoor::fds() const {
  std::vector<int> fds;
  for (const auto& server : servers_) {
    fds.push_back(server->wake_fd());
  }
  fds.push_back(documents_.fd());
  return fds;
}

std::vector<DoorStats> WebDoor::stats() const {
  std::vector<DoorStats> all;
  for (const auto& server : servers_) {
    all.push_back({!server->endpoint().is_none(), server->stats()});
  }
  return all;
}

Instant WebDoor::next_deadline() const {
  if (!said_.empty() || !waiting_.is_empty()) {
    return Instant();
  }
  Instant next = desk_.next_deadline();
  if (!lists_.is_empty()) {
    next = std::min(next, next_refusal_);
  }
  if (!pages_.empty() || (!lists_.is_empty() && lists_under_way_ < kListsMax)) {
    next = std::min(next, share_.next());
  }
  for (const auto& [route, call] : calls_) {
    next = std::min(next, call.deadline);
  }
  return next;
}

std::vector<gossip::TransportInput> WebDoor::take(Instant now) {
  for (const auto& server : servers_) {
    for (HttpQuestion& question : server->take()) {
      hear_question(now, *server, std::move(question));
    }
  }
  take_documents(now);
  if (now >= next_refusal_) {
    next_refusal_ = now + kLateLookPeriod;
    refuse_late(now, waiting_);
    refuse_late(now, lists_);
  }
  begin_some(now);
  expire(now);
  std::vector<gossip::TransportInput> asked = desk_.take(now);
  std::move(asked.begin(), asked.end(), std::back_inserter(said_));
  return std::exchange(said_, {});
}

void WebDoor::hear_question(Instant now, HttpServer& server, HttpQuestion question) {
  std::variant<HttpAnswer, Proof> admitted = admit(question);
  if (auto* answer = std::get_if<HttpAnswer>(&admitted)) {
    server.answer(question.number, std::move(*answer));
    return;
  }
  const bool is_list = lists_many(question.request) && !asks_to_follow(question.request);
  QuestionQueue::Waiting waiting{&server, std::move(question), now,
                                 std::get<Proof>(std::move(admitted))};
  if (!is_list) {
    waiting_.push(std::move(waiting));
    return;
  }
  lists_.push(std::move(waiting));
  if (lists_.size() > kListsWaitingMax) {
    const QuestionQueue::Waiting out = lists_.take_newest_of_most();
    refuse(*out.server, out.question.number);
  }
}

void WebDoor::refuse_late(Instant now, QuestionQueue& queue) {
  for (const QuestionQueue::Waiting& late : queue.take_late(now - kPatience)) {
    refuse(*late.server, late.question.number);
  }
}

void WebDoor::begin_some(Instant now) {
  for (int begun = 0; begun < kBeginsATurn && !waiting_.is_empty(); ++begun) {
    begin(*waiting_.pop(), false, now);
  }
  if (now < share_.next() || ask_next_page(now)) {
    return;
  }
  if (!lists_.is_empty() && lists_under_way_ < kListsMax) {
    begin(*lists_.pop(), true, now);
  }
}

bool WebDoor::ask_next_page(Instant now) {
  while (!pages_.empty()) {
    const auto at = calls_.find(pages_.front());
    pages_.pop_front();
    if (at != calls_.end() && std::exchange(at->second.waits_for_share, false)) {
      ask(now, at->first, at->second);
      return true;
    }
  }
  return false;
}

void WebDoor::notice_message() {
  if (lists_under_way_ > 0) {
    cpu_mark_ = cpu_of_thread();
  }
}

void WebDoor::take_documents(Instant now) {
  for (AnswerThread::Made& made : documents_.take()) {
    const auto at = calls_.find(made.number);
    if (at == calls_.end()) {
      continue;  // Its server was closed.
    }
    at->second.is_away = false;
    at->second.call = std::move(made.call);
    end_call(now, at, std::move(made.answer));
  }
}

void WebDoor::hear(Instant now, const gossip::Reply& reply) {
  if (FollowDesk::owns(reply.route)) {
    desk_.hear(now, reply);
    return;
  }
  const auto at = calls_.find(reply.route.value());
  const Result<gossip::Message> message = gossip::decode(reply.bytes);
  if (at == calls_.end() || at->second.is_away || at->second.waits_for_share || !message ||
      message->envelope().nonce != at->second.nonce ||
      message->envelope().type != gossip::MessageType::kResponse) {
    return;  // Of a call that is over, or of its question before.
  }
  if (auto response = decode_response(message->body())) {
    if (at->second.is_list) {
      share_.took(now, cpu_of_thread() - cpu_mark_);
    }
    go_on(now, at, *std::move(response));
  }
}

void WebDoor::begin(QuestionQueue::Waiting waiting, bool is_list, Instant now) {
  HttpServer& server = *waiting.server;
  const HttpQuestion& question = waiting.question;
  const Proof& proof = waiting.proof;
  if (asks_to_follow(question.request)) {
    desk_.begin(now, server, question, FollowProof{proof.line, question.peer.uid});
    return;
  }
  auto begun = RestCall::begin(
      proof.is_login ? whoami_question(question.request) : question.request, proof.line, chance_);
  if (auto* answer = std::get_if<HttpAnswer>(&begun)) {
    server.answer(question.number, std::move(*answer));
    return;
  }
  const bool is_login = question.peer.uid.has_value();
  gossip::Sender sender;
  sender.kind = is_login ? gossip::Sender::Kind::kLogin : gossip::Sender::Kind::kBearer;
  sender.uid = question.peer.uid.value_or(0);
  const std::uint64_t route = next_route_++;
  Call call{&server, question.number, std::move(sender), std::get<RestCall>(std::move(begun))};
  call.end_by = waiting.taken_at + kPatience;
  call.login_line = proof.is_login ? proof.line : "";
  call.is_list = is_list;
  lists_under_way_ += is_list ? 1 : 0;
  ask(now, route, calls_.emplace(route, std::move(call)).first->second);
}

void WebDoor::ask(Instant now, std::uint64_t route, Call& call) {
  const bool is_order = changes(call.call.question().verb);
  if (now + (is_order ? kOrderTime : Duration(0)) >= call.end_by) {
    call.server->answer(call.question,
                        is_order ? problem(503, ResponseStatus::kNoQuorum,
                                           "the node took too long, and the order was not given: "
                                           "repeat it")
                                 : problem_of(unanswered()));
    forget(calls_.find(route));
    return;
  }
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = call.nonce = Nonce(1 + rng_.below(UINT64_MAX));
  call.deadline =
      call.call.is_addition() ? std::min(now + kPatienceOfAddition, call.end_by) : call.end_by;
  gossip::Received received;
  received.route = gossip::Route(route);
  received.bytes = gossip::encode(envelope, encode(call.call.question()));
  received.sender = call.sender;
  received.at = now;
  if (received.bytes.size() > gossip::kMessageBytesMax) {
    call.server->answer(call.question,
                        problem(413, ResponseStatus::kUsage, "the request is larger than 1 MiB"));
    forget(calls_.find(route));
    return;
  }
  said_.emplace_back(std::move(received));
}

void WebDoor::go_on(Instant now, Calls::iterator at, Response response) {
  Call& call = at->second;
  if (!call.is_proven && response.status == ResponseStatus::kOk) {
    call.is_proven = true;
    call.server->proven(call.question);
  }
  if (!call.is_list) {
    end_call(now, at, call.call.on_answer(response));
    return;
  }
  call.is_away = true;
  call.waits_for_share = false;
  call.deadline = kNever;
  documents_.submit({at->first, std::move(call.call), std::move(response)});
}

void WebDoor::end_call(Instant now, Calls::iterator at, std::optional<HttpAnswer> answer) {
  Call& call = at->second;
  if (!answer.has_value() && call.is_list) {
    call.waits_for_share = true;
    call.deadline = call.end_by;
    pages_.push_back(at->first);
    return;
  }
  if (!answer.has_value()) {
    ask(now, at->first, call);
    return;
  }
  call.server->answer(call.question, call.login_line.empty()
                                         ? *std::move(answer)
                                         : login_answer(*std::move(answer), call.login_line));
  forget(at);
}

void WebDoor::forget(Calls::iterator at) {
  lists_under_way_ -= at->second.is_list ? 1 : 0;
  calls_.erase(at);
}

void WebDoor::expire(Instant now) {
  std::vector<std::uint64_t> late;
  for (const auto& [route, call] : calls_) {
    if (call.deadline <= now) {
      late.push_back(route);
    }
  }
  for (const std::uint64_t route : late) {
    go_on(now, calls_.find(route), unanswered());
  }
}

}  // namespace muster::agent
