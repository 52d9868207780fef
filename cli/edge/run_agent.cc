#include "cli/edge/run_agent.h"

#include "agent/edge/run/run_agent.h"

namespace muster::cli {

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
  run.log_json = options.log_json;
  run.log_level = options.log_level;
  run.log_file = options.log_file;
  run.output_rule = {static_cast<std::uint64_t>(to_ms(options.output_keep)), options.output_max};
  return agent::run_agent(run);
}

}  // namespace muster::cli
