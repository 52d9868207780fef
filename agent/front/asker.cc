#include "agent/front/asker.h"

namespace muster::agent {
namespace {

constexpr std::uint32_t kRoot = 0;

std::string text_of(const Login& login) {
  const std::string uid = "uid " + std::to_string(login.uid);
  return login.name.empty() ? uid : login.name + " (" + uid + ")";
}

}  // namespace

std::string why_denied(const gossip::Sender& sender, const Login& own) {
  const std::string who_may =
      own.uid == kRoot ? "root" : "the user it runs as, " + text_of(own) + ", and root";
  switch (sender.kind) {
    case gossip::Sender::Kind::kHost:
    case gossip::Sender::Kind::kTicket:
      return "";
    case gossip::Sender::Kind::kLogin:
      return sender.uid == own.uid || sender.uid == kRoot
                 ? ""
                 : "this agent answers only " + who_may + ", not uid " +
                       std::to_string(sender.uid) +
                       (own.uid == kRoot ? ": run this as root" : ": run this as one of them");
    case gossip::Sender::Kind::kNobody:
      break;
  }
  return "this port answers only hosts: run the command on a host, whose agent answers " + who_may;
}

std::string name_of_login(std::uint32_t uid, const Login& own) {
  return uid == own.uid ? own.name : uid == kRoot ? "root" : "";
}

}  // namespace muster::agent
