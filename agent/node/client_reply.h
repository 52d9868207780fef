#pragma once
// The way of an answer back to its client, and the words of a refusal. Rules without fields.

#include <optional>
#include <string>
#include <vector>

#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "agent/front/client_desk.h"
#include "agent/node/node_view.h"
#include "agent/step/outbox.h"
#include "gossip/base/ids.h"
#include "gossip/wire/message.h"

namespace muster::agent {

/// The parts that answer a client.
struct ClientReach {
  NodeView node;
  Outbox& outbox;
};

inline constexpr char kTooMany[] = "too many requests at once: repeat in a moment";

/// The envelope of a message for a client, or for a node that is asked on behalf of one.
gossip::Envelope envelope_for(const NodeView& node, gossip::MessageType type, Nonce nonce,
                              const WayBack& back);
/// Sends the answer. The client of one that is too large for a message hears that.
void answer(const ClientReach& reach, const Asker& asker, const Response& response);
/// Answers that the request was certainly not done, unless an earlier leader was asked already. For
/// kPlacer a voter answers in the place of the leader if it knows the job. `retry_after`: when the
/// same request may be taken; the payload tells it.
void refuse(const ClientReach& reach, const ClientDesk::Open& question, const std::string& text,
            std::optional<Duration> retry_after = std::nullopt);
/// Answers questions that no host answered, with the reason `why`: a change may have been done.
void end_unanswered(const ClientReach& reach, const std::vector<ClientDesk::Open>& questions,
                    const std::string& why);

}  // namespace muster::agent
