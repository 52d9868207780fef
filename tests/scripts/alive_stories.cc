// Stories of membership: joining, misses, claims and their ends, leaving.

#include "tests/scripts/script.h"

namespace muster::scripts {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using membership::MemberState;

MemberState seen(ClusterScript& script, std::uint32_t by, std::uint32_t about) {
  return script.world().node(by).membership().member(script.world().id(about))->state;
}

bool all_alive(ClusterScript& script) {
  for (std::uint32_t by = 0; by < script.world().size(); ++by) {
    for (std::uint32_t about = 0; about < script.world().size(); ++about) {
      if (by != about && seen(script, by, about) != MemberState::kAlive) {
        return false;
      }
    }
  }
  return true;
}

void join(ClusterScript& script) {
  script.settle();
  script.say("h3 loses its power and comes back as a new start of the same host");
  script.world().power_off(3);
  script.until("h3 is given up", [&] { return seen(script, 0, 3) == MemberState::kUnreachable; });
  script.world().power_on(3);
  script.until("all see each other", [&] { return all_alive(script); });
  script.pass(5s);
  script.expect(script.world().node(0).membership().members().size() == 4, "still four hosts");
  script.expect(script.world().node(script.leader()).seat().state().hosts().size() == 4,
                "the quorum knows four hosts");
}

/// From the first packet on: nobody has met anybody.
void first_join(ClusterScript& script) {
  script.listen();
  script.until("all see each other", [&] {
    for (std::uint32_t host = 0; host < script.world().size(); ++host) {
      if (!script.world().is_running(host) ||
          script.world().node(host).membership().members().size() < script.world().size()) {
        return false;
      }
    }
    return script.has_leader() &&
           script.world().node(script.leader()).seat().state().hosts().size() ==
               script.world().size();
  });
  script.expect(all_alive(script), "everyone is alive to everyone");
}

void ring_answers(ClusterScript& script) {
  script.settle();
  script.say("only the cable between h3 and h4 is cut, until h3 or h4 misses the other");
  script.world().network().cut(3, 4);
  script.world().network().cut(4, 3);
  script.until("a miss calls the ring", [&] { return script.heard("call"); });
  script.pass(400ms);
  script.say("the cable is whole again");
  script.heal();
  script.pass(10s);
  script.expect(!script.heard("suspect"), "nobody was suspected by anyone");
  script.expect(all_alive(script), "everyone is alive to everyone");
}

void refutation(ClusterScript& script) {
  script.settle();
  script.say("h4 is cut off until somebody suspects it");
  script.cut_off(4);
  script.until("h4 is suspected", [&] { return script.heard("suspect"); });
  script.say("h4 is reachable again");
  script.heal();
  script.until("the suspicion is over", [&] { return all_alive(script); });
  script.pass(5s);
  script.expect(!script.heard("member_restarted"), "it needed no new start to be believed");
  script.expect(all_alive(script), "everyone is alive to everyone");
}

void agent_down(ClusterScript& script) {
  script.settle();
  script.say("the agent of h4 is killed; its kernel goes on and refuses connections");
  script.world().kill_agent(4);
  script.until("h4 has a verdict", [&] { return script.heard("unreachable"); });
  script.pass(2s);
  script.say("the agent of h4 is started again");
  script.world().start_agent(4);
  script.until("h4 is alive", [&] { return all_alive(script); });
  script.pass(2s);
  script.expect(all_alive(script), "everyone is alive to everyone");
}

void leave(ClusterScript& script) {
  script.settle();
  agent::Request request;
  request.verb = agent::Verb::kLeave;
  script.ask(3, "leave", request);
  script.until("the agent has ended", [&] { return !script.world().is_running(3); });
  script.pass(20s);
  script.expect(seen(script, 0, 3) == MemberState::kLeft, "h3 has left");
  script.expect(!script.heard("unreachable"), "nobody took it for dead");
}

}  // namespace

std::vector<Story> alive_stories() {
  const Words alive = kAliveWords;
  return {
      story("first_join", "Three agents start with nothing but the addresses of each other.",
            "They meet, found a quorum and register: once to learn their floor, once with their "
            "GPUs.",
            {.hosts = 3, .words = {"member_joined", "joined_cluster", "agent_registered"}},
            first_join),
      story("power_loss_and_return", "A host loses its power and comes back.",
            "Its verdict ends with the first word of the new start, and it is registered anew.",
            {.hosts = 4, .words = alive + kHelloWords, .times = true}, join),
      story("ring_answers_a_miss", "Two of five hosts lose each other for a moment.",
            "The miss calls the ring, whose veto keeps the claim away.",
            {.hosts = 5, .words = alive, .times = true}, ring_answers),
      story("refutation", "A host is cut off until it is suspected, then it is back.",
            "Its own answers clear it; nothing but acks is needed.",
            {.hosts = 5, .words = alive, .times = true}, refutation),
      story("agent_down", "An agent dies on a living host and is started again.",
            "Refused connections are claimed as such, and the new start clears them at once.",
            {.hosts = 5, .words = alive, .times = true}, agent_down),
      story("graceful_leave", "An agent is asked to leave.",
            "It says goodbye; it is LEFT to everyone and nobody claims it silent.",
            {.hosts = 4, .words = alive, .times = true}, leave),
  };
}

}  // namespace muster::scripts
