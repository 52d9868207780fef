#include "agent/node/request_target.h"

#include <algorithm>
#include <utility>

#include "agent/api/verbs.h"
#include "agent/front/access.h"
#include "agent/front/job_sight.h"
#include "agent/node/join.h"
#include "gossip/base/check.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

/// Limits a number of a client, which may send any.
Duration span_of(std::uint64_t ms) {
  constexpr std::uint64_t kMsMax = std::chrono::milliseconds(std::chrono::hours(24 * 366)).count();
  return std::chrono::milliseconds(std::min(ms, kMsMax));
}

using Order = decltype(scheduler::input::ClientOrder::order);
namespace entry = scheduler::entry;

/// The arguments of the request. ClientFront has refused those that are not readable.
template <class T>
T arguments_of(const Request& request) {
  return decode_payload<T>(request.arguments).value_or(T());
}

Order cancel(const Request& request, const Asker& asker) {
  const auto run = arguments_of<JobRun>(request);
  const bool is_run = is_task(run.job) && is_task(JobId(run.last)) &&
                      array_of(JobId(run.last)) == array_of(run.job);
  return entry::Cancel{run.job, asker.by, is_run ? index_of_task(JobId(run.last)) : 0};
}

Order suspend(const Request& request, const Asker& asker) {
  return entry::Suspend{job_of(request), asker.by};
}

Order resume(const Request& request, const Asker& asker) {
  return entry::Resume{job_of(request), asker.by};
}

Order requeue(const Request& request, const Asker& asker) {
  const auto arguments = arguments_of<RequeueArgs>(request);
  const std::uint64_t attempt = std::min<std::uint64_t>(arguments.attempt, UINT32_MAX);
  return entry::Requeue{arguments.job, static_cast<std::uint32_t>(attempt), asker.by};
}

Order edit(const Request& request, const Asker& asker) {
  auto arguments = arguments_of<EditArgs>(request);
  const auto priority = std::clamp<std::int64_t>(arguments.priority, INT32_MIN, INT32_MAX);
  entry::Edit edited{arguments.job, static_cast<std::int32_t>(priority), asker.by};
  edited.keeps_priority = arguments.keeps_priority;
  edited.queue = std::move(arguments.queue);
  edited.tier = arguments.tier;
  if (arguments.has_no_limit) {
    edited.time_limit = scheduler::kNoTimeLimit;
  } else if (arguments.time_limit_ms != 0) {
    edited.time_limit = span_of(arguments.time_limit_ms);
  }
  edited.adds_time = arguments.adds_time;
  if (arguments.begin_ms != kKeepsTime) {
    edited.begin = span_of(arguments.begin_ms);
  }
  if (arguments.deadline_ms != kKeepsTime) {
    edited.deadline = span_of(arguments.deadline_ms);
  }
  return edited;
}

Order fence(const Request& request, const Asker& asker) {
  const auto arguments = arguments_of<FenceArgs>(request);
  return entry::Fence{arguments.host, asker.by, arguments.are_processes_gone, {}};
}

Order drain(const Request& request, const Asker& asker) {
  auto arguments = arguments_of<DrainArgs>(request);
  return entry::Drain{arguments.host, asker.by, std::move(arguments.why), arguments.requeues,
                      span_of(arguments.after_ms)};
}

Order undrain(const Request& request, const Asker& asker) {
  return entry::Undrain{host_of(request), asker.by};
}

Order order_gpu(const Request& request, const Asker& asker, bool is_mask) {
  auto order = arguments_of<GpuOrderArgs>(request);
  return entry::GpuOrder{order.host, std::move(order.uuid), is_mask, std::move(order.why),
                         asker.by};
}

Order mask_gpu(const Request& request, const Asker& asker) {
  return order_gpu(request, asker, true);
}

Order unmask_gpu(const Request& request, const Asker& asker) {
  return order_gpu(request, asker, false);
}

Order set_queues(const Request& request, const Asker& asker) {
  auto change = arguments_of<SetQueuesArgs>(request);
  return entry::SetQueues{change.expected, std::move(change.tree), std::move(change.moves),
                          asker.by};
}

Order remove_host(const Request& request, const Asker& asker) {
  return entry::RemoveHost{host_of(request), asker.by};
}

Order make_ticket(const Request& request, const Asker& asker) {
  auto ticket = arguments_of<TicketArgs>(request);
  return entry::MakeTicket{std::move(ticket.key),
                           ticket.uses,
                           span_of(ticket.ttl_ms),
                           ticket.may_vote,
                           ticket.may_vouch,
                           std::move(ticket.host_name),
                           asker.by,
                           asker.host};
}

Order end_ticket(const Request& request, const Asker& asker) {
  return entry::EndTicket{arguments_of<TicketRef>(request).key, asker.by};
}

Order change_users(const Request& request, const Asker& asker) {
  return entry::ChangeDirectory{arguments_of<DirectoryArgs>(request).change, asker.by};
}

Order make_token(const Request& request, const Asker& asker) {
  auto token = arguments_of<TokenArgs>(request);
  return entry::MakeAccessToken{token.id,
                                std::move(token.hash),
                                std::move(token.label),
                                {token.may_read, token.may_submit},
                                std::move(token.team),
                                span_of(token.ttl_ms),
                                asker.by};
}

Order reset_admin(const Request& request, const Asker& asker) {
  auto reset = arguments_of<ResetAdminArgs>(request);
  return entry::ResetAdmin{reset.admin.empty() ? request.user : std::move(reset.admin),
                           std::move(reset.key), asker.by};
}

Order end_token(const Request& request, const Asker& asker) {
  return entry::EndAccessToken{arguments_of<TokenRef>(request).id, asker.by};
}

