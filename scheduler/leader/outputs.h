#pragma once
// The outputs of Scheduler, collected in order. Raft, the transport and the clients' front carry
// them out; none of them is durable or sent yet.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/event.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/state/roll_changes.h"

namespace muster::scheduler {

struct ClientReply {
  std::uint64_t request = 0;
  JobId job;
  std::string told{};          ///< For people: further effects; "" without any.
  std::optional<Error> error;  ///< kUnavailable: surely not accepted; kUnknown: it may have been.
  /// Of a refusal as kUnavailable: when the same request may be taken; nullopt = not known.
  std::optional<Duration> retry_after{};
};

struct OutgoingMessage {
  HostId to;
  Nonce nonce;  ///< That of the message it answers; 0 if the leader speaks first.
  AgentMessage message;
  bool is_again = false;  ///< It was sent before, and may have been lost on its way.
};

struct SchedulerOutput {
  std::vector<std::string> proposals;         ///< Encoded entries, in order, for Raft.
  std::vector<std::uint64_t> round_requests;  ///< Contexts for majority rounds.
  std::vector<OutgoingMessage> messages;
  std::vector<ClientReply> replies;
  std::vector<Event> events;
  std::vector<HostId> unanswered;  ///< Hosts that are sent an Assign once more.
  RollChanges roll;
  std::string halted;  ///< Not empty: the log holds an entry this version cannot apply.

  void say(const HostId& to, Nonce nonce, AgentMessage message) {
    messages.push_back(OutgoingMessage{to, nonce, std::move(message)});
  }
  /// Repeats a message that may be lost: it goes on a new link unless the agent spoke just now.
  void say_again(const HostId& to, AgentMessage message) {
    messages.push_back(OutgoingMessage{to, Nonce(), std::move(message), true});
  }
  void refuse(std::uint64_t request, ErrorCode code, std::string why,
              std::optional<Duration> retry_after = std::nullopt) {
    replies.push_back(ClientReply{request, JobId(), "", Error{code, std::move(why)}, retry_after});
  }
  void emit(Severity severity, std::string_view name,
            std::vector<std::pair<std::string_view, std::string>> fields) {
    events.push_back(Event{severity, name, std::move(fields)});
  }
};

}  // namespace muster::scheduler
