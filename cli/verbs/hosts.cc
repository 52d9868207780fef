// muster hosts: who is in the cluster and how each one is, as the answering node sees it.

#include "agent/api/hosts.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/json_view.h"
#include "cli/kit/table.h"
#include "cli/verbs/storm_banner.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

std::string state_text(const agent::HostInfo& host) {
  return host.detail.empty() ? host.state : host.state + " (" + host.detail + ")";
}

std::string gpus_text(const agent::HostInfo& host) {
  return host.gpus_healthy == host.gpus
             ? std::to_string(host.gpus)
             : std::to_string(host.gpus_healthy) + "/" + std::to_string(host.gpus);
}

std::string voter_text(const agent::HostInfo& host) {
  if (host.is_leader) {
    return "leader";
  }
  return host.is_voter ? "voter" : "";
}

class Hosts final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster hosts --node 10.0.0.7:7450");
  }

  int run(Session& session) override {
    const auto list = read_hosts(session);
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*list, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "NAME"},
                 {.title = "ID"},
                 {.title = "STATE"},
                 {.title = "SINCE", .is_number = true},
                 {.title = "GPUS", .is_number = true},
                 {.title = "TYPE"},
                 {.title = "RACK"},
                 {.title = "ADDRESS", .columns_min = 20},
                 {.title = "VOTER"}});
    for (const agent::HostInfo& host : list->hosts) {
      table.add({host.name, host.id.short_hex(), state_text(host), format_age(host.since_ms),
                 gpus_text(host), host.gpu_type, host.rack, host.address, voter_text(host)});
    }
    session.out() << storm_banner(list->storm) << seeds_banner(list->seeds_unmet) << table.text();
    return 0;
  }
};

}  // namespace

std::unique_ptr<Verb> make_hosts() {
  return std::make_unique<Hosts>();
}

}  // namespace muster::cli
