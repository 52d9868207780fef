#pragma once
// The output of a rank, piece by piece. One file holds both of its streams, in the order in which
// they were read. Marks beside it say from which stream its bytes came, and when.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/base/ids.h"

namespace muster::agent {

inline constexpr char kStdout[] = "stdout";
inline constexpr char kStderr[] = "stderr";
/// The stream of the lines that Muster itself writes between those of a rank.
inline constexpr char kOurs[] = "muster";

/// The time and stream of the bytes from `offset` up to the next mark, or to the end.
struct OutputMark {
  std::uint64_t offset = 0;
  std::uint64_t unix_ms = 0;  ///< Time of the first byte, by that host's wall clock; never falls.
  std::string stream;         ///< kStdout, kStderr, kOurs; "" = not known.
  bool operator==(const OutputMark&) const = default;
};

struct OutputQuery {
  Token token;
  std::uint64_t rank = 0;
  std::uint64_t offset = 0;
  std::uint64_t since_ms = 0;  ///< Only output written in the last `since_ms`; 0 = of any age.
  bool wants_marks = false;
  bool operator==(const OutputQuery&) const = default;
};

struct OutputChunk {
  std::string bytes;        ///< At most kOutputBytesMax.
  std::uint64_t size = 0;   ///< The size of the whole output now.
  bool ended = false;       ///< The rank is gone: no bytes come behind `size`.
  std::uint64_t begin = 0;  ///< The offset of `bytes`; above the one asked for if that is too old.
  /// In order, at most kOutputMarksMax; the first one is at or before `begin`. Empty if the query
  /// does not want marks, or if these bytes have no marks.
  std::vector<OutputMark> marks;
  bool operator==(const OutputChunk&) const = default;
};

/// The user and team of the job whose output it is; "" = not known.
struct OutputOwner {
  std::string user;
  std::string team;
  bool operator==(const OutputOwner&) const = default;
};

/// The first words of a host's reason why it has removed the output that is asked for.
inline constexpr char kWasRemoved[] = "it was removed, as";

/// How long a host keeps the output of ended grants. The oldest output goes first.
struct OutputRule {
  std::uint64_t age_ms = 14ULL * 24 * 3600 * 1000;  ///< Since the end, by the wall clock.
  std::uint64_t bytes = std::uint64_t{4} << 30;     ///< All output of one host together.
  /// All files of one host together. The oldest files of the job with most files go first. With a
  /// lower number a long array keeps less of its output; a higher one takes more inodes, and the
  /// agent starts more slowly.
  std::uint64_t files = 200'000;
  bool operator==(const OutputRule&) const = default;
};

inline constexpr std::size_t kOutputBytesMax = 256 * 1024;
/// A piece with more marks is cut short.
inline constexpr std::size_t kOutputMarksMax = 4096;

}  // namespace muster::agent
