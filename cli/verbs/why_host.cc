// muster why-host: what a node's view of a host rests on: which observers hear it, which do not,
// and what the node noticed of it.

#include <algorithm>
#include <iterator>

#include "agent/api/hosts.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/host_state.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/storm_banner.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

std::string plural(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The sum of the claims, and what would change it.
std::string tally_text(const agent::WhyHostInfo& why) {
  const std::uint64_t observers = why.claims.size() + why.content.size();
  if (why.host.state == "left") {
    return "it left the cluster: no host watches it";
  }
  if (observers == 0) {
    return "no host watches it yet";
  }
  if (why.claims.empty()) {
    return observers == 1 ? "its one observer hears it"
                          : "all of its " + plural(observers, "observer") + " hear it";
  }
  return std::to_string(why.claims.size()) + " of its " + plural(observers, "observer") +
         " get no answer from it; " + std::to_string(why.suspect_from) +
         " such claims make it suspect, " + std::to_string(why.verdict_from) + " unreachable";
}

/// A verdict outlasts its claims a little.
std::string ending_text(const agent::WhyHostInfo& why) {
  const bool is_ending = why.host.state == "unreachable" && why.claims.size() < why.suspect_from;
  return is_ending ? "; it is alive again once that has lasted 3 s, longer if it comes and goes"
                   : "";
}

std::string state_text(const agent::HostInfo& host) {
  return host_state_text(host) + " for " + format_age(host.since_ms);
}

std::string claim_text(const agent::ClaimInfo& claim) {
  const std::string what = claim.kind == "agent_down" ? "refused: the agent is down" : claim.kind;
  return what + (claim.is_weak ? ", while cut off itself: does not count alone" : "");
}

class WhyHost final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    common_.describe(options);
    options.example("muster why-host gpu17");
  }

  int run(Session& session) override {
    const auto found = find_host(session, name_);
    if (!found.host.has_value()) {
      return found.exit_code;
    }
    const auto why = session.read<agent::WhyHostInfo>(
        agent::Verb::kWhyHost, agent::encode_payload(agent::HostRef{found.host->id}));
    if (!why.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*why, session.last()) << "\n";
      return 0;
    }
    print(session, *why);
    return 0;
  }

 private:
  static void print(Session& session, const agent::WhyHostInfo& why) {
    const agent::HostInfo& host = why.host;
    session.out() << storm_banner(why.storm)
                  << printable_lines("host " + host.name + " (" + host.id.short_hex() + ") is " +
                                     state_text(host) + ", as host " + session.last().answered_by +
                                     " sees it\n" +
                                     (starts_nothing(host) ? "it " + host.detail + "\n" : "") +
                                     tally_text(why) + ending_text(why));
    Table table({{.title = "OBSERVER"},
                 {.title = "CLAIM", .columns_min = 12},
                 {.title = "SINCE", .is_number = true}});
    for (const agent::ClaimInfo& claim : why.claims) {
      table.add({claim.observer, claim_text(claim), format_age(claim.age_ms)});
    }
    for (const std::string& observer : why.content) {
      table.add({observer, "none, it hears it", ""});
    }
    session.out() << "\n" << table.text(session.screen());
    if (!why.events.empty()) {
      session.out() << "\n";
    }
    for (const agent::EventInfo& event : why.events) {
      session.out() << session.world().clock.local_time(event.unix_ms) << "  "
                    << printable(event.text) << "\n";
    }
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<Verb> make_why_host() {
  return std::make_unique<WhyHost>();
}

}  // namespace muster::cli
