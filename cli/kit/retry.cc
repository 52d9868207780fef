#include "cli/kit/retry.h"

#include <algorithm>

#include "agent/api/request.h"
#include "cli/kit/signing.h"
#include "scheduler/access/intent.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// Another try may tell more.
bool is_open(const Reply& reply) {
  return reply.status == agent::ResponseStatus::kUnknown ||
         (reply.status == agent::ResponseStatus::kNoQuorum && !reply.is_from_node);
}

ResponseStatus status_of_signing(ErrorCode code) {
  return code == ErrorCode::kUnavailable ? ResponseStatus::kNoQuorum
         : code == ErrorCode::kInvalid   ? ResponseStatus::kUsage
                                         : ResponseStatus::kDenied;
}

RetriedReply exchange_once(Session& session, const agent::Request& request) {
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

}  // namespace

RetriedReply exchange_with_retries(Session& session, const agent::Request& request) {
  RetriedReply done = exchange_once(session, request);
  agent::Request order = request;
  for (int signatures = 0; signatures < kSignaturesMax; ++signatures) {
    auto wanted = signature_wanted(done.reply);
    if (order.signature.has_value() && !wanted.has_value() &&
        done.reply.text == scheduler::kSignAgain) {
      // The log refused it, where no node names the next number: the leader does.
      done = exchange_once(session, order);
      wanted = signature_wanted(done.reply);
    }
    const bool is_refused =
        order.signature.has_value() && done.reply.status == ResponseStatus::kDenied;
    if (!wanted.has_value() || is_refused) {
      break;  // It is done, or another signature would not help.
    }
    if (const Status is_signed = sign(session, *wanted, order); !is_signed) {
      done.reply.status = status_of_signing(is_signed.error().code);
      done.reply.text = is_signed.error().text;
      break;
    }
    const bool may_be_done = done.may_be_done;
    done = exchange_once(session, order);
    done.may_be_done = done.may_be_done || may_be_done;
  }
  return done;
}

}  // namespace muster::cli
