#pragma once
// Shared pieces of the scheduler's codecs, used by entries, messages and snapshots alike.

#include "gossip/wire.h"
#include "scheduler/agent_messages.h"
#include "scheduler/job.h"

namespace muster::scheduler {

void write(gossip::Encoder& out, const JobSpec& spec);
void write(gossip::Encoder& out, const RankResult& result);
void write(gossip::Encoder& out, const Member& member);
void write(gossip::Encoder& out, const gossip::Endpoint& endpoint);
void write(gossip::Encoder& out, const AgentStart& start);

JobSpec read_job_spec(gossip::Reader& in);
RankResult read_rank_result(gossip::Reader& in);
Member read_member(gossip::Reader& in);
gossip::Endpoint read_endpoint(gossip::Reader& in);
AgentStart read_agent_start(gossip::Reader& in);

}  // namespace muster::scheduler
