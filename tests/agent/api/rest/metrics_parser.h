#pragma once
// A strict reader of the text format of Prometheus, version 0.0.4: it names each rule that a
// document breaks. It also demands what the format leaves open and our writer keeps: HELP and TYPE
// of each family, side by side, and values without exponents.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/name.h"

namespace muster::agent::testing {

struct ParsedSample {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string value;
};

class MetricsParser {
 public:
  explicit MetricsParser(std::string_view text) {
    expect(text.empty() || text.back() == '\n', "the last line does not end");
    expect(is_utf8(text), "not UTF-8");
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line_ = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      read_line();
    }
    end_family();
  }

  const std::vector<std::string>& errors() const { return errors_; }
  const std::vector<ParsedSample>& samples() const { return samples_; }
  /// Names of families with their types.
  const std::map<std::string, std::string>& families() const { return families_; }
  /// "" if there is no such sample, or more than one.
  std::string value(const std::string& name,
                    const std::map<std::string, std::string>& labels = {}) const {
    std::vector<std::string> found;
    for (const ParsedSample& sample : samples_) {
      if (sample.name == name && sample.labels == labels) {
        found.push_back(sample.value);
      }
    }
    return found.size() == 1 ? found.front() : "";
  }

 private:
  void expect(bool is_so, const std::string& what) {
    if (!is_so) {
      errors_.push_back(what + ": " + std::string(line_));
    }
  }

  void read_line() {
    if (line_.starts_with("# HELP ")) {
      end_family();
      read_help(line_.substr(7));
    } else if (line_.starts_with("# TYPE ")) {
      read_type(line_.substr(7));
    } else {
      read_sample();
    }
  }

  void read_help(std::string_view rest) {
    family_ = std::string(take_name(rest));
    expect(families_.emplace(family_, "").second, "a second family of that name");
    expect(rest.starts_with(' ') && rest.size() > 1, "no help");
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (rest[i] == '\\') {
        expect(i + 1 < rest.size() && (rest[i + 1] == 'n' || rest[i + 1] == '\\'), "bad escape");
        ++i;
      }
    }
  }

  void read_type(std::string_view rest) {
    const std::string name(take_name(rest));
    expect(name == family_ && families_[name].empty() && in_family_ == 0, "TYPE is not below HELP");
    type_ = rest.empty() ? "" : std::string(rest.substr(1));
    expect(type_ == "counter" || type_ == "gauge" || type_ == "histogram", "no such type");
    expect(name.ends_with("_total") == (type_ == "counter"), "_total is for counters");
    families_[name] = type_;
  }

  void read_sample() {
    std::string_view rest = line_;
    ParsedSample sample;
    sample.name = std::string(take_name(rest));
    expect(!type_.empty(), "no TYPE before it");
    expect(is_of_family(sample.name), "not of the family above");
    if (rest.starts_with('{')) {
      rest.remove_prefix(1);
      read_labels(rest, sample);
    }
    expect(rest.starts_with(' '), "no blank before the value");
    sample.value = std::string(rest.substr(std::min<std::size_t>(1, rest.size())));
    expect(is_decimal(sample.value), "no decimal");
    expect(series_.emplace(sample.name, sample.labels).second, "a second sample of that series");
    if (type_ == "histogram") {
      read_histogram(sample);
    }
    ++in_family_;
    samples_.push_back(std::move(sample));
  }

  /// Sets `rest` behind the closing brace.
  void read_labels(std::string_view& rest, ParsedSample& sample) {
    while (!rest.empty() && !rest.starts_with('}')) {
      const std::string name(take_name(rest));
      expect(!name.starts_with("__") && name.find(':') == std::string::npos, "bad label");
      expect(rest.starts_with("=\""), "a label without a value");
      rest.remove_prefix(std::min<std::size_t>(2, rest.size()));
      expect(sample.labels.emplace(name, take_value(rest)).second, "a label twice");
      if (rest.starts_with(',')) {
        rest.remove_prefix(1);
        expect(!rest.starts_with('}'), "a comma without a label");
      } else if (!rest.starts_with('}')) {
        expect(false, "no comma between labels");
        return;
      }
    }
    expect(rest.starts_with('}'), "labels without an end");
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
  }

  /// Sets `rest` behind the closing quote.
  std::string take_value(std::string_view& rest) {
    std::string value;
    while (!rest.empty() && rest.front() != '"') {
      char c = rest.front();
      rest.remove_prefix(1);
      if (c == '\\') {
        const char escape = rest.empty() ? ' ' : rest.front();
        expect(escape == '\\' || escape == '"' || escape == 'n', "bad escape");
        c = escape == 'n' ? '\n' : escape;
        rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
      }
      value += c;
    }
    expect(!rest.empty(), "a value without an end");
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    return value;
  }

  std::string_view take_name(std::string_view& rest) {
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
    };
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_part);
    const std::string_view name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    expect(!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0,
           "bad name");
    rest.remove_prefix(name.size());
    return name;
  }

  bool is_of_family(const std::string& name) const {
    return type_ == "histogram" ? name == family_ + "_bucket" || name == family_ + "_sum" ||
                                      name == family_ + "_count"
                                : name == family_;
  }

  static bool is_decimal(std::string_view text) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    const auto are_digits = [](std::string_view part) {
      return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
        return std::isdigit(static_cast<unsigned char>(c)) != 0;
      });
    };
    return are_digits(text.substr(0, dot)) &&
           (dot == text.size() || are_digits(text.substr(dot + 1)));
  }

  /// For histograms without labels of their own.
  void read_histogram(const ParsedSample& sample) {
    const auto bound = sample.labels.find("le");
    expect((bound != sample.labels.end()) == sample.name.ends_with("_bucket"), "le is of buckets");
    if (bound != sample.labels.end()) {
      const double count = std::stod("0" + sample.value);
      expect(count >= bucket_, "buckets are not cumulative");
      bucket_ = count;
      last_bound_ = bound->second;
    } else if (sample.name.ends_with("_count")) {
      expect(last_bound_ == "+Inf" && std::stod("0" + sample.value) == bucket_,
             "the count is not that of the last bucket");
      is_counted_ = true;
    } else {
      is_summed_ = true;
    }
  }

  void end_family() {
    expect(family_.empty() || in_family_ != 0, "a family without samples: " + family_);
    expect(type_ != "histogram" || (is_counted_ && is_summed_), "a histogram without an end");
    type_.clear();
    in_family_ = 0;
    bucket_ = 0;
    last_bound_.clear();
    is_counted_ = false;
    is_summed_ = false;
  }

  std::string_view line_;
  std::vector<std::string> errors_;
  std::vector<ParsedSample> samples_;
  std::map<std::string, std::string> families_;
  std::set<std::pair<std::string, std::map<std::string, std::string>>> series_;
  std::string family_;
  std::string type_;
  std::size_t in_family_ = 0;
  double bucket_ = 0;
  std::string last_bound_;
  bool is_counted_ = false;
  bool is_summed_ = false;
};

}  // namespace muster::agent::testing
