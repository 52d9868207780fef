#include "agent/front/access.h"

#include "agent/api/verbs.h"

namespace muster::agent {

bool is_open_to_all(const Request& request, HostId speaker, HostId asked) {
  const VerbRow* row = find_verb(request.verb);
  if (row == nullptr) {
    return false;
  }
  const bool is_asked_by_itself = request.node.empty() && asked == speaker &&
                                  (request.target.is_zero() || request.target == speaker);
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
      return about.has_value() && about->host == speaker;
    }
    case Openness::kVouched:
      return false;
  }
  return false;
}

}  // namespace muster::agent
