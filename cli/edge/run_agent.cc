#include "cli/edge/run_agent.h"

#include "agent/edge/run/run_agent.h"
#include "cli/kit/agent_settings.h"

namespace muster::cli {

namespace {

agent::OutputRule output_rule(const AgentOptions& options) {
  return {static_cast<std::uint64_t>(to_ms(options.output_keep)), options.output_max};
}

}  // namespace

int run_agent(const AgentOptions& options) {
  agent::RunOptions run;
  run.listen = options.listen;
  run.seeds = options.seeds;
  run.data_dir = options.data_dir;
  run.gpus = options.gpus;
  run.name = options.name;
  run.traits = options.traits;
  run.ticket_path = options.ticket_path;
  run.is_moved = options.is_moved;
  run.log = {options.log_json, options.log_level, options.log_file};
  run.output_rule = output_rule(options);
  run.users = {options.users.is_shared, options.users.system_users, options.users.socket_group,
               options.users.audit_file, options.users.min_isolation};
  run.web = {options.web.https, options.web.is_asked_for, options.web.certificate, options.web.key};
  run.hardware = {options.hooks, options.kernel_log};
  run.reread = [&options]() -> Result<agent::Reread> {
    const Result<AgentOptions> news = options.reread();
    if (!news) {
      return news.error();
    }
    return agent::Reread{news->log_level, output_rule(*news), settings_of_start(options, *news)};
  };
  return agent::run_agent(run);
}

}  // namespace muster::cli
