#include "agent/api/rest/quorum_calls.h"

// The voters, and an operator's say in them.

#include <algorithm>
#include <string>
#include <utility>

#include "agent/api/json/view.h"
#include "agent/api/quorum.h"
#include "agent/api/rest/host_lookup.h"

namespace muster::agent {
namespace {

/// An order of the quorum, and the key of its document.
struct QuorumOrder {
  QuorumAction action{};
  std::string done{};
};

CallStep order_quorum(const CallFrame& frame, const QuorumOrder& wanted, HostId host,
                      const std::string& host_name) {
  OrderWords words;
  words.repeat = host_name.empty() ? "see `muster quorum`" : words.repeat;
  return order(
      frame, Verb::kChangeQuorum, encode_payload(QuorumWish{wanted.action, host}),
      [frame, wanted, host_name](const Response& response) {
        return told(frame, quorum_changed_json(wanted.done, host_name, response.text), response);
      },
      std::move(words));
}

/// `needs_host`: the body has to name one.
CallStep change_quorum(CallInput& input, const QuorumOrder& wanted, bool needs_host) {
  if (needs_host) {
    input.body.need("host");
  }
  const std::string name = input.body.text("host").value_or("");
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (name.empty() && !needs_host) {
    return order_quorum(input.frame, wanted, HostId(), "");
  }
  return find_host(input.frame, name, [frame = input.frame, wanted](const HostInfo& host) {
    return order_quorum(frame, wanted, host.id, host.name);
  });
}

}  // namespace

CallStep show_quorum(CallInput& input) {
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  return look_up<QuorumInfo>(input.frame, Verb::kQuorum, "",
                             [frame = input.frame](QuorumInfo quorum, const Response& response) {
                               std::stable_sort(quorum.voters.begin(), quorum.voters.end(),
                                                [](const VoterInfo& left, const VoterInfo& right) {
                                                  return left.name < right.name;
                                                });
                               return told(frame, to_json(quorum, response), response);
                             });
}

CallStep add_voter(CallInput& input) {
  return change_quorum(input, {QuorumAction::kAdd, "added"}, true);
}
CallStep remove_voter(CallInput& input) {
  return change_quorum(input, {QuorumAction::kRemove, "removed"}, true);
}
CallStep transfer_lead(CallInput& input) {
  return change_quorum(input, {QuorumAction::kTransfer, "leads"}, false);
}

}  // namespace muster::agent
