// muster whoami: the caller as the cluster sees it.

#include "agent/api/json/users.h"
#include "agent/api/users.h"
#include "cli/kit/duration.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

std::string role_text(const agent::WhoamiInfo& info) {
  if (!info.is_vouched) {
    return "none: host " + info.host_name + " may not vouch for its logins";
  }
  if (!info.is_known) {
    return "unknown: this host does not have the list of users yet";
  }
  return info.role + (info.has_record ? "" : " (as every login without a record)");
}

std::string proof_text(const agent::WhoamiInfo& info) {
  const agent::TokenInfo& token = info.token;
  if (!token.id.is_zero()) {
    const std::string rights = token.may_read && token.may_submit ? "read, submit"
                               : token.may_read                   ? "read"
                                                                  : "submit";
    return "access token " + token.label + " (" + token.id.short_hex() + "), which may " + rights +
           (token.team.empty() ? "" : " for team " + token.team) + " and expires in " +
           format_duration(std::chrono::milliseconds(token.ends_in_ms));
  }
  return info.host_name.empty() ? "-"
         : info.is_vouched      ? "login on host " + info.host_name + ", which vouches for it"
                                : "login on host " + info.host_name;
}

class Whoami final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster whoami");
  }

  int run(Session& session) override {
    const auto info = session.read<agent::WhoamiInfo>(agent::Verb::kWhoami);
    if (!info.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*info, session.last()) << "\n";
      return 0;
    }
    session.out() << printable_lines("user      " + (info->user.empty() ? "-" : info->user) +
                                     "\nproof     " + proof_text(*info) + "\nrole      " +
                                     role_text(*info) + "\n");
    if (info->is_known && info->is_vouched) {
      session.out() << printable_lines("teams     " + join(info->teams) + "\n");
      for (const agent::UserKeyInfo& key : info->keys) {
        session.out() << printable_lines("key       " + key.fingerprint + "\n");
      }
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Verb> make_whoami() {
  return std::make_unique<Whoami>();
}

}  // namespace muster::cli
