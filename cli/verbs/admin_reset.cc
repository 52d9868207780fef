// muster admin reset: a new key for an administrator, in place of the lost or stolen keys of all.

#include "agent/api/json/users.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "agent/api/users.h"
#include "cli/kit/admin_key.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/retry.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

class ResetAdmin final : public Verb {
 public:
  void describe(Options& options) override {
    options.text("--admin", admin_,
                 "Login name of the user who becomes administrator; default: you", "NAME");
    key_.describe(options);
    confirmation_.describe(options);
    common_.describe(options);
    options.example("muster admin reset --admin anna --ssh-key anna.pub");
  }

  int run(Session& session) override {
    const std::string admin = admin_.empty() ? session.world().user_name() : admin_;
    if (!confirmation_.is_agreed(session, "Make " + admin +
                                              " administrator by a new key, and take the keys and "
                                              "access tokens of all administrators?")) {
      return confirmation_.refuse(session, "the administrators were not reset");
    }
    const Result<gossip::SshKeyLine> key = key_.take(session, admin);
    if (!key) {
      return session.fail(ResponseStatus::kUsage, key.error().text);
    }
    agent::Request request;
    request.verb = agent::Verb::kResetAdmin;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(agent::ResetAdminArgs{admin_, *key});
    const Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    const std::string told = "user " + admin +
                             ": administrator by that key alone; all others have no key, and no "
                             "administrator has an access token";
    if (!key_.is_given() && admin != session.world().user_name()) {
      session.note("hand the key file to " + admin + ", who signs with it");
    }
    if (session.common().is_json) {
      session.out() << agent::users_changed_json({told}, true) << "\n";
    } else {
      session.out() << printable(told) << "\n";
    }
    return 0;
  }

 private:
  std::string admin_;
  AdminKey key_;
  Confirmation confirmation_;
};

}  // namespace

std::unique_ptr<Verb> make_admin_reset() {
  return std::make_unique<ResetAdmin>();
}

}  // namespace muster::cli
