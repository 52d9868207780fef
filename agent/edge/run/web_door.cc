#include "agent/edge/run/web_door.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "agent/api/rest/http_text.h"
#include "agent/api/rest/problem.h"
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

Response unanswered() {
  Response response;
  response.status = ResponseStatus::kUnknown;
  response.text = "this host gave no answer in time: repeat the request, a submit under its key";
  return response;
}

}  // namespace

WebDoor::WebDoor(std::vector<std::unique_ptr<HttpServer>> servers, RestChance chance, Rng rng)
    : servers_(std::move(servers)), chance_(std::move(chance)), rng_(rng) {}

HttpServer& WebDoor::add(std::unique_ptr<HttpServer> server) {
  servers_.push_back(std::move(server));
  return *servers_.back();
}

void WebDoor::close(const HttpServer& server) {
  std::erase_if(calls_, [&server](const auto& each) { return each.second.server == &server; });
  std::erase_if(servers_, [&server](const auto& each) { return each.get() == &server; });
}

std::vector<int> WebDoor::fds() const {
  std::vector<int> fds;
  for (const auto& server : servers_) {
    fds.push_back(server->wake_fd());
  }
  return fds;
}

Instant WebDoor::next_deadline() const {
  if (!said_.empty()) {
    return Instant();
  }
  Instant next = kNever;
  for (const auto& [route, call] : calls_) {
    next = std::min(next, call.deadline);
  }
  return next;
}

std::vector<gossip::TransportInput> WebDoor::take(Instant now) {
  for (const auto& server : servers_) {
    for (HttpQuestion& question : server->take()) {
      begin(*server, std::move(question), now);
    }
  }
  expire(now);
  return std::exchange(said_, {});
}

void WebDoor::hear(Instant now, const gossip::Reply& reply) {
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
  Result<std::optional<std::string>> line = bearer_line(question.request.fields);
  if (!line) {
    server.answer(question.number, unproven(line.error().text));
    return;
  }
  const bool is_login = question.peer.uid.has_value();
  if (!is_login && !line->has_value() && question.request.path != kHealthPath) {
    server.answer(question.number,
                  unproven("show an access token: `Authorization: Bearer LINE`, with the line that "
                           "`muster token create` printed"));
    return;
  }
  auto begun = RestCall::begin(question.request, line->value_or(""), chance_);
  if (auto* answer = std::get_if<HttpAnswer>(&begun)) {
    server.answer(question.number, std::move(*answer));
    return;
  }
  gossip::Sender sender;
  sender.kind = is_login ? gossip::Sender::Kind::kLogin : gossip::Sender::Kind::kBearer;
  sender.uid = question.peer.uid.value_or(0);
  const std::uint64_t route = next_route_++;
  Call call{&server, question.number, std::move(sender), std::get<RestCall>(std::move(begun))};
  ask(now, route, calls_.emplace(route, std::move(call)).first->second);
}

void WebDoor::ask(Instant now, std::uint64_t route, Call& call) {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = call.nonce = Nonce(1 + rng_.below(UINT64_MAX));
  call.deadline = now + (call.call.is_addition() ? kPatienceOfAddition : kPatience);
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
    call.server->answer(call.question, *std::move(answer));
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
