#pragma once
// Strong identifiers: each id, counter and token of the project has a type of its own, so that code
// that mixes two of them does not compile. All are ordered values that allocate no memory.

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace muster {

/// A number with a meaning. `Tag` only tells kinds apart. There is no arithmetic but next(),
/// because adding two terms or two job ids is always a mistake.
template <class Tag>
class Strong {
 public:
  constexpr Strong() = default;
  constexpr explicit Strong(std::uint64_t value) : value_(value) {}
  constexpr std::uint64_t value() const { return value_; }
  constexpr Strong next() const { return Strong(value_ + 1); }
  constexpr auto operator<=>(const Strong&) const = default;

 private:
  std::uint64_t value_ = 0;
};

/// Persisted counter of an agent's starts; the incarnation of the papers. 0 = never started.
using Generation = Strong<struct GenerationTag>;
/// Random number of each start: two starts of one generation (a copied disk) differ in it.
using StartId = Strong<struct StartIdTag>;
/// Counter of one owner's writes inside one generation.
using Sequence = Strong<struct SequenceTag>;
/// Never 0 in a request; a reply carries the request's nonce. 0 = no reply is expected.
using Nonce = Strong<struct NonceTag>;
/// Raft's term and log index (Raft 5.1, 5.3). Index 0 = before the first entry.
using Term = Strong<struct TermTag>;
using LogIndex = Strong<struct LogIndexTag>;
/// Random number of one life of a host's raft/ directory; 0 = the seat of a founder.
using SeatId = Strong<struct SeatIdTag>;
/// Number of a job, given at apply: 1, 2, 3. 0 = no job. A task of an array is a job whose number
/// holds that of its array and its own index: "7.12" is task 12 of array 7 (task_id). The tasks of
/// one array lie side by side, behind all jobs that are not tasks.
using JobId = Strong<struct JobIdTag>;

inline constexpr int kTaskBits = 24;
inline constexpr JobId kFirstTask{std::uint64_t{1} << 62};
inline constexpr std::uint32_t kTaskIndexMax = 9'999'999;
inline constexpr JobId kLastArray{(std::uint64_t{1} << 38) - 1};  ///< The highest array number.
/// Precondition: index <= kTaskIndexMax; the array's number is below 2^38.
constexpr JobId task_id(JobId array, std::uint32_t index) {
  return JobId(kFirstTask.value() | array.value() << kTaskBits | index);
}
constexpr bool is_task(JobId job) {
  return job >= kFirstTask;
}
/// The array of a task; the job itself if it is not a task.
constexpr JobId array_of(JobId job) {
  return is_task(job) ? JobId((job.value() ^ kFirstTask.value()) >> kTaskBits) : job;
}
constexpr std::uint32_t index_of_task(JobId task) {
  return static_cast<std::uint32_t>(task.value() & ((std::uint64_t{1} << kTaskBits) - 1));
}
/// "7", or "7.12".
inline std::string text_of(JobId job) {
  return std::to_string(array_of(job).value()) +
         (is_task(job) ? "." + std::to_string(index_of_task(job)) : "");
}

/// 16 raw bytes with a meaning. All zero = none.
template <class Tag>
class Id128 {
 public:
  static constexpr std::size_t kSizeBytes = 16;
  constexpr Id128() = default;
  constexpr explicit Id128(const std::array<std::uint8_t, kSizeBytes>& bytes) : bytes_(bytes) {}

  /// The zero id unless `text` has exactly 16 bytes; decoders check the size first.
  static Id128 from_bytes(std::string_view text) {
    Id128 id;
    if (text.size() == kSizeBytes) {
      for (std::size_t i = 0; i < kSizeBytes; ++i) {
        id.bytes_[i] = static_cast<std::uint8_t>(text[i]);
      }
    }
    return id;
  }

  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_.data()), kSizeBytes};
  }
  bool is_zero() const { return *this == Id128(); }
  /// First eight bytes, big endian: cheap hash and seed material.
  std::uint64_t prefix() const { return word(0); }
  /// Last eight bytes, big endian.
  std::uint64_t suffix() const { return word(1); }
  std::string hex() const { return hex_digits(kSizeBytes); }
  /// The form people see: 8 hex digits.
  std::string short_hex() const { return hex_digits(4); }
  bool operator==(const Id128& other) const {
    return word(0) == other.word(0) && word(1) == other.word(1);
  }
  /// Byte order, compared a word at a time: ids are keys of most maps.
  std::strong_ordering operator<=>(const Id128& other) const {
    const auto first = word(0) <=> other.word(0);
    return first != std::strong_ordering::equal ? first : word(1) <=> other.word(1);
  }

 private:
  std::uint64_t word(std::size_t which) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + which * sizeof value, sizeof value);
    if constexpr (std::endian::native == std::endian::little) {
      value = __builtin_bswap64(value);
    }
    return value;
  }

  std::string hex_digits(std::size_t byte_count) const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < byte_count; ++i) {
      text += kDigits[bytes_[i] >> 4];
      text += kDigits[bytes_[i] & 15];
    }
    return text;
  }

  std::array<std::uint8_t, kSizeBytes> bytes_{};
};

/// First 16 bytes of BLAKE2b-256 of the host's public key.
using HostId = Id128<struct HostIdTag>;
/// Random number from the proposal of the first quorum.
using ClusterId = Id128<struct ClusterIdTag>;

/// The quorum that speaks. An operator raises it when a quorum is lost for good. The first quorum
/// has {1, 0}. An agent obeys the first lineage that it met of a counter, and no lower counter.
struct ClusterEpoch {
  std::uint64_t counter = 1;
  std::uint64_t lineage = 0;  ///< Random: two recoveries to one counter differ in it.
  constexpr auto operator<=>(const ClusterEpoch&) const = default;
  bool is_first() const { return *this == ClusterEpoch(); }
  std::string text() const { return std::to_string(counter); }
};

/// The fencing token of an attempt: the log index of its Decide entry, prefixed by the cluster
/// epoch. A higher token supersedes a lower one. {0,0} = none.
struct Token {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  constexpr auto operator<=>(const Token&) const = default;
  bool is_none() const { return epoch == 0 && index == 0; }
  std::string text() const { return std::to_string(epoch) + "." + std::to_string(index); }
};

/// One start of one agent. The log binds grants to the pair (generation, start id).
struct AgentStart {
  Generation generation;
  StartId start_id;
  constexpr auto operator<=>(const AgentStart&) const = default;
};

}  // namespace muster
