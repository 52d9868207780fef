// The counters of the loop, the links and the door as metrics, and a text that is made once.

#include "agent/edge/run/door_metrics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/agent/api/rest/metrics_parser.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using MetricsParser = ::muster::agent::testing::MetricsParser;

const Instant kBegan{1000s};

TEST(DoorMetrics, StallsAreLateEndsOfWaitsAndLongTurns) {
  DoorMetrics metrics(7);
  metrics.waited(kBegan, 1s, kBegan + 1499ms);
  EXPECT_EQ(metrics.edge().loop.stalls, 0U);
  metrics.waited(kBegan + 1600ms, 0s, kBegan + 2100ms);  // Half a second late.
  EXPECT_EQ(metrics.edge().loop.stalls, 1U);
  metrics.waited(kBegan + 5100ms, 1s, kBegan + 5100ms);  // Three seconds of work.
  EXPECT_EQ(metrics.edge().loop.stalls, 2U);
  EXPECT_EQ(metrics.edge().loop.stalled, 3500ms);
  EXPECT_EQ(metrics.edge().started_unix_ms, 7);
  EXPECT_GT(metrics.edge().loop.cpu, 0s);
}

TEST(DoorMetrics, ATextIsMadeAtMostOnceASecond) {
  DoorMetrics metrics(0);
  std::uint64_t made = 0;
  const auto make = [&made]() -> std::vector<MetricFamily> {
    return {single_metric("muster_rows", "Rows.", MetricType::kGauge, ++made)};
  };
  const std::string first = metrics.text(kBegan, make);
  EXPECT_EQ(MetricsParser(first).value("muster_rows", {}), "1");
  EXPECT_EQ(metrics.text(kBegan + 999ms, make), first);
  EXPECT_EQ(MetricsParser(metrics.text(kBegan + 1s, make)).value("muster_rows", {}), "2");
}

TEST(DoorMetrics, EachCounterOfTheLinksIsOne) {
  gossip::ZmqTransport::Stats links;
  links.received = 1;
  links.dropped_malformed = 2;
  links.dropped_noise = 3;
  links.dropped_links_full = 4;
  links.dropped_queue_full = 5;
  links.ended_unfinished = 6;
  links.refused_logins = 7;
  links.failed_logins = 8;
  const LinkMetrics metrics = link_metrics(links, 9);
  EXPECT_EQ(metrics.messages_received, 1U);
  EXPECT_EQ(metrics.drops.malformed, 5U);
  EXPECT_EQ(metrics.drops.queue_full, 9U);
  EXPECT_EQ(metrics.drops.logins, 9U);
  EXPECT_EQ(metrics.refusals.unfinished, 6U);
  EXPECT_EQ(metrics.refusals.logins, 15U);
}

TEST(DoorMetrics, AServerThatTookAnothersPlaceIsAddedToIt) {
  HttpStats old;
  old.accepted = 3;
  old.cut_silent = 1;
  HttpStats next;
  next.accepted = 4;
  next.connections_now = 2;
  HttpStats socket;
  socket.questions = 5;
  const std::vector<MetricFamily> families =
      door_families({{true, old}, {false, socket}, {true, next}});
  const MetricsParser parsed(metrics_text(families));
  EXPECT_EQ(parsed.errors(), std::vector<std::string>());
  EXPECT_LE(series_count(families), kDoorSeriesMax);
  EXPECT_EQ(parsed.value("muster_http_connections_total", {{"door", "https"}}), "7");
  EXPECT_EQ(parsed.value("muster_http_connections_total", {{"door", "socket"}}), "0");
  EXPECT_EQ(parsed.value("muster_http_connections", {{"door", "https"}}), "2");
  EXPECT_EQ(parsed.value("muster_http_requests_total", {{"door", "socket"}}), "5");
  EXPECT_EQ(parsed.value("muster_http_closed_connections_total",
                         {{"door", "https"}, {"reason", "silent"}}),
            "1");
}

TEST(DoorMetrics, EachHelpSaysWhatToDo) {
  for (const MetricFamily& family : door_families({{true, {}}})) {
    EXPECT_TRUE(family.name.starts_with("muster_http_")) << family.name;
    EXPECT_TRUE(family.help.ends_with('.')) << family.name;
    EXPECT_LE(family.help.size(), 160U) << family.name;
    EXPECT_NE(family.help.find_first_of(";,"), std::string::npos) << family.name;
  }
}

TEST(DoorMetrics, NoFamilyHasTheNameOfOneOfTheEdge) {
  std::vector<MetricFamily> all = edge_families(DoorMetrics(1).edge());
  for (MetricFamily& family : door_families({{true, {}}, {false, {}}})) {
    all.push_back(std::move(family));
  }
  EXPECT_EQ(MetricsParser(metrics_text(all)).errors(), std::vector<std::string>());
}

}  // namespace
}  // namespace muster::agent
