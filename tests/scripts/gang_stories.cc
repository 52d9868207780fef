// The life of a gang when hosts and programs behave.

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "tests/scripts/script.h"

namespace muster::scripts {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::JobState;

void runs(ClusterScript& script) {
  script.settle();
  script.submit(script.follower(), "k1", job_of(6, 8s));
  script.until("the job ends", [&] { return script.is(1, JobState::kCompleted); });
  script.pass(3s);
  script.expect(script.job(1)->life.exit_code == 0, "it exits 0");
}

void waits(ClusterScript& script) {
  script.settle();
  script.submit(script.follower(), "k1", job_of(4, 6s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.submit(script.follower(), "k2", job_of(6, 2s));
  script.pass(1s);
  script.expect(script.is(2, JobState::kQueued), "two GPUs are free, and job 2 takes none of them");
  agent::Request why;
  why.verb = agent::Verb::kWhy;
  why.arguments = agent::encode_payload(agent::JobRef{JobId(2)});
  const agent::Response response = script.ask(script.leader(), "why job=2", why);
  const auto info = agent::decode_payload<agent::WhyInfo>(response.payload);
  script.say(info.has_value() ? info->headline : "no answer");
  script.until("the second ends", [&] { return script.is(2, JobState::kCompleted); });
  script.pass(2s);
}

void impossible(ClusterScript& script) {
  script.settle();
  script.submit(script.follower(), "k1", job_of(7, 1s));
  script.pass(2s);
}

void cancelled(ClusterScript& script) {
  script.settle();
  script.submit(script.follower(), "k1", job_of(4, 60s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.pass(1s);
  script.cancel(script.follower(1), 1);
  script.until("it is cancelled", [&] { return script.is(1, JobState::kCancelled); });
  script.pass(3s);
  for (std::uint32_t host = 0; host < script.world().size(); ++host) {
    script.expect(!script.launched(host), "no rank is left on h" + std::to_string(host));
  }
}

void cancelled_early(ClusterScript& script) {
  script.settle();
  script.say("h3's disk takes 2 s a write: it cannot be ready soon");
  script.world().set_fsync(3, 2s, 2s);
  script.submit(script.leader(), "k1", job_of(8, 60s));
  script.until("it is reserved", [&] { return script.is(1, JobState::kScheduled); });
  script.pass(1s);
  script.cancel(script.leader(), 1);
  script.until("it is cancelled", [&] { return script.is(1, JobState::kCancelled); });
  script.world().set_fsync(3, 1ms, 1ms);
  script.pass(30s);
  script.expect(!script.heard("ranks_started"), "no rank ever ran");
  for (std::uint32_t host = 0; host < script.world().size(); ++host) {
    script.expect(script.world().node(host).gang_agent().grants().empty(),
                  "h" + std::to_string(host) + " keeps no grant");
  }
}

/// Five hosts of one rack. The relay is the one with the lowest id.
void through_a_relay(ClusterScript& script) {
  script.settle();
  script.submit(script.leader(), "k1", job_of(10, 60s));
  script.until("it runs", [&] { return script.is(1, JobState::kRunning); });
  script.until("renewals come together", [&] { return script.heard("relayed_acks"); });
  script.pass(6s);
  std::uint32_t relay = 0;
  for (std::uint32_t host = 1; host < script.world().size(); ++host) {
    relay = script.world().id(host) < script.world().id(relay) ? host : relay;
  }
  script.expect(relay != script.leader(), "the relay does not lead");
  script.say("the relay, h" + std::to_string(relay) + ", freezes for 4 s");
  script.world().freeze(relay, 4s);
  script.pass(12s);
  script.expect(script.is(1, JobState::kRunning), "nothing was stopped");
}

}  // namespace

std::vector<Story> gang_stories() {
  return {
      story("a_gang_runs", "Six ranks on three hosts run for eight seconds and exit 0.",
            "Assign, Ready of all, Start, ranks, Finish of all: each once, in this order.",
            {.hosts = 3, .words = kGangWords + Words{"renew", "renew_ack"}}, runs),
      story("a_gang_waits", "A gang of six arrives while two of six GPUs are free.",
            "It takes nothing until all six are free, and `why` says what it waits for.",
            {.hosts = 3, .words = kGangWords}, waits),
      story("more_than_there_is", "A gang larger than the cluster is submitted.",
            "It is refused with the reason at once; nothing is queued.",
            {.hosts = 3, .words = kGangWords}, impossible),
      story("cancel_of_a_running_gang", "A running gang is cancelled through any node.",
            "Every rank is signalled and gone before the job is called cancelled.",
            {.hosts = 3, .words = kGangWords}, cancelled),
      story("cancel_in_mid_reservation", "A gang is cancelled before all its members are ready.",
            "Abort frees at once; the late Ready is ignored and no rank ever runs.",
            {.hosts = 4, .words = kGangWords}, cancelled_early),
      story(
          "renewals_through_a_relay",
          "A rack's renewals go through one of its hosts, which freezes.",
          "One message a second brings many; what the frozen relay holds back goes directly, under "
          "the same nonce, and is answered.",
          {.hosts = 5,
           .words = {"job_state", "renew", "renew_ack", "relayed_renews", "relayed_acks"},
           .times = true,
           .relay = true},
          through_a_relay),
  };
}

}  // namespace muster::scripts
