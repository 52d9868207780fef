// muster team list, add, set and remove: the teams of the cluster, and the priorities that their
// users may ask for.

#include <algorithm>

#include "agent/api/json/users.h"
#include "cli/kit/table.h"
#include "cli/verbs/users_order.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using scheduler::DirectoryChange;
using scheduler::TeamChange;

bool has_team(const agent::UserList& list, const std::string& name) {
  return std::any_of(list.teams.begin(), list.teams.end(),
                     [&](const agent::TeamInfo& team) { return team.name == name; });
}

class ListTeams final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster team list");
  }

  int run(Session& session) override {
    const auto list = read_users(session);
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << teams_json(*list, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "TEAM", .columns_min = 8},
                 {.title = "HIGHEST PRIORITY", .is_number = true},
                 {.title = "USERS", .is_number = true}});
    for (const agent::TeamInfo& team : list->teams) {
      table.add({team.name, std::to_string(team.priority_max), std::to_string(team.users)});
    }
    session.out() << table.text(session.screen());
    return 0;
  }
};

/// `team add` and `team set`.
class ChangeTeam final : public Verb {
 public:
  explicit ChangeTeam(bool adds) : adds_(adds) {}

  void describe(Options& options) override {
    options.word("NAME", change_.name, "Name of the team");
    options.value(
        "--priority-max",
        [this](const std::string& given) -> Status {
          const auto number = parse_integer(given);
          if (!number) {
            return number.error();
          }
          if (*number < INT32_MIN || *number > INT32_MAX) {
            return Error{ErrorCode::kInvalid, "it does not fit into 32 bits"};
          }
          change_.priority_max = static_cast<std::int32_t>(*number);
          return ok();
        },
        "Highest priority that users and leads of the team may give to a job", "N");
    common_.describe_signing(options);
    common_.describe(options);
    options.example(adds_ ? "muster team add nlp" : "muster team set nlp --priority-max 500");
  }

  int run(Session& session) override {
    if (!adds_ && !change_.priority_max.has_value()) {
      return session.fail(ResponseStatus::kUsage, "give --priority-max");
    }
    session.ask_leader();
    const auto list = read_users(session);
    if (!list.has_value()) {
      return session.failed();
    }
    if (adds_ == has_team(*list, change_.name)) {
      return adds_ ? session.fail(ResponseStatus::kConflict,
                                  "there is a team " + change_.name + " already")
                   : session.fail(ResponseStatus::kNotFound,
                                  "there is no team " + change_.name + ": see `muster team list`");
    }
    return change_users(session, DirectoryChange{{change_}, {}});
  }

 private:
  TeamChange change_;
  bool adds_;
};

class RemoveTeam final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name of the team");
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster team remove nlp");
  }

  int run(Session& session) override {
    session.ask_leader();
    const auto list = read_users(session);
    if (!list.has_value()) {
      return session.failed();
    }
    if (!has_team(*list, name_)) {
      return session.fail(ResponseStatus::kNotFound,
                          "there is no team " + name_ + ": see `muster team list`");
    }
    return change_users(session, DirectoryChange{{TeamChange{name_, true}}, {}});
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Verb> make_team_list() {
  return std::make_unique<ListTeams>();
}
std::unique_ptr<Verb> make_team_add() {
  return std::make_unique<ChangeTeam>(true);
}
std::unique_ptr<Verb> make_team_set() {
  return std::make_unique<ChangeTeam>(false);
}
std::unique_ptr<Verb> make_team_remove() {
  return std::make_unique<RemoveTeam>();
}

}  // namespace muster::cli
