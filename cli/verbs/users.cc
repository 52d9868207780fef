// muster user list, add, set and remove: the users of the cluster with their roles and teams.

#include <algorithm>

#include "agent/api/job_state.h"
#include "agent/api/jobs.h"
#include "agent/api/json/users.h"
#include "agent/api/payload.h"
#include "cli/kit/job_choice.h"
#include "cli/kit/retry.h"
#include "cli/kit/table.h"
#include "cli/kit/users_file.h"
#include "cli/verbs/users_order.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;
using scheduler::DirectoryChange;
using scheduler::UserChange;

/// Jobs of a removed user that one line names.
constexpr std::size_t kJobsNamedMax = 20;

bool has_user(const agent::UserList& list, const std::string& name) {
  return std::any_of(list.users.begin(), list.users.end(),
                     [&](const agent::UserInfo& user) { return user.name == name; });
}

class ListUsers final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster user list");
  }

  int run(Session& session) override {
    const auto list = read_users(session);
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << users_json(*list, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "USER", .columns_min = 8}, {.title = "ROLE"}, {.title = "TEAMS"}});
    for (const agent::UserInfo& user : list->users) {
      table.add({user.name, user.role, user.teams.empty() ? "default" : join(user.teams)});
    }
    session.out() << table.text(session.screen());
    session.note(list->are_logins_users
                     ? "every other login has the role user, in team default (muster access)"
                     : "no other login has a role (muster access)");
    return 0;
  }
};

/// `user add` and `user set`.
class ChangeUser final : public Verb {
 public:
  explicit ChangeUser(bool adds) : adds_(adds) {}

  void describe(Options& options) override {
    options.word("NAME", change_.name, "Login name of the user");
    describe_role(options, change_.role,
                  adds_ ? "Role: viewer, user, lead, operator or admin; the default is user"
                        : "New role: viewer, user, lead, operator or admin");
    options.list(adds_ ? "--team" : "--join", change_.joins,
                 adds_ ? "Team of the user; the first one is that of jobs without --team"
                       : "Team that the user joins",
                 "TEAM");
    if (!adds_) {
      options.list("--leave", change_.leaves, "Team that the user leaves", "TEAM");
    }
    options.list("--key", keys_added_,
                 "SSH key by which the user signs, a .pub file or its line; ed25519 or sk-ed25519",
                 "FILE");
    if (!adds_) {
      options.list("--remove-key", keys_removed_, "Key that the user loses, by its fingerprint",
                   "FINGERPRINT");
    }
    common_.describe_signing(options);
    common_.describe(options);
    options.example(adds_ ? "muster user add anna --role lead --team nlp"
                          : "muster user set anna --role operator --leave nlp");
  }

  int run(Session& session) override {
    if (!adds_ && change_ == UserChange{change_.name} && keys_added_.empty() &&
        keys_removed_.empty()) {
      return session.fail(ResponseStatus::kUsage,
                          "give --role, --join, --leave, --key or --remove-key");
    }
    for (const std::string& given : keys_added_) {
      const auto line = session.world().files.keys.read(given);
      if (!line) {
        return session.fail(ResponseStatus::kUsage, line.error().text);
      }
      change_.keys_added.push_back(*line);
    }
    session.ask_leader();
    const auto list = read_users(session);
    if (!list.has_value()) {
      return session.failed();
    }
    const bool is_there = has_user(*list, change_.name);
    if (adds_ && is_there) {
      return session.fail(ResponseStatus::kConflict,
                          "there is a user " + change_.name +
                              " already: change it with `muster user set " + change_.name + "`");
    }
    if (!adds_ && !is_there) {
      return session.fail(ResponseStatus::kNotFound,
                          "user " + change_.name + " has no record: add it with `muster user add " +
                              change_.name + "`");
    }
    for (const std::string& print : keys_removed_) {
      const auto key = key_of(*list, change_.name, print);
      if (!key.has_value()) {
        return session.fail(ResponseStatus::kNotFound,
                            "user " + change_.name + " has no key " + print +
                                ": `muster user list --json` lists them");
      }
      change_.keys_removed.push_back(*key);
    }
    return change_users(session, DirectoryChange{{}, {change_}});
  }

