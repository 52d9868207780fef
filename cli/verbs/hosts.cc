// muster hosts: who is in the cluster, how each one is as the answering node sees it, and who uses
// its GPUs as the log says.

#include <algorithm>
#include <map>

#include "agent/api/hosts.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/host_state.h"
#include "cli/kit/json_view.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/drain_text.h"
#include "cli/verbs/storm_banner.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

/// Hosts that left are shown for so long.
constexpr std::uint64_t kLeftShownMs = 24ULL * 3'600'000;

using Uses = std::map<HostId, agent::HostUse>;

const agent::HostUse* use_of(const std::optional<Uses>& uses, const agent::HostInfo& host) {
  if (!uses.has_value()) {
    return nullptr;
  }
  const auto found = uses->find(host.id);
  return found == uses->end() ? nullptr : &found->second;
}

std::string state_text(const agent::HostInfo& host, const agent::HostUse* use) {
  if (use != nullptr && use->is_removed) {
    return "removed";
  }
  if (use != nullptr && use->is_drained && host.state == "alive") {
    return use->jobs.empty() ? "drained" : "draining";
  }
  return host_state_text(host);
}

/// What the log says is the cluster's; that somebody is suspect only this node says.
std::uint64_t since_ms(const agent::HostInfo& host, const agent::HostUse* use) {
  return use == nullptr || use->since_ms == 0 || host.state == "suspect" ? host.since_ms
                                                                         : use->since_ms;
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

/// "H100: 40 GPUs on 5 hosts, 16 used, 24 free": a line a type.
std::string totals_text(const agent::HostList& list, const std::optional<Uses>& uses) {
  struct Total {
    std::uint64_t gpus = 0;
    std::uint64_t hosts = 0;
    std::uint64_t used = 0;
    std::uint64_t free = 0;
  };
  std::map<std::string, Total> totals;
  for (const agent::HostInfo& host : list.hosts) {
    const agent::HostUse* use = use_of(uses, host);
    if (use == nullptr || use->is_removed || host.gpus == 0 || host.state == "left") {
      continue;
    }
    Total& total = totals[host.gpu_type];
    total.gpus += host.gpus;
    ++total.hosts;
    total.used += use->gpus_used;
    total.free += use->gpus_free;
  }
  std::string text;
  for (const auto& [type, total] : totals) {
    text += printable(type) + ": " + std::to_string(total.gpus) +
            (total.gpus == 1 ? " GPU on " : " GPUs on ") + std::to_string(total.hosts) +
            (total.hosts == 1 ? " host, " : " hosts, ") + std::to_string(total.used) + " used, " +
            std::to_string(total.free) + " free\n";
  }
  return text;
}

/// Hosts that get nothing new, and why.
std::string withheld_text(const agent::HostList& list, const std::optional<Uses>& uses) {
  std::string text;
  for (const agent::HostInfo& host : list.hosts) {
    const agent::HostUse* use = use_of(uses, host);
    if (use != nullptr && use->is_drained) {
      text += drain_text(*use) + "\n";
    }
    if (starts_nothing(host)) {
      text += printable(shortage_text(host)) + "\n";
    }
  }
  return text;
}

class Hosts final : public Verb {
 public:
  void describe(Options& options) override {
    options.flag("-a,--all", all_, "Also hosts that were removed, or left more than a day ago");
    options.flag("--no-header", no_header_, "Only the rows, for scripts");
    common_.describe(options);
    options.example("muster hosts --node gpu7");
  }

  int run(Session& session) override {
    auto list = read_hosts(session);
    if (!list.has_value()) {
      return session.failed();
    }
    const agent::Response answer = session.last();
    const std::optional<Uses> uses = read_host_uses(session);
    const std::size_t hidden = all_ ? 0 : std::erase_if(list->hosts, [&](const auto& host) {
      const agent::HostUse* use = use_of(uses, host);
      return use != nullptr &&
             (use->is_removed || (host.state == "left" && since_ms(host, use) > kLeftShownMs));
    });
    if (session.common().is_json) {
      session.out() << to_json(*list, uses, answer) << "\n";
      return 0;
    }
    const std::string table = table_of(*list, uses);
    session.out() << (no_header_
                          ? table.substr(table.find('\n') + 1)
                          : storm_banner(list->storm) + seeds_banner(list->seeds_unmet) + table +
                                withheld_text(*list, uses) + totals_text(*list, uses));
    if (!uses.has_value()) {
      session.note("no voter could be asked: what is used and what is drained is not known");
    }
    if (hidden > 0) {
      session.note(std::to_string(hidden) + (hidden == 1 ? " host that is" : " hosts that are") +
                   " gone for good not shown (--all)");
    }
    return 0;
  }

 private:
  static std::string table_of(const agent::HostList& list, const std::optional<Uses>& uses) {
    Table table({{.title = "NAME"},
                 {.title = "ID"},
                 {.title = "STATE", .columns_min = 12},
                 {.title = "SINCE", .is_number = true},
                 {.title = "GPUS", .is_number = true},
                 {.title = "USED", .is_number = true},
                 {.title = "FREE", .is_number = true},
                 {.title = "TYPE"},
                 {.title = "RACK"},
                 {.title = "ADDRESS", .columns_min = 15},
                 {.title = "VOTER"}});
    for (const agent::HostInfo& host : list.hosts) {
      const agent::HostUse* use = use_of(uses, host);
      table.add({host.name, host.id.short_hex(), state_text(host, use),
                 format_age(since_ms(host, use)), gpus_text(host),
                 use == nullptr ? "-" : std::to_string(use->gpus_used),
                 use == nullptr ? "-" : std::to_string(use->gpus_free), host.gpu_type, host.rack,
                 host.address, voter_text(host)});
    }
    return table.text();
  }

  bool all_ = false;
  bool no_header_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_hosts() {
  return std::make_unique<Hosts>();
}

}  // namespace muster::cli
