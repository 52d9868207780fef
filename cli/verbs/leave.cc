// muster leave: the agent tells the others, leaves the cluster and ends.

#include "agent/api/hosts.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

class Leave final : public Verb {
 public:
  void describe(Options& options) override {
    options.flag("--force", force_,
                 "Leave even if too few voters remain, or as the last host that may vouch");
    confirmation_.describe(options);
    common_.describe(options);
    options.example("muster leave --yes");
  }

  int run(Session& session) override {
    if (!confirmation_.is_agreed(session,
                                 "The host leaves the cluster and its agent ends. It comes back "
                                 "if its agent starts again with this data directory. Leave?")) {
      return confirmation_.refuse(session, "the host did not leave");
    }
    agent::Request request;
    request.verb = agent::Verb::kLeave;
    request.arguments = agent::encode_payload(agent::LeaveArgs{force_});
    const Reply reply = session.exchange(request);
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    if (!reply.text.empty()) {
      session.note("warning: " + reply.text);
    }
    const std::string& name = reply.response.answered_by;
    session.out() << (session.common().is_json ? agent::left_json(name)
                                               : "host " + printable(name) + " leaves")
                  << "\n";
    return 0;
  }

 private:
  bool force_ = false;
  Confirmation confirmation_;
};

}  // namespace

std::unique_ptr<Verb> make_leave() {
  return std::make_unique<Leave>();
}

}  // namespace muster::cli
