#pragma once
// The output of one rank, read piece by piece from the host that ran it and printed as it comes.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/api/output.h"
#include "cli/kit/session.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::cli {

struct RankSource {
  JobId job;
  std::uint64_t attempt = 0;
  Token token;
  HostId host;
  std::string host_name;
  std::uint64_t rank = 0;
  std::uint64_t output_bytes = 0;  ///< Of an ended rank, by the log; 0 = not known.
  std::string state;               ///< Of the rank by the log when the reading began.
};

/// The part of the output that is printed, and how.
struct OutputWish {
  std::string prefix;  ///< Not empty: whole lines only, each behind it.
  /// Only the last so many lines of the output at the beginning of the reading, and the later ones;
  /// nullopt = all.
  std::optional<std::uint64_t> tail;
  std::uint64_t since_ms = 0;  ///< Only what was written no longer ago than this; 0 = of any age.
  std::string stream;          ///< agent::kStdout or kStderr alone; "" = both.
};

/// Bytes of one stream, of one second or so.
struct OutputRun {
  std::uint64_t offset = 0;  ///< In the rank's whole output.
  std::string bytes;
  agent::OutputMark mark;  ///< Its offset aside.
};

class RankOutput {
 public:
  static constexpr Duration kAskAgain = std::chrono::seconds(5);
  /// Of a progress bar behind a prefix so often a state is printed: each takes a line.
  static constexpr Duration kProgressInterval = std::chrono::seconds(1);

  RankOutput(RankSource source, OutputWish wish)
      : source_(std::move(source)), wish_(std::move(wish)) {}

  /// Asks for the next piece and prints it; true when there was one. Over is the output when its
  /// end was reached (of the rank, or, without `follow`, of what it wrote until now), or, without
  /// `follow`, when it stays out of reach: then what is missing was said on stderr.
  bool advance(Session& session, bool follow);
  std::uint64_t rank() const { return source_.rank; }
  /// True if no byte of it was there so far.
  bool is_empty() const { return offset_ == 0; }
  bool is_over() const { return is_over_; }
  /// Followed, and for the timeout it could not be had: that was said, and it may come back.
  bool is_out_of_reach() const { return is_out_of_reach_; }
  /// True if it may be asked for: output that is out of reach only once in kAskAgain.
  bool is_due(Instant now) const { return !is_over_ && now >= ask_again_at_; }
  /// Call when no more will come: prints a line that was begun.
  void finish(Session& session);
  /// 0, or why the output is incomplete.
  int exit_code() const { return exit_code_; }

 private:
  Reply ask(Session& session, std::uint64_t offset, bool follow) const;
  Reply read_between(Session& session, std::uint64_t begin, std::uint64_t end, bool follow,
                     std::vector<OutputRun>& runs) const;
  Reply skip_to_tail(Session& session, std::uint64_t size, bool follow);
  void take(Session& session, agent::OutputChunk chunk, bool follow);
  std::vector<OutputRun> wanted_runs(const agent::OutputChunk& chunk) const;
  void print(Session& session, const agent::OutputChunk& chunk, bool follow);
  void print_json(Session& session, const std::vector<OutputRun>& runs, bool has_ended);
  void note_blend(Session& session, const std::vector<OutputRun>& runs);
  void print_lines(Session& session, bool all);
  void print_line(Session& session, std::string_view line);
  void print_progress(Session& session);
  void fail_or_wait(Session& session, const Reply& reply, bool follow);

  RankSource source_;
  OutputWish wish_;  ///< Its tail and age until it was found where those begin.
  std::uint64_t offset_ = 0;
  std::uint64_t floor_ = 0;               ///< Output that is older than wished lies below.
  std::map<std::string, OutputRun> cut_;  ///< By stream: characters of which the end is to come.
  std::string line_;                      ///< Of a prefixed output: begun, not printed yet.
  bool is_over_ = false;
  bool is_out_of_reach_ = false;
  int exit_code_ = 0;
  Instant silent_since_ = kNever;
  Instant ask_again_at_{};
  Instant progress_at_ = kLongAgo;  ///< When part of a line that was begun was last printed.
  bool is_missing_told_ = false;
  bool is_blend_told_ = false;
};

}  // namespace muster::cli
