#include "agent/node/certifying.h"

#include <algorithm>
#include <set>
#include <vector>

#include "agent/api/payload.h"
#include "agent/api/verbs.h"
#include "agent/node/answers.h"
#include "agent/step/http_signer.h"
#include "agent/step/reachable.h"
#include "crdt/rows/host_state.h"
#include "gossip/wire/endpoint.h"

namespace muster::agent {
namespace {

/// In one certificate. A large host with eight networks has some 30 names.
constexpr std::size_t kGrantedNamesMax = 64;

std::string in_small_letters(std::string text) {
  for (char& letter : text) {
    letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return text;
}

struct OwnNames {
  std::set<std::string> dns{};
  std::set<std::string> addresses{};
};

/// "node1" of "Node1" and of "node1.example.com" in that domain; "" of a name with other dots.
std::string bare_name(const std::string& name, const std::string& domain) {
  std::string bare = in_small_letters(name);
  if (!domain.empty() && bare.ends_with("." + domain)) {
    bare.erase(bare.size() - domain.size() - 1);
  }
  return bare.find('.') == std::string::npos ? bare : "";
}

/// Two members that run and claim one name get it neither: one of them is not the host that people
/// mean. `bare`: as bare_name().
bool is_claimed_twice(const NodeView& node, HostId host, const std::string& bare,
                      const std::string& domain) {
  const auto& members = node.membership.members();
  return (host != node.options.self && bare_name(node.options.name, domain) == bare) ||
         std::any_of(members.begin(), members.end(), [&](const auto& each) {
           return each.first != host && each.first != node.options.self &&
                  bare_name(node.hosts.addresses().name(each.first), domain) == bare &&
                  is_reachable(node.membership, each.first);
         });
}

/// A row is its host's own word. Its control address is proven by the probes that find it there;
/// its address of HTTPS is not, so another one does not count.
OwnNames own_names(const NodeView& node, HostId host) {
  std::string name = node.options.name;
  std::vector<gossip::Endpoint> at = {node.options.addresses.control, node.options.addresses.https};
  if (host != node.options.self) {
    const crdt::Identity* identity = node.hosts.addresses().identity(host);
    name = identity == nullptr ? "" : identity->name;
    at = identity == nullptr ? std::vector<gossip::Endpoint>()
                             : std::vector<gossip::Endpoint>{identity->control};
  }
  OwnNames own;
  const std::string domain = node.options.credentials.http_signer->domain();
  const std::string bare = bare_name(name, domain);
  if (!bare.empty() && !is_claimed_twice(node, host, bare, domain)) {
    own.dns = {bare};
    if (!domain.empty()) {
      own.dns.insert(bare + "." + domain);
    }
  }
  for (const gossip::Endpoint& each : at) {
    if (!each.is_none()) {
      own.addresses.insert(each.ip_text());
    }
  }
  return own;
}

bool has_secret(const NodeView& node) {
  return node.authority.signer() != nullptr && !node.cluster.is_zero() &&
         node.options.credentials.http_signer != nullptr;
}

/// Precondition: has_secret().
HttpSigner::Authority authority_of(const NodeView& node) {
  return {node.authority.secret(), node.cluster.short_hex()};
}

Result<CertifiedInfo> certify(const NodeView& node, HostId host, const CertifyArgs& wish) {
  const HttpSigner& signer = *node.options.credentials.http_signer;
  const HttpSigner::Authority authority = authority_of(node);
  Result<std::string> certificates = signer.certify(authority, granted(node, host, wish),
                                                    node.wall_clock.unix_ms(node.now) / 1000);
  if (!certificates) {
    return certificates.error();
  }
  Result<std::string> root = signer.root(authority);
  if (!root) {
    return root.error();
  }
  return CertifiedInfo{*std::move(certificates), *std::move(root), node.authority.number()};
}

/// Of logins and of hosts that pass on for logins nobody asks it: the request of an agent has no
/// user, and this node filled in that it came here first.
bool is_of_agent(const NodeView& node, const Request& request, const Asker& asker) {
  return asker.proven.kind == gossip::Sender::Kind::kHost && request.user.empty() &&
         !request.shows_token() && request.node.empty() && request.via == node.options.name;
}

}  // namespace

bool CertifyPace::takes(Instant now, HostId host) {
  while (!signed_.empty() && signed_.front().first + kPeriod <= now) {
    signed_.pop_front();
  }
  const bool is_again = std::any_of(signed_.begin(), signed_.end(),
                                    [&](const auto& each) { return each.second == host; });
  if (is_again || signed_.size() >= kAtOnce) {
    return false;
  }
  signed_.emplace_back(now, host);
  return true;
}

CertifyArgs granted(const NodeView& node, HostId host, const CertifyArgs& wish) {
  const OwnNames own = own_names(node, host);
  CertifyArgs out{wish.public_key, {}, {}};
  const auto add = [&out](std::vector<std::string>& names, const std::string& each) {
    if (out.dns.size() + out.addresses.size() < kGrantedNamesMax &&
        std::find(names.begin(), names.end(), each) == names.end()) {
      names.push_back(each);
    }
  };
  for (const std::string& each : wish.dns) {
    if (each == "localhost" || own.dns.contains(in_small_letters(each))) {
      add(out.dns, each);
    }
  }
  for (const std::string& each : wish.addresses) {
    if (each == "127.0.0.1" || each == "::1" || own.addresses.contains(each)) {
      add(out.addresses, each);
    }
  }
  return out;
}

Response certificate_answer(const NodeView& node, const Request& request, const Asker& asker,
                            CertifyPace& pace) {
  if (!is_of_agent(node, request, asker)) {
    return bad(node, ResponseStatus::kDenied,
               "only the agent of a member asks for a certificate of HTTPS, for itself");
  }
  const auto wish = decode_payload<CertifyArgs>(request.arguments);
  if (!wish.has_value()) {
    return unreadable(node, find_verb(request.verb));
  }
  if (!has_secret(node)) {
    return bad(node, ResponseStatus::kNoQuorum,
               "host " + node.options.name +
                   " does not have the secret of the cluster authority, or not yet: ask another "
                   "voter");
  }
  if (!pace.takes(node.now, asker.proven.host)) {
    return bad(node, ResponseStatus::kNoQuorum,
               "host " + node.options.name +
                   " signs one certificate of HTTPS a minute for each host, and " +
                   std::to_string(CertifyPace::kAtOnce) + " for all: repeat later");
  }
  const Result<CertifiedInfo> certified = certify(node, asker.proven.host, *wish);
  return certified ? good(node, encode_payload(*certified))
                   : bad(node, status_of(certified.error().code), certified.error().text);
}

Response http_root_answer(const NodeView& node) {
  const HttpSigner* signer = node.options.credentials.http_signer.get();
  std::string root = node.contact.certificates().root();
  if (has_secret(node)) {
    Result<std::string> derived = signer->root(authority_of(node));
    if (!derived) {
      return bad(node, status_of(derived.error().code), derived.error().text);
    }
    root = *std::move(derived);
  }
  if (root.empty() || signer == nullptr) {
    return bad(node, ResponseStatus::kNotFound,
               "host " + node.options.name +
                   " has no certificate of the cluster's authority of HTTPS, or not yet: repeat in "
                   "a moment, or ask a voter with --node");
  }
  HttpRootInfo info{root, signer->fingerprint(root)};
  return good(node, encode_payload(info));
}

std::optional<CertificateAnswer> certified_here(const NodeView& node, const CertifyArgs& wish) {
  if (!has_secret(node)) {
    return std::nullopt;
  }
  Result<CertifiedInfo> certified = certify(node, node.options.self, wish);
  return certified ? CertificateAnswer{*std::move(certified), ""}
                   : CertificateAnswer{{}, certified.error().text};
}

}  // namespace muster::agent
