// muster leave: the agent tells the others, leaves the cluster and ends.

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "cli/kit/json_view.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

class Leave final : public Verb {
 public:
  void describe(Options& options) override {
    options.flag("--force", force_, "Leave even when too few voters remain for a quorum");
    common_.describe(options);
    options.example("muster leave");
  }

  int run(Session& session) override {
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
    session.out() << (session.common().is_json ? left_json(name)
                                               : "host " + printable(name) + " leaves")
                  << "\n";
    return 0;
  }

 private:
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_leave() {
  return std::make_unique<Leave>();
}

}  // namespace muster::cli
