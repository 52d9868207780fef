#include "agent/edge/run/follow_desk.h"

#include <utility>
#include <variant>

#include "agent/api/rest/problem.h"
#include "gossip/base/version.h"
#include "gossip/wire/message.h"

namespace muster::agent {
namespace {

/// Nonces of questions that were given up, before they are looked through.
constexpr std::size_t kNoncesSpare = 256;

}  // namespace

void FollowDesk::begin(Instant now, HttpServer& server, const HttpQuestion& question,
                       FollowProof proof) {
  auto wish = follow_wish_of(question.request);
  if (auto* refusal = std::get_if<HttpAnswer>(&wish)) {
    server.answer(question.number, std::move(*refusal));
    return;
  }
  const std::uint64_t follower = ++last_follower_;
  lines_.emplace(follower, Line{&server, question.number, nullptr});
  book_.begin(now, follower, std::get<FollowWish>(std::move(wish)), std::move(proof));
}

void FollowDesk::close(const HttpServer& server) {
  for (auto at = lines_.begin(); at != lines_.end();) {
    if (at->second.server != &server) {
      ++at;
      continue;
    }
    const std::uint64_t follower = at->first;
    at = lines_.erase(at);
    book_.leave(follower);
  }
}

std::vector<gossip::TransportInput> FollowDesk::take(Instant now) {
  if (nonces_.size() > 2 * book_.asks() + kNoncesSpare) {
    std::erase_if(nonces_, [this](const auto& each) { return !book_.is_asking(each.first); });
  }
  std::vector<gossip::TransportInput> said;
  for (FollowQuestion& question : book_.turn(now)) {
    gossip::Envelope envelope;
    envelope.version = kProtocolVersion;
    envelope.type = gossip::MessageType::kRequest;
    envelope.nonce = nonces_[question.number] = Nonce(1 + rng_.below(UINT64_MAX));
    gossip::Received received;
    received.route = gossip::Route(kFirstRoute + question.number);
    received.bytes = gossip::encode(envelope, encode(question.request));
    received.sender.kind = question.proof.uid.has_value() ? gossip::Sender::Kind::kLogin
                                                          : gossip::Sender::Kind::kBearer;
    received.sender.uid = question.proof.uid.value_or(0);
    received.at = now;
    said.emplace_back(std::move(received));
  }
  return said;
}

void FollowDesk::hear(Instant now, const gossip::Reply& reply) {
  const std::uint64_t number = reply.route.value() - kFirstRoute;
  const auto nonce = nonces_.find(number);
  const Result<gossip::Message> message = gossip::decode(reply.bytes);
  if (nonce == nonces_.end() || !message || message->envelope().nonce != nonce->second ||
      message->envelope().type != gossip::MessageType::kResponse) {
    return;  // Of a look that is over, or of its question before.
  }
  if (const auto response = decode_response(message->body())) {
    nonces_.erase(nonce);
    book_.hear(now, number, *response);
  }
}

void FollowDesk::answer(std::uint64_t follower, HttpAnswer answer) {
  const auto at = lines_.find(follower);
  if (at != lines_.end()) {
    at->second.server->answer(at->second.question, std::move(answer));
    lines_.erase(at);
  }
}

void FollowDesk::open(std::uint64_t follower, HttpAnswer head) {
  Line& line = lines_.at(follower);
  line.stream = std::make_shared<HttpStream>();
  line.server->proven(line.question);
  line.server->answer_stream(line.question, std::move(head), line.stream);
}

FollowStreams::Taken FollowDesk::push(std::uint64_t follower, std::string_view bytes) {
  const auto at = lines_.find(follower);
  if (at == lines_.end() || at->second.stream == nullptr) {
    return Taken::kGone;
  }
  if (at->second.stream->push(bytes)) {
    return Taken::kYes;
  }
  return at->second.stream->is_gone() ? Taken::kGone : Taken::kFull;
}

bool FollowDesk::has_room(std::uint64_t follower) const {
  const auto at = lines_.find(follower);
  return at == lines_.end() || at->second.stream == nullptr ||
         at->second.stream->waiting() <= kRoomBytes;
}

/// Before open() only the answer would show it.
bool FollowDesk::is_gone(std::uint64_t follower) const {
  const auto at = lines_.find(follower);
  return at == lines_.end() || (at->second.stream != nullptr && at->second.stream->is_gone());
}

void FollowDesk::end(std::uint64_t follower) {
  const auto at = lines_.find(follower);
  if (at != lines_.end()) {
    if (at->second.stream != nullptr) {
      at->second.stream->end();
    }
    lines_.erase(at);
  }
}

}  // namespace muster::agent
