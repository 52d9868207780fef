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
            "Control port; bulk is the next one; port 0 = any "
            "(default 127.0.0.1:7450)",
            "IP[:PORT]");
    setting(options, "seeds", "Members to look for besides those known: names or addresses",
            "HOST[:PORT],...");
    setting(options, "ticket", "File to find a ticket in, while this host is no member yet",
            "FILE");
    setting(options, "data_dir",
            "The directory of its identity, log and state (default "
            "/var/lib/muster, or $XDG_STATE_HOME/muster)",
            "DIR");
    setting(options, "gpus",
            "The GPUs to offer: sim:8xH100 simulates eight GPUs; behind commas cpus=96, mem=1T, "
            "island=4+4 (GPUs that share a switch) instead of this machine's; cpus=16 alone: a "
            "host without GPUs (default none)",
            "GPUS");
    setting(options, "name", "Unique name (default the short hostname)", "NAME");
    setting(options, "rack", "Rack, for placement and voters", "RACK");
    setting(options, "spine", "The spine switch above the rack, for --pack spine", "SPINE");
    options.list(
        "--label", labels_,
        "A label that jobs may ask for; may be repeated; the kernel adds arch= and kernel=",
        "KEY[=VALUE]");
    options.flag("--moved", is_moved_,
                 "The data directory was moved here while its agent was stopped, and no newer one "
                 "exists: its copy votes on");
    options.flag("--log-json", log_json_, "Log lines as JSON");
    setting(options, "log_level", "debug, info, warn or error (default info)", "LEVEL");
    setting(options, "log_file",
            "Log into this file and four older ones, 20 MiB each, instead of stderr", "FILE");
    setting(options, "output_keep",
            "How long the output of ended jobs is kept on this host (default 14d)", "DURATION");
    setting(options, "output_max", "Most that is kept of it; the oldest goes first (default 4G)",
            "SIZE");
    options.text("--config", config_path_,
                 "Config file (default /etc/muster/muster.toml); "
                 "a flag beats MUSTER_* in the environment beats the file",
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
