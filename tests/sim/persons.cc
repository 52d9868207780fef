#include "tests/sim/persons.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/api/enrolment.h"
#include "agent/api/payload.h"
#include "agent/api/users.h"
#include "scheduler/access/access_token.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/sim/impostor.h"
#include "tests/sim/pen.h"

namespace muster::sim {
namespace {

using agent::encode_payload;
using agent::Verb;
using scheduler::State;
using scheduler::UserChange;
using scheduler::UserRole;

constexpr std::size_t kMadeMax = 64;
constexpr Duration kBetweenLooksAtAnswers = std::chrono::milliseconds(50);
constexpr auto kShortTtl = std::chrono::milliseconds(1'500);
constexpr auto kLongTtl = std::chrono::hours(1);

UserChange with_key(const std::string& user, const std::string& pen) {
  UserChange change{user};
  change.keys_added = {{key_of(pen), pen}};
  return change;
}

bool was_done(const agent::Response* response) {
  return response != nullptr && response->status == agent::ResponseStatus::kOk;
}

std::optional<agent::SignatureWanted> wanted_in(const agent::Response* response) {
  return response == nullptr || response->payload.empty() ||
                 response->status == agent::ResponseStatus::kOk
             ? std::nullopt
             : agent::decode_payload<agent::SignatureWanted>(response->payload);
}

}  // namespace

Persons::Persons(World& world, Rng& rng, std::map<std::string, std::uint64_t>& counts)
    : world_(world), rng_(rng), counts_(counts) {
  ledger_->users[kOperator] = {UserRole::kAdmin, {key_of(kOperator).point}};
  pens_[kOperator] = kOperator;
}

void Persons::act() {
  if (!has_key_) {
    return take_key();
  }
  if (!has_staff_) {
    return add_staff();
  }
  switch (rng_.below(14)) {
    case 0:
    case 1:
    case 2:
      return add_guest();
    case 3:
    case 4:
      return remove_guest();
    case 5:
    case 6:
      return make_token();
    case 7:
      return end_token();
    case 8:
      return use_token();
    case 9:
    case 10:
    case 11:
    case 12:
      return change_second();
    default:
      return silence();
  }
}

// ---- acts ----

/// As long as no administrator has a key, nobody signs.
void Persons::take_key() {
  const std::uint32_t host = world_.leader();
  if (is_busy_ || host == world_.size()) {
    return;
  }
  is_busy_ = true;
  change_users(kOperator, host, {with_key(kOperator, kOperator)},
               [this](const agent::Response* response) {
                 is_busy_ = false;
                 has_key_ = has_key_ || was_done(response);
               });
}

void Persons::add_staff() {
  const std::uint32_t host = world_.leader();
  if (is_busy_ || host == world_.size()) {
    return;
  }
  is_busy_ = true;
  ledger_->users[kAccomplice] = {UserRole::kUser, {key_of(kAccomplice).point}};
  pens_[kAccomplice] = kAccomplice;
  change_users(kOperator, host, {with_key(kAccomplice, kAccomplice)},
               [this](const agent::Response* response) {
                 is_busy_ = false;
                 has_staff_ = has_staff_ || was_done(response);
               });
}

void Persons::add_guest() {
  const bool is_by_second = second_.stage == Stage::kThere && rng_.chance(500'000);
  const std::string name = "guest-" + std::to_string(++numbers_);
  ledger_->users[name] = {UserRole::kUser, {}};
  const std::size_t index = guests_.size();
  guests_.push_back({name});
  ++counts_["guests_added"];
  change_users(is_by_second ? kSecond : kOperator, some_host(), {UserChange{name}},
               [](const agent::Response*) {});
  when(
      LogIndex(), [name](const State& state) { return state.directory().has_record(name); },
      [this, index](LogIndex at) { guests_[index].there_at = at; });
}

void Persons::remove_guest() {
  const auto guest = std::find_if(guests_.begin(), guests_.end(), [](const Guest& each) {
    return each.there_at != LogIndex() && !each.is_leaving;
  });
  if (guest == guests_.end()) {
    return;
  }
  guest->is_leaving = true;
  ++counts_["guests_removed"];
  const std::string name = guest->name;
  change_users(kOperator, some_host(), {UserChange{name, true}}, [](const agent::Response*) {});
  when(
      guest->there_at, [name](const State& state) { return !state.directory().has_record(name); },
      [this, name](LogIndex from) { ledger_->users[name].gone_from = from; });
}

void Persons::make_token() {
  const std::string user = rng_.chance(500'000) ? kOperator : kAccomplice;
  std::string id = "token " + std::to_string(++numbers_);
  id.resize(scheduler::AccessTokenId::kSizeBytes);
  std::string secret = "secret " + std::to_string(numbers_);
  secret.resize(scheduler::kAccessSecretBytes, '.');
  const std::uint32_t host = some_host();
  if (!world_.is_running(host)) {
    return;
  }
  const scheduler::AccessToken token{world_.node(host).cluster(),
                                     scheduler::AccessTokenId::from_bytes(id), secret};
  agent::TokenArgs arguments;
  arguments.id = token.id;
  arguments.hash = hash_of(token, gossip::testing::StandInVerifier());
  arguments.label = "token-" + std::to_string(numbers_);
  arguments.may_read = true;
  arguments.may_submit = true;
  const Duration ttl = rng_.chance(400'000) ? Duration(kShortTtl) : Duration(kLongTtl);
  arguments.ttl_ms = static_cast<std::uint64_t>(to_ms(ttl));
  ledger_->tokens[token.id] = {user};
  const std::size_t index = tokens_.size();
  tokens_.push_back({token.id, to_line(token), user});
  agent::Request request;
  request.user = user;
  request.verb = Verb::kMakeToken;
  request.arguments = encode_payload(arguments);
  remember(request, host);
  ++counts_["tokens_made"];
  ask(user, host, request, [](const agent::Response*) {});
  when(
      LogIndex(),
      [token](const State& state) { return state.directory().tokens().find(token.id) != nullptr; },
      [this, index](LogIndex at) { tokens_[index].there_at = at; });
}

void Persons::end_token() {
  const auto token = std::find_if(tokens_.begin(), tokens_.end(), [](const HeldToken& each) {
    return each.there_at != LogIndex() && !each.is_leaving;
  });
  if (token == tokens_.end()) {
    return;
  }
  token->is_leaving = true;
  const auto index = static_cast<std::size_t>(token - tokens_.begin());
  const auto id = token->id;
  agent::Request request;
  request.verb = Verb::kEndToken;
  request.arguments = encode_payload(agent::TokenRef{id});
  ++counts_["tokens_revoked"];
  ask(token->user, some_host(), request, [this, index](const agent::Response* response) {
    tokens_[index].is_revoked = tokens_[index].is_revoked || was_done(response);
  });
  when(
      tokens_[index].there_at,
      [id](const State& state) { return state.directory().tokens().find(id) == nullptr; },
      [this, id](LogIndex from) { ledger_->tokens[id].gone_from = from; });
}

/// A program shows a line, whatever its login is, and asks for the jobs.
void Persons::use_token() {
  if (tokens_.empty()) {
    return;
  }
  HeldToken& token = tokens_[rng_.below(tokens_.size())];
  const std::uint32_t host = some_host();
  agent::Request request;
  request.verb = Verb::kJobs;
  request.access = token.line;
  token.is_shown = token.is_shown || world_.id(host) == traitor_of(world_);
  ++counts_["tokens_used"];
  ask(kAccomplice, host, request, [](const agent::Response*) {});
}

/// Comes, gets another key for the one that it has, or goes.
void Persons::change_second() {
  if (second_.stage == Stage::kNone) {
    add_second();
  } else if (second_.stage == Stage::kThere && rng_.chance(600'000)) {
    change_key_of_second();
  } else if (second_.stage == Stage::kThere) {
    remove_second();
  }
}

void Persons::add_second() {
  second_ = {Stage::kChanging, second_.life + 1};
  const std::string pen = std::string(kSecond) + "-" + std::to_string(++numbers_);
  Ledger::AskedUser& asked = ledger_->users[kSecond];
  asked.role = UserRole::kAdmin;
  asked.pens.insert(key_of(pen).point);
  asked.gone_from = kNotGone;
  UserChange change = with_key(kSecond, pen);
  change.role = UserRole::kAdmin;
  ++counts_["admins_added"];
  change_users(kOperator, some_host(), {change}, [](const agent::Response*) {});
  when(
      LogIndex(),
      [pen](const State& state) { return state.directory().key(kSecond, key_of(pen)) != nullptr; },
      [this, pen](LogIndex at) {
        pens_[kSecond] = pen;
        second_.stage = Stage::kThere;
        second_.there_at = at;
      });
}

/// If no answer comes, nobody knows: it stays so, and no lie is told about the key.
void Persons::change_key_of_second() {
  second_.stage = Stage::kChanging;
  const std::string before = pens_[kSecond];
  const std::string after = std::string(kSecond) + "-" + std::to_string(++numbers_);
  UserChange change = with_key(kSecond, after);
  change.keys_removed = {key_of(before)};
  ledger_->users[kSecond].pens.insert(key_of(after).point);
  ++counts_["admin_keys_replaced"];
  change_users(kOperator, some_host(), {change},
               [this, before, after](const agent::Response* response) {
                 if (was_done(response)) {
                   pens_taken_.push_back(before);
                   pens_[kSecond] = after;
                   second_.stage = Stage::kThere;
                 }
               });
}

void Persons::remove_second() {
  second_.stage = Stage::kChanging;
  const std::string before = pens_[kSecond];
  ++counts_["admins_removed"];
  change_users(kOperator, some_host(), {UserChange{kSecond, true}},
               [this, before](const agent::Response* response) {
                 if (was_done(response)) {
                   pens_taken_.push_back(before);
                   second_.stage = Stage::kNone;
                 }
               });
  when(
      second_.there_at, [](const State& state) { return !state.directory().has_record(kSecond); },
      [this, life = second_.life](LogIndex from) {
        if (second_.life == life) {
          ledger_->users[kSecond].gone_from = from;
        }
      });
}

void Persons::silence() {
  if (!world_.options().last_may_vouch || ledger_->silenced_from != kNotGone ||
      !rng_.chance(500'000)) {
    return;
  }
  const HostId traitor = traitor_of(world_);
  ++counts_["word_taken"];
  order(static_cast<std::uint32_t>(rng_.below(kVoters)), Verb::kSetHost,
        encode_payload(agent::SetHostArgs{traitor, agent::Wish::kAsItIs, agent::Wish::kNo}));
  when(
      LogIndex(),
      [traitor](const State& state) {
        const scheduler::EnrolledHost* record = state.roll().find(traitor);
        return record != nullptr && !record->may_vouch;
      },
      [this](LogIndex from) { ledger_->silenced_from = std::min(ledger_->silenced_from, from); });
}

// ---- how they ask ----

std::uint32_t Persons::some_host() {
  return rng_.chance(350'000) ? world_.size() - 1
                              : static_cast<std::uint32_t>(rng_.below(world_.size()));
}

void Persons::order(std::uint32_t host, Verb verb, std::string arguments) {
  agent::Request request;
  request.verb = verb;
  request.arguments = std::move(arguments);
  ask_to_sign(kOperator, host, request, [](const agent::Response*) {});
}

void Persons::change_users(const std::string& user, std::uint32_t host,
                           std::vector<UserChange> users, Then then) {
  agent::DirectoryArgs change;
  change.change.users = std::move(users);
  agent::Request request;
  request.verb = Verb::kChangeUsers;
  request.arguments = encode_payload(change);
  ask_to_sign(user, host, request, then);
}

void Persons::ask(const std::string& user, std::uint32_t host, const agent::Request& request,
                  const Then& then) {
  await(world_.ask(host, request, login_of(user)), kLooksMax, then);
}

void Persons::ask_to_sign(const std::string& user, std::uint32_t host,
                          const agent::Request& request, const Then& then) {
  ask(user, host, request, [this, user, host, request, then](const agent::Response* response) {
    const auto wanted = wanted_in(response);
    const auto words = words_under(request);
    if (!wanted.has_value() || !words.has_value() || !world_.is_running(host)) {
      return then(response);
    }
    agent::Request again = request;
    again.user = user;
    for (const agent::UserKeyInfo& key : wanted->keys) {
      const auto line = gossip::ssh_key_of_line(key.line);
      if (line && line->key == key_of(pens_[user])) {
        again.signature = written(
            pens_[user], {world_.node(host).cluster(), user, key.next, words->words}, words->holds);
      }
    }
    if (!again.signature.has_value()) {
      return then(nullptr);
    }
    remember(again, host);
    ++counts_["orders_signed"];
    if (world_.id(host) == traitor_of(world_) && rng_.chance(400'000)) {
      ++counts_["orders_held_back"];
      return then(nullptr);
    }
    ask(user, host, again, then);
  });
}

void Persons::await(std::uint64_t client, int looks, const Then& then) {
  world_.at(world_.now() + kBetweenLooksAtAnswers, [this, client, looks, then] {
    const ClientReply* reply = world_.reply_to(client);
    if (reply == nullptr && looks > 0) {
      return await(client, looks - 1, then);
    }
    then(reply == nullptr ? nullptr : &reply->response);
  });
}

void Persons::when(LogIndex above, const IsSo& is_so, const std::function<void(LogIndex)>& then,
                   int looks) {
  world_.at(world_.now() + kBetweenLooksAtAnswers, [this, above, is_so, then, looks] {
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (!world_.is_running(host)) {
        continue;
      }
      const State& state = world_.node(host).seat().state();
      if (state.directory().is_founded() && state.applied() > above && is_so(state)) {
        return then(state.applied());
      }
    }
    if (looks > 0) {
      when(above, is_so, then, looks - 1);
    }
  });
}

void Persons::remember(const agent::Request& request, std::uint32_t host) {
  if (made_.size() < kMadeMax) {
    made_.push_back({request, host});
  } else {
    made_[rng_.below(made_.size())] = {request, host};
  }
}

}  // namespace muster::sim