struct OrderRow {
  Verb verb{};
  Order (*make)(const Request& request, const Asker& asker) = nullptr;
};
constexpr OrderRow kOrders[] = {
    {Verb::kCancel, cancel},
    {Verb::kSuspend, suspend},
    {Verb::kResume, resume},
    {Verb::kRequeue, requeue},
    {Verb::kEdit, edit},
    {Verb::kFence, fence},
    {Verb::kDrain, drain},
    {Verb::kUndrain, undrain},
    {Verb::kRemoveHost, remove_host},
    {Verb::kMakeTicket, make_ticket},
    {Verb::kEndTicket, end_ticket},
    {Verb::kChangeUsers, change_users},
    {Verb::kMakeToken, make_token},
    {Verb::kEndToken, end_token},
    {Verb::kResetAdmin, reset_admin},
    {Verb::kMaskGpu, mask_gpu},
    {Verb::kUnmaskGpu, unmask_gpu},
    {Verb::kSetQueues, set_queues},
};
static_assert(has_row_for_those(kOrders, &OrderRow::verb,
                                [](Verb verb) { return is(verb, Becomes::kOrder); }));

}  // namespace

HostId host_of(const Request& request) {
  const auto reference = decode_payload<HostRef>(request.arguments);
  return reference.has_value() ? reference->host : HostId();
}

JobId job_of(const Request& request) {
  const auto reference = decode_payload<JobRef>(request.arguments);
  return reference.has_value() ? reference->job : JobId();
}

std::string object_of(const NodeView& node, const Request& request) {
  const auto named = [](JobId job) { return job == JobId() ? "" : "job " + text_of(job); };
  switch (find_verb(request.verb)->right) {
    case Right::kMayOrderJobs:
    case Right::kMayPrioritise:
    case Right::kMaySeeJobs:
      return named(job_of(request));
    case Right::kMayReadOutput: {
      const Token token = arguments_of<OutputQuery>(request).token;
      const scheduler::Attempt* attempt = node.seat.state().attempt(token);
      return attempt == nullptr ? "attempt " + token.text() : named(attempt->job);
    }
    case Right::kMayOperate:
    case Right::kMayRule: {
      const HostId host = host_of(request);
      return host.is_zero() ? "" : "host " + node.hosts.addresses().name(host);
    }
    case Right::kMaySubmit:
    case Right::kMayManageUsers:
    case Right::kMayMakeTokens:
    case Right::kMaySee:
      break;
  }
  return "";
}

bool may_be_signed(const Request& request) {
  if (is(request.verb, Carrier::kTicketMakers)) {
    const auto ticket = arguments_of<TicketArgs>(request);
    return ticket.may_vote || ticket.may_vouch;
  }
  return is(request.verb, Becomes::kRollChange) || is(request.verb, Right::kMayManageUsers);
}

bool is_for_voters(const Request& request) {
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr || row->carrier == Carrier::kMembers) {
    return false;
  }
  const auto ticket = arguments_of<TicketArgs>(request);
  return row->carrier == Carrier::kVotersAlone || ticket.may_vote || ticket.may_vouch;
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

Result<scheduler::SeatInput> seat_input_of(const NodeView& node, const Request& request,
                                           std::uint64_t number, const Asker& asker) {
  using scheduler::SeatInput;
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr) {
    return Error{ErrorCode::kInvalid, "the leader does not know that request"};
  }
  switch (row->becomes) {
    case Becomes::kNothing:
      return SeatInput(scheduler::input::Read{number});
    case Becomes::kSubmission: {
      auto submit = arguments_of<SubmitArgs>(request);
      // The host of the login states the user of the request; the client fills in the job.
      if (!request.user.empty()) {
        submit.spec.user = request.user;
      }
      const scheduler::State& state = node.seat.state();
      const JobSight sight(state, state.directory(), request.user);
      if (const Status seen = sight.check_after(submit.spec.eligibility); !seen) {
        return seen.error();
      }
      if (submit.spec.team.empty() && !request.token.is_zero()) {
        submit.spec.team = team_of_submit(node.seat.state().directory(), request);
      }
      return SeatInput(scheduler::input::ClientSubmit{number, std::move(submit.key),
                                                      std::move(submit.spec), asker.by});
    }
    case Becomes::kElectorate: {
      const auto wish = arguments_of<QuorumWish>(request);
      const bool is_known = node.roll.record(wish.host) != nullptr;
      if (wish.action == scheduler::QuorumAction::kAdd && node.roll.is_revoked(wish.host)) {
        return Error{ErrorCode::kNotFound, "there is no such member: see `muster hosts`"};
      }
      if (wish.action == scheduler::QuorumAction::kAdd && is_known &&
          !node.roll.may_vote(wish.host)) {
        const std::string name = node.hosts.addresses().name(wish.host);
        return Error{ErrorCode::kConflict, "host " + name +
                                               " may not vote: allow it first with `muster hosts "
                                               "set " +
                                               name + " --may-vote yes`"};
      }
      return SeatInput(scheduler::input::ChangeQuorum{number, wish.action, wish.host});
    }
    case Becomes::kRollChange: {
      auto change = change_of_roll(node, request, asker.by);
      return change ? Result<SeatInput>(SeatInput(scheduler::input::ClientOrder{
                          number, std::move(change->order), change->ends_vote_of}))
                    : Result<SeatInput>(change.error());
    }
    case Becomes::kOrder: {
      const OrderRow* order = find_row(kOrders, &OrderRow::verb, request.verb);
      CHECK(order != nullptr);
      return SeatInput(scheduler::input::ClientOrder{number, order->make(request, asker)});
    }
  }
  return Error{ErrorCode::kInvalid, "the leader does not know that request"};
}

}  // namespace muster::agent
