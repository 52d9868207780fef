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

/// Asks the gate whether the token permits it, if there is one, and whether its user may do it.
struct Questioner {
  const KnownRights& rights;
  const Request& request;

  std::string operator()(Right right, const AccessObject& object) const {
    std::string why = of_token(right, object);
    return why.empty() ? why_denied(rights.directory, request.user, right, object) : why;
  }
  std::string of_token(Right right, const AccessObject& object) const {
    return why_token_denied(rights.directory, {"", request.user, {}, request.token},
                            rights.cluster_time, right, object);
  }
};

AccessObject submit_object(const scheduler::Directory& directory, const Request& request) {
  const auto submit = arguments_of<SubmitArgs>(request);
  const std::string& team = submit.spec.team;
  return {"", request.user, team.empty() ? team_of_submit(directory, request) : team,
          submit.spec.priority};
}

/// If the log does not know the attempt any more, the host that has its output knows the owner.
std::string why_of_attempt(const Questioner& ask, const scheduler::State& state) {
  const scheduler::Attempt* attempt = state.attempt(arguments_of<OutputQuery>(ask.request).token);
  return attempt == nullptr || mutant(Mutant::kOutputOpen)
             ? ""
             : ask(Right::kMayReadOutput, job_object(state, attempt->job));
}

/// The token that a request makes or ends, whose arguments begin with it. If there is no such
/// token, the log says so.
AccessObject token_object(const scheduler::Directory& directory, const Request& request) {
  if (is_change(request.verb)) {
    const auto id = arguments_of<TokenRef>(request).id;
    const scheduler::TokenRecord* token = directory.tokens().find(id);
    return {"access token " + id.short_hex(), token == nullptr ? request.user : token->user, ""};
  }
  const bool is_all = arguments_of<TokensQuery>(request).is_all;
  return {is_all ? "the access tokens of all users" : "", is_all ? "" : request.user, ""};
}

AccessObject edit_object(const scheduler::State& state, const Request& request) {
  const auto edit = arguments_of<EditArgs>(request);
  AccessObject object = job_object(state, edit.job);
  if (!edit.keeps_priority) {
    object.priority =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(edit.priority, INT32_MIN, INT32_MAX));
  }
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

std::string why_denied(const KnownRights& rights, const scheduler::State& state,
                       const Request& request) {
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr) {
    return "nobody may ask that";
  }
  const scheduler::Directory& directory = rights.directory;
  const Questioner ask{rights, request};
  switch (row->right) {
    case Right::kMaySubmit:
      return ask(row->right, submit_object(directory, request));
    case Right::kMayReadOutput:
      return why_of_attempt(ask, state);
    case Right::kMayPrioritise:
    case Right::kMayOrderJobs: {
      const JobId job = job_in(request);
      if (!is_known(state, job)) {
        return "";  // The log says that there is no such job.
      }
      if (row->right != Right::kMayPrioritise) {
        return ask(row->right, job_object(state, job));
      }
      // As the gate of the log asks for an Edit.
      const bool keeps = arguments_of<EditArgs>(request).keeps_priority;
      return ask(keeps ? Right::kMayOrderJobs : row->right, edit_object(state, request));
    }
    case Right::kMaySeeJobs: {
      // A question about all jobs may have no arguments.
      const bool is_about_one = !row->is_readable("");
      return ask(row->right, is_about_one ? job_object(state, job_in(request)) : AccessObject());
    }
    case Right::kMayOperate: {
      const auto ticket = arguments_of<TicketArgs>(request);
      const bool brings_rights = row->carrier == Carrier::kTicketMakers &&
                                 (ticket.may_vote || ticket.may_vouch) &&
                                 !mutant(Mutant::kTicketRightsUnasked);
      return ask(brings_rights ? Right::kMayRule : row->right, {});
    }
    case Right::kMayManageUsers: {
      const std::string why = ask.of_token(row->right, {});
      return why.empty()
                 ? why_denied(directory, request.user, arguments_of<DirectoryArgs>(request).change)
                 : why;
    }
    case Right::kMayMakeTokens:
      return ask(row->right, token_object(directory, request));
    case Right::kMaySee:
    case Right::kMayRule:
      break;
  }
  return ask(row->right, {});
}

std::string why_output_denied(const KnownRights& rights, const Request& request,
                              const OutputOwner& owner) {
  return Questioner{rights, request}(Right::kMayReadOutput,
                                     {"that output", owner.user, owner.team});
}

std::string team_of_submit(const scheduler::Directory& directory, const Request& request) {
  const scheduler::TokenRecord* token = directory.tokens().find(request.token);
  return token == nullptr || token->team.empty() ? directory.first_team(request.user) : token->team;
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
    case Openness::kRootOfVoter:
      return false;
  }
  return false;
}

}  // namespace muster::agent
