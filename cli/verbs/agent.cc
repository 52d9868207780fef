// muster agent: the one process that every host runs.

#include "agent/api/request.h"
#include "cli/kit/agent_settings.h"
#include "cli/kit/agent_verb.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

class Agent final : public Verb {
 public:
  void describe(Options& options) override {
    setting(options, "listen",
            "Listen on this address and control port, and on the next port for bulk data; port 0 "
            "picks free ones (default 127.0.0.1:7450)",
            "IP[:PORT]");
    setting(options, "seeds",
            "Contact these members, too, besides the known ones: names or addresses",
            "HOST[:PORT],...");
    setting(options, "ticket", "Join by the ticket in this file, while this host is not a member",
            "FILE");
    setting(options, "data_dir",
            "Keep identity, log and state here (default /var/lib/muster if it can be written, else "
            "$XDG_STATE_HOME/muster)",
            "DIR");
    setting(
        options, "gpus",
        "Offer these GPUs: auto offers this machine's, none offers nothing, sim:8xH100 simulates "
        "eight. Append ,cpus=96 ,mem=1T or ,island=4+4 (GPUs that share a switch) to simulated "
        "ones to override this machine's values; cpus=16 alone offers no GPUs (default auto)",
        "GPUS");
    setting(options, "name",
            "Name this host, uniquely in the cluster (default the short host name)", "NAME");
    setting(options, "rack", "Rack of this host, for --pack rack and the choice of voters", "RACK");
    setting(options, "spine", "Spine switch above the rack, for --pack spine", "SPINE");
    options.list(
        "--label", labels_,
        "Add a label that jobs can ask for; repeatable; arch= and kernel= are there already",
        "KEY[=VALUE]");
    options.flag("--moved", is_moved_,
                 "Keep this voter's vote after its data directory was moved while its agent was "
                 "stopped; use it only if no newer copy exists");
    options.flag("--log-json", log_json_, "Log in JSON, one object per line");
    setting(options, "log_level",
            "Log this level and worse: debug, info, warn or error (default info)", "LEVEL");
    setting(options, "log_file",
            "Log to this file, and keep four older ones of 20 MiB each, instead of stderr", "FILE");
    setting(options, "output_keep",
            "Keep the output of ended jobs on this host this long, at least 1m (default 14d)",
            "DURATION");
    setting(options, "output_max",
            "Keep at most this much output of ended jobs; the oldest is deleted first (default 4G)",
            "SIZE");
    setting(options, "socket_group",
            "Let members of this group alone ask the agent, if it runs as root (default every "
            "login)",
            "GROUP");
    setting(
        options, "https",
        "Answer HTTPS here, for the page, curl and Prometheus; off: nowhere (default port 7449 of "
        "the address of --listen, if it is free)",
        "IP:PORT");
    setting(options, "audit_file",
            "Append the audit to this file, too, while this host is a voter: one JSON line for "
            "each change and refusal of a person (default none)",
            "FILE");
    options.text("--config", config_path_,
                 "Read settings from this file; MUSTER_* variables override it, and flags override "
                 "both (default /etc/muster/muster.toml)",
                 "FILE");
    options.example("muster agent --gpus sim:8xH100");
  }

  int run(Session& session) override {
    if (log_json_) {
      flags_["log_json"] = "true";
    }
    for (const std::string& label : labels_) {
      std::string& all = flags_["labels"];
      all += (all.empty() ? "" : ",") + label;
    }
    Result<AgentOptions> options = agent_options(session.world(), flags_, config_path_);
    if (!options) {
      return session.fail(agent::ResponseStatus::kUsage, options.error().text);
    }
    options->is_moved = is_moved_;
    options->reread = [this, &session] {
      return agent_options(session.world(), flags_, config_path_);
    };
    return session.world().run_agent(*options);
  }

 private:
  void setting(Options& options, const std::string& name, const std::string& help,
               const std::string& value_name) {
    std::string flag = "--" + name;
    for (char& c : flag) {
      c = c == '_' ? '-' : c;
    }
    options.value(
        flag,
        [this, name](const std::string& given) {
          flags_[name] = given;
          return ok();
        },
        help, value_name);
  }

  Settings flags_;
  std::vector<std::string> labels_;
  std::string config_path_;
  bool log_json_ = false;
  bool is_moved_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_agent() {
  return std::make_unique<Agent>();
}

}  // namespace muster::cli