 private:
  static std::optional<gossip::SshKey> key_of(const agent::UserList& list, const std::string& name,
                                              const std::string& print) {
    for (const agent::UserInfo& user : list.users) {
      for (const agent::UserKeyInfo& key : user.keys) {
        if (user.name == name && key.fingerprint == print) {
          const auto line = gossip::ssh_key_of_line(key.line);
          return line ? std::optional(line->key) : std::nullopt;
        }
      }
    }
    return std::nullopt;
  }

  UserChange change_;
  std::vector<std::string> keys_added_;
  std::vector<std::string> keys_removed_;
  bool adds_;
};

class RemoveUser final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Login name of the user");
    options.flag("--cancel-jobs", cancels_, "Cancel the user's jobs, too");
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster user remove anna --cancel-jobs");
  }

  int run(Session& session) override {
    session.ask_leader();
    const auto list = read_users(session);
    const auto jobs = list.has_value() ? read_jobs(session, {}) : std::nullopt;
    if (!jobs.has_value()) {
      return session.failed();
    }
    if (!has_user(*list, name_)) {
      return session.fail(ResponseStatus::kNotFound,
                          "there is no user " + name_ + ": see `muster user list`");
    }
    const Reply reply = order_change(session, DirectoryChange{{}, {UserChange{name_, true}}});
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    int failed = 0;
    std::vector<std::string> left;
    std::vector<std::string> cancelled;
    for (const agent::JobSummary& job : jobs->jobs) {
      if (job.user == name_ && !agent::is_ended(job.state)) {
        const Reply ended = cancels_ ? cancel(session, job.id) : Reply();
        if (!ended.is_ok()) {
          failed = session.fail(ended);
        }
        (cancels_ && ended.is_ok() ? cancelled : left).push_back(text_of(job.id));
      }
    }
    if (session.common().is_json) {
      session.out() << agent::user_removed_json(name_, left, cancelled) << "\n";
    } else {
      tell(session, *list, left, cancelled);
    }
    return failed;
  }

 private:
  static Reply cancel(Session& session, JobId job) {
    agent::Request request;
    request.verb = agent::Verb::kCancel;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(agent::JobRun{job});
    return exchange_with_retries(session, request).reply;
  }

  static std::string named(std::vector<std::string> jobs) {
    const std::size_t more = jobs.size() > kJobsNamedMax ? jobs.size() - kJobsNamedMax : 0;
    jobs.resize(jobs.size() - more);
    return join(jobs) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
  }

  void tell(Session& session, const agent::UserList& list, const std::vector<std::string>& left,
            const std::vector<std::string>& cancelled) const {
    session.out() << printable("user " + name_ + ": removed") << "\n";
    if (!cancelled.empty()) {
      session.out() << "cancelled: jobs " << named(cancelled) << "\n";
    }
    if (!left.empty()) {
      session.note("these jobs of " + name_ + " go on: " + named(left) +
                   "; `muster cancel --user " + name_ + "` ends them");
    }
    if (list.are_logins_users) {
      session.note("as every login without a record, " + name_ +
                   " still has the role user: see `muster access`");
    }
  }

  std::string name_;
  bool cancels_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_user_list() {
  return std::make_unique<ListUsers>();
}
std::unique_ptr<Verb> make_user_add() {
  return std::make_unique<ChangeUser>(true);
}
std::unique_ptr<Verb> make_user_set() {
  return std::make_unique<ChangeUser>(false);
}
std::unique_ptr<Verb> make_user_remove() {
  return std::make_unique<RemoveUser>();
}

}  // namespace muster::cli
