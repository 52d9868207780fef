#include "agent/edge/grant/rank_user.h"

#include <algorithm>
#include <array>

namespace muster::agent {
namespace {

using Kind = RankUser::Kind;

/// The kernel reads it as "leave this id as it is".
constexpr std::uint32_t kNoId = UINT32_MAX;

struct KindText {
  Kind kind{};
  std::string_view text;
};
constexpr std::array<KindText, 3> kKinds = {
    {{Kind::kAgent, "agent"}, {Kind::kPerson, "person"}, {Kind::kSystem, "system"}}};

/// The name becomes an argument of a process: a zero in it would end it there, and name another.
/// Directories of a company have names with spaces and in other scripts.
bool is_login_name(const std::string& name) {
  return !name.empty() && name.size() <= kLoginNameBytesMax &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char byte) { return byte >= ' ' && byte != 127 && byte != ':'; });
}

Error denied(std::string text) {
  return {ErrorCode::kDenied, std::move(text)};
}

}  // namespace

std::string_view text_of(Kind kind) {
  for (const KindText& each : kKinds) {
    if (each.kind == kind) {
      return each.text;
    }
  }
  return "";
}

std::optional<Kind> rank_user_kind_of(std::string_view text) {
  for (const KindText& each : kKinds) {
    if (each.text == text) {
      return each.kind;
    }
  }
  return std::nullopt;
}

Result<RankUser> rank_user(const RankUserRule& rule, const std::string& job_user) {
  if (rule.is_shared) {
    return RankUser{};
  }
  if (!is_login_name(job_user)) {
    return denied("the user of the job is no login name");
  }
  if (rule.is_root && job_user == rule.own_user) {
    return denied("jobs of " + job_user +
                  " do not run: submit as another user, or share the user of this agent "
                  "(shared_user = true)");
  }
  if (rule.is_root) {
    const bool is_listed = std::find(rule.system_users.begin(), rule.system_users.end(),
                                     job_user) != rule.system_users.end();
    return RankUser{is_listed ? Kind::kSystem : Kind::kPerson, job_user};
  }
  if (job_user == rule.own_user) {
    return RankUser{};
  }
  return denied("the agent runs as " + rule.own_user + " and takes no job of " + job_user +
                ": run it as root, or share its user (shared_user = true)");
}

std::optional<std::string> why_not_become(const RankIdentity& identity, Kind kind) {
  if (identity.uid == 0) {
    return "user " + identity.name + " is root on this host: submit as another user";
  }
  if (identity.uid == kNoId || identity.gid == kNoId) {
    return "user " + identity.name + " has no id on this host";
  }
  if (identity.uid < kFirstPersonUid && kind != Kind::kSystem) {
    return "user " + identity.name + " is a system user on this host (uid " +
           std::to_string(identity.uid) + "): name it in system_users_may_run";
  }
  return std::nullopt;
}

std::vector<std::string> environment_of(const RankIdentity& identity,
                                        const std::vector<std::string>& environment) {
  const std::array<std::string, 4> own = {"HOME=" + identity.home, "USER=" + identity.name,
                                          "LOGNAME=" + identity.name, "SHELL=" + identity.shell};
  std::vector<std::string> variables(own.begin(), own.end());
  for (const std::string& each : environment) {
    const std::string name = each.substr(0, each.find('=') + 1);
    const bool is_own = std::any_of(own.begin(), own.end(), [&](const std::string& one) {
      return !name.empty() && one.starts_with(name);
    });
    if (!is_own) {
      variables.push_back(each);
    }
  }
  return variables;
}

}  // namespace muster::agent
