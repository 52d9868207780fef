#include "agent/edge/grant/output_marks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

namespace muster::agent {
namespace {

constexpr std::size_t kMarkBytes = 16;
constexpr std::uint64_t kStreams = 4;
constexpr std::uint64_t kBitsOfByte = 8;

/// How long the bytes behind the mark of this index may have taken to come.
constexpr std::uint64_t span_ms(std::uint64_t index) {
  constexpr std::uint64_t kSecond = 1000;
  constexpr std::uint64_t kMinute = 60 * kSecond;
  return index < kOutputMarksKeptMax / 2 ? kSecond : kMinute;
}

using Record = std::array<unsigned char, kMarkBytes>;

struct Mark {
  std::uint64_t offset = 0;
  std::uint64_t unix_ms = 0;
  Stream stream = Stream::kBoth;
};

void store(unsigned char* at, std::uint64_t value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    at[i] = static_cast<unsigned char>(value >> (kBitsOfByte * i));
  }
}

std::uint64_t load(const unsigned char* at) {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof value; i > 0; --i) {
    value = value << kBitsOfByte | at[i - 1];
  }
  return value;
}

Record record_of(const Mark& mark) {
  Record record;
  store(record.data(), mark.offset);
  store(record.data() + sizeof mark.offset,
        mark.unix_ms * kStreams + static_cast<std::uint64_t>(mark.stream));
  return record;
}

Mark mark_of(const Record& record) {
  const std::uint64_t word = load(record.data() + sizeof(std::uint64_t));
  return {load(record.data()), word / kStreams, static_cast<Stream>(word % kStreams)};
}

/// The whole records of a file.
class MarkFile {
 public:
  explicit MarkFile(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {
    struct stat info {};
    if (file_.is_open() && fstat(file_.get(), &info) == 0) {
      count_ = static_cast<std::uint64_t>(info.st_size) / kMarkBytes;
    }
  }

  std::uint64_t count() const { return count_; }
  Mark at(std::uint64_t index) const {
    const std::vector<Mark> one = from(index, 1);
    return one.empty() ? Mark() : one.front();
  }
  /// The records from this index on, as many as there are up to `count_max`.
  std::vector<Mark> from(std::uint64_t index, std::size_t count_max) const {
    std::vector<Record> records(
        std::min<std::uint64_t>(count_ - std::min(index, count_), count_max));
    const ssize_t got = records.empty()
                            ? 0
                            : pread(file_.get(), records.data(), records.size() * kMarkBytes,
                                    static_cast<off_t>(index * kMarkBytes));
    records.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)) / kMarkBytes);
    std::vector<Mark> marks;
    for (const Record& record : records) {
      marks.push_back(mark_of(record));
    }
    return marks;
  }
  /// The first index whose record `is_it`, which holds of none before and of all behind; count().
  template <class Predicate>
  std::uint64_t first(Predicate is_it) const {
    std::uint64_t low = 0;
    std::uint64_t high = count_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      is_it(middle, at(middle)) ? high = middle : low = middle + 1;
    }
    return low;
  }

 private:
  Fd file_;
  std::uint64_t count_ = 0;
};

std::string text_of(Stream stream) {
  switch (stream) {
    case Stream::kOut:
      return kStdout;
    case Stream::kErr:
      return kStderr;
    case Stream::kMuster:
      return kOurs;
    case Stream::kBoth:
      break;
  }
  return "";
}

}  // namespace

void OutputMarks::open(const std::string& path, std::uint64_t marks_max) {
  path_ = path;
  const MarkFile there(path);
  marks_max_ = marks_max;
  count_ = there.count();
  if (count_ > 0) {
    const Mark last = there.at(count_ - 1);
    has_last_ = true;
    last_stream_ = last.stream;
    last_unix_ms_ = last.unix_ms;
  }
}

void OutputMarks::note(std::uint64_t offset, Stream stream, std::uint64_t unix_ms) {
  const std::uint64_t now = std::max(unix_ms, last_unix_ms_);
  const bool is_same = has_last_ && stream == last_stream_ && !unmarked_from_.has_value() &&
                       now - last_unix_ms_ < span_ms(count_ - 1);
  if (is_same || is_full_) {
    return;
  }
  if (!file_.is_open()) {
    file_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  }
  if (unmarked_from_.has_value() && append(*unmarked_from_, now, Stream::kBoth)) {
    unmarked_from_.reset();
  }
  is_full_ = count_ >= marks_max_;
  if (is_full_ || unmarked_from_.has_value()) {
    return;
  }
  if (!append(offset, now, count_ + 1 == marks_max_ ? Stream::kBoth : stream)) {
    unmarked_from_ = offset;
    return;
  }
  has_last_ = true;
  last_stream_ = stream;
  last_unix_ms_ = now;
}

/// Removes a record that a full disk cut short, for it would shift all records behind it; the next
/// note() tries again.
bool OutputMarks::append(std::uint64_t offset, std::uint64_t unix_ms, Stream stream) {
  const Record record = record_of({offset, unix_ms, stream});
  const ssize_t written = write(file_.get(), record.data(), record.size());
  if (written == static_cast<ssize_t>(record.size())) {
    ++count_;
    return true;
  }
  struct stat info {};
  constexpr auto kBytes = static_cast<off_t>(kMarkBytes);
  is_full_ = fstat(file_.get(), &info) == 0 && info.st_size % kBytes != 0 &&
             ftruncate(file_.get(), info.st_size - info.st_size % kBytes) != 0;
  return false;
}

std::vector<OutputMark> read_marks(const std::string& path, std::uint64_t begin, std::uint64_t end,
                                   std::size_t count_max) {
  const MarkFile marks(path);
  const std::uint64_t behind =
      marks.first([begin](std::uint64_t, const Mark& mark) { return mark.offset > begin; });
  std::vector<OutputMark> found;
  for (const Mark& mark : marks.from(behind > 0 ? behind - 1 : 0, count_max)) {
    const bool ascends = found.empty() || mark.offset > found.back().offset;
    if (!ascends || (mark.offset >= end && !found.empty())) {
      break;
    }
    found.push_back({mark.offset, mark.unix_ms, text_of(mark.stream)});
  }
  return found;
}

std::uint64_t offset_since(const std::string& path, std::uint64_t unix_ms, std::uint64_t size) {
  const MarkFile marks(path);
  const std::uint64_t first = marks.first([unix_ms](std::uint64_t index, const Mark& mark) {
    return mark.unix_ms + span_ms(index) > unix_ms;
  });
  if (first < marks.count() || marks.count() == 0) {
    return first < marks.count() ? marks.at(first).offset : 0;
  }
  // Behind the last mark of a full file anything may be new.
  const Mark last = marks.at(marks.count() - 1);
  return last.stream == Stream::kBoth ? last.offset : size;
}

}  // namespace muster::agent
