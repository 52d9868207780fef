// Gangs among failures: programs, agents, hosts.

#include "tests/scripts/script.h"

namespace muster::scripts {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::JobState;

/// A host with running ranks that does not lead.
std::uint32_t some_member(ClusterScript& script) {
  for (std::uint32_t host = 0; host < script.world().size(); ++host) {
    if (host != script.leader() && script.launched(host)) {
      return host;
    }
  }
  script.expect(false, "a member besides the leader");
  return 0;
}

std::string name(std::uint32_t host) {
  return "h" + std::to_string(host);
}

void program_fails(ClusterScript& script) {
  script.settle();
  scheduler::JobSpec spec = job_of(4, 2s, {"fail_rank=1"});
  spec.retry.retries = 1;
  script.submit(script.follower(), "k1", spec);
  script.until("it has failed", [&] { return script.is(1, JobState::kFailed); });
  script.pass(2s);
  script.expect(script.job(1)->life.attempts == 2, "it was tried twice");
  script.expect(script.job(1)->life.exit_code == 1, "its exit code is the rank's");
}

void agent_restarts(ClusterScript& script) {
  script.settle();
  script.submit(script.leader(), "k1", job_of(6, 15s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.pass(2s);
  const std::uint32_t member = script.follower();
  script.say("the agent of " + name(member) + " is killed; its ranks run on");
  script.world().kill_agent(member);
  script.pass(3s);
  script.say("the agent of " + name(member) + " is started again");
  script.world().start_agent(member);
  script.until("the job ends", [&] { return script.is(1, JobState::kCompleted); });
  script.pass(2s);
  script.expect(script.job(1)->life.attempts == 1, "one attempt was enough");
}

void host_lost(ClusterScript& script) {
  script.settle();
  script.submit(script.leader(), "k1", job_of(4, 30s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.pass(2s);
  const std::uint32_t member = some_member(script);
  script.say(name(member) + " loses its power for good");
  script.world().power_off(member);
  script.until(
      "the job ends", [&] { return script.is(1, JobState::kCompleted); }, 120s);
  script.pass(2s);
  script.expect(script.job(1)->life.attempts == 2, "the second attempt completed");
  script.expect(script.job(1)->life.failures.count == 0, "no retry of the user was used");
}

void fails_before_its_host_is_lost(ClusterScript& script) {
  script.settle();
  script.submit(script.follower(), "k1", job_of(4, 2s, {"fail_rank=1"}));
  script.until("it runs", [&] {
    bool is_elsewhere = false;
    for (std::uint32_t host = 0; host < script.world().size(); ++host) {
      is_elsewhere = is_elsewhere || (host != script.leader() && script.launched(host));
    }
    return is_elsewhere && script.is(1, JobState::kRunning);
  });
  const std::uint32_t member = some_member(script);
  script.until("every rank is gone",
               [&] { return script.world().node(script.leader()).seat().state().live().empty(); });
  script.say(name(member) + " loses its power for good");
  script.world().power_off(member);
  script.until("another attempt runs", [&] {
    return script.is(1, JobState::kRunning) && script.job(1)->life.attempts == 2;
  });
  script.expect(script.job(1)->life.failures.count == 0, "no retry of the user was used");
  script.until("it has failed", [&] { return script.is(1, JobState::kFailed); });
  script.expect(script.job(1)->life.exit_code == 1, "its exit code is the rank's");
  script.expect(script.job(1)->life.failures.count == 1, "the second failure is the program's own");
}

void host_silent(ClusterScript& script) {
  script.settle();
  script.submit(script.leader(), "k1", job_of(4, 120s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.pass(2s);
  const std::uint32_t member = some_member(script);
  script.say(name(member) + " is cut off; its ranks run on until their hold ends");
  script.cut_off(member);
  script.until("another attempt runs", [&] {
    return script.is(1, JobState::kRunning) && script.job(1)->life.attempts == 2;
  });
  script.until("its old ranks are gone", [&] { return !script.launched(member); });
  script.until("its GPUs are free in the log", [&] { return script.heard("host_expired"); });
  script.say(name(member) + " is reachable again");
  script.heal();
  script.pass(20s);
  script.expect(script.is(1, JobState::kRunning), "the second attempt was not disturbed");
}

void agent_killed_when_ready(ClusterScript& script) {
  script.settle();
  script.say("h3's disk takes 2 s a write: it cannot be ready soon");
  script.world().set_fsync(3, 2s, 2s);
  script.submit(script.leader(), "k1", job_of(8, 2s));
  script.until("it is reserved", [&] { return script.is(1, JobState::kScheduled); });
  script.pass(300ms);
  const std::uint32_t member = script.follower();
  script.say("the agent of " + name(member) + " is killed after its Ready, and started again");
  script.world().kill_agent(member);
  script.pass(100ms);
  script.world().start_agent(member);
  script.until("the attempt is given up", [&] { return script.heard("attempt_aborted"); });
  script.say("h3's disk is fast again");
  script.world().set_fsync(3, 1ms, 1ms);
  script.until("the job ends", [&] { return script.is(1, JobState::kCompleted); });
  script.pass(2s);
  script.expect(script.job(1)->life.attempts == 2, "the second attempt completed");
}

void supervisor_dies(ClusterScript& script) {
  script.settle();
  script.submit(script.leader(), "k1", job_of(4, 10s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.pass(1s);
  const std::uint32_t member = some_member(script);
  script.say("the supervisor on " + name(member) + " dies; the kernel ends its ranks");
  script.world().kill_supervisor(member);
  script.until("the job has ended", [&] {
    return script.is(1, JobState::kCompleted) || script.is(1, JobState::kFailed);
  });
  script.pass(2s);
}

}  // namespace

std::vector<Story> failure_stories() {
  return {
      story("program_fails_and_is_retried", "Rank 1 of 4 exits 1, each time; one retry is allowed.",
            "A failure stops the rest; a new token for the retry; then the job has failed.",
            {.hosts = 3, .words = kGangWords}, program_fails),
      story("restarted_agent_adopts_its_ranks", "A member's agent dies and comes back.",
            "Its ranks never notice; hello re-keys the grant; the job completes in one attempt.",
            {.hosts = 3, .words = kGangWords + kHelloWords}, agent_restarts),
      story("host_lost_and_gang_requeued", "A member's host loses its power for good.",
            "The rest is stopped after the patience; a higher token runs the job elsewhere.",
            {.hosts = 5, .words = kGangWords + Words{"unreachable"}, .times = true}, host_lost),
      story("rank_fails_before_its_host_is_lost",
            "A rank fails and all end; seconds later one of their hosts has a verdict. No retries.",
            "The failure waits for the verdict and is the host's; the next one is the program's.",
            {.hosts = 5, .words = kGangWords + Words{"unreachable"}, .times = true},
            fails_before_its_host_is_lost),
      story("host_silent_until_expired", "A member's host is cut off longer than its hold.",
            "It stops its ranks by itself; its GPUs are freed by Condemn and Expire, not before.",
            {.hosts = 5, .words = kGangWords + kHelloWords, .times = true}, host_silent),
      story("agent_killed_between_ready_and_start",
            "An agent dies after its Ready, before all are ready, and comes back.",
            "READY is not re-keyed: the attempt is aborted and no rank of it ever runs.",
            {.hosts = 4, .words = kGangWords + kHelloWords}, agent_killed_when_ready),
      story("supervisor_dies", "The supervisor of a member dies with its ranks.",
            "What ended without evidence is lost, never a success; the rest is stopped.",
            {.hosts = 3, .words = kGangWords}, supervisor_dies),
  };
}

}  // namespace muster::scripts
