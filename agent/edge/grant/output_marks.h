#pragma once
// The marks beside a rank's output (agent/api/output.h): a file of records of one size, one for
// each change of stream and each second in which something was written; once half of them are used
// up, each minute. The output itself stays the plain bytes that the rank wrote.
//
// rank-N.marks: records of 16 bytes, little endian: the offset of the first byte, and its wall
// clock in milliseconds times 4 plus the stream (0 not told apart, 1 stdout, 2 stderr, 3 ours). It
// is not synced, and the owner of the rank can write it: a reader believes the records only as far
// as their offsets ascend.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/output.h"
#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {

enum class Stream : std::uint8_t { kBoth = 0, kOut = 1, kErr = 2, kMuster = 3 };

/// Of one rank: 4 MiB, three months of one quiet stream. Output behind the last is not told apart.
inline constexpr std::uint64_t kOutputMarksKeptMax = 256 * 1024;

class OutputMarks {
 public:
  /// Goes on in `path` where that was left; the file is made at the first mark. Without it, for
  /// want of space say, output is kept all the same.
  void open(const std::string& path, std::uint64_t marks_max = kOutputMarksKeptMax);
  /// Bytes of `stream` begin at `offset`, seen at `unix_ms`. A clock that was set back counts as
  /// one that stands.
  void note(std::uint64_t offset, Stream stream, std::uint64_t unix_ms);

 private:
  bool append(std::uint64_t offset, std::uint64_t unix_ms, Stream stream);

  std::string path_;
  Fd file_;
  std::uint64_t count_ = 0;
  std::uint64_t marks_max_ = 0;
  bool is_full_ = false;  ///< The last mark, of kBoth, is written.
  /// Bytes that could not be marked begin here: their stream is not known.
  std::optional<std::uint64_t> unmarked_from_;
  bool has_last_ = false;
  Stream last_stream_ = Stream::kBoth;
  std::uint64_t last_unix_ms_ = 0;
};

/// From the mark that holds `begin` to the last one before `end`, at most `count_max`.
std::vector<OutputMark> read_marks(const std::string& path, std::uint64_t begin, std::uint64_t end,
                                   std::size_t count_max);

/// Where the first byte that was written at `unix_ms` or later may lie: a second, or a minute, too
/// early rather than too late. `size` if no byte is that late; 0 without marks.
std::uint64_t offset_since(const std::string& path, std::uint64_t unix_ms, std::uint64_t size);

}  // namespace muster::agent
