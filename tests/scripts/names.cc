#include "tests/scripts/names.h"

#include "gossip/base/overloaded.h"
#include "membership/codec.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/first_quorum_messages.h"

namespace muster::scripts {
namespace {

using membership::Accuse;
using membership::Call;
using membership::Veto;
using scheduler::AgentMessage;
using scheduler::GrantState;
using scheduler::PromiseAnswer;
using scheduler::RankResult;

using Text = std::optional<std::string>;

std::string text_of(GrantState state) {
  switch (state) {
    case GrantState::kReady:
      return "ready";
    case GrantState::kStarting:
      return "starting";
    case GrantState::kRunning:
      return "running";
    case GrantState::kStopping:
      return "stopping";
    case GrantState::kEnded:
      return "ended";
    case GrantState::kAborted:
      return "aborted";
  }
  return "";
}

std::string text_of(const RankResult& result) {
  const std::string code = std::to_string(result.code);
  switch (result.kind) {
    case RankResult::Kind::kExited:
      return "exited " + code + (result.signalled_by_us ? " after our signal" : "");
    case RankResult::Kind::kSignalled:
      return "killed by " + code + (result.signalled_by_us ? " from us" : "");
    case RankResult::Kind::kNeverRan:
      return "never ran";
    case RankResult::Kind::kLost:
      return "lost";
    case RankResult::Kind::kNotStarted:
      return "not started " + code;
  }
  return "";
}

/// Equal results in a row are said once: "ranks 0-7 exited 0".
std::string text_of(const std::vector<RankResult>& results) {
  std::string text;
  for (std::size_t i = 0; i < results.size();) {
    std::size_t end = i + 1;
    while (end < results.size() && text_of(results[end]) == text_of(results[i])) {
      ++end;
    }
    text += text.empty() ? " ranks " : ", ";
    text += std::to_string(results[i].rank);
    text += end - i > 1 ? "-" + std::to_string(results[end - 1].rank) : "";
    text += " " + text_of(results[i]);
    i = end;
  }
  return text;
}

std::string text_of(PromiseAnswer answer) {
  switch (answer) {
    case PromiseAnswer::kRefused:
      return "refused";
    case PromiseAnswer::kPromised:
      return "promised";
    case PromiseAnswer::kFormed:
      return "formed";
  }
  return "";
}

std::string relayed_text(Names& names, const scheduler::RelayedRenews& relayed) {
  std::string text = "relayed_renews";
  for (const scheduler::RelayedRenew& each : relayed.renews) {
    text += " " + names.of(each.host) + ":";
    for (const Token& token : each.renew.tokens) {
      text += " " + names.of(token);
    }
  }
  return text;
}

std::string relayed_text(Names& names, const scheduler::RelayedAcks& relayed) {
  std::string text = "relayed_acks";
  for (const scheduler::RelayedAck& each : relayed.acks) {
    text += " " + names.of(each.host) + ":";
    for (const Token& token : each.ack.tokens) {
      text += " " + names.of(token);
    }
  }
  return text;
}

std::string text_of(Names& names, const AgentMessage& message) {
  const auto tokens = [&](const std::vector<Token>& list) {
    std::string text;
    for (const Token& token : list) {
      text += " " + names.of(token);
    }
    return text;
  };
  return std::visit(
      Overloaded{
          [&](const scheduler::Hello& hello) -> std::string {
            std::string text = "hello generation=" + std::to_string(hello.start.generation.value());
            for (const scheduler::GrantReport& grant : hello.grants) {
              text += " " + names.of(grant.token) + "=" + text_of(grant.state);
            }
            return text;
          },
          [&](const scheduler::HelloReply& reply) -> std::string {
            return std::string("hello_reply ") + (reply.registered ? "registered" : "refused") +
                   (reply.raise_to == Generation()
                        ? ""
                        : " raise_to=" + std::to_string(reply.raise_to.value())) +
                   (reply.kill.empty() ? "" : " kill" + tokens(reply.kill));
          },
          [&](const scheduler::Assign& assign) -> std::string {
            return "assign " + names.of(assign.token) +
                   " job=" + std::to_string(assign.job.value()) +
                   " attempt=" + std::to_string(assign.attempt);
          },
          [&](const scheduler::Ready& ready) -> std::string {
            return "ready " + names.of(ready.token) + (ready.master.is_none() ? "" : " master");
          },
          [&](const scheduler::Refuse& refuse) -> std::string {
            return "refuse " + names.of(refuse.token) + ": " + refuse.reason;
          },
          [&](const scheduler::Start& start) -> std::string {
            return "start " + names.of(start.token);
          },
          [&](const scheduler::Stop& stop) -> std::string {
            return "stop " + names.of(stop.token) + ": " + stop.reason;
          },
          [&](const scheduler::Finish& finish) -> std::string {
            return std::string(finish.last ? "finish " : "early_finish ") + names.of(finish.token) +
                   text_of(finish.results);
          },
          [&](const scheduler::FinishAck& ack) -> std::string {
            return "finish_ack " + names.of(ack.token);
          },
          [&](const scheduler::Renew& renew) -> std::string {
            return "renew" + tokens(renew.tokens);
          },
          [&](const scheduler::RenewAck& ack) -> std::string {
            return "renew_ack" + tokens(ack.tokens);
          },
          [&](const scheduler::RelayedRenews& relayed) { return relayed_text(names, relayed); },
          [&](const scheduler::RelayedAcks& relayed) { return relayed_text(names, relayed); },
          [&](const scheduler::GpuOrders& told) {
            std::string text = "gpu_orders";
            for (const scheduler::GpuOrder& order : told.orders) {
              text += (order.is_mask ? " mask=" : " unmask=") + order.uuid;
            }
            return text;
          },
          [&](const scheduler::GpuOrdersAck&) { return std::string("gpu_orders_ack"); },
      },
      message);
}

Text text_of(const scheduler::RaftMessage& message) {
  return std::visit(Overloaded{
                        [](const scheduler::VoteRequest& vote) -> Text {
                          return std::string(vote.pre_vote ? "pre_vote" : "vote") +
                                 "? term=" + std::to_string(vote.term.value());
                        },
                        [](const scheduler::VoteReply& reply) -> Text {
                          return std::string(reply.pre_vote ? "pre_vote" : "vote") +
                                 (reply.granted ? " granted" : " denied") +
                                 " term=" + std::to_string(reply.term.value());
                        },
                        [](const auto&) -> Text { return std::nullopt; },
                    },
                    message);
}

Text text_of(const scheduler::QuorumMessage& message) {
  return std::visit(Overloaded{
                        [](const scheduler::QuorumPropose&) -> Text { return "propose"; },
                        [](const scheduler::QuorumPromise& promise) -> Text {
                          return "promise " + text_of(promise.answer);
                        },
                        [](const scheduler::QuorumForm&) -> Text { return "form"; },
                    },
                    message);
}

}  // namespace

std::string Names::of(HostId id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? "h?" : found->second;
}

std::string Names::of(Token token) {
  const auto [found, is_new] = tokens_.emplace(token.text(), "");
  if (is_new) {
    found->second = "t" + std::to_string(tokens_.size());
  }
  return found->second;
}

std::string Names::value(std::string_view key, const std::string& text) {
  for (const auto& [id, name] : hosts_) {
    if (text == id.short_hex() || text == id.hex()) {
      return name;
    }
  }
  const std::size_t dot = text.find('.');
  if (key == "token" && dot != std::string::npos) {
    return of(Token{std::stoull(text.substr(0, dot)), std::stoull(text.substr(dot + 1))});
  }
  return text;
}

std::string Names::of(const Event& event) {
  std::string text(event.name);
  for (const auto& [key, text_value] : event.fields) {
    const bool is_noise = key == "index" || key == "cluster" || key == "ours" || key == "listen" ||
                          key == "condemn" || text_value.empty();
    if (!is_noise) {
      text += " " + std::string(key) + "=" + value(key, text_value);
    }
  }
  return text;
}

std::string Names::of(const AgentMessage& message) {
  return text_of(*this, message);
}

std::optional<std::string> Names::of(const gossip::Message& message) {
  const gossip::MessageType type = message.envelope().type;
  if (const auto body = membership::decode_body(type, message.body())) {
    return std::visit(
        Overloaded{
            [&](const Call& call) -> Text {
              return "call about=" + of(call.subject) +
                     (message.envelope().nonce == Nonce() ? " it answers" : " probe it now");
            },
            [&](const Veto& veto) -> Text { return "veto about=" + of(veto.subject); },
            [](const Accuse&) -> Text { return "accuse"; },
            [](const auto&) -> Text { return std::nullopt; },
        },
        *body);
  }
  if (const auto body = scheduler::decode_agent_message(type, message.body())) {
    return of(*body);
  }
  if (const auto body = scheduler::decode_raft_message(type, message.body())) {
    return text_of(*body);
  }
  if (const auto body = scheduler::decode_quorum_message(type, message.body())) {
    return text_of(*body);
  }
  return std::nullopt;
}

}  // namespace muster::scripts
