#include "tests/sim/forger.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/users.h"
#include "gossip/base/version.h"
#include "gossip/wire/message.h"
#include "scheduler/access/access_token.h"
#include "scheduler/protocol/agent_messages.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/sim/impostor.h"
#include "tests/sim/pen.h"

namespace muster::sim {
namespace {

using agent::encode_payload;
using agent::Verb;
using scheduler::Intent;
using scheduler::UserRole;

/// Of another cluster, in which the administrator has the same key.
const ClusterId kAnotherCluster = ClusterId::from_bytes("another cluster_");
/// Another purpose of the same key.
constexpr std::string_view kAnotherPurpose = "git";

std::string marked(const std::string& mark) {
  return std::string(kForgedMark) + "-" + mark;
}

}  // namespace

void Forger::lie() {
  if (!persons_.has_staff()) {
    return;
  }
  switch (rng_.below(13)) {
    case 0:
      return replay();
    case 1:
      return replay_as_another_host();
    case 2:
      return change_order();
    case 3:
      return change_person();
    case 4:
      return change_cluster_or_purpose();
    case 5:
      return use_taken_key();
    case 6:
      return leave_signature_out();
    case 7:
      return guess_token();
    case 8:
      return use_ended_token();
    case 9:
      return overuse_token();
    case 10:
      return state_token();
    case 11:
      return end_job_of_others();
    default:
      return speak_without_right();
  }
}

// ---- signed orders ----

/// The number of the key makes it count once.
void Forger::replay() {
  if (const Persons::Made* made = some_made(true)) {
    say("orders_replayed", made->request);
  }
}

/// In the name of the host that the person used; the connection proves the traitor's own.
void Forger::replay_as_another_host() {
  const Persons::Made* made = some_made(false);
  if (made == nullptr) {
    return;
  }
  const HostId as = world_.id(made->host);
  const bool is_own = as == traitor_of(world_);
  if (is_silenced() || (made->request.signature.has_value() && !is_own)) {
    say("requests_replayed", made->request);  // In its own name: its word does not count.
  }
  if (!is_own) {
    say("requests_replayed", made->request, as);
  }
}

/// A carrier keeps the signature and changes the order: best under one that it held back, whose
/// number is the next one.
void Forger::change_order() {
  const Persons::Made* best = nullptr;
  for (const Persons::Made& made : persons_.made()) {
    const auto& signature = made.request.signature;
    const bool is_next = signature.has_value() && made.request.user == kOperator &&
                         next_number(kOperator, kOperator) == std::optional(signature->number);
    if (signature.has_value() && (best == nullptr || is_next)) {
      best = &made;
    }
  }
  if (best == nullptr) {
    return;
  }
  agent::Request request = grab("by-changed-order", best->request.user);
  request.signature = best->request.signature;
  say("orders_changed", std::move(request));
}

/// The accomplice signs, and the host says that it was the administrator; or the signature of one
/// administrator comes with the name of the other.
void Forger::change_person() {
  const auto number = next_number(kAccomplice, kAccomplice);
  if (rng_.chance(300'000)) {
    const Persons::Made* made = some_made(true);
    if (made != nullptr) {
      agent::Request request = made->request;
      request.user = request.user == kOperator ? kSecond : kOperator;
      say("persons_changed", std::move(request));
    }
    return;
  }
  if (!number.has_value()) {
    return;
  }
  agent::Request request =
      grab("by-changed-person", rng_.chance(500'000) ? kOperator : kAccomplice);
  sign(request, kAccomplice, *number);
  request.user = rng_.chance(800'000) ? kOperator : kAccomplice;
  say("persons_changed", std::move(request));
}

/// The administrator signed it, but there, or as a commit to a repository.
void Forger::change_cluster_or_purpose() {
  const auto number = next_number(kOperator, kOperator);
  const std::uint32_t leader = world_.leader();
  if (!number.has_value() || leader == world_.size()) {
    return;
  }
  const bool is_cluster = rng_.chance(700'000);
  agent::Request request = grab(is_cluster ? "for-another-cluster" : "for-another-purpose");
  const Intent intent{is_cluster ? kAnotherCluster : world_.node(leader).cluster(), kOperator,
                      *number, words_under(request)->words};
  request.signature =
      written(kOperator, intent, false, is_cluster ? scheduler::kIntentNamespace : kAnotherPurpose);
  say(is_cluster ? "clusters_changed" : "purposes_changed", std::move(request));
}

/// Of an administrator that was removed meanwhile, or whose key was.
void Forger::use_taken_key() {
  if (persons_.pens_taken().empty()) {
    return;
  }
  const std::string& pen = persons_.pens_taken()[rng_.below(persons_.pens_taken().size())];
  std::uint64_t number = next_number(kSecond, pen).value_or(0);
  for (const Persons::Made& made : persons_.made()) {
    if (number == 0 && made.request.user == kSecond) {
      number = made.request.signature->number + 1;
    }
  }
  agent::Request request = grab("by-taken-key", kSecond);
  sign(request, pen, number);
  say("keys_used_after_removal", std::move(request));
}

/// The word of a host that may vouch is no proof for what an administrator signs.
void Forger::leave_signature_out() {
  say("signatures_left_out", grab("without-signature"));
}

// ---- access tokens ----

void Forger::guess_token() {
  const std::uint32_t leader = world_.leader();
  if (persons_.tokens().empty() || leader == world_.size()) {
    return;
  }
  const auto& held = persons_.tokens()[rng_.below(persons_.tokens().size())];
  auto token = scheduler::access_token_in(held.line).value();
  switch (rng_.below(3)) {
    case 0: {  // Each host has a copy of the hash.
      const auto* known = leaders_state()->directory().tokens().find(token.id);
      token.secret = known == nullptr ? "guessed" : known->hash;
      token.secret.resize(scheduler::kAccessSecretBytes, '.');
      break;
    }
    case 1:  // One of another cluster.
      token.cluster = kAnotherCluster;
      break;
    default:
      token.id = scheduler::AccessTokenId::from_bytes("no such token___");
      break;
  }
  agent::Request request = submission("by-guessed-token");
  request.access = to_line(token);
  say("tokens_guessed", std::move(request));
}

/// Revoked, or expired by the time of the cluster.
void Forger::use_ended_token() {
  const scheduler::State* state = leaders_state();
  std::vector<const Persons::HeldToken*> ended;
  for (const Persons::HeldToken& token : persons_.tokens()) {
    const auto* known = state == nullptr ? nullptr : state->directory().tokens().find(token.id);
    if (token.is_revoked || (known != nullptr && known->has_ended(state->cluster_time()))) {
      ended.push_back(&token);
    }
  }
  if (ended.empty()) {
    return;
  }
  agent::Request request = submission("by-ended-token");
  request.access = ended[rng_.below(ended.size())]->line;
  say("tokens_used_after_end", std::move(request));
}

/// It was shown to the traitor's host, which may use it until it ends: for what it permits.
void Forger::overuse_token() {
  for (const Persons::HeldToken& token : persons_.tokens()) {
    if (token.is_shown && token.there_at != LogIndex()) {
      agent::Request request = rng_.chance(500'000) ? grab("by-token") : drain("by-token");
      const Persons::Made* made = some_made(true);
      if (made != nullptr && rng_.chance(500'000)) {
        request.signature = made->request.signature;
      }
      request.access = token.line;
      return say("tokens_overused", std::move(request));
    }
  }
}

/// Only a host that may vouch says in the place of a line that it has seen it.
void Forger::state_token() {
  if (!is_silenced() || persons_.tokens().empty()) {
    return;
  }
  const auto& token = persons_.tokens()[rng_.below(persons_.tokens().size())];
  agent::Request request = submission("by-stated-token");
  request.user = token.user;
  request.token = token.id;
  say("tokens_stated", std::move(request));
}

void Forger::speak_without_right() {
  if (is_silenced()) {
    say("words_without_right",
        rng_.chance(500'000) ? submission("without-right") : drain("without-right"));
  }
}

/// In its own name, or in that of the host that has the job.
void Forger::end_job_of_others() {
  const scheduler::State* state = leaders_state();
  const std::uint32_t victim = some_victim();
  if (state == nullptr || !world_.is_running(victim)) {
    return;
  }
  std::vector<std::pair<Token, const scheduler::Member*>> members;
  for (const auto& [token, attempt] : state->attempts()) {
    for (const scheduler::MemberRecord& record : attempt.members) {
      if (record.end == scheduler::MemberEnd::kNone && record.member.host != traitor_of(world_)) {
        members.emplace_back(token, &record.member);
      }
    }
  }
  if (members.empty()) {
    return;
  }
  const auto& [token, member] = members[rng_.below(members.size())];
  scheduler::Finish finish{token, member->start, {}};
  for (std::uint32_t i = 0; i < member->rank_count(); ++i) {
    scheduler::RankResult result;
    result.rank = member->first_rank + i;
    result.code = kForgedExit;
    finish.results.push_back(std::move(result));
  }
  const HostId as = rng_.chance(500'000) ? traitor_of(world_) : member->host;
  const scheduler::AgentMessage word = std::move(finish);
  send("jobs_of_others_ended", victim, as, type_of(word), encode(word));
}

// ---- how it is said ----

/// As soon as it is so in the log: an order that comes later is behind that entry.
bool Forger::is_silenced() const {
  return !world_.options().last_may_vouch || persons_.ledger()->silenced_from != kNotGone;
}

std::uint32_t Forger::some_victim() {
  const std::uint32_t leader = world_.leader();
  const auto any = static_cast<std::uint32_t>(rng_.below(world_.size() - 1));
  return leader < world_.size() && rng_.chance(800'000) ? leader : any;
}

const scheduler::State* Forger::leaders_state() const {
  const std::uint32_t leader = world_.leader();
  return leader == world_.size() ? nullptr : &world_.node(leader).seat().state();
}

std::optional<std::uint64_t> Forger::next_number(const std::string& user,
                                                 const std::string& pen) const {
  const scheduler::State* state = leaders_state();
  const scheduler::UserKey* key =
      state == nullptr ? nullptr : state->directory().key(user, key_of(pen));
  return key == nullptr ? std::nullopt : std::optional(key->next);
}

const Persons::Made* Forger::some_made(bool is_signed) {
  std::vector<const Persons::Made*> found;
  for (const Persons::Made& made : persons_.made()) {
    if (!is_signed || made.request.signature.has_value()) {
      found.push_back(&made);
    }
  }
  return found.empty() ? nullptr : found[rng_.below(found.size())];
}

agent::Request Forger::grab(const std::string& mark, const std::string& user) const {
  agent::DirectoryArgs change;
  change.change.users.push_back({marked(mark), false, UserRole::kAdmin});
  agent::Request request;
  request.user = user;
  request.verb = Verb::kChangeUsers;
  request.arguments = encode_payload(change);
  return request;
}

agent::Request Forger::submission(const std::string& mark) {
  agent::SubmitArgs submit{marked(mark) + std::to_string(++keys_), {}};
  submit.spec.name = marked(mark);
  submit.spec.request.gpus = 1;
  submit.spec.command.argv = {"sim", "run_ms=100"};
  agent::Request request;
  request.user = kOperator;
  request.verb = Verb::kSubmit;
  request.arguments = encode_payload(submit);
  return request;
}

agent::Request Forger::drain(const std::string& mark) {
  const HostId host = world_.id(static_cast<std::uint32_t>(rng_.below(world_.size())));
  agent::Request request;
  request.user = kOperator;
  request.verb = Verb::kDrain;
  request.arguments = encode_payload(agent::DrainArgs{host, marked(mark), false, 0});
  return request;
}

void Forger::sign(agent::Request& request, const std::string& pen, std::uint64_t number) const {
  const std::uint32_t leader = world_.leader();
  const ClusterId cluster =
      leader == world_.size() ? kAnotherCluster : world_.node(leader).cluster();
  request.signature =
      written(pen, {cluster, request.user, number, words_under(request)->words}, false);
}

void Forger::say(const char* kind, agent::Request request, std::optional<HostId> as) {
  const std::uint32_t victim = some_victim();
  if (!world_.is_running(victim)) {
    return;
  }
  request.via = world_.node(victim).options().name;  // It may name any host.
  send(kind, victim, as.value_or(traitor_of(world_)), gossip::MessageType::kRequest,
       agent::encode(request));
}

void Forger::send(const char* kind, std::uint32_t victim, HostId as, gossip::MessageType type,
                  const std::string& body) {
  gossip::Envelope envelope;
  envelope.version = kProtocolVersion;
  envelope.type = type;
  envelope.cluster = world_.node(victim).cluster();
  envelope.from = as;
  envelope.generation = Generation(1);
  envelope.nonce = Nonce(rng_.next() | 1U);
  ++counts_[kind];
  world_.say_as_stranger(victim, traitor_of(world_), gossip::encode(envelope, body));
}

}  // namespace muster::sim
