// `muster hosts`: what the cluster can use, what it cannot, and why.

#include <gtest/gtest.h>

#include "agent/api/hosts.h"
#include "tests/cli/kit/fake_world.h"
#include "tests/cli/kit/samples.h"

namespace muster::cli {
namespace {

TEST(Hosts, TotalsCountWhatCanBeUsedAndSayWhatCannot) {
  FakeWorld world;
  agent::HostList list;
  agent::HostUseList uses;
  const auto add = [&](const std::string& name, const std::string& state,
                       const std::string& detail) -> agent::HostUse& {
    agent::HostInfo host = sample_host(name);
    host.state = state;
    host.detail = detail;
    list.hosts.push_back(host);
    agent::HostUse use;
    use.id = host.id;
    use.name = name;
    use.gpus = 8;
    uses.hosts.push_back(use);
    return uses.hosts.back();
  };
  add("a", "alive", "").gpus_free = 8;
  agent::HostUse& drained = add("b", "alive", "");
  drained.is_drained = true;
  drained.drain.by = "ann";
  drained.gpus_used = 2;
  drained.jobs = {JobId(7)};
  add("c", "alive", "starts nothing: disk: 3 MiB free");
  add("d", "unreachable", "silent").gpus_used = 8;
  agent::HostUse& gone = add("e", "left", "");
  gone.is_drained = true;
  add("f", "revoked", "").is_drained = true;
  add("g", "unreachable", "silent").is_removed = true;
  list.voter_notes = {"voter d does not answer: a replaces it in 4m"};
  world.answers(answer_with(list));
  world.uses = uses;
  const std::string text = world.output_of({"hosts", "--all"});
  EXPECT_EQ(text.substr(text.find("voter d")),
            R"(voter d does not answer: a replaces it in 4m
host b drained by ann 0s ago: waits for job 7
c starts nothing: disk: 3 MiB free
H100: 32 GPUs, 10 usable: 2 used, 8 free; withheld 6 drained (b), 8 starts nothing (c), 8
  unreachable (d)
)");
  EXPECT_NE(text.find("alive, starts nothing"), std::string::npos);
}

}  // namespace
}  // namespace muster::cli
