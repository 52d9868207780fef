#include "agent/edge/run/web_door.h"

#include <algorithm>
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
  std::erase_if(calls_, [&server](const auto& each) { return each.second.server == &server; });
  desk_.close(server);
  waiting_.forget(server);
  std::erase_if(servers_, [&server](const auto& each) { return each.get() == &server; });
}

std::vector<int> WebDoor::fds() const {
  std::vector<int> fds;
  for (const auto& server : servers_) {
    fds.push_back(server->wake_fd());
  }
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
  for (const auto& [route, call] : calls_) {
    next = std::min(next, call.deadline);
  }
  return next;
}

std::vector<gossip::TransportInput> WebDoor::take(Instant now) {
  for (const auto& server : servers_) {
    for (HttpQuestion& question : server->take()) {
      waiting_.push({server.get(), std::move(question), now});
    }
  }
  for (int begun = 0; begun < kBeginsATurn && !waiting_.is_empty();) {
    QuestionQueue::Waiting next = *waiting_.pop();
    if (now - next.taken_at >= kPatience) {
      next.server->answer(
          next.question.number,
          problem(503, ResponseStatus::kNoQuorum,
                  "this host has too many requests, and did nothing about this one: "
                  "repeat it"));
      continue;
    }
    begin(*next.server, std::move(next.question), now);
    ++begun;
  }
  expire(now);
  std::vector<gossip::TransportInput> asked = desk_.take(now);
  std::move(asked.begin(), asked.end(), std::back_inserter(said_));
  return std::exchange(said_, {});
}

void WebDoor::hear(Instant now, const gossip::Reply& reply) {
  if (FollowDesk::owns(reply.route)) {
    desk_.hear(now, reply);
    return;
  }
  const auto at = calls_.find(reply.route.value());
  const Result<gossip::Message> message = gossip::decode(reply.bytes);
  if (at == calls_.end() || !message || message->envelope().nonce != at->second.nonce ||
      message->envelope().type != gossip::MessageType::kResponse) {
    return;  // Of a call that is over, or of its question before.
  }
  if (const auto response = decode_response(message->body())) {
    go_on(now, at, *response);
  }
}

void WebDoor::begin(HttpServer& server, HttpQuestion question, Instant now) {
  if (std::optional<HttpAnswer> page = page_answer(question.request)) {
    server.answer(question.number, *std::move(page));
    return;
  }
  const bool is_login = question.peer.uid.has_value();
  std::variant<HttpAnswer, Proof> read = read_proof(question.request, !is_login);
  if (auto* answer = std::get_if<HttpAnswer>(&read)) {
    server.answer(question.number, std::move(*answer));
    return;
  }
  const Proof& proof = std::get<Proof>(read);
  if (!is_login && proof.line.empty() && question.request.path != kHealthPath) {
    server.answer(question.number,
                  unproven("show an access token: `Authorization: Bearer LINE`, with the line that "
                           "`muster token create` printed"));
    return;
  }
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
  gossip::Sender sender;
  sender.kind = is_login ? gossip::Sender::Kind::kLogin : gossip::Sender::Kind::kBearer;
  sender.uid = question.peer.uid.value_or(0);
  const std::uint64_t route = next_route_++;
  Call call{&server, question.number, std::move(sender), std::get<RestCall>(std::move(begun))};
  call.end_by = now + kPatience;
  call.login_line = proof.is_login ? proof.line : "";
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
    calls_.erase(route);
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
    calls_.erase(route);
    return;
  }
  said_.emplace_back(std::move(received));
}

void WebDoor::go_on(Instant now, Calls::iterator at, const Response& response) {
  Call& call = at->second;
  if (!call.is_proven && response.status == ResponseStatus::kOk) {
    call.is_proven = true;
    call.server->proven(call.question);
  }
  if (std::optional<HttpAnswer> answer = call.call.on_answer(response)) {
    call.server->answer(call.question, call.login_line.empty()
                                           ? *std::move(answer)
                                           : login_answer(*std::move(answer), call.login_line));
    calls_.erase(at);
  } else {
    ask(now, at->first, call);
  }
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
