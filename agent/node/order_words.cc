#include "agent/node/order_words.h"

#include <algorithm>
#include <utility>

#include "agent/api/admission.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

/// Of a client, who may say anything.
Duration span_of(std::uint64_t ms) {
  constexpr std::uint64_t kMsMax = std::chrono::milliseconds(std::chrono::hours(24 * 366)).count();
  return std::chrono::milliseconds(std::min(ms, kMsMax));
}

}  // namespace

HostId host_of(const Request& request) {
  const auto reference = decode_payload<HostRef>(request.arguments);
  return reference.has_value() ? reference->host : HostId();
}

JobId job_of(const Request& request) {
  const auto reference = decode_payload<JobRef>(request.arguments);
  return reference.has_value() ? reference->job : JobId();
}

bool is_for_voters(const Request& request) {
  if (request.verb == Verb::kMakeTicket) {
    const auto ticket = decode_payload<TicketArgs>(request.arguments).value_or(TicketArgs());
    return ticket.may_vote || ticket.may_vouch;
  }
  return request.verb == Verb::kRecover || request.verb == Verb::kLeave ||
         request.verb == Verb::kChangeQuorum || request.verb == Verb::kRevokeHost ||
         request.verb == Verb::kRotateKeys || request.verb == Verb::kSetHost;
}

std::string why_not_named_so(const Request& request, bool is_member) {
  if (!is_line_name(request.user)) {
    return check_line_name(request.user, "user").error().text;
  }
  return is_member && !request.via.empty() && !is_word_name(request.via)
             ? check_word_name(request.via, "host").error().text
             : "";
}

std::string asker_text(const Request& request) {
  return request.user.empty() ? request.via : request.user + "@" + request.via;
}

decltype(scheduler::input::ClientOrder::order) order_of(const Request& request, HostId speaker) {
  namespace entry = scheduler::entry;
  const std::string by = asker_text(request);
  if (request.verb == Verb::kSuspend) {
    return entry::Suspend{job_of(request), by};
  }
  if (request.verb == Verb::kResume) {
    return entry::Resume{job_of(request), by};
  }
  if (request.verb == Verb::kRequeue) {
    const auto arguments = decode_payload<RequeueArgs>(request.arguments).value_or(RequeueArgs());
    const std::uint64_t attempt = std::min<std::uint64_t>(arguments.attempt, UINT32_MAX);
    return entry::Requeue{arguments.job, static_cast<std::uint32_t>(attempt), by};
  }
  if (request.verb == Verb::kFence) {
    const auto arguments = decode_payload<FenceArgs>(request.arguments).value_or(FenceArgs());
    return entry::Fence{arguments.host, by, arguments.are_processes_gone, {}};
  }
  if (request.verb == Verb::kDrain) {
    auto arguments = decode_payload<DrainArgs>(request.arguments).value_or(DrainArgs());
    return entry::Drain{arguments.host, by, std::move(arguments.why), arguments.requeues,
                        span_of(arguments.after_ms)};
  }
  if (request.verb == Verb::kUndrain) {
    return entry::Undrain{host_of(request), by};
  }
  if (request.verb == Verb::kRemoveHost) {
    return entry::RemoveHost{host_of(request), by};
  }
  if (request.verb == Verb::kMakeTicket) {
    auto ticket = decode_payload<TicketArgs>(request.arguments).value_or(TicketArgs());
    return entry::MakeTicket{std::move(ticket.key),
                             ticket.uses,
                             span_of(ticket.ttl_ms),
                             ticket.may_vote,
                             ticket.may_vouch,
                             std::move(ticket.host_name),
                             by,
                             speaker};
  }
  if (request.verb == Verb::kEndTicket) {
    auto ticket = decode_payload<TicketRef>(request.arguments).value_or(TicketRef());
    return entry::EndTicket{std::move(ticket.key), by};
  }
  if (request.verb == Verb::kEdit) {
    const auto arguments = decode_payload<EditArgs>(request.arguments).value_or(EditArgs());
    const auto priority = std::clamp<std::int64_t>(arguments.priority, INT32_MIN, INT32_MAX);
    return entry::Edit{arguments.job, static_cast<std::int32_t>(priority), by};
  }
  const auto run = decode_payload<JobRun>(request.arguments).value_or(JobRun());
  const bool is_run = is_task(run.job) && is_task(JobId(run.last)) &&
                      array_of(JobId(run.last)) == array_of(run.job);
  return entry::Cancel{run.job, by, is_run ? index_of_task(JobId(run.last)) : 0};
}

}  // namespace muster::agent
