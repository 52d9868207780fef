// muster hosts fence: an operator's word that a host is off. Its grants end as if its death were
// proven: the way out for jobs under --isolation keep, which silence never ends.

#include <algorithm>

#include "cli/duration.h"
#include "cli/json_view.h"
#include "cli/repeat.h"
#include "cli/table.h"
#include "cli/verb.h"

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
    const auto list = session.read<agent::HostList>(agent::Verb::kHosts);
    if (!list.has_value()) {
      return session.failed();
    }
    const std::vector<agent::HostInfo> hosts = named(*list);
    if (hosts.empty()) {
      return session.fail(ResponseStatus::kNotFound,
                          "there is no host '" + name_ + "'; `muster hosts` lists them");
    }
    if (hosts.size() > 1) {
      return session.fail(ResponseStatus::kConflict,
                          std::to_string(hosts.size()) + " hosts are called '" + name_ +
                              "': name one by its id, as `muster hosts` shows it");
    }
    if (!yes_ && !confirms(session, hosts.front())) {
      return session.fail(
          ResponseStatus::kUsage,
          "host " + name_ + " was not fenced: say --yes if it is off for certain; " + kConsequence);
    }
    return fence(session, hosts.front());
  }

 private:
  /// By name, by the id that `hosts` shows, or by the whole id.
  std::vector<agent::HostInfo> named(const agent::HostList& list) const {
    std::vector<agent::HostInfo> found;
    std::copy_if(list.hosts.begin(), list.hosts.end(), std::back_inserter(found),
                 [this](const agent::HostInfo& host) {
                   return host.name == name_ || host.id.short_hex() == name_ ||
                          host.id.hex() == name_;
                 });
    return found;
  }

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
