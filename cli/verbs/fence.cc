// muster hosts fence: an operator's word that a host is off, or that nothing of its jobs runs there
// any more. Its grants end as if its death were proven: the way out for jobs under --isolation
// keep, which silence never ends, and for who has looked and does not want to wait.

#include "agent/api/hosts.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/retry.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

constexpr char kConsequence[] =
    "if it is only cut off, its ranks may run beside those of a new attempt";
constexpr char kConsequenceOfRanks[] =
    "processes that are left run beside those of a new attempt until its agent is back and ends "
    "them";

class Fence final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    options.flag("--processes-gone", are_processes_gone_,
                 "Declare only its processes dead: use it if the agent is down and you checked on "
                 "the host that no process of its jobs is left");
    confirmation_.describe(options);
    common_.describe(options);
    options.example("muster hosts fence gpu17 --yes");
  }

  int run(Session& session) override {
    const auto found = find_host(session, name_);
    if (!found.host.has_value()) {
      return found.exit_code;
    }
    const agent::HostInfo& host = *found.host;
    if (!confirms(session, host)) {
      return session.fail(ResponseStatus::kUsage,
                          "host " + name_ + " was not fenced: use --yes if you are sure that " +
                              (are_processes_gone_ ? "its processes are gone" : "it is off") +
                              "; " + consequence());
    }
    return fence(session, host);
  }

 private:
  const char* consequence() const {
    return are_processes_gone_ ? kConsequenceOfRanks : kConsequence;
  }

  bool confirms(Session& session, const agent::HostInfo& host) const {
    if (are_processes_gone_) {
      return confirmation_.is_agreed(session,
                                     "Did you check on host " + host.name +
                                         " itself that no process of its jobs is left there?") &&
             confirmation_.is_agreed(session, "Its leases end at once; " +
                                                  std::string(consequence()) + ". Are you sure?");
    }
    const std::string state = host.detail.empty() ? host.state : host.state + ", " + host.detail;
    return confirmation_.is_agreed(
        session, "host " + host.name + " has been " + state + " for " + format_age(host.since_ms) +
                     ". Its leases end at once; " + kConsequence + ". Is it off?");
  }

  int fence(Session& session, const agent::HostInfo& host) const {
    agent::Request request;
    request.verb = agent::Verb::kFence;
    request.arguments = agent::encode_payload(agent::FenceArgs{host.id, are_processes_gone_});
    request.user = session.world().user_name();
    Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      reply.text +=
          reply.status == ResponseStatus::kUnknown
              ? "; repeat with: muster hosts fence " + name_ +
                    (are_processes_gone_ ? " --processes-gone" : "") + " --yes"
          : reply.status == ResponseStatus::kConflict && host.state == "suspect"
              ? "; too few of its observers miss it for a verdict yet: muster why-host " + name_
              : "";
      return session.fail(reply);
    }
    session.out() << (session.common().is_json ? agent::fenced_json(host.name, host.id)
                                               : "host " + printable(host.name) + " fenced")
                  << "\n";
    return 0;
  }

  std::string name_;
  bool are_processes_gone_ = false;
  Confirmation confirmation_;
};

}  // namespace

std::unique_ptr<Verb> make_fence() {
  return std::make_unique<Fence>();
}

}  // namespace muster::cli
