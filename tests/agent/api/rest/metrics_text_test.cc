// The text of metrics, and those of the loop around a node. A strict reader checks the format.

#include "agent/api/rest/metrics_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "agent/api/rest/edge_metrics.h"
#include "tests/agent/api/rest/metrics_parser.h"

namespace muster::agent {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using testing::MetricsParser;

const std::vector<std::string> kNoErrors;

MetricFamily with_label(const std::string& value) {
  return {"muster_one", "A help.", MetricType::kGauge, {{{{"name", value}}, 1, {}}}};
}

TEST(MetricsText, FamiliesStandInTheirOrderWithHelpAndType) {
  const std::vector<MetricFamily> families = {
      {"muster_b_total",
       "First, a \\ and a\nline.",
       MetricType::kCounter,
       {{{{"z", "1"}, {"a", "2"}}, 7, {}}, {{{"z", "2"}, {"a", "2"}}, 8, {}}}},
      {"muster_empty", "It has no sample.", MetricType::kGauge, {}},
      single_metric("muster_a_seconds", "Second.", MetricType::kGauge, metric_seconds(1500ms)),
  };
  const std::string text = metrics_text(families);
  EXPECT_EQ(text,
            "# HELP muster_b_total First, a \\\\ and a\\nline.\n"
            "# TYPE muster_b_total counter\n"
            "muster_b_total{z=\"1\",a=\"2\"} 7\n"
            "muster_b_total{z=\"2\",a=\"2\"} 8\n"
            "# HELP muster_a_seconds Second.\n"
            "# TYPE muster_a_seconds gauge\n"
            "muster_a_seconds 1.5\n");
  EXPECT_EQ(MetricsParser(text).errors(), kNoErrors);
  EXPECT_EQ(series_count(families), 3U);
  EXPECT_EQ(metrics_text({}), "");
}

TEST(MetricsText, ValuesAreExactDecimals) {
  for (const auto& [value, text] : std::vector<std::pair<MetricValue, std::string>>{
           {0, "0"},
           {7, "7"},
           {UINT64_MAX, "18446744073709551615"},
           {{0, 9}, "0"},
           {{1, 3}, "0.001"},
           {{1000, 3}, "1"},
           {{1500, 3}, "1.5"},
           {{12'345, 2}, "123.45"},
           {{10, 0}, "10"},
           {{UINT64_MAX, 18}, "18.446744073709551615"},
           {metric_flag(true), "1"},
           {metric_flag(false), "0"},
           {metric_seconds(-1s), "0"},
           {metric_seconds(90min), "5400"},
           {metric_seconds(1ns), "0.000000001"},
           {metric_seconds_of_ms(100'020), "100.02"}}) {
    EXPECT_EQ(value.text(), text);
  }
}

TEST(MetricsText, AnyValueOfALabelIsReadAsItWas) {
  for (const std::string value :
       {"", "plain", "a\"b", "a\\b", "a\nb", "\\n", "\\", "\"", "}", "{a=\"b\"} 1", ",", "# TYPE",
        "gr\xC3\xBC\xC3\x9F", "\xF0\x9F\x98\x80"}) {
    SCOPED_TRACE(value);
    const MetricsParser parsed(metrics_text({with_label(value)}));
    EXPECT_EQ(parsed.errors(), kNoErrors);
    EXPECT_EQ(parsed.value("muster_one", {{"name", value}}), "1");
  }
}

TEST(MetricsText, BytesThatAreNotUtf8AreReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  for (const auto& [value, text] :
       std::vector<std::pair<std::string, std::string>>{{"a\xFFz", "a" + mark + "z"},
                                                        {"\xC3", mark},
                                                        {"\xC3\xBC\xC3", "\xC3\xBC" + mark},
                                                        {"\xE2\x82", mark + mark},
                                                        {"\xC0\xAF", mark + mark},
                                                        {"\xED\xA0\x80", mark + mark + mark}}) {
    EXPECT_EQ(metric_label(value), text);
    EXPECT_EQ(metric_label(text), text);
    const MetricsParser parsed(metrics_text({with_label(value)}));
    EXPECT_EQ(parsed.errors(), kNoErrors);
    EXPECT_EQ(parsed.value("muster_one", {{"name", text}}), "1");
  }
}

TEST(MetricsTextDeathTest, ABrokenDocumentIsNotWritten) {
  const MetricSample plain{{}, 1, {}};
  const MetricSample ab{{{"a", "1"}, {"b", "2"}}, 1, {}};
  const MetricSample ba{{{"b", "2"}, {"a", "1"}}, 1, {}};
  const MetricSample bucket{{{"le", "1"}}, 1, "_bucket"};
  const MetricType gauge = MetricType::kGauge;
  const std::vector<std::vector<MetricFamily>> broken = {
      {{"m", "h", gauge, {plain, plain}}},                         // one series twice
      {{"m", "h", gauge, {ab, ba}}},                               // whatever the order of labels
      {{"m", "h", gauge, {plain}}, {"m", "h", gauge, {ab}}},       // one family twice
      {{"m", "h", gauge, {}}, {"m", "h", gauge, {}}},              // also without samples
      {{"", "h", gauge, {plain}}},                                 // no name
      {{"1m", "h", gauge, {plain}}},                               // no name
      {{"m-x", "h", gauge, {plain}}},                              // no name
      {{"m", "", gauge, {plain}}},                                 // no help
      {{"m_total", "h", gauge, {plain}}},                          // the ending of a counter
      {{"m", "h", MetricType::kCounter, {plain}}},                 // not the ending of a counter
      {{"m_bucket", "h", gauge, {plain}}},                         // the ending of a histogram
      {{"m", "h", gauge, {{{{"", "1"}}, 1, {}}}}},                 // no name of a label
      {{"m", "h", gauge, {{{{"a:b", "1"}}, 1, {}}}}},              // no name of a label
      {{"m", "h", gauge, {{{{"__a", "1"}}, 1, {}}}}},              // a name of Prometheus itself
      {{"m", "h", gauge, {{{{"a", "1"}, {"a", "2"}}, 1, {}}}}},    // a label twice
      {{"m", "h", gauge, {bucket}}},                               // a bucket of no histogram
      {{"m", "h", gauge, {{{{"le", "1"}}, 1, {}}}}},               // a bound of no bucket
      {{"m", "h", MetricType::kHistogram, {plain}}},               // no part of a histogram
      {{"m", "h", MetricType::kHistogram, {{{}, 1, "_bucket"}}}},  // a bucket without a bound
      {{"m", "h", gauge, {{{}, {1, 19}, {}}}}},                    // too many decimals
  };
  for (std::size_t i = 0; i < broken.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_DEATH(metrics_text(broken[i]), "");
  }
}

TEST(MetricsParser, FindsWhatIsWrong) {
  const std::string head = "# HELP m h\n# TYPE m gauge\n";
  for (const std::string& text : std::vector<std::string>{
           "m 1\n",
           "# TYPE m gauge\nm 1\n",
           "# HELP m h\nm 1\n",
           head,
           head + "m 1",
           head + "\n",
           head + "m 1\nm 2\n",
           head + "m{a=\"1\",b=\"2\"} 1\nm{b=\"2\",a=\"1\"} 1\n",
           head + "n 1\n",
           head + "m\n",
           head + "m x\n",
           head + "m 1e3\n",
           head + "m  1\n",
           head + "m{a=1} 1\n",
           head + "m{a=\"1} 1\n",
           head + "m{a=\"\\t\"} 1\n",
           head + "m{a=\"1\"b=\"2\"} 1\n",
           head + "m{a=\"1\",} 1\n",
           head + "m{a=\"1\",a=\"2\"} 1\n",
           head + "m{__a=\"1\"} 1\n",
           head + "m{a=\"\xFF\"} 1\n",
           head + "m 1\n" + head + "m{a=\"1\"} 1\n",
           "# HELP m h\n# TYPE m sort\nm 1\n",
           "# HELP m \\t\n# TYPE m gauge\nm 1\n",
           "# HELP m h\n# TYPE m counter\nm 1\n",
           "# HELP m h\n# TYPE m histogram\nm_bucket{le=\"1\"} 2\nm_bucket{le=\"+Inf\"} 1\n"
           "m_sum 1\nm_count 1\n",
           "# HELP m h\n# TYPE m histogram\nm_bucket{le=\"+Inf\"} 1\nm_sum 1\nm_count 2\n",
           "# HELP m h\n# TYPE m histogram\nm_bucket{le=\"+Inf\"} 1\nm_count 1\n"}) {
    EXPECT_NE(MetricsParser(text).errors(), kNoErrors) << text;
  }
  EXPECT_EQ(MetricsParser(head + "m 1\n").errors(), kNoErrors);
}

TEST(EdgeMetrics, AreMetricsOfTheFormat) {
  EdgeMetrics edge;
  edge.started_unix_ms = 1'700'000'000'250;
  edge.loop = {3, 2500ms, 61s};
  edge.certificate_ends_unix_s = 1'800'000'000;
  edge.disk.size_bytes = 100;
  edge.disk.free_bytes = 40;
  edge.disk.syncs.add(3ms);
  edge.disk.syncs.add(300ms);
  edge.links.messages_sent = 9;
  edge.links.drops.queue_full = 4;
  edge.links.refusals.by_peer = 5;
  const std::vector<MetricFamily> families = edge_families(edge);
  const MetricsParser parsed(metrics_text(families));
  EXPECT_EQ(parsed.errors(), kNoErrors);
  EXPECT_LE(series_count(families), kEdgeSeriesMax);
  using Labels = std::map<std::string, std::string>;
  for (const auto& [name, labels, value] :
       std::vector<std::tuple<std::string, Labels, std::string>>{
           {"muster_start_time_seconds", {}, "1700000000.25"},
           {"muster_https_certificate_ends_seconds", {}, "1800000000"},
           {"muster_loop_stalls_total", {}, "3"},
           {"muster_loop_stalled_seconds_total", {}, "2.5"},
           {"muster_loop_cpu_seconds_total", {}, "61"},
           {"muster_disk_size_bytes", {}, "100"},
           {"muster_disk_free_bytes", {}, "40"},
           {"muster_disk_sync_seconds_bucket", {{"le", "0.001"}}, "0"},
           {"muster_disk_sync_seconds_bucket", {{"le", "0.25"}}, "1"},
           {"muster_disk_sync_seconds_bucket", {{"le", "+Inf"}}, "2"},
           {"muster_disk_sync_seconds_sum", {}, "0.303"},
           {"muster_disk_sync_seconds_count", {}, "2"},
           {"muster_link_messages_sent_total", {}, "9"},
           {"muster_link_dropped_messages_total", {{"reason", "queue_full"}}, "4"},
           {"muster_link_refused_connections_total", {{"reason", "by_peer"}}, "5"}}) {
    EXPECT_EQ(parsed.value(name, labels), value) << name;
  }
}

TEST(EdgeMetrics, NothingIsSaidOfWhatIsNotKnown) {
  const MetricsParser parsed(metrics_text(edge_families({})));
  EXPECT_EQ(parsed.errors(), kNoErrors);
  EXPECT_FALSE(parsed.families().contains("muster_disk_free_bytes"));
  EXPECT_FALSE(parsed.families().contains("muster_start_time_seconds"));
  EXPECT_TRUE(parsed.families().contains("muster_loop_stalls_total"));
}

}  // namespace
}  // namespace muster::agent
