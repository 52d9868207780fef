#include "agent/api/rest/users_calls.h"

#include <memory>
#include <string>
#include <utility>

#include "agent/api/json/users.h"
#include "agent/api/rest/directory_body.h"
#include "agent/api/users.h"

namespace muster::agent {
namespace {

/// 20,000 users are 40 pages.
constexpr std::size_t kUserPagesMax = 100;

using TakeUsers = std::function<CallStep(UserList, const Response&)>;

/// The users that are read by the steps of one call.
struct UsersRead {
  UserList all{};
  std::string after{};
  std::size_t pages = 0;
  std::size_t enough = SIZE_MAX;  ///< No further page is read behind so many users.
  TakeUsers take{};
};

CallStep next_users(const CallFrame& frame, const std::shared_ptr<UsersRead>& so_far) {
  const std::string arguments =
      so_far->after.empty() ? "" : encode_payload(UsersQuery{so_far->after});
  return look_up<UserList>(
      frame, Verb::kUsers, arguments,
      [frame, so_far](UserList list, const Response& response) -> CallStep {
        so_far->after = list.next;
        if (so_far->pages++ == 0) {
          so_far->all = std::move(list);
        } else {
          so_far->all.users.insert(so_far->all.users.end(), list.users.begin(), list.users.end());
        }
        const bool is_last = so_far->after.empty() || so_far->pages == kUserPagesMax ||
                             so_far->all.users.size() >= so_far->enough;
        so_far->all.next = so_far->after;
        return is_last ? so_far->take(std::move(so_far->all), response) : next_users(frame, so_far);
      });
}

CallStep told_users(const CallFrame& frame, UserList list, std::size_t limit,
                    const Response& response) {
  std::string next = list.next;
  if (list.users.size() > limit) {
    list.users.resize(limit);
    next = list.users.back().name;
  }
  CallStep step = told(frame, users_json(list, response), response);
  return next.empty() ? std::move(step) : with_next(std::move(step), next);
}

CallStep order_directory(const CallFrame& frame, const scheduler::DirectoryChange& change) {
  return order(frame, Verb::kChangeUsers, encode_payload(DirectoryArgs{change}),
               [frame, lines = directory_lines(change)](const Response& response) {
                 return told(frame, users_changed_json(lines, true), response);
               });
}

}  // namespace

CallStep list_users(CallInput& input) {
  const std::string what =
      input.query.choice("show", {"users", "teams", "access"}).value_or("users");
  auto wanted = std::make_shared<UsersRead>();
  const auto limit = input.query.number("limit", 1, kPageMax);
  wanted->after = input.query.text("after").value_or("");
  const bool is_page = limit.has_value() || !wanted->after.empty();
  if (is_page && what != "users") {
    input.query.refuse("show", "teams and access come in one page");
  }
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  const std::size_t size = is_page ? limit.value_or(kPageMax) : SIZE_MAX;
  wanted->enough = what == "access" ? 0 : size;
  wanted->take = [frame = input.frame, what, size](UserList list, const Response& response) {
    return what == "teams"    ? told(frame, teams_json(list, response), response)
           : what == "access" ? told(frame, access_json(list, response), response)
                              : told_users(frame, std::move(list), size, response);
  };
  return next_users(input.frame, wanted);
}

CallStep change_users(CallInput& input) {
  DirectoryWish wish = directory_wish_of(input.body);
  if (const Status status = input.end(); !status) {
    return refused(status.error());
  }
  if (wish.keys_lost.empty()) {
    return order_directory(input.frame, wish.change);
  }
  auto wanted = std::make_shared<UsersRead>();
  wanted->take = [frame = input.frame, wish](const UserList& now, const Response&) -> CallStep {
    const auto change = with_keys_lost(wish, now);
    return change ? order_directory(frame, *change) : refused(change.error());
  };
  return next_users(input.frame, wanted);
}

}  // namespace muster::agent
