#pragma once
// The output of one rank on its way to the disk: a pipe that the rank writes and its supervisor
// copies to rank-N.log, up to a cap. So no program fills the disk of its host, and none fails
// because that disk is full; what is too much is dropped, and the log says so in its last line.

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/edge/supervisor/supervise_protocol.h"

namespace muster::agent {

/// Of one rank of one attempt. Higher: more of a talkative rank is kept, and a host with many ranks
/// needs the disk for it; kKeptBytesMax bounds what ended grants leave.
inline constexpr std::uint64_t kRankOutputBytesMax = std::uint64_t{256} << 20;

class RankOutput {
 public:
  /// Makes the pipe and opens the log for appending. kIo: neither is there then.
  Status open(const std::string& log, std::uint64_t bytes_max = kRankOutputBytesMax);
  /// The rank's end, until close_write_end(); closed on exec unless duplicated.
  int write_end() const { return write_end_.get(); }
  void close_write_end() { write_end_.reset(); }
  /// Readable when copy() has something to do; -1 once every writer is gone.
  int read_end() const { return read_end_.get(); }
  /// Copies what is there and returns; a writer without pause gets kCopiesMax reads.
  void copy();

 private:
  void keep(const char* bytes, std::size_t size);
  void append(const char* bytes, std::size_t size);

  Fd read_end_;
  Fd write_end_;
  Fd log_;
  std::uint64_t left_ = 0;  ///< Until the cap.
  bool is_cap_told_ = false;
};

}  // namespace muster::agent
