#include "agent/front/access.h"

#include <algorithm>

#include "agent/api/verbs.h"
#include "gossip/base/mutant.h"
#include "scheduler/access/authorize.h"

namespace muster::agent {
namespace {

using scheduler::AccessObject;
using scheduler::Right;

template <class T>
T arguments_of(const Request& request) {
  return decode_payload<T>(request.arguments).value_or(T());
}

/// The object that the gate judges for a job; an object of nobody if the state has no such job.
AccessObject job_object(const scheduler::State& state, JobId id) {
  if (const scheduler::Job* job = state.job(id)) {
    return {"job " + text_of(id), job->spec.user, job->spec.team};
  }
  const scheduler::TaskArray* array = state.array(array_of(id));
  return array == nullptr ? AccessObject()
                          : AccessObject{"job " + text_of(id), array->spec.user, array->spec.team};
}

AccessObject submit_object(const scheduler::Directory& directory, const Request& request) {
  const auto submit = arguments_of<SubmitArgs>(request);
  const std::string& team = submit.spec.team;
  return {"", request.user, team.empty() ? directory.first_team(request.user) : team,
          submit.spec.priority};
}

/// If the log does not know the attempt any more, the host that has its output knows the owner.
std::string why_of_attempt(const scheduler::Directory& directory, const scheduler::State& state,
                           const Request& request) {
  const scheduler::Attempt* attempt = state.attempt(arguments_of<OutputQuery>(request).token);
  return attempt == nullptr || mutant(Mutant::kOutputOpen)
             ? ""
             : why_denied(directory, request.user, Right::kMayReadOutput,
                          job_object(state, attempt->job));
}

AccessObject edit_object(const scheduler::State& state, const Request& request) {
  const auto edit = arguments_of<EditArgs>(request);
  AccessObject object = job_object(state, edit.job);
  object.priority =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(edit.priority, INT32_MIN, INT32_MAX));
  return object;
}

/// The job that an order or a question is about: the arguments of all of them begin with it.
JobId job_in(const Request& request) {
  return arguments_of<JobRef>(request).job;
}

bool is_known(const scheduler::State& state, JobId id) {
  return state.job(id) != nullptr || state.array(array_of(id)) != nullptr;
}

}  // namespace

std::string why_denied(const scheduler::Directory& directory, const scheduler::State& state,
                       const Request& request) {
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr) {
    return "nobody may ask that";
  }
  switch (row->right) {
    case Right::kMaySubmit:
      return why_denied(directory, request.user, row->right, submit_object(directory, request));
    case Right::kMayReadOutput:
      return why_of_attempt(directory, state, request);
    case Right::kMayPrioritise:
    case Right::kMayOrderJobs: {
      const JobId job = job_in(request);
      if (!is_known(state, job)) {
        return "";  // The log says that there is no such job.
      }
      return why_denied(directory, request.user, row->right,
                        row->right == Right::kMayPrioritise ? edit_object(state, request)
                                                            : job_object(state, job));
    }
    case Right::kMaySeeJobs: {
      // A question about all jobs may have no arguments.
      const bool is_about_one = !row->is_readable("");
      return why_denied(directory, request.user, row->right,
                        is_about_one ? job_object(state, job_in(request)) : AccessObject());
    }
    case Right::kMayOperate: {
      const auto ticket = arguments_of<TicketArgs>(request);
      const bool brings_rights = row->carrier == Carrier::kTicketMakers &&
                                 (ticket.may_vote || ticket.may_vouch) &&
                                 !mutant(Mutant::kTicketRightsUnasked);
      return why_denied(directory, request.user, brings_rights ? Right::kMayRule : row->right, {});
    }
    case Right::kMayManageUsers:
      return why_denied(directory, request.user, arguments_of<DirectoryArgs>(request).change);
    case Right::kMaySee:
    case Right::kMayMakeTokens:
    case Right::kMayRule:
      break;
  }
  return why_denied(directory, request.user, row->right, {});
}

std::string why_output_denied(const scheduler::Directory& directory, const std::string& user,
                              const OutputOwner& owner) {
  return why_denied(directory, user, Right::kMayReadOutput,
                    {"that output", owner.user, owner.team});
}

bool is_open_to_all(const Request& request, const Speaker& speaker, HostId asked) {
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr) {
    return false;
  }
  const bool is_asked_by_itself = request.node.empty() && asked == speaker.host &&
                                  (request.target.is_zero() || request.target == speaker.host) &&
                                  (speaker.owns_host || row->effect == Effect::kReads);
  switch (row->openness) {
    case Openness::kAll:
    case Openness::kTicket:
      return true;
    case Openness::kOwnHost:
      return is_asked_by_itself;
    case Openness::kOwnHostToLook: {
      // The order makes another quorum for all hosts.
      const auto wish = decode_payload<RecoverArgs>(request.arguments);
      return is_asked_by_itself && wish.has_value() && !wish->is_order;
    }
    case Openness::kAboutOwnHost: {
      const auto about = decode_payload<HostRef>(request.arguments);
      return about.has_value() && about->host == speaker.host;
    }
    case Openness::kVouched:
      return false;
  }
  return false;
}

}  // namespace muster::agent
