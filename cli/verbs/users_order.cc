#include "cli/verbs/users_order.h"

#include <utility>

#include "agent/api/json/users.h"
#include "agent/api/payload.h"
#include "cli/kit/retry.h"
#include "cli/kit/users_file.h"

namespace muster::cli {
namespace {

/// 20,000 users are 40 pages.
constexpr int kPagesMax = 100;

}  // namespace

std::optional<agent::UserList> read_users(Session& session) {
  std::optional<agent::UserList> all;
  std::string after;
  for (int page = 0; page < kPagesMax; ++page) {
    auto list = session.read<agent::UserList>(
        agent::Verb::kUsers, after.empty() ? "" : agent::encode_payload(agent::UsersQuery{after}));
    if (!list.has_value()) {
      return std::nullopt;
    }
    after = list->next;
    if (!all.has_value()) {
      all = std::move(list);
    } else {
      all->users.insert(all->users.end(), list->users.begin(), list->users.end());
    }
    if (after.empty()) {
      break;
    }
  }
  return all;
}

Reply order_change(Session& session, const scheduler::DirectoryChange& change) {
  agent::Request request;
  request.verb = agent::Verb::kChangeUsers;
  request.user = session.world().user_name();
  request.arguments = agent::encode_payload(agent::DirectoryArgs{change});
  return exchange_with_retries(session, request).reply;
}

int change_users(Session& session, const scheduler::DirectoryChange& change) {
  const Reply reply = order_change(session, change);
  if (!reply.is_ok()) {
    return session.fail(reply);
  }
  const std::vector<std::string> lines = lines_of(change);
  if (session.common().is_json) {
    session.out() << agent::users_changed_json(lines, true) << "\n";
    return 0;
  }
  for (const std::string& line : lines) {
    session.out() << printable(line) << "\n";
  }
  return 0;
}

void describe_role(Options& options, std::optional<scheduler::UserRole>& role,
                   const std::string& help) {
  options.value(
      "--role",
      [&role](const std::string& given) -> Status {
        role = scheduler::role_of(given);
        return role.has_value() ? ok()
                                : Status(Error{ErrorCode::kInvalid,
                                               "give viewer, user, lead, operator or admin"});
      },
      help, "ROLE");
}

}  // namespace muster::cli
