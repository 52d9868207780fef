#pragma once
// The classes that are beyond the limits of class_rules.h, with their exact numbers. A row is
// added or raised only with a reason in the commit. A change that makes a class smaller lowers its
// row, or takes it out.

#include <string_view>

#include "tests/repository/class_rules.h"

namespace muster::repository {

inline constexpr std::string_view kRecord = "a record that travels or is stored whole";
inline constexpr std::string_view kOptions = "options, each with a default";
inline constexpr std::string_view kNotSplit = "outgrew one noun before there was this rule";

/// Fields, public functions, private functions.
inline constexpr NamedClass kNamed[] = {
    {"agent/api/hosts.h", "HostInfo", 18, 0, 0, kRecord},
    {"agent/api/jobs.h", "JobSummary", 28, 0, 0, kRecord},
    {"agent/api/queues.h", "ShareInfo", 17, 0, 0, kRecord},
    {"agent/api/jobs.h", "WhyInfo", 30, 0, 0, kRecord},
    {"agent/api/rest/follow_book.h", "FollowBook", 14, 9, 27,
     "each turn of following has a function"},
    {"agent/gang/grants.h", "Grants", 2, 35, 6, "each word that a grant hears is a function"},
    {"agent/hardware/probe_plan.h", "ProbePlan", 16, 8, 23, "the looks are to be split off"},
    {"agent/node/node_view.h", "NodeView", 16, 0, 0, "a reference to each part that answers"},
    {"agent/node/node.h", "Node", 16, 19, 24, "all parts of an agent, composed"},
    {"agent/step/outbox.h", "Outbox", 9, 38, 1, "each kind of what leaves a Node is a function"},
    {"bench/lease_farm.h", "LeaseFarm", 16, 14, 25, "10,000 hosts and their links in one"},
    {"bench/quorum_voter.h", "Voter", 22, 1, 12, "a voter, its load and its figures in one"},
    {"cli/kit/agent_verb.h", "AgentOptions", 19, 0, 0, kOptions},
    {"cli/kit/world.h", "World", 16, 0, 0, "every door of the process, and nothing else"},
    {"crdt/edge/storage_thread.cc", "StorageThread::Impl", 16, 6, 10,
     "two threads, and what they share under one lock"},
    {"gossip/edge/zmq_transport.h", "ZmqTransport::Stats", 28, 0, 0, "one counter a reason"},
    {"membership/membership.h", "Membership", 17, 17, 27, kNotSplit},
    {"membership/probe.h", "SubjectProbe", 29, 11, 0, kNotSplit},
    {"scheduler/placement/capacity.h", "Capacity", 13, 28, 8, "three indexes behind one door"},
    {"scheduler/raft/raft.h", "Raft", 37, 30, 66, "one noun, the paper's, in five sources"},
    {"scheduler/raft/types.h", "RaftConfig", 20, 1, 0, kRecord},
    {"scheduler/seat/quorum_seat.h", "QuorumSeat", 15, 32, 23, "all parts of a seat, composed"},
    {"scheduler/state/array_book.h", "TaskArray", 20, 14, 0, kRecord},
    {"scheduler/policy/pending_index.h", "PendingIndex", 10, 27, 22,
     "the facade of waiting jobs, their order and the findings of a leader"},
    {"scheduler/state/books.h", "Books", 21, 0, 0, "each book of the state"},
    {"scheduler/state/job_book.h", "JobBook", 11, 28, 4, "many small questions about jobs"},
    {"scheduler/state/job_record.h", "HostRecord", 23, 9, 0, kRecord},
    {"scheduler/state/reservations.h", "Attempt", 19, 8, 0, kRecord},
    {"scheduler/state/snapshot.cc", "Parts", 19, 0, 0, "each part of a snapshot"},
    {"scheduler/state/state.h", "State", 3, 58, 1, "the facade of all books"},
    {"scheduler/why/explain.h", "Why", 33, 2, 0, kRecord},
    {"tests/cli/kit/fake_world.h", "FakeWorld", 25, 13, 2, "every door of the process, faked"},
    {"tests/membership/virtual_cluster.h", "VirtualCluster", 13, 26, 24, "each fault is a verb"},
    {"tests/scheduler/raft/raft_sim.h", "RaftSim", 16, 1, 30, "voters, their network and disks"},
    {"tests/sim/profiles.h", "SwarmProfile", 32, 0, 0, kOptions},
    {"tests/sim/swarm.cc", "Swarm", 15, 1, 44, "each fault and each operator's act is a function"},
    {"tests/sim/world.h", "World", 19, 66, 60, "the whole virtual cluster; to be split"},
    {"tests/sim/world.h", "WorldOptions", 25, 0, 0, kOptions},
    {"tests/sim/world_host.h", "World::Host", 50, 1, 0, "a whole virtual host; to be split"},
};

}  // namespace muster::repository
