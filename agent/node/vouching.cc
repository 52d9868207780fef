#include "agent/node/vouching.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "agent/api/payload.h"
#include "agent/api/verbs.h"
#include "agent/front/access.h"
#include "agent/front/user_model.h"
#include "agent/node/answers.h"
#include "agent/node/request_target.h"
#include "gossip/base/mutant.h"
#include "scheduler/access/access_token.h"
#include "scheduler/access/authorize.h"
#include "scheduler/state/signed_order.h"

namespace muster::agent {
namespace {

constexpr std::size_t kNamedMax = 3;

/// True if the host left, or an operator removed it.
bool is_gone(const NodeView& node, HostId host) {
  const membership::Member* member = node.membership.member(host);
  const scheduler::HostRecord* record = node.seat.state().host(host);
  return (member != nullptr && member->state == membership::MemberState::kLeft) ||
         (record != nullptr && record->is_removed);
}

/// The members without `host` that the roll allows it; reachable ones come first.
std::vector<HostId> others_that(const NodeView& node, HostId host,
                                bool (Roll::*may)(HostId) const) {
  const Roll& roll = node.roll;
  std::vector<HostId> found;
  if (host != node.options.self && (roll.*may)(node.options.self)) {
    found.push_back(node.options.self);
  }
  for (const auto& [other, member] : node.membership.members()) {
    if (other != host && other != node.options.self && (roll.*may)(other) &&
        !is_gone(node, other)) {
      found.push_back(other);
    }
  }
  std::stable_partition(found.begin(), found.end(), [&](HostId each) {
    return each == node.options.self || is_reachable(node.membership, each);
  });
  return found;
}

std::string names_of(const NodeView& node, const std::vector<HostId>& hosts) {
  std::string names;
  for (std::size_t i = 0; i < hosts.size() && i < kNamedMax; ++i) {
    const bool is_last = i + 1 == std::min(hosts.size(), kNamedMax);
    names +=
        (i == 0    ? ""
         : is_last ? " or "
                   : ", ") +
        (hosts[i] == node.options.self ? node.options.name : node.hosts.addresses().name(hosts[i]));
  }
  return names;
}

std::string text_of_unknown(const NodeView& node) {
  return node.seat.knows_state()
             ? scheduler::kTokenUnknown
             : "host " + node.options.name +
                   " does not know that access token, or not yet: repeat in a moment; if it was "
                   "revoked or has expired, make another one (muster token create)";
}

Speaker speaker_of(const NodeView& node, const Asker& asker) {
  return {asker.host, owns_host(asker.proven, node.options.clients.login)};
}

/// Why the asker may not reset the administrators: only root of a voter may, and the user of its
/// agent. The socket proves that on the voter itself; the leader believes the voters.
std::string why_not_root_of_voter(const NodeView& node, const Request& request,
                                  const Asker& asker) {
  const std::vector<HostId>& voters = node.seat.known_quorum().voters;
  const bool votes = std::find(voters.begin(), voters.end(), asker.host) != voters.end() ||
                     mutant(Mutant::kResetByAnyHost);
  const bool is_login = asker.proven.kind == gossip::Sender::Kind::kLogin;
  const Login& own = node.options.clients.login;
  if (request.shows_token()) {
    return "no access token resets the administrators: leave out MUSTER_ACCESS and --access-file";
  }
  if (is_login && !owns_host(asker.proven, own) && !mutant(Mutant::kResetByAnyLogin)) {
    return "only root" + (own.uid == 0 || own.name.empty() ? "" : " and user " + own.name) +
           " of a voter reset the administrators: run it as root on " + names_of(node, voters);
  }
  if (!request.node.empty()) {
    return "the administrators are reset on the voter itself: leave out --node";
  }
  return votes ? ""
               : "this host does not vote: reset the administrators as root on " +
                     names_of(node, voters);
}

}  // namespace

void name_login(Request& request, const gossip::Sender& sender, const NodeOptions& own) {
  const bool is_login = sender.kind == gossip::Sender::Kind::kLogin;
  std::string name = is_login ? name_of_login(sender, own.clients.login) : "";
  if (!name.empty() && !mutant(Mutant::kClientNamesItself)) {
    request.user = std::move(name);
  }
}

std::string why_not_through(const NodeView& node, const Request& request, const Asker& asker) {
  const Roll& roll = node.roll;
  const HostId speaker = asker.host;
  const bool is_own = speaker == node.options.self;
  Request said = request;
  if (said.node == node.options.name) {
    said.node.clear();
  }
  const bool is_judged_later = is(request.verb, Openness::kRootOfVoter);
  const bool votes = roll.may_vote(speaker) || (is_judged_later && mutant(Mutant::kResetByAnyHost));
  if (!is_own && is_for_voters(said) && !votes) {
    const std::vector<HostId> voters = others_that(node, speaker, &Roll::may_vote);
    return "only hosts that may vote forward that request: run it on " +
           (voters.empty() ? "one of them" : names_of(node, voters));
  }
  if (!is_own && is(request.verb, Carrier::kTicketMakers) && !request.node.empty()) {
    return "a ticket is made on the host where you log in: leave out --node";
  }
  if (is_judged_later || roll.may_vouch(speaker) ||
      is_open_to_all(said, speaker_of(node, asker), node.options.self) ||
      mutant(Mutant::kAnyHostVouches)) {
    return "";
  }
  const std::string name = is_own ? node.options.name : node.hosts.addresses().name(speaker);
  const std::vector<HostId> others = others_that(node, speaker, &Roll::may_vouch);
  return "host " + name +
         " may not vouch for its logins: they may only run `hosts`, `why-host`, `quorum` and "
         "`keys`, and ask about this host" +
         (others.empty() ? ""
                         : "; ask on " + names_of(node, others) +
                               ", or have an operator run there: muster hosts set " + name +
                               " --may-vouch yes");
}

std::string take_token(const NodeView& node, Request& request, const Asker& asker) {
  const scheduler::Directory& directory = directory_of(node);
  if (asker.proven.kind == gossip::Sender::Kind::kBearer && request.access.empty()) {
    return "this door answers only requests that show an access token: muster token create";
  }
  if (asker.proven.kind != gossip::Sender::Kind::kHost) {
    request.token = {};  // A client shows a line, and does not say what was verified.
  }
  if (!request.access.empty()) {
    request.token = {};
    request.user.clear();
    const auto token = scheduler::access_token_of(request.access, node.cluster);
    if (!token) {
      return token.error().text;
    }
    const scheduler::TokenRecord* known = directory.tokens().find(token->id);
    if (known == nullptr) {
      return node.seat.knows_state() ? text_of_unknown(node) : "";
    }
    if (!is_token_of(*token, known->hash, *node.options.credentials.verifier) &&
        !mutant(Mutant::kTokenUnproven)) {
      return "that is not the access token of its number: use the line that `muster token create` "
             "printed, or make another one";
    }
    request.token = token->id;
    request.user = known->user;
    return known->has_ended(cluster_time_of(node)) && !mutant(Mutant::kTokenOutlivesItself)
               ? "the access token " + known->label +
                     " has expired: make another one (muster token create)"
               : "";
  }
  if (request.token.is_zero()) {
    return "";
  }
  if (!node.roll.may_vouch(asker.host) && !mutant(Mutant::kTokenStatedByAny)) {
    return "host " + node.hosts.addresses().name(asker.host) +
           " may not vouch, so it has to show the line of an access token";
  }
  const scheduler::TokenRecord* known = directory.tokens().find(request.token);
  if (known == nullptr) {
    return text_of_unknown(node);
  }
  request.user = known->user;
  return "";
}

scheduler::Subject subject_of(const NodeView& node, const Request& request, HostId host) {
  scheduler::Subject subject{asker_text(request), request.user, host, request.token};
  if (may_be_signed(request) && !request.shows_token()) {
    subject.signature = request.signature;
  }
  if (is(request.verb, Openness::kRootOfVoter)) {
    // The alarm about it names the voter, and not the host that the voter names.
    subject.name = request.user + "@" + node.hosts.addresses().name(host);
  }
  if (const auto* token = directory_of(node).tokens().find(request.token)) {
    subject.name += " (token " + token->label + ")";
  }
  return subject;
}

Request to_pass_on(const NodeView& node, const Request& request) {
  Request passed = request;
  const bool is_for_the_last = request.node.empty();
  if (!request.token.is_zero() && is_for_the_last && node.roll.may_vouch(node.options.self)) {
    passed.access.clear();
  }
  return passed;
}

std::optional<Response> why_not_of_user(const NodeView& node, const Request& request,
                                        const Asker& asker) {
  if (request.shows_token() && request.token.is_zero()) {
    return bad(node, ResponseStatus::kDenied, text_of_unknown(node));
  }
  if (is(request.verb, Openness::kRootOfVoter)) {
    std::string why = why_not_root_of_voter(node, request, asker);
    return why.empty() ? std::nullopt
                       : std::optional(bad(node, ResponseStatus::kDenied, std::move(why)));
  }
  // A host that may not vouch passes on only what every login may ask.
  const bool is_open =
      !request.shows_token() && is_open_to_all(request, speaker_of(node, asker), node.options.self);
  if (is_open || mutant(Mutant::kNodeAsksNoGate)) {
    return std::nullopt;
  }
  const scheduler::Directory& directory = directory_of(node);
  if (!directory.is_founded()) {
    const bool is_harmless =
        is(request.verb, Effect::kReads) && !is(request.verb, Right::kMayReadOutput);
    return is_harmless || owns_host(asker.proven, node.options.clients.login)
               ? std::nullopt
               : std::optional(bad(node, ResponseStatus::kNoQuorum,
                                   "host " + node.options.name +
                                       " does not know the users of the cluster yet: repeat in a "
                                       "moment"));
  }
  const std::string why =
      why_denied({directory, cluster_time_of(node)}, node.seat.state(), request);
  return why.empty() ? std::nullopt : std::optional(bad(node, ResponseStatus::kDenied, why));
}

std::optional<Response> why_not_signed(const NodeView& node, const Request& request,
                                       const scheduler::SeatInput& input) {
  const auto* order = std::get_if<scheduler::input::ClientOrder>(&input);
  if (order == nullptr || !may_be_signed(request)) {
    return std::nullopt;
  }
  const scheduler::Entry entry =
      std::visit([](const auto& fact) { return scheduler::Entry(fact); }, order->order);
  const scheduler::State& state = node.seat.state();
  const gossip::Verifier& verifier = *node.options.credentials.verifier;
  const Status is_signed = check_signature(state.directory(), state.roll(), entry, &verifier);
  if (is_signed) {
    return std::nullopt;
  }
  Response refusal = bad(node, status_of(is_signed.error().code), is_signed.error().text);
  SignatureWanted wanted{user_keys(state.directory().user(request.user))};
  name_keys(wanted.keys, verifier);
  refusal.payload = encode_payload(wanted);
  return refusal;
}

bool is_another_to_vouch(const NodeView& node, HostId host) {
  return !others_that(node, host, &Roll::may_vouch).empty();
}

bool is_last_to_vouch(const NodeView& node) {
  const Roll& roll = node.roll;
  const auto& members = node.membership.members();
  const bool is_alone = std::none_of(members.begin(), members.end(), [&](const auto& each) {
    return each.first != node.options.self && !roll.is_revoked(each.first) &&
           !is_gone(node, each.first);
  });
  return !is_alone && roll.may_vouch(node.options.self) &&
         !is_another_to_vouch(node, node.options.self);
}

bool is_another_to_vote(const NodeView& node, HostId host) {
  return !others_that(node, host, &Roll::may_vote).empty();
}

}  // namespace muster::agent
