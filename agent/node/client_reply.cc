#include "agent/node/client_reply.h"

#include <chrono>
#include <utility>

#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "agent/api/verbs.h"
#include "agent/node/answers.h"
#include "agent/node/request_target.h"
#include "agent/node/vouching.h"

namespace muster::agent {

gossip::Envelope envelope_for(const NodeView& node, gossip::MessageType type, Nonce nonce,
                              const WayBack& back) {
  gossip::Envelope envelope = envelope_of(node.options, node.cluster, type, nonce);
  envelope.trailing = back.trailing;
  envelope.trailing_count = back.trailing_count;
  return envelope;
}

void answer(const ClientReach& reach, const Asker& asker, const Response& response) {
  const gossip::Envelope envelope =
      envelope_for(reach.node, gossip::MessageType::kResponse, asker.back.nonce, asker.back);
  std::string bytes = gossip::encode(envelope, encode(response));
  if (bytes.size() > gossip::kMessageBytesMax) {
    // No transport takes a larger message, and silence would look like a dead node.
    bytes = gossip::encode(envelope, encode(bad(reach.node, ResponseStatus::kFailed,
                                                "the answer has " + std::to_string(bytes.size()) +
                                                    " bytes, more than the 1 MiB of a message")));
  }
  reach.outbox.reply(asker.back.route, std::move(bytes));
}

void refuse(const ClientReach& reach, const ClientDesk::Open& question, const std::string& text,
            std::optional<Duration> retry_after) {
  const NodeView& node = reach.node;
  const Request& request = question.request;
  const bool is_known = is(request.verb, Answerer::kPlacer) && !request.consistent &&
                        request.node.empty() && node.seat.knows_state() &&
                        node.seat.state().job(job_of(request)) != nullptr;
  if (is_known && !why_not_of_user(node, request, question.asker).has_value()) {
    answer(
        reach, question.asker,
        answer_from_state(node, request, "the leader places it, and could not be asked: " + text));
  } else if (question.is_repeated && is(request.verb, Effect::kSubmits)) {
    answer(reach, question.asker,
           bad(node, ResponseStatus::kUnknown,
               "the leader changed: it may or may not have been accepted; repeat "
               "under the same key (" +
                   text + ")"));
  } else {
    Response response = bad(node, ResponseStatus::kNoQuorum, text);
    if (retry_after.has_value()) {
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(*retry_after).count();
      response.payload = encode_payload(RetryAfter{static_cast<std::uint64_t>(ms)});
    }
    answer(reach, question.asker, response);
  }
}

void end_unanswered(const ClientReach& reach, const std::vector<ClientDesk::Open>& questions,
                    const std::string& why) {
  for (const ClientDesk::Open& open : questions) {
    if (open.waits) {
      refuse(reach, open,
             "host " + reach.node.options.name +
                 " has just started and knows no quorum yet: repeat later, or ask another node "
                 "with --node");
    } else if (!is_change(open.request.verb)) {
      refuse(reach, open, why + ": repeat");
    } else {
      answer(reach, open.asker,
             bad(reach.node, ResponseStatus::kUnknown,
                 why + ": it may or may not have been accepted; repeat under the same "
                       "key"));
    }
  }
}

}  // namespace muster::agent
