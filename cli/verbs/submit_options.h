#pragma once
// The options of `muster submit`, and the job that they make for the node.

#include <string>
#include <vector>

#include "agent/api/jobs.h"
#include "cli/kit/options.h"
#include "cli/kit/wall_time.h"
#include "cli/kit/world.h"
#include "cli/verbs/request_options.h"

namespace muster::cli {

/// Words of command and environment together: what a codec of the cluster reads back.
inline constexpr std::size_t kCommandWordsMax = 4096;
/// Of the name of a job; a longer one is of no use in a table.
inline constexpr std::size_t kNameBytesMax = 255;
inline constexpr std::size_t kDirectoryBytesMax = 4095;  ///< PATH_MAX.
inline constexpr std::size_t kKeyDigits = 32;

class SubmitOptions {
 public:
  void describe(Options& options);
  /// The spec and the key, drawn now unless one was given. kInvalid says what is wrong with them.
  Result<agent::SubmitArgs> arguments(const World& world) const;
  /// As it was given; "" = it was not.
  const std::string& name() const { return name_; }
  /// Variables that were given a value which no rank will see.
  std::vector<std::string> overruled() const;

 private:
  Status accept_array(const std::string& text);

  Status accept_hold(const std::string& text);
  void describe_queue(Options& options);
  void describe_eligibility(Options& options);
  /// The times are given by the local wall clock; the cluster is told spans.
  Status take_times(scheduler::Eligibility& eligibility, const WorldClock& clock) const;
  Status check() const;
  Status check_command(const std::vector<std::string>& environment) const;
  /// "NAME=VALUE", by name.
  Result<std::vector<std::string>> environment(const World& world) const;

  /// As given, else where this process is.
  Result<std::string> directory_of_ranks(const World& world) const;

  std::vector<std::string> argv_;
  std::vector<std::string> environment_;  ///< As given: NAME or NAME=VALUE.
  bool env_all_ = false;
  bool env_none_ = false;
  RequestOptions request_;
  std::optional<scheduler::ArrayRange> array_;
  std::uint64_t retries_ = 0;
  std::int64_t priority_ = 0;
  std::string name_;
  std::string directory_;
  std::string key_;
  TimeTexts times_;
  scheduler::JobSpec spec_;  ///< The rest, written by the options directly.
};

/// The arguments of a submit with the key, the directory and the environment of the `first` one,
/// whether they were there or not: from wherever it is repeated, it is the same job.
std::vector<std::string> as_repeated(const std::vector<std::string>& args,
                                     const agent::SubmitArgs& first);

}  // namespace muster::cli
