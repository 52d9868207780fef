#include "agent/edge/supervisor/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "agent/edge/grant/output_marks.h"
#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {

std::optional<OutputChunk> read_output(const std::string& directory, const OutputQuery& query,
                                       bool is_supervised, std::uint64_t unix_ms) {
  const std::string name = directory + "/rank-" + std::to_string(query.rank);
  const Fd log(open((name + ".log").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!log.is_open()) {
    return std::nullopt;
  }
  // "Ended" is asked before the size: what is written between the two is read the next time.
  OutputChunk chunk;
  chunk.ended = !is_supervised || std::filesystem::exists(directory + "/evidence");
  chunk.size = static_cast<std::uint64_t>(std::max<off_t>(lseek(log.get(), 0, SEEK_END), 0));
  chunk.begin = std::min(query.offset, chunk.size);
  const std::string marks = name + ".marks";
  if (query.since_ms > 0) {
    const std::uint64_t since = unix_ms - std::min(unix_ms, query.since_ms);
    chunk.begin = std::clamp(offset_since(marks, since, chunk.size), chunk.begin, chunk.size);
  }
  std::uint64_t end =
      chunk.begin + std::min<std::uint64_t>(kOutputBytesMax, chunk.size - chunk.begin);
  if (query.wants_marks && end > chunk.begin) {
    chunk.marks = read_marks(marks, chunk.begin, end, kOutputMarksMax + 1);
  }
  if (chunk.marks.size() > kOutputMarksMax) {
    // The owner of the rank can write the marks: they never make the piece empty.
    end = chunk.marks.back().offset > chunk.begin ? std::min(end, chunk.marks.back().offset) : end;
    chunk.marks.pop_back();
  }
  chunk.bytes.resize(end - chunk.begin);
  const ssize_t got =
      pread(log.get(), chunk.bytes.data(), chunk.bytes.size(), static_cast<off_t>(chunk.begin));
  chunk.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return chunk;
}

}  // namespace muster::agent
