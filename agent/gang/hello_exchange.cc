#include "agent/gang/hello_exchange.h"

#include <algorithm>
#include <cstddef>

#include "gossip/base/check.h"

namespace muster::agent {
namespace {

constexpr std::size_t kHellosMax = 8;  // Replies later than 8 s are no use.

}  // namespace

HelloExchange::HelloExchange(AgentStart start, Duration retry)
    : start_(start), retry_(retry), nonces_(kHellosMax) {}

void HelloExchange::leader_changed(Instant now, Duration spread, GangOutbox& out) {
  registered_ = false;
  const bool may_wait = is_known_ && spread > Duration(0);
  want_hello(may_wait ? now + out.draw(Duration(0), spread) : now);
  is_known_ = may_wait;
}

void HelloExchange::epoch_obeyed(Instant now, ClusterEpoch epoch) {
  epoch_ = epoch.counter;
  registered_ = false;
  want_hello(now);
}

/// Replies to hellos with older content do not count any more.
void HelloExchange::want_hello(Instant at) {
  nonces_.clear();
  hello_at_ = at;
  is_known_ = false;
}

void HelloExchange::hello_sent(Instant now, Nonce nonce) {
  nonces_.add(nonce);
  hello_at_ = now + retry_;
}

HelloExchange::Reply HelloExchange::on_reply(Instant now, Nonce nonce,
                                             const scheduler::HelloReply& reply, GangOutbox& out) {
  CHECK(!refused_);
  const bool is_of_this_start = reply.start_id == start_.start_id;
  if (!is_of_this_start || !nonces_.contains(nonce)) {
    // The leader registered a late copy of an older hello: send the present one again.
    if (registered_ && reply.registered && is_of_this_start) {
      hello_at_ = std::min(hello_at_, now + retry_);
    }
    return Reply::kStray;
  }
  if (reply.raise_to > start_.generation) {
    refused_ = true;
    out.raise_to(reply.raise_to);
    out.emit(Severity::kAlarm, "generation_refused", {}, std::to_string(reply.raise_to.value()));
    return Reply::kRefused;
  }
  // An agent that was registered does not end for a name: its ranks would end with it.
  if (reply.is_name_taken && !was_registered_) {
    refused_ = true;
    out.end(reply.why);
    return Reply::kRefused;
  }
  if (!reply.registered) {
    tell_refusal(reply.why, out);
    return Reply::kNotYet;
  }
  told_refusal_.clear();
  registered_ = true;
  was_registered_ = true;
  is_known_ = true;
  nonces_.clear();
  hello_at_ = kNever;
  out.emit(Severity::kInfo, "agent_registered", reply.floor);
  return Reply::kRegistered;
}

/// Emits each reason once: hello goes on every second.
void HelloExchange::tell_refusal(const std::string& why, GangOutbox& out) {
  if (!why.empty() && why != told_refusal_) {
    told_refusal_ = why;
    out.emit(Severity::kWarn, "not_registered", {}, why);
  }
}

}  // namespace muster::agent
