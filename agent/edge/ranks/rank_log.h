#pragma once
// rank-N.log on its way to the disk. Room for one note of ours is always taken ahead of what is
// written, so that a log which ends for want of space can say so. The room taken ahead lies behind
// the end of the file: no reader sees it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/base/result.h"

namespace muster::agent {

class RankLog {
 public:
  /// The bytes that note() always has room for, unless the disk was full from the beginning: what
  /// is said where output begins to be missing, and at the end of the log.
  static constexpr std::size_t kNoteBytesMax = 192;

  /// Goes on at the end of what is there.
  Status open(const std::string& path);

  /// Appends as much of it as the disk takes beside the note, and returns how much; less than all:
  /// error() says why.
  std::size_t append(std::string_view bytes);
  /// Appends `text` whole, in the room of the note if need be, or not at all.
  bool note(std::string_view text);
  /// Whether so many bytes and a note can be appended; takes their room.
  bool has_room_for(std::size_t bytes);
  /// Gives back what was taken ahead. For the end; more can be appended all the same.
  void trim();

  std::uint64_t size() const { return size_; }
  bool ends_a_line() const { return last_ == '\n'; }
  int error() const { return error_; }

 private:
  /// Of disk space from `taken_` on; false: errno is in error_.
  bool take(std::uint64_t until);
  std::size_t write_at_end(std::string_view bytes);

  Fd file_;
  std::uint64_t size_ = 0;
  std::uint64_t taken_ = 0;  ///< The file's disk space reaches as far as here.
  bool can_take_ = true;     ///< False: this file system takes no space ahead.
  char last_ = '\n';         ///< Of the bytes.
  int error_ = 0;
};

}  // namespace muster::agent
