// muster hosts fence: an operator's word that a host is off. Its grants end as if its death were
// proven: the way out for jobs under --isolation keep, which silence never ends.

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/json_view.h"
#include "cli/kit/repeat.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

constexpr char kConsequence[] =
    "if it is on and only cut off, ranks on it may run on beside those of a new attempt";

class Fence final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "The host that is off: its name, or its id");
    options.flag("--yes", yes_, "Ask nothing: it is certain that the host is off");
    common_.describe(options);
    options.example("muster hosts fence gpu17 --yes");
  }

  int run(Session& session) override {
    const auto found = find_host(session, name_);
    if (!found.host.has_value()) {
      return found.exit_code;
    }
    const agent::HostInfo& host = *found.host;
    if (!yes_ && !confirms(session, host)) {
      return session.fail(
          ResponseStatus::kUsage,
          "host " + name_ + " was not fenced: say --yes if it is off for certain; " + kConsequence);
    }
    return fence(session, host);
  }

 private:
  static bool confirms(Session& session, const agent::HostInfo& host) {
    if (!session.world().ask) {
      return false;
    }
    const std::string state = host.detail.empty() ? host.state : host.state + ", " + host.detail;
    const auto answer = session.world().ask(
        printable("host " + host.name + " is " + state + " for " + format_age(host.since_ms) +
                  ". Its grants end as if its death were proven; " + kConsequence +
                  ". Is it off? [yes/no] "));
    return answer == "yes" || answer == "y";
  }

  int fence(Session& session, const agent::HostInfo& host) const {
    agent::Request request;
    request.verb = agent::Verb::kFence;
    request.arguments = agent::encode_payload(agent::FenceArgs{host.id});
    request.user = session.world().user_name();
    Reply reply = exchange_repeating(session, request).reply;
    if (!reply.is_ok()) {
      reply.text += reply.status == ResponseStatus::kUnknown
                        ? "; repeat with: muster hosts fence " + name_ + " --yes"
                        : "";
      return session.fail(reply);
    }
    session.out() << (session.common().is_json ? fenced_json(host.name, host.id)
                                               : "host " + printable(host.name) + " fenced")
                  << "\n";
    return 0;
  }

  std::string name_;
  bool yes_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_fence() {
  return std::make_unique<Fence>();
}

}  // namespace muster::cli
