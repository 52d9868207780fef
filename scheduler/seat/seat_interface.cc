#include "scheduler/seat/seat_interface.h"

namespace muster::scheduler {

SeatReply reply_of(const ClientReply& reply) {
  SeatReply out;
  out.request = reply.request;
  if (reply.error.has_value()) {
    out.code = reply.error->code;
    out.text = reply.error->text;
    out.retry_after = reply.retry_after;
  } else if (reply.job == JobId()) {
    out.done = true;
    out.text = reply.told;
  } else {
    out.job = reply.job;
  }
  return out;
}

SeatReply reply_of(ElectorateKeeper::Done done) {
  return {done.request, std::nullopt, done.ok, done.code, std::move(done.text), std::nullopt};
}

SeatReply refusal(std::uint64_t request, std::string why_not) {
  return {request, std::nullopt, false, ErrorCode::kUnavailable, std::move(why_not), std::nullopt};
}

}  // namespace muster::scheduler
