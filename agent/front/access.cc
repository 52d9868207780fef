#include "agent/front/access.h"

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"

namespace muster::agent {

bool is_open_to_all(const Request& request, HostId speaker, HostId asked) {
  const bool is_asked_by_itself = request.node.empty() && asked == speaker &&
                                  (request.target.is_zero() || request.target == speaker);
  switch (request.verb) {
    case Verb::kVersion:
    case Verb::kHosts:
    case Verb::kQuorum:
    case Verb::kWhyHost:
    case Verb::kHostUses:
    case Verb::kKeys:
      return true;
    case Verb::kFound:
    case Verb::kEnter:
    case Verb::kJoin:
      return true;  // Only an agent without a cluster obeys the first two; a ticket decides the
                    // last.
    case Verb::kEvents:
    case Verb::kStats:
    case Verb::kLeave:
      return is_asked_by_itself;
    case Verb::kRecover: {
      // To look is open: the order makes another quorum for everybody.
      const auto wish = decode_payload<RecoverArgs>(request.arguments);
      return is_asked_by_itself && wish.has_value() && !wish->is_order;
    }
    case Verb::kHostDetail: {
      const auto about = decode_payload<HostRef>(request.arguments);
      return about.has_value() && about->host == speaker;
    }
    case Verb::kSubmit:
    case Verb::kCancel:
    case Verb::kJobs:
    case Verb::kShow:
    case Verb::kWhy:
    case Verb::kOutput:
    case Verb::kChangeQuorum:
    case Verb::kSuspend:
    case Verb::kResume:
    case Verb::kRequeue:
    case Verb::kFence:
    case Verb::kUsage:
    case Verb::kDryRun:
    case Verb::kDrain:
    case Verb::kUndrain:
    case Verb::kRemoveHost:
    case Verb::kEdit:
    case Verb::kRevokeHost:
    case Verb::kRotateKeys:
    case Verb::kSetHost:
    case Verb::kMakeTicket:
    case Verb::kEndTicket:
    case Verb::kTickets:
      return false;
  }
  return false;
}

}  // namespace muster::agent
