#include "cli/kit/retry.h"

#include <algorithm>

#include "agent/api/request.h"

namespace muster::cli {
namespace {

/// Another try may tell more.
bool is_open(const Reply& reply) {
  return reply.status == agent::ResponseStatus::kUnknown ||
         (reply.status == agent::ResponseStatus::kNoQuorum && !reply.is_from_node);
}

}  // namespace

RetriedReply exchange_with_retries(Session& session, const agent::Request& request) {
  Reply reply = session.exchange(request);
  bool may_be_done = reply.status == agent::ResponseStatus::kUnknown;
  const std::size_t tries_max = std::max<std::size_t>(session.nodes_count(), may_be_done ? 2 : 1);
  for (std::size_t tries = 1; tries < tries_max && is_open(reply); ++tries) {
    reply = session.exchange(request);
    may_be_done = may_be_done || reply.status == agent::ResponseStatus::kUnknown;
  }
  // A node that was not even reached says nothing about the earlier tries.
  const bool says_nothing =
      reply.status == agent::ResponseStatus::kNoQuorum || (!reply.is_ok() && !reply.is_from_node);
  if (may_be_done && says_nothing) {
    reply.status = agent::ResponseStatus::kUnknown;
  }
  return {std::move(reply), may_be_done};
}

}  // namespace muster::cli
