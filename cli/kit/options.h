#pragma once
// The options of one verb, over CLI11, which stays inside options.cc. Every value is parsed by our
// own functions: CLI11 would read 010 as octal and say less when something is wrong.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/kit/text.h"
#include "gossip/base/result.h"
#include "gossip/base/time.h"

namespace muster::cli {

/// An option or argument as the help shows it.
struct HelpEntry {
  std::string head;  ///< "-g, --gpus N"
  std::string help;
  bool is_common = false;  ///< Of all verbs: the help has it last.
};

/// An option of other programs, and what to say to who writes it.
struct OptionHint {
  std::string_view name;  ///< "--time"
  std::string_view instead;
};

class Options {
 public:
  /// `usage` is what stands behind "muster" in the usage line: "jobs [OPTIONS]".
  Options(std::string usage, std::string purpose);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  /// `names` as "-f,--follow". Targets outlive parse(); they keep their value, the default that
  /// the help shows, when the option is not given. `help` says the unit.
  void flag(const std::string& names, bool& target, const std::string& help);
  void text(const std::string& names, std::string& target, const std::string& help,
            const std::string& value_name);
  void number(const std::string& names, std::uint64_t& target, const std::string& help);
  void integer(const std::string& names, std::int64_t& target, const std::string& help);
  /// `least`: what is shorter is refused.
  void duration(const std::string& names, Duration& target, const std::string& help,
                Duration least = Duration(0));
  /// May be given several times.
  void list(const std::string& names, std::vector<std::string>& target, const std::string& help,
            const std::string& value_name);
  /// `accept` says what is wrong with a value, without naming the option.
  void value(const std::string& names, std::function<Status(const std::string&)> accept,
             const std::string& help, const std::string& value_name);
  /// The same, once for each time that it is given.
  void values(const std::string& names, std::function<Status(const std::string&)> accept,
              const std::string& help, const std::string& value_name);
  /// Words to write instead of options that others have and this verb lacks. `hints` outlives it.
  void hints(std::span<const OptionHint> hints);
  /// Required arguments without a dash, `count_max` of them at most.
  void numbers(const std::string& name, std::vector<std::uint64_t>& target, const std::string& help,
               std::size_t count_max);
  /// Arguments without a dash, none or `count_max` of them at most; `accept` says what is wrong
  /// with one, without naming it.
  void words(const std::string& name, std::function<Status(const std::string&)> accept,
             const std::string& help, std::size_t count_max);
  /// One argument without a dash.
  void word(const std::string& name, std::string& target, const std::string& help,
            bool is_required = true);
  /// Whether the options that are described from now on are those of all verbs.
  void common(bool are_common);
  /// Everything behind the first "--", untouched.
  void command(std::vector<std::string>& target);
  void example(std::string line);
  /// Lines about where the answer comes from; "" = no agent is asked.
  void answered_by(std::string sentence);

  /// True: help was asked for. kInvalid: one line that says what is wrong.
  Result<bool> parse(const std::vector<std::string>& args);
  std::string help(const Screen& screen) const;
  /// Its own, then the ones of all verbs.
  const std::vector<HelpEntry>& entries() const;
  const std::string& example() const;
  /// Every option by each of its names.
  std::vector<std::string> names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Result<std::uint64_t> parse_number(const std::string& text);
Result<std::int64_t> parse_integer(const std::string& text);

}  // namespace muster::cli
