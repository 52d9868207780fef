#pragma once
// The output of one rank on its way to the disk: two pipes that the rank writes and its supervisor
// copies to rank-N.log as they come, up to a cap, and rank-N.marks, which says what came from where
// and when. So no program fills the disk of its host, and none fails because that disk is full;
// what is too much is dropped, and the log says so in its last line. What a rank writes to both
// streams within one turn of its supervisor is kept stdout first.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/edge/supervisor/output_marks.h"
#include "agent/edge/supervisor/supervise_protocol.h"

namespace muster::agent {

/// Of one rank of one attempt. Higher: more of a talkative rank is kept, and a host with many ranks
/// needs the disk for it; OutputRule bounds what ended grants leave.
inline constexpr std::uint64_t kRankOutputBytesMax = std::uint64_t{256} << 20;

class RankOutput {
 public:
  /// Makes the pipes and opens NAME.log for appending, NAME.marks beside it. kIo: there is no
  /// pipe then.
  Status open(const std::string& name, std::uint64_t bytes_max = kRankOutputBytesMax);
  /// The rank's ends, until close_write_ends(); closed on exec unless duplicated.
  int write_end(Stream stream) const { return pipe(stream).write_end.get(); }
  void close_write_ends();
  /// Readable when copy() has something to do; each -1 once every writer of it is gone.
  std::array<int, 2> read_ends() const;
  /// Copies what is there and returns; a writer without pause gets kCopiesMax reads.
  void copy();

 private:
  struct Pipe {
    Stream stream = Stream::kOut;
    Fd read_end;
    Fd write_end;
  };

  const Pipe& pipe(Stream stream) const { return pipes_[stream == Stream::kOut ? 0 : 1]; }
  void copy(Pipe& from);
  void keep(Stream stream, const char* bytes, std::size_t size);
  void append(Stream stream, const char* bytes, std::size_t size);

  std::array<Pipe, 2> pipes_;
  Fd log_;
  OutputMarks marks_;
  std::uint64_t size_ = 0;
  std::uint64_t left_ = 0;  ///< Until the cap.
  bool is_cap_told_ = false;
};

}  // namespace muster::agent
