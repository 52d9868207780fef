#pragma once
// The output of one rank on its way to the disk: two pipes that the rank writes and its supervisor
// copies to rank-N.log, up to a cap, and rank-N.marks, which says what came from where and when.
// No program fills the disk of its host, and no program fails or waits because that disk is full:
// the supervisor drops and counts the bytes that the disk does not take and those above the cap,
// and the log says so where they are missing. Once there is room again the log goes on. Output that
// a rank writes to both streams within one turn of its supervisor is kept stdout first.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/edge/grant/output_marks.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/ranks/rank_log.h"
#include "gossip/base/time.h"

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
  /// After the last copy().
  void finish();

  /// Of the log, with what is ours in it.
  std::uint64_t size() const { return log_.size(); }
  std::uint64_t lost_bytes() const { return lost_; }        ///< RankResult::lost_bytes
  std::uint64_t surplus_bytes() const { return surplus_; }  ///< RankResult::surplus_bytes

 private:
  struct Pipe {
    Stream stream = Stream::kOut;
    Fd read_end;
    Fd write_end;
  };

  const Pipe& pipe(Stream stream) const { return pipes_[stream == Stream::kOut ? 0 : 1]; }
  void copy(Pipe& from);
  void keep(Stream stream, std::string_view bytes);
  void append(Stream stream, std::string_view bytes);
  void lose(std::size_t bytes);
  /// Closes the gap when the disk has room again.
  bool goes_on();
  bool note(const std::string& text);

  std::array<Pipe, 2> pipes_;
  RankLog log_;
  OutputMarks marks_;
  std::uint64_t left_ = 0;     ///< Until the cap.
  std::uint64_t lost_ = 0;     ///< To the disk.
  std::uint64_t surplus_ = 0;  ///< Beyond the cap.
  std::uint64_t gap_ = 0;      ///< Bytes of lost_ that are missing at the end of the log.
  Instant try_at_{};           ///< While there is a gap: the next look for room.
  bool is_cap_told_ = false;
};

}  // namespace muster::agent
