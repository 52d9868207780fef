#include "agent/front/asker.h"

namespace muster::agent {
namespace {

constexpr std::uint32_t kRoot = 0;

std::string text_of(const Login& login) {
  const std::string uid = "uid " + std::to_string(login.uid);
  return login.name.empty() ? uid : login.name + " (" + uid + ")";
}

/// The users that an agent which does not run as root answers.
std::string owners_of(const Login& own) {
  return "the user it runs as, " + text_of(own) + ", and root";
}

std::string why_not_answered(const gossip::Sender& sender, const Login& own) {
  return "this agent answers only " + owners_of(own) + ", not uid " + std::to_string(sender.uid) +
         ": run this as one of them";
}

std::string why_nameless(const gossip::Sender& sender) {
  const std::string uid = std::to_string(sender.uid);
  return sender.login_name.empty() ? "uid " + uid +
                                         " has no login name on this host, or it was not found in "
                                         "time: check `getent passwd " +
                                         uid + "`"
                                   : "";
}

}  // namespace

bool owns_host(const gossip::Sender& sender, const Login& own) {
  return sender.kind == gossip::Sender::Kind::kLogin &&
         (sender.uid == own.uid || sender.uid == kRoot);
}

bool is_guest(const gossip::Sender& sender, const Login& own) {
  return sender.kind == gossip::Sender::Kind::kLogin && !owns_host(sender, own);
}

std::string why_denied(const gossip::Sender& sender, const Login& own) {
  switch (sender.kind) {
    case gossip::Sender::Kind::kHost:
    case gossip::Sender::Kind::kTicket:
    case gossip::Sender::Kind::kBearer:
      return "";
    case gossip::Sender::Kind::kLogin:
      if (owns_host(sender, own)) {
        return "";
      }
      return own.uid == kRoot ? why_nameless(sender) : why_not_answered(sender, own);
    case gossip::Sender::Kind::kNobody:
      break;
  }
  return "this port answers only hosts: run the command on a host, whose agent answers " +
         (own.uid == kRoot ? "every login" : owners_of(own));
}

std::string why_denied_without_cluster(const gossip::Sender& sender, const Login& own,
                                       bool is_for_all) {
  if (!is_guest(sender, own) || own.uid != kRoot) {
    return why_denied(sender, own);
  }
  return is_for_all ? ""
                    : "this agent belongs to no cluster yet, and until it does it answers only "
                      "root: have root create a cluster or join one";
}

std::string name_of_login(const gossip::Sender& sender, const Login& own) {
  return sender.uid == own.uid ? own.name : sender.uid == kRoot ? "root" : sender.login_name;
}

}  // namespace muster::agent
