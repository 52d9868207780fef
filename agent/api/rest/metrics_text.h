#pragma once
// The text format of Prometheus, version 0.0.4: families of metrics as the body of an answer. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/time.h"

namespace muster::agent {

/// The content type of metrics_text().
inline constexpr char kMetricsContentType[] = "text/plain; version=0.0.4; charset=utf-8";

enum class MetricType : std::uint8_t {
  kCounter,    ///< Rises, and begins at 0 when its process starts. Its name ends with _total.
  kGauge,      ///< Goes up and down.
  kHistogram,  ///< Buckets with the label `le`, a sum and a count.
};

/// `units` times 10 to the power of minus `decimals`: {1500, 3} is 1.5. It is written exactly.
struct MetricValue {
  static constexpr unsigned kDecimalsMax = 18;

  std::uint64_t units = 0;
  unsigned decimals = 0;  ///< At most kDecimalsMax.

  // NOLINTNEXTLINE(google-explicit-constructor): a count is a value.
  constexpr MetricValue(std::uint64_t count = 0, unsigned places = 0)
      : units(count), decimals(places) {}
  bool operator==(const MetricValue&) const = default;

  std::string text() const;
};

/// 0 or 1.
constexpr MetricValue metric_flag(bool is_so) {
  return {is_so ? 1U : 0U};
}
/// Seconds; 0 for a time below 0.
constexpr MetricValue metric_seconds(Duration time) {
  return {time < Duration::zero() ? 0 : static_cast<std::uint64_t>(time.count()), 9};
}
constexpr MetricValue metric_seconds_of_ms(std::uint64_t ms) {
  return {ms, 3};
}

/// The text with U+FFFD in place of each byte that is not UTF-8. Values of labels are written so:
/// series whose values may be any bytes have to be told apart by it.
std::string metric_label(std::string_view text);

/// Names, each once, and values.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

struct MetricSample {
  MetricLabels labels{};
  MetricValue value{};
  std::string suffix{};  ///< Of a histogram: "_bucket", "_sum" or "_count"; else "".
  bool operator==(const MetricSample&) const = default;
};

struct MetricFamily {
  std::string name;
  std::string help;  ///< One line: the meaning, and what to do with it.
  MetricType type = MetricType::kGauge;
  std::vector<MetricSample> samples{};
  bool operator==(const MetricFamily&) const = default;
};

/// A family with one series that has no label.
MetricFamily single_metric(std::string name, std::string help, MetricType type, MetricValue value);

/// One document, families and samples in the order given; a family without samples is left out.
/// CHECKs the rules of the format: names of metrics and labels, the endings of names, one family a
/// name, one sample for each set of labels.
std::string metrics_text(const std::vector<MetricFamily>& families);
/// The number of samples.
std::size_t series_count(const std::vector<MetricFamily>& families);

}  // namespace muster::agent
