#pragma once
// A rank's output, piece by piece. Both of its streams lie in one file, in the order in which they
// were read; marks beside it say which bytes came from which stream, and when.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::agent {

inline constexpr char kStdout[] = "stdout";
inline constexpr char kStderr[] = "stderr";
/// What Muster itself wrote between the lines of a rank.
inline constexpr char kOurs[] = "muster";

/// What is true of the bytes from `offset` up to the next mark, or to the end.
struct OutputMark {
  std::uint64_t offset = 0;
  std::uint64_t unix_ms = 0;  ///< The first of them, by the wall clock of that host; never falls.
  std::string stream;         ///< kStdout, kStderr, kOurs; "" = not told apart.
  bool operator==(const OutputMark&) const = default;
};

struct OutputQuery {
  Token token;
  std::uint64_t rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t since_ms = 0;  ///< Only what was written no longer ago than this; 0 = of any age.
  bool wants_marks = false;
  bool operator==(const OutputQuery&) const = default;
};

struct OutputChunk {
  std::string bytes;        ///< At most kOutputBytesMax.
  std::uint64_t size = 0;   ///< Of the whole output at the moment.
  bool ended = false;       ///< The rank is gone: no more will come behind `size`.
  std::uint64_t begin = 0;  ///< Of the bytes; above the offset asked for when those are too old.
  /// In order; the first at or before `begin`, at most kOutputMarksMax. None: not asked for, or
  /// nothing is known of these bytes.
  std::vector<OutputMark> marks;
  bool operator==(const OutputChunk&) const = default;
};

/// The reason that a host gives for output which it had, and took away, begins with this.
inline constexpr char kWasRemoved[] = "it was removed, as";

/// How long a host keeps the output of what has ended. The oldest goes first.
struct OutputRule {
  std::uint64_t age_ms = 14ULL * 24 * 3600 * 1000;  ///< Since the end, by the wall clock.
  std::uint64_t bytes = std::uint64_t{4} << 30;     ///< Of one host, together.
  /// Of one host, together. Of the job that has most of them the oldest go first. Lower: a long
  /// array keeps less of its own output; higher: more inodes, and a slower start of the agent.
  std::uint64_t files = 200'000;
  bool operator==(const OutputRule&) const = default;
};

inline constexpr std::size_t kOutputBytesMax = 256 * 1024;
/// More marks than this cut the piece short.
inline constexpr std::size_t kOutputMarksMax = 4096;

}  // namespace muster::agent
