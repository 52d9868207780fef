// muster access and access set: the rules of access. muster users apply: users, teams and rules
// from a file.

#include <map>

#include "agent/api/json/users.h"
#include "cli/kit/users_file.h"
#include "cli/verbs/users_order.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using scheduler::DirectoryChange;

class ShowAccess final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster access");
  }

  int run(Session& session) override {
    const auto list = session.read<agent::UserList>(agent::Verb::kUsers);
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << access_json(*list, session.last()) << "\n";
      return 0;
    }
    session.out() << (list->are_logins_users
                          ? "unix-users  user  logins without a record have the role user\n"
                          : "unix-users  none  logins without a record have no role\n")
                  << (list->hides_other_teams
                          ? "jobs        team  viewers, users and leads see jobs of their teams\n"
                          : "jobs        all   everybody sees all jobs\n");
    return 0;
  }
};

struct Rule {
  std::string_view setting;  ///< "KEY=VALUE"
  std::optional<bool> DirectoryChange::*rule = nullptr;
  bool value = false;
};
constexpr Rule kRules[] = {
    {"unix-users=user", &DirectoryChange::are_logins_users, true},
    {"unix-users=none", &DirectoryChange::are_logins_users, false},
    {"jobs=all", &DirectoryChange::hides_other_teams, false},
    {"jobs=team", &DirectoryChange::hides_other_teams, true},
};
constexpr std::size_t kRulesMax = 8;

class SetAccess final : public Verb {
 public:
  void describe(Options& options) override {
    options.words(
        "KEY=VALUE",
        [this](const std::string& given) -> Status {
          for (const Rule& rule : kRules) {
            if (rule.setting == given) {
              change_.*rule.rule = rule.value;
              return ok();
            }
          }
          return Error{ErrorCode::kInvalid,
                       "give unix-users=user, unix-users=none, jobs=all or jobs=team"};
        },
        "Rule to set: unix-users=user|none or jobs=all|team", kRulesMax);
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster access set unix-users=none jobs=team");
  }

  int run(Session& session) override {
    return change_.changes_rules()
               ? change_users(session, change_)
               : session.fail(ResponseStatus::kUsage,
                              "give unix-users=user|none, jobs=all|team, or both");
  }

 private:
  DirectoryChange change_;
};

class ApplyUsers final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("FILE", path_, "TOML file with [access], [team.\"NAME\"] and [user.\"NAME\"]");
    options.flag("--dry-run", is_dry_, "Print the changes without making them");
    options.flag("--prune", prunes_, "Remove the users and teams that the file does not name");
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster users apply users.toml --dry-run");
  }

  int run(Session& session) override {
    const auto file = session.world().files.users(path_);
    if (!file) {
      return session.fail(file.error().code == ErrorCode::kNotFound ? ResponseStatus::kNotFound
                                                                    : ResponseStatus::kUsage,
                          file.error().text);
    }
    session.ask_leader();
    const auto list = read_users(session);
    if (!list.has_value()) {
      return session.failed();
    }
    const DirectoryChange change = change_for(*file, *list, prunes_);
    const std::vector<std::string> lines = lines_of(change);
    for (const DirectoryChange& part :
         is_dry_ || lines.empty() ? std::vector<DirectoryChange>() : parts_of(change)) {
      if (const Reply reply = order_change(session, part); !reply.is_ok()) {
        return session.fail(reply);
      }
    }
    if (session.common().is_json) {
      session.out() << agent::users_changed_json(lines, !is_dry_) << "\n";
      return 0;
    }
    for (const std::string& line : lines) {
      session.out() << printable(line) << "\n";
    }
    session.note(lines.empty() ? "no changes: the cluster agrees with the file"
                 : is_dry_     ? "these changes were not made: leave out --dry-run to make them"
                               : std::to_string(lines.size()) + " changes made");
    return 0;
  }

 private:
  std::string path_;
  bool is_dry_ = false;
  bool prunes_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_access() {
  return std::make_unique<ShowAccess>();
}
std::unique_ptr<Verb> make_access_set() {
  return std::make_unique<SetAccess>();
}
std::unique_ptr<Verb> make_users_apply() {
  return std::make_unique<ApplyUsers>();
}

}  // namespace muster::cli
