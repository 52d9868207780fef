#pragma once
// A World without a process: streams are strings, time moves only when a verb sleeps or an answer
// takes time, and the node is a function of the request.

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/agent_verb.h"
#include "cli/kit/world.h"

namespace muster::cli {

class FakeWorld {
 public:
  using Answer = std::function<Result<agent::Response>(const agent::Request&)>;

  FakeWorld();

  int run(const std::vector<std::string>& args);
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }
  /// The stdout of a run that must succeed.
  std::string output_of(const std::vector<std::string>& args);

  World& world() { return world_; }
  const std::vector<agent::Request>& requests() const { return requests_; }
  const std::vector<std::string>& addresses() const { return addresses_; }
  Duration slept() const { return slept_; }

  /// Every request gets this.
  void answers(Answer answer) { answer_ = std::move(answer); }
  void answers(agent::Response response);
  /// The next requests get these, one each.
  void answers_in_turn(std::vector<Result<agent::Response>> responses);
  void refuses_connections() { is_listening_ = false; }
  /// Where each request went.
  const std::vector<std::string>& asked() const { return asked_; }

  /// The wall clock, which stands: 2026-11-28 12:00:00.
  std::uint64_t wall_unix_ms = 1795867200000;
  /// No node listens there.
  std::set<std::string> dead;
  /// After a cut() no node listens for so long.
  Duration returns_after{0};
  /// Only others may ask there.
  std::set<std::string> denied;
  /// Addresses that cannot be used: to connect there is kInvalid.
  std::set<std::string> unusable;
  /// The uses of hosts as voters answer them; requests() does not count those questions.
  agent::HostUseList uses;

  std::map<std::string, std::string> environment;
  std::set<std::string> files;
  /// Other users can read these; "stdout" is one of them.
  std::set<std::string> open_to_others;
  /// Lines written to files for their owner alone; and files for `users apply` and `queue import`.
  std::map<std::string, std::string> written;
  /// Ctrl-C is found when it is looked for so many times from now; 0 = never.
  int interrupts_in = 0;
  std::vector<AgentOptions> agents_run;

 private:
  class Client;

  void prepare_tickets();
  Result<scheduler::QueueTree> queues_in(const std::string& path) const;

  std::ostringstream out_;
  std::ostringstream err_;
  World world_;
  Answer answer_;
  std::deque<Result<agent::Response>> queue_;
  std::vector<agent::Request> requests_;
  std::vector<std::string> addresses_;
  std::vector<std::string> asked_;
  Instant now_;
  Instant back_at_ = kLongAgo;
  Duration slept_{0};
  bool is_listening_ = true;
  int keys_drawn_ = 0;
};

template <class T>
agent::Response answer_with(const T& payload) {
  agent::Response response;
  response.answered_by = "a";
  response.payload = agent::encode_payload(payload);
  return response;
}

inline agent::Response refusal(agent::ResponseStatus status, const std::string& text) {
  agent::Response response;
  response.status = status;
  response.text = text;
  response.answered_by = "a";
  return response;
}

/// The agent ended while it was asked.
inline Error cut() {
  return {ErrorCode::kIo, "the agent ended the connection"};
}

inline Error silence() {
  return {ErrorCode::kUnknown, "no answer within 3000 ms"};
}

}  // namespace muster::cli
