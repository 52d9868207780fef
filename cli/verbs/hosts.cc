// muster hosts: who is in the cluster, how each one is as the answering node sees it, and who uses
// its GPUs as the log says.

#include <algorithm>
#include <map>

#include "agent/api/hosts.h"
#include "agent/api/json/view.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_list.h"
#include "cli/kit/host_name.h"
#include "cli/kit/host_state.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/drain_text.h"
#include "cli/verbs/storm_banner.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

/// Hosts that left are shown for so long.
constexpr std::uint64_t kLeftShownMs = 24ULL * 3'600'000;
/// Of the second line of a type, should one not do.
constexpr std::size_t kTotalsIndent = 2;

using Uses = std::map<HostId, agent::HostUse>;

const agent::HostUse* use_of(const std::optional<Uses>& uses, const agent::HostInfo& host) {
  if (!uses.has_value()) {
    return nullptr;
  }
  const auto found = uses->find(host.id);
  return found == uses->end() ? nullptr : &found->second;
}

/// The time of the log holds for the cluster; only this node says that a host is suspect.
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

/// It is no member any more, or never comes back: its GPUs do not count.
bool is_gone(const agent::HostInfo& host, const agent::HostUse* use) {
  return host.state == "left" || host.state == "revoked" || (use != nullptr && use->is_removed);
}

/// Why the free GPUs of the host are not given away; "" = they are.
std::string withheld_reason(const agent::HostInfo& host, const agent::HostUse& use) {
  if (host.state != "alive") {
    return host.state;
  }
  return use.is_drained         ? "drained"
         : starts_nothing(host) ? agent::kStartsNothing
         : use.is_awaited       ? "not registered yet"
                                : "";
}

/// The GPUs of one type, of all hosts that are not gone.
struct Total {
  struct Withheld {
    std::uint64_t gpus = 0;
    std::vector<std::string> hosts;
  };
  std::uint64_t gpus = 0;
  std::uint64_t used = 0;
  std::uint64_t free = 0;
  std::map<std::string, Withheld> withheld;  ///< By why.

  void add(const agent::HostInfo& host, const agent::HostUse& use) {
    const bool is_lost = host.state == "unreachable";
    const std::uint64_t used_here = is_lost ? 0 : use.gpus_used;
    const std::string reason = withheld_reason(host, use);
    const std::uint64_t free_here = reason.empty() ? use.gpus_free : 0;
    gpus += host.gpus;
    used += used_here;
    free += free_here;
    withhold(host, host.gpus - std::min(host.gpus, used_here + free_here),
             reason.empty() ? "unhealthy or not clean" : reason);
  }
  std::string text() const {
    std::string line = std::to_string(gpus) + (gpus == 1 ? " GPU, " : " GPUs, ") +
                       std::to_string(used + free) + " usable: " + std::to_string(used) +
                       " used, " + std::to_string(free) + " free";
    const char* before = "; withheld ";
    for (const auto& [reason, part] : withheld) {
      line += before + std::to_string(part.gpus) + " " + reason + " (" +
              short_host_list(part.hosts) + ")";
      before = ", ";
    }
    return line;
  }

 private:
  void withhold(const agent::HostInfo& host, std::uint64_t count, const std::string& reason) {
    if (count > 0) {
      Withheld& part = withheld[reason];
      part.gpus += count;
      part.hosts.push_back(host.name);
    }
  }
};

/// "H100: 40 GPUs, 32 usable: 16 used, 16 free; withheld 8 drained (d)": a line a type.
std::string totals_text(const agent::HostList& list, const std::optional<Uses>& uses) {
  std::map<std::string, Total> totals;
  for (const agent::HostInfo& host : list.hosts) {
    const agent::HostUse* use = use_of(uses, host);
    if (use != nullptr && host.gpus != 0 && !is_gone(host, use)) {
      totals[host.gpu_type].add(host, *use);
    }
  }
  std::string text;
  for (const auto& [type, total] : totals) {
    text += printable(type) + ": " + printable(total.text()) + "\n";
  }
  return fitted(text, kTotalsIndent);
}

std::string voters_text(const agent::HostList& list) {
  std::string text;
  for (const std::string& note : list.voter_notes) {
    text += printable(note) + "\n";
  }
  return text;
}

/// Hosts that get nothing new, and why.
std::string withheld_text(const agent::HostList& list, const std::optional<Uses>& uses) {
  std::string text;
  for (const agent::HostInfo& host : list.hosts) {
    const agent::HostUse* use = use_of(uses, host);
    if (use != nullptr && use->is_drained && !is_gone(host, use)) {
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
    options.flag("-a,--all", all_, "Include removed hosts and hosts that left more than a day ago");
    options.flag("--no-header", no_header_, "Omit the header line, for scripts");
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
    const std::string table = table_of(*list, uses, session.screen());
    session.out() << (no_header_ ? table.substr(table.find('\n') + 1)
                                 : storm_banner(list->storm) + seeds_banner(list->seeds_unmet) +
                                       table + voters_text(*list) + withheld_text(*list, uses) +
                                       totals_text(*list, uses));
    if (!uses.has_value()) {
      session.note("no voter could be reached, so used GPUs and drains are not known");
    }
    if (hidden > 0) {
      session.note(std::to_string(hidden) + (hidden == 1 ? " host that is" : " hosts that are") +
                   " gone for good not shown (--all)");
    }
    return 0;
  }

 private:
  static std::string table_of(const agent::HostList& list, const std::optional<Uses>& uses,
                              const Screen& screen) {
    Table table({{.title = "NAME"},
                 {.title = "ID", .left_out = 4},
                 {.title = "STATE", .columns_min = 12, .is_state = true},
                 {.title = "SINCE", .is_number = true, .left_out = 1},
                 {.title = "GPUS", .is_number = true},
                 {.title = "USED", .is_number = true},
                 {.title = "FREE", .is_number = true},
                 {.title = "TYPE"},
                 {.title = "RACK", .left_out = 2},
                 {.title = "ADDRESS", .columns_min = 15, .left_out = 3},
                 {.title = "VOTER"}});
    for (const agent::HostInfo& host : list.hosts) {
      const agent::HostUse* use = use_of(uses, host);
      table.add({host.name, host.id.short_hex(), host_state_text(host, use),
                 format_age(since_ms(host, use)), gpus_text(host),
                 use == nullptr ? "-" : std::to_string(use->gpus_used),
                 use == nullptr ? "-" : std::to_string(use->gpus_free), host.gpu_type, host.rack,
                 host.address, voter_text(host)});
    }
    return table.text(screen);
  }

  bool all_ = false;
  bool no_header_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_hosts() {
  return std::make_unique<Hosts>();
}

}  // namespace muster::cli
