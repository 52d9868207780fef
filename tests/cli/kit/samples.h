#pragma once
// A small cluster and its jobs, as a node would describe them.

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/quorum.h"

namespace muster::cli {

inline HostId host_id(char letter) {
  return HostId::from_bytes(std::string(16, letter));
}

inline agent::HostInfo sample_host(const std::string& name) {
  agent::HostInfo host;
  host.id = host_id(name[0]);
  host.name = name;
  host.state = "alive";
  host.since_ms = 3'600'000;
  host.generation = Generation(2);
  host.address = "10.0.0.1:7450";
  host.rack = "r1";
  host.gpu_type = "H100";
  host.gpus = 8;
  host.gpus_healthy = 8;
  host.cpus = 96;
  host.memory_mb = 1024;
  host.version = "0.1.0";
  host.https = "10.0.0.1:7449";
  return host;
}

inline agent::HostList sample_hosts() {
  agent::HostInfo leader = sample_host("a");
  leader.is_voter = true;
  leader.is_leader = true;
  agent::HostInfo dead = sample_host("b");
  dead.state = "unreachable";
  dead.detail = "silent";
  dead.since_ms = 12'345;
  dead.gpus_healthy = 7;
  dead.claimed_by = {"a", "c"};
  dead.is_voter = true;
  agent::HostInfo plain = sample_host("c");
  plain.rack = "";
  return {{leader, dead, plain}};
}

/// Of the first two.
inline agent::HostUseList sample_uses() {
  agent::HostUse busy;
  busy.id = host_id('a');
  busy.name = "a";
  busy.gpu_type = "H100";
  busy.gpus = 8;
  busy.gpus_used = 6;
  busy.gpus_free = 2;
  busy.jobs = {JobId(7)};
  agent::HostUse dead = busy;
  dead.id = host_id('b');
  dead.name = "b";
  dead.gpus_used = 8;
  dead.gpus_free = 0;
  dead.since_ms = 7'200'000;
  dead.jobs = {JobId(7), JobId(9)};
  return {{busy, dead}, {}};
}

inline agent::JobSummary sample_job(std::uint64_t id, const std::string& state) {
  agent::JobSummary job;
  job.id = JobId(id);
  job.name = "llama";
  job.user = "ann";
  job.state = state;
  job.gpus = 16;
  job.gpu_type = "H100";
  job.attempt = 1;
  job.cause = "all ranks ready";
  job.hosts = {"a", "b"};
  return job;
}

/// Job 17: two ranks on two hosts, the second of which is gone.
inline agent::JobDetail sample_detail() {
  agent::JobDetail detail;
  detail.summary = sample_job(17, "running");
  detail.summary.gpus = 2;
  detail.spec.name = "llama";
  detail.spec.user = "ann";
  detail.spec.request.gpus = 2;
  detail.spec.request.gpu_types = {"H100"};
  detail.spec.command.argv = {"python", "train.py", "--note", "it's fine"};
  detail.spec.command.environment = {"EPOCHS=3"};
  detail.spec.command.directory = "/home/ann";
  detail.spec.retry.retries = 2;
  agent::MemberInfo first{host_id('a'),         "a", 0,  {"GPU-1"}, "ready",
                          {{0, "running", ""}}, "",  "", 0};
  agent::MemberInfo second{host_id('b'), "b", 1, {"GPU-2"}, "ready", {{1, "lost", "host silent"}},
                           "",           "",  0};
  detail.attempts = {{1, Token{0, 41}, "started", "all ranks ready", {first, second}}};
  detail.transitions = {{LogIndex(40), 5000, "queued", "submitted"},
                        {LogIndex(43), 6500, "running", "all ranks ready"}};
  return detail;
}

inline agent::QuorumInfo sample_quorum() {
  agent::QuorumInfo quorum;
  quorum.cluster = ClusterId::from_bytes(std::string(16, 'k'));
  quorum.role = "leader";
  quorum.term = muster::Term(3);
  quorum.leader = host_id('a');
  quorum.leader_name = "a";
  quorum.commit = LogIndex(120);
  quorum.applied = LogIndex(119);
  quorum.tolerates = 1;
  quorum.voters = {{host_id('a'), "a", 120, 0, "leader"},
                   {host_id('b'), "b", 118, 210, "follower"}};
  quorum.voters[1].rack = "r2";
  quorum.voters[1].behind = 2;
  quorum.voters[1].why = "joined later";
  return quorum;
}

inline agent::WhyInfo sample_why() {
  agent::WhyInfo why;
  why.job = JobId(18);
  why.state = "queued";
  why.headline = "16 x H100 are wanted and 6 are free";
  why.wanted = 16;
  why.free = 6;
  why.lacking = 10;
  why.holders = {{JobId(12), "eval", 8, {"a"}, 96'000}, {JobId(13), "llama", 8, {"b", "c"}, 500}};
  why.would_start = {JobId(12)};
  why.fits_now = 6;
  why.left_out = {"d"};
  why.withheld = {{"host suspect", 8}, {"quarantined", 2}};
  why.open_hosts = 1;
  why.filters = {{"too few GPUs free", 3}, {"host unreachable", 1}};
  why.largest = {{"island", 4}, {"any", 6}};
  return why;
}

}  // namespace muster::cli
