// Stories of the quorum: the first one, elections, and the state that survives a change of leader.

#include "scheduler/seat/state_hasher.h"
#include "tests/scripts/script.h"
#include "tests/sim/wrong_entry.h"

namespace muster::scripts {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::JobState;

void first_quorum(ClusterScript& script) {
  script.listen();
  script.until("a leader", [&] { return script.has_leader(); });
  script.pass(1s);
  std::set<ClusterId> clusters;
  for (std::uint32_t host = 0; host < script.world().size(); ++host) {
    clusters.insert(script.world().node(host).cluster());
  }
  script.expect(clusters.size() == 1 && !clusters.begin()->is_zero(), "all are of one cluster");
}

void election(ClusterScript& script) {
  script.settle();
  const std::uint32_t old = script.leader();
  script.say("the agent of the leader is killed");
  script.world().kill_agent(old);
  script.until("another leads", [&] { return script.has_leader(); });
  script.pass(500ms);
  script.say("the agent of the old leader is started again");
  script.world().start_agent(old);
  script.pass(8s);
  script.expect(script.has_leader() && script.leader() != old, "the new leader still leads");
}

void frozen_leader(ClusterScript& script) {
  script.settle();
  const std::uint32_t old = script.leader();
  script.say("the leader's host stands still for 4 s");
  script.world().freeze(old, 4s);
  script.pass(10s);
  script.expect(script.has_leader() && script.leader() != old, "another leads");
  script.expect(!script.world().node(old).seat().leads(), "the old one follows");
}

void mid_reservation(ClusterScript& script) {
  script.settle();
  script.say("h4's disk takes 6 s a write: it cannot be ready soon");
  script.world().set_fsync(4, 6s, 6s);
  script.submit(script.follower(), "k1", job_of(10, 3s));
  const std::uint32_t old = script.leader();
  script.until("the gang is reserved", [&] { return script.is(1, JobState::kScheduled); });
  script.pass(200ms);
  script.say("the leader's host stands still for 3 s");
  script.world().freeze(old, 3s);
  script.until("another leads", [&] { return script.has_leader() && script.leader() != old; });
  script.until("the job ends", [&] { return script.is(1, JobState::kCompleted); });
  script.pass(3s);
  const scheduler::Job* job = script.job(1);
  script.expect(job != nullptr && job->life.attempts == 1, "one attempt was enough");
}

void retried_submit(ClusterScript& script) {
  script.settle();
  const std::uint32_t first = script.follower(0);
  const std::uint32_t second = script.follower(1);
  script.say("the voters' disks take 8 s a write");
  for (std::uint32_t host = 0; host < script.world().size(); ++host) {
    script.world().set_fsync(host, 8s, 8s);
  }
  script.submit(first, "k1", job_of(2, 2s));
  script.say("the disks are fast again; the user repeats through another node");
  for (std::uint32_t host = 0; host < script.world().size(); ++host) {
    script.world().set_fsync(host, 1ms, 1ms);
  }
  script.submit(second, "k1", job_of(2, 2s));
  script.until("the job ends", [&] { return script.is(1, JobState::kCompleted); });
  script.pass(1s);
  script.submit(first, "k1", job_of(2, 2s));
  script.pass(1s);
  script.expect(
      script.has_leader() && script.world().node(script.leader()).seat().state().jobs().size() == 1,
      "there is one job");
}

void no_quorum(ClusterScript& script) {
  script.settle();
  script.submit(script.follower(), "k1", job_of(2, 40s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.pass(2s);
  const std::uint32_t left = script.leader();
  script.say("the other two hosts are cut off, from the leader and from each other");
  for (std::uint32_t host = 0; host < script.world().size(); ++host) {
    if (host != left) {
      script.cut_off(host);
    }
  }
  script.until("the leader steps down", [&] { return script.heard("stepped_down"); });
  script.pass(5s);
  script.submit(left, "k2", job_of(1, 1s));
  script.say("the network is whole again");
  script.heal();
  script.until("somebody leads", [&] { return script.has_leader(); });
  script.until("the job ends", [&] { return script.is(1, JobState::kCompleted); });
  script.pass(1s);
  script.expect(script.job(1)->life.attempts == 1, "job 1 ran once, all the while");
  script.expect(script.job(2) == nullptr, "exit 5 was true: nothing was accepted");
}

void state_diverges(ClusterScript& script) {
  script.settle();
  script.submit(script.follower(), "k1", job_of(1, 40s));
  script.until("a job runs", [&] { return script.is(1, JobState::kRunning); });
  const std::uint32_t host = script.follower();
  const auto seat = [&] { return &script.world().node(host).seat(); };
  script.say("an entry in the log of a voter is another while its agent is off");
  const auto records = sim::with_wrong_entry(script.world().disk(host), "run_ms");
  script.expect(records.has_value(), "there is such an entry");
  script.world().lose_raft(host, *records);
  script.world().start_agent(host);
  script.until("it is noticed", [&] { return script.heard("state_diverged"); });
  script.expect(!script.world().is_running(host) || !seat()->knows_state(),
                "it serves nothing from then on");
  script.until("it votes again", [&] {
    return script.world().is_running(host) && seat()->has_seat() && seat()->is_voter() &&
           seat()->knows_state();
  });
  script.pass(1s);
  script.expect(seat()->raft()->seat() != SeatId(), "from another seat");
  script.expect(
      script.has_leader() &&
          seat()->state().digest() == script.world().node(script.leader()).seat().state().digest(),
      "it holds what the leader holds");
}

}  // namespace

std::vector<Story> quorum_stories() {
  const Words jobs = {"job_queued", "job_scheduled", "job_started", "job_stopping", "job_ended"};
  return {
      story("first_quorum", "Three agents that expect three voters find each other.",
            "All promise the same set durably before anyone forms it; then one is elected.",
            {.hosts = 3, .words = kQuorumWords, .times = true}, first_quorum),
      story("election_after_the_leaders_death", "The agent of the leader dies.",
            "A pre-vote starts on the reset link; one election; the returned agent follows.",
            {.hosts = 3, .words = kQuorumWords, .times = true}, election),
      story("frozen_leader", "The host of the leader stands still, then wakes up.",
            "Another leads meanwhile; the woken one steps down before it decides anything.",
            {.hosts = 3, .words = kQuorumWords, .times = true}, frozen_leader),
      story("leader_change_in_mid_reservation",
            "The leader stands still between Ready of some members and Ready of all.",
            "The next leader goes on from the log: same token, one Start, one completion.",
            {.hosts = 5, .words = kGangWords + Words{"leader_elected", "scheduler_leads"}},
            mid_reservation),
      story("submit_repeated_through_another_node",
            "A submit is not answered in time; it is repeated under its key elsewhere.",
            "Exit 75 says that it may have been accepted; the key makes it one job.",
            {.hosts = 3, .words = jobs}, retried_submit),
      story("no_quorum_kills_nothing", "The leader loses both other voters for a while.",
            "What runs goes on, nothing new is accepted, and exit 5 says so truly.",
            {.hosts = 3, .words = jobs + Words{"stepped_down", "leader_elected"}}, no_quorum),
      story("a_voters_state_differs", "One voter of three adds its log up to something else.",
            "It is told so, serves nothing more, and votes again from another seat by itself.",
            {.hosts = 3,
             .words = {"seat_taken", "configuration_changed", "leader_followed", "electorate_step"},
             .times = true,
             .compact_entries = scheduler::kHashPoints},
            state_diverges),
  };
}

}  // namespace muster::scripts
