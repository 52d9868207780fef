#pragma once
// A file of the audit: JSON lines, each of which holds the digest of the line before. A changed,
// removed, added or moved line does not fit its neighbours. A file whose end was cut off fits: its
// last number and digest are to be compared with a copy elsewhere. Pure: an edge reads and writes.
//
// A line is {"prev":"64 hex digits","number":N,...}, at most kChainLineBytesMax bytes, and ends
// with a line feed, which the digest does not cover. The first line of a file has 64 zeros.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gossip/base/signing.h"

namespace muster::agent {

/// Longer lines belong to no such file: six texts of 256 bytes, each byte as \u00XX at most.
inline constexpr std::size_t kChainLineBytesMax = 16 << 10;

/// The end of a file, for the next line and for a comparison.
struct ChainEnd {
  std::uint64_t number = 0;  ///< Of the last line; 0 = there is no line.
  std::string digest;        ///< Of the last line, in hex; zeros = there is no line.
  bool operator==(const ChainEnd&) const = default;
};
ChainEnd chain_begin();

/// The line without its line feed. `rest`: the other members of the object, without braces, as
/// `"user":"ann"`; it may be "".
std::string chain_line(const ChainEnd& before, std::uint64_t number, std::string_view rest);
/// The end of a file whose last line is `line`; nullopt if that is no line of such a file.
std::optional<ChainEnd> end_of_line(const gossip::Verifier& verifier, std::string_view line);

class ChainReader {
 public:
  explicit ChainReader(const gossip::Verifier& verifier) : verifier_(verifier) {}

  /// Takes the next line, without its line feed. "" if it fits; else why not, for people: then the
  /// caller takes no further line.
  std::string take(std::string_view line);
  const ChainEnd& end() const { return end_; }
  std::uint64_t lines() const { return lines_; }

 private:
  const gossip::Verifier& verifier_;
  ChainEnd end_ = chain_begin();
  std::uint64_t lines_ = 0;
};

}  // namespace muster::agent
