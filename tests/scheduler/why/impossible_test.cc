// Requests that no host could ever hold, and the reason that is said.

#include "scheduler/why/impossible.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "tests/scheduler/placement/logged_fleet.h"
#include "tests/scheduler/state/cluster.h"

namespace muster::scheduler {
namespace {

using namespace testing;  // NOLINT: the fixture's verbs
using namespace std::chrono_literals;

std::string why_not(LoggedFleet& fleet, const Request& request) {
  return why_impossible(fleet.log.state, fleet.capacity, asking(request));
}

TEST(Impossible, WhatCanNeverBeIsSaidWithTheReason) {
  LoggedFleet fleet;
  entry::Register labelled = machine(1, 8, 64, 64'000, "r1");
  labelled.traits.labels = {"zone=a"};
  fleet.apply(labelled);
  fleet.apply(machine(2, 8, 64, 64'000, "r2"));
  const auto says = [&](const Request& request, const std::string& text) {
    const std::string why = why_not(fleet, request);
    EXPECT_NE(why.find(text), std::string::npos) << why;
  };
  Request request{.gpus = 1};
  EXPECT_EQ(why_not(fleet, request), "");
  request.gpu_types = {"B200"};
  says(request, "no host has GPUs of type B200; there are: H100");
  request.gpu_types = {"h100", "B200"};
  EXPECT_EQ(why_not(fleet, request), "");
  request.labels = {"zone=b"};
  says(request, "no host has the label zone=b; there are: zone=a");
  request.labels = {"zone=a"};
  request.gpus = 9;
  says(request,
       "the job asks for 9 h100,B200 GPUs, and the largest that could ever run has 8 GPUs");
  request = Request{.gpus = 16};
  request.pack = Pack::kRack;
  says(request, "16 GPUs in one rack, and the largest has 8 GPUs; --pack any would be possible");
  request.pack_wait = 1min;
  EXPECT_EQ(why_not(fleet, request), "") << "it is relaxed some day";
  request = Request{.gpus = 32, .gpus_per_host = 16};
  says(request, "no host has 16 GPUs; the most is 8 (host host1)");
  request = Request{.gpus = 8, .cpus = 9000};
  EXPECT_EQ(why_not(fleet, request), "");
  request.gpus = 16;
  says(request, "16 GPUs with 9 CPUs each, and the hosts could ever hold 14 of them");
  request = Request{.gpus = 1, .memory_mb = 64'001};
  says(request, "no host has 64001M of memory for each GPU; the most is 64000M (host host1)");
  request.memory_mb = 65'537;
  says(request, "no host has 64G of memory for each GPU; the most is 62.5G (host host1)");
  request = Request{.gpus = 4, .gpus_per_host = 4, .memory_mb = 20'480};
  says(request, "no host has 20G of memory for each of 4 GPUs; the most is 15.6G (host host1)");
  request = Request{.gpus = 1, .cpus = 100'500};
  says(request, "no host has 100.5 CPUs for each GPU; the most is 64 CPUs (host host1)");
  request.memory_mb = 65'537;
  says(request, "no host has 100.5 CPUs for each GPU; the most is 64 CPUs (host host1)");
  request = Request{.gpus = 17, .cpus = 100'500};
  says(request, "17 GPUs, and the largest that could ever run has 16 GPUs");
  request = Request{.gpus = 2, .cpus = 40'000, .memory_mb = 20'000};
  request.pack = Pack::kHost;
  says(request, "2 GPUs in one host, and the largest has 1 GPU; --pack any would be possible");
  request = Request{.gpus = 1};
  request.hosts = {"host3"};
  says(request, "no host is called host3");
  request.hosts = {"host1"};
  request.not_hosts = {"host1"};
  says(request, "--host and --not-host leave no host of the cluster");
  request = Request{.gpus = 1};
  request.gpu_types = {"h100"};
  request.not_labels = {"zone=a"};
  request.hosts = {"host1"};
  EXPECT_EQ(why_not(fleet, request),
            "no host among those that may be used has GPUs of type h100 and no label zone=a")
      << "its PID namespaces are not the reason";
}

TEST(Impossible, AClosenessThatNoHostNamesIsSaid) {
  LoggedFleet fleet;
  fleet.apply(machine(1, 8, 64, 64'000, ""));
  Request request{.gpus = 9};
  request.pack = Pack::kRack;
  const std::string why = why_not(fleet, request);
  EXPECT_EQ(why.find("no host has a rack"), std::string::npos)
      << "no closeness would help: " << why;
  fleet.apply(machine(2, 8, 64, 64'000, ""));
  EXPECT_NE(why_not(fleet, request).find("; no host has a rack (muster agent --rack)"),
            std::string::npos)
      << why_not(fleet, request);
}

}  // namespace
}  // namespace muster::scheduler
