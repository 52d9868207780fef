#include "tests/fuzz/corpus.h"

#include <map>
#include <set>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "tests/sim/world.h"

namespace muster::fuzz {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

agent::Request submit_request(const std::string& key, std::uint32_t gpus, bool fails) {
  scheduler::JobSpec spec;
  spec.name = "corpus";
  spec.request.gpus = gpus;
  spec.command.argv = {"sim", "run_ms=8000"};
  if (fails) {
    spec.command.argv.push_back("fail_rank=0");
  }
  spec.limits.hold = 20s;
  spec.retry.retries = 1;
  agent::Request request;
  request.verb = agent::Verb::kSubmit;
  request.arguments = agent::encode_payload(agent::SubmitArgs{key, spec});
  return request;
}

agent::Request about_job(agent::Verb verb) {
  agent::Request request;
  request.verb = verb;
  request.arguments = agent::encode_payload(agent::JobRef{JobId(1)});
  return request;
}

void live(sim::World& world) {
  world.run_for(15s);
  world.ask(3, submit_request("a", 16, false));
  world.ask(4, submit_request("b", 8, true));
  world.run_for(3s);
  for (const agent::Verb verb :
       {agent::Verb::kShow, agent::Verb::kWhy, agent::Verb::kJobs, agent::Verb::kQuorum,
        agent::Verb::kSuspend, agent::Verb::kResume, agent::Verb::kRequeue, agent::Verb::kFence,
        agent::Verb::kCancel}) {
    world.ask(4, about_job(verb));
  }
  world.run_for(3s);
  world.kill_agent(0);
  world.run_for(10s);
  world.start_agent(0);
  world.power_off(1);
  world.run_for(20s);
  world.power_on(1);
  world.ask(3, submit_request("c", 32, false));
  world.run_for(30s);
  // Two hosts miss each other while the ring hears both: it says so.
  world.network().cut(2, 3);
  world.network().cut(3, 2);
  world.run_for(5s);
  world.network().heal_all();
  world.run_for(5s);
}

}  // namespace

std::string body_of(const gossip::Message& message) {
  gossip::Reader body = message.body();
  const std::size_t count = body.size();
  return gossip::Encoder().array(count).raw(body.rest()).take();
}

std::vector<std::string> real_messages(std::size_t per_type) {
  std::vector<std::string> messages;
  std::set<std::string> known;
  std::map<gossip::MessageType, std::size_t> of_type;
  sim::WorldOptions options;
  options.hosts = 5;
  sim::World world(options);
  world.network().tap = [&](std::uint32_t from, std::uint32_t, const std::string& bytes) {
    Result<gossip::Message> message = gossip::decode(bytes);
    if (message && of_type[message->envelope().type] < per_type && known.insert(bytes).second) {
      ++of_type[message->envelope().type];
      message->complete(world.id(from));
      messages.push_back(gossip::encode(message->envelope(), body_of(*message)));
    }
  };
  live(world);
  return messages;
}

}  // namespace muster::fuzz
