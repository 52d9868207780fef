#include "agent/front/directory_copy.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/api/payload.h"

namespace muster::agent {
namespace {

constexpr const char* kListKey = "users/list";
/// A hundred years: limits a number of a voter, so that sums of times never overflow.
constexpr std::uint64_t kClusterMsMax =
    std::chrono::milliseconds(std::chrono::hours(24 * 36'525)).count();

scheduler::TokenBook tokens_of(const UserList& list) {
  scheduler::TokenBook::Records tokens;
  for (const TokenCopy& token : list.tokens) {
    const std::uint64_t ends_at_ms = std::min(token.ends_at_ms, kClusterMsMax);
    tokens[token.id] = {token.hash,  token.user,
                        token.label, {token.may_read, token.may_submit},
                        token.team,  std::chrono::milliseconds(ends_at_ms)};
  }
  return scheduler::TokenBook(std::move(tokens));
}

}  // namespace

std::optional<scheduler::Directory> directory_of(const UserList& list) {
  scheduler::Directory::Users users;
  for (const UserInfo& user : list.users) {
    const auto role = scheduler::role_of(user.role);
    if (!role.has_value()) {
      return std::nullopt;
    }
    scheduler::User& known = users[user.name];
    known = {*role, user.teams};
    for (const UserKeyInfo& key : user.keys) {
      auto line = gossip::ssh_key_of_line(key.line);
      if (!line || known.keys.size() == scheduler::kKeysOfUserMax) {
        return std::nullopt;
      }
      known.keys.push_back({*std::move(line), key.next});
    }
  }
  scheduler::Directory::Teams teams;
  for (const TeamInfo& team : list.teams) {
    const bool is_implied =
        team.name == scheduler::kDefaultTeam && team.priority_max == scheduler::kPriorityMaxDefault;
    if (!is_implied) {
      teams[team.name] = {static_cast<std::int32_t>(team.priority_max)};
    }
  }
  return scheduler::Directory(
      list.version, std::move(users), std::move(teams),
      {list.are_logins_users, list.hides_other_teams}, tokens_of(list), list.cluster,
      {list.reset_epoch, LogIndex(list.reset_at), list.reset_admin, list.reset_by});
}

DirectoryCopy::DirectoryCopy(const crdt::Records& state, Rng rng) : rng_(rng) {
  const auto kept = state.find(kListKey);
  if (kept == state.end()) {
    return;
  }
  const auto list = decode_payload<UserList>(kept->second);
  lacks_tokens_ = list.has_value() && list->has_more_tokens;
  directory_ =
      (list.has_value() ? directory_of(*list) : std::nullopt).value_or(scheduler::Directory());
}

std::optional<Duration> DirectoryCopy::age(Instant now) const {
  return confirmed_at_ == kLongAgo ? std::nullopt : std::optional(now - confirmed_at_);
}

void DirectoryCopy::hear(Instant now, std::uint64_t version, std::size_t hosts) {
  if (version == 0) {
    return;
  }
  if (version == directory_.version() && !lacks_tokens_) {
    wanted_ = version;
    confirmed_at_ = now;
    restart(kNever);
  } else if (version != wanted_) {
    wanted_ = version;
    restart(now + rng_.between(Duration(0), kSpreadPerHost * static_cast<std::int64_t>(hosts)));
  }
}

std::optional<DirectoryCopy::Ask> DirectoryCopy::tick(Instant now,
                                                      const std::vector<HostId>& voters) {
  if (!is_next_page_due_) {
    restart(kNever);
    asked_ = voters.empty() ? HostId() : voters[rng_.below(voters.size())];
  }
  is_next_page_due_ = false;
  ask_at_ = now + kPatience;
  return asked_.is_zero() ? std::nullopt : std::optional(Ask{asked_, next_query()});
}

UsersQuery DirectoryCopy::next_query() const {
  if (pages_count_ == 0 || !pages_.next.empty()) {
    return {pages_.next};
  }
  return {"", true, pages_.tokens.empty() ? scheduler::AccessTokenId() : pages_.tokens.back().id};
}

std::optional<crdt::WriteBatch> DirectoryCopy::on_page(Instant now, HostId from, UserList page) {
  if (asked_.is_zero() || from != asked_ || is_next_page_due_) {
    return std::nullopt;
  }
  const bool is_first = pages_count_ == 0;
  if (!is_first && page.version != pages_.version) {
    restart(now);  // The list changed between two pages.
    return std::nullopt;
  }
  ++pages_count_;
  if (is_first) {
    pages_ = std::move(page);
  } else {
    pages_.users.insert(pages_.users.end(), std::make_move_iterator(page.users.begin()),
                        std::make_move_iterator(page.users.end()));
    pages_.next = std::move(page.next);
    pages_.tokens.insert(pages_.tokens.end(), std::make_move_iterator(page.tokens.begin()),
                         std::make_move_iterator(page.tokens.end()));
    pages_.has_more_tokens = page.has_more_tokens;
    pages_.cluster_ms = page.cluster_ms;
  }
  if (pages_count_ > kPagesMax || pages_.users.size() > scheduler::kUsersMax ||
      pages_.tokens.size() > scheduler::kTokensMax) {
    restart(now + kPatience);
    return std::nullopt;
  }
  if (!pages_.next.empty() || pages_.has_more_tokens) {
    is_next_page_due_ = true;
    ask_at_ = now;
    return std::nullopt;
  }
  auto whole = directory_of(pages_);
  if (!whole.has_value() || !whole->is_founded()) {
    restart(now + kPatience);
    return std::nullopt;
  }
  directory_ = *std::move(whole);
  lacks_tokens_ = false;
  told_time_ = std::chrono::milliseconds(std::min(pages_.cluster_ms, kClusterMsMax));
  told_at_ = now;
  pages_.has_more_tokens = !pages_.tokens.empty();
  pages_.tokens.clear();
  crdt::WriteBatch writes = {{std::string(kListKey), encode_payload(pages_)}};
  const bool is_current = directory_.version() == wanted_;
  restart(is_current ? kNever : now + kPatience);
  confirmed_at_ = is_current ? now : confirmed_at_;
  return writes;
}

void DirectoryCopy::restart(Instant at) {
  ask_at_ = at;
  asked_ = HostId();
  pages_ = {};
  pages_count_ = 0;
  is_next_page_due_ = false;
}

}  // namespace muster::agent
