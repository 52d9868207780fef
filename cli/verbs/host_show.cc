// muster hosts show: everything about one host: how it is, who took it out of service, who runs
// there, GPU by GPU.

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "cli/kit/agent_verb.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/host_state.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/drain_text.h"
#include "cli/verbs/request_options.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

std::string line(const std::string& title, const std::string& text) {
  constexpr std::size_t kTitleColumns = 11;
  return text.empty()
             ? ""
             : title + std::string(kTitleColumns - title.size(), ' ') + printable(text) + "\n";
}

std::string role_text(const agent::HostInfo& host) {
  return host.is_leader ? "voter, leads" : host.is_voter ? "voter" : "none";
}

class HostShow final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster hosts show gpu17");
  }

  int run(Session& session) override {
    const auto found = find_host(session, name_);
    if (!found.host.has_value()) {
      return found.exit_code;
    }
    const auto detail = session.read<agent::HostDetail>(
        agent::Verb::kHostDetail, agent::encode_payload(agent::HostRef{found.host->id}));
    if (!detail.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*found.host, *detail, session.last()) << "\n";
      return 0;
    }
    session.out() << text_of(*found.host, *detail, session.screen());
    return 0;
  }

 private:
  static std::string rights_text(const agent::HostDetail& detail) {
    return std::string(detail.may_vote ? "may vote" : "may not vote") +
           (detail.may_vouch ? ", may vouch for its logins" : ", may not vouch for its logins");
  }
  /// How the host holds ranks to what they were given, by its labels:
  /// "kernel: cpus; watched: memory, pids; not held: devices, files".
  static std::string held_text(const std::vector<std::string>& labels) {
    std::vector<std::pair<std::string_view, std::vector<std::string>>> ways = {
        {"kernel", {}}, {"room", {}}, {"affinity", {}}, {"watched", {}}, {"not held", {}}};
    const auto add = [&](std::string_view ability, std::string_view with, std::string_view without,
                         const char* what) {
      const bool is_there =
          std::find(labels.begin(), labels.end(), ability_label(ability)) != labels.end();
      const std::string_view way = is_there ? with : without;
      std::find_if(ways.begin(), ways.end(), [way](const auto& one) {
        return one.first == way;
      })->second.emplace_back(what);
    };
    add("memory", "kernel", "watched", "memory");
    add("cpu", "kernel", "affinity", "cpus");
    add("pids", "kernel", "watched", "pids");
    add("devices", "kernel", "not held", "devices");
    add("mounts", "room", "not held", "files");
    std::vector<std::string> parts;
    for (const auto& [way, shares] : ways) {
      if (!shares.empty()) {
        parts.push_back(std::string(way) + ": " + join(shares));
      }
    }
    return join(parts, "; ");
  }
  static std::string text_of(const agent::HostInfo& host, const agent::HostDetail& detail,
                             const Screen& screen) {
    const agent::HostUse& use = detail.use;
    std::string text =
        line("host", host.name + " " + host.id.hex()) +
        line("state", host_state_text(host, &use) + ", for " +
                          format_age(use.since_ms == 0 ? host.since_ms : use.since_ms)) +
        line("short", starts_nothing(host) ? host.detail : "") +
        line("drain", use.is_drained ? drain_text(use) : "") + line("address", host.address) +
        line("https", host.https) + line("rack", host.rack) + line("spine", detail.spine) +
        line("labels", join(detail.labels)) + line("quorum", role_text(host)) +
        line("rights", rights_text(detail)) + line("version", host.version) +
        line("cpus",
             std::to_string(host.cpus) + ", " + format_cpus(use.cpus_used) + " given to jobs") +
        line("memory", format_memory(host.memory_mb) + ", " + format_memory(use.memory_mb_used) +
                           " given to jobs") +
        line("held", held_text(detail.labels)) +
        line("gpus", std::to_string(use.gpus) + (use.gpu_type.empty() ? "" : " x " + use.gpu_type) +
                         ", " + std::to_string(use.gpus_used) + " used, " +
                         std::to_string(use.gpus_free) + " free");
    if (detail.gpus.empty()) {
      return text;
    }
    Table table({{.title = "GPU", .columns_min = 12},
                 {.title = "ISLAND", .is_number = true},
                 {.title = "STATE", .is_state = true},
                 {.title = "JOB", .is_number = true},
                 {.title = "NAME", .columns_min = 12},
                 {.title = "USER"},
                 {.title = "RANK", .is_number = true},
                 {.title = "TOKEN"}});
    for (std::size_t i = 0; i < detail.gpus.size(); ++i) {
      const agent::GpuInfo& gpu = detail.gpus[i];
      const bool is_used = gpu.state == "used";
      table.add({gpu.uuid, i < detail.islands.size() ? std::to_string(detail.islands[i]) : "0",
                 gpu.state, is_used ? muster::text_of(gpu.job) : "-", gpu.job_name, gpu.user,
                 is_used ? std::to_string(gpu.rank) : "-", is_used ? gpu.token.text() : ""});
    }
    return text + "\n" + table.text(screen);
  }

  std::string name_;
};

}  // namespace

std::unique_ptr<Verb> make_host_show() {
  return std::make_unique<HostShow>();
}

}  // namespace muster::cli
