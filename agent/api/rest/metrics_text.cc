#include "agent/api/rest/metrics_text.h"

#include <algorithm>
#include <set>

#include "gossip/base/check.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

constexpr std::string_view kHistogramSuffixes[] = {"_bucket", "_sum", "_count"};

bool is_metric_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_metric_name(std::string_view name) {
  return !name.empty() && is_metric_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_metric_letter(c) || (c >= '0' && c <= '9'); });
}

std::string_view type_word(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

/// The size of the character at `at`; 0 if it is not UTF-8.
std::size_t character_at(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return at + size <= text.size() && is_utf8(text.substr(at, size)) ? size : 0;
}

std::string escaped_metric(std::string_view text, bool is_quoted) {
  std::string out;
  for (const char c : metric_label(text)) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || (c == '"' && is_quoted)) {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string labels_text(const MetricLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += (text.empty() ? "{" : ",") + name + "=\"" + escaped_metric(value, true) + "\"";
  }
  return text.empty() ? text : text + "}";
}

void check_family(const MetricFamily& family) {
  CHECK(is_metric_name(family.name) && !family.help.empty());
  CHECK(family.name.ends_with("_total") == (family.type == MetricType::kCounter));
  for (const std::string_view suffix : kHistogramSuffixes) {
    CHECK(!family.name.ends_with(suffix));
  }
}

void check_sample(const MetricFamily& family, const MetricSample& sample) {
  const bool is_histogram = family.type == MetricType::kHistogram;
  const bool has_suffix = std::find(std::begin(kHistogramSuffixes), std::end(kHistogramSuffixes),
                                    sample.suffix) != std::end(kHistogramSuffixes);
  CHECK(is_histogram ? has_suffix : sample.suffix.empty());
  CHECK(sample.value.decimals <= MetricValue::kDecimalsMax);
  std::set<std::string_view> names;
  for (const auto& [name, value] : sample.labels) {
    CHECK(is_metric_name(name) && !name.starts_with("__"));
    CHECK(names.insert(name).second);
  }
  CHECK(names.contains("le") == (sample.suffix == kHistogramSuffixes[0]));
}

/// The name and labels of a series, whatever the order of its labels.
std::string series_key(const MetricSample& sample) {
  MetricLabels labels = sample.labels;
  std::sort(labels.begin(), labels.end());
  return sample.suffix + labels_text(labels);
}

}  // namespace

std::string metric_label(std::string_view text) {
  if (is_utf8(text)) {
    return std::string(text);
  }
  std::string good;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_at(text, at);
    good += size == 0 ? kReplacement : text.substr(at, size);
    at += std::max<std::size_t>(size, 1);
  }
  return good;
}

std::string MetricValue::text() const {
  CHECK(decimals <= kDecimalsMax);
  std::string digits = std::to_string(units);
  if (decimals == 0) {
    return digits;
  }
  if (digits.size() <= decimals) {
    digits.insert(0, decimals + 1 - digits.size(), '0');
  }
  digits.insert(digits.size() - decimals, 1, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') {
    digits.pop_back();
  }
  return digits;
}

MetricFamily single_metric(std::string name, std::string help, MetricType type, MetricValue value) {
  return {std::move(name), std::move(help), type, {{{}, value, {}}}};
}

std::string metrics_text(const std::vector<MetricFamily>& families) {
  std::string text;
  std::set<std::string_view> names;
  for (const MetricFamily& family : families) {
    check_family(family);
    CHECK(names.insert(family.name).second);
    if (family.samples.empty()) {
      continue;
    }
    text += "# HELP " + family.name + " " + escaped_metric(family.help, false) + "\n# TYPE " +
            family.name + " " + std::string(type_word(family.type)) + "\n";
    std::set<std::string> series;
    for (const MetricSample& sample : family.samples) {
      check_sample(family, sample);
      CHECK(series.insert(series_key(sample)).second);
      text += family.name + sample.suffix + labels_text(sample.labels) + " " + sample.value.text() +
              "\n";
    }
  }
  return text;
}

std::size_t series_count(const std::vector<MetricFamily>& families) {
  std::size_t count = 0;
  for (const MetricFamily& family : families) {
    count += family.samples.size();
  }
  return count;
}

}  // namespace muster::agent
