#pragma once
// The newest changes and refusals, a line each, for people that ask later what was done and who did
// it. A line never changes; its number counts up and is never used again. A host that answers
// requests reports refusals in batches (entry::NoteRequests); the book knows the last batch of each
// host, so that a batch counts once. Owned by Books; pure.
//
// Invariants: at most kAuditLinesMax lines and kAuditBytesMax bytes of them; numbers follow each
// other without a gap.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "gossip/base/ids.h"
#include "gossip/base/result.h"
#include "scheduler/protocol/users.h"

namespace muster::scheduler {

inline constexpr std::size_t kAuditLinesMax = 50'000;
/// In memory, as bytes_of() counts them: 335 bytes for each of kAuditLinesMax lines. A line of
/// short names has 270.
inline constexpr std::size_t kAuditBytesMax = 16 << 20;
/// Of a line without long texts. A number and not sizeof: all voters have to drop the same lines.
inline constexpr std::size_t kAuditLineBytes = 240;
/// Longer texts of a line are cut.
inline constexpr std::size_t kAuditTextBytesMax = 256;

/// The proof that the person gave the order. The numbers are those of snapshots.
enum class AuditProof : std::uint8_t {
  kHost = 0,       ///< The word of the host of the login.
  kToken = 1,      ///< An access token.
  kSignature = 2,  ///< The signature of the person.
};
inline constexpr AuditProof kLastAuditProof = AuditProof::kSignature;
/// "host", "token", "signature"
std::string_view text_of(AuditProof proof);
AuditProof proof_of(const Subject& subject);

enum class AuditOutcome : std::uint8_t {
  kDone = 0,
  kRefused = 1,  ///< Not possible: there is no such job, the host answers, ...
  kDenied = 2,   ///< The person has no right to it.
};
/// "done", "refused", "denied"
std::string_view text_of(AuditOutcome outcome);

struct AuditLine {
  std::uint64_t number = 0;  ///< From 1.
  std::int64_t unix_ms = 0;  ///< Of the entry: the leader's wall clock; 0 = not known.
  LogIndex index;            ///< Of the entry.
  std::string by;            ///< "USER@HOST"; "" = several persons.
  std::string user;
  HostId host;     ///< The host that vouches for the person.
  HostId told_by;  ///< The host that says so in a batch; zero = the log itself shows it.
  AuditProof proof = AuditProof::kHost;
  AuditOutcome outcome = AuditOutcome::kDone;
  std::string verb;    ///< "submit", "cancel", ...: the names never change.
  std::string object;  ///< "job 12", "host n1", "user ann"; "" = none, or not known.
  /// In one word, as word_of() gives it, if the log refused it: voters of two versions may word a
  /// refusal differently, and their states have to be equal. A sentence if a host says so.
  std::string why;
  bool operator==(const AuditLine&) const = default;
};
static_assert(sizeof(AuditLine) <= kAuditLineBytes);
/// "invalid", "not_found", "conflict", ...
std::string_view word_of(ErrorCode code);
/// The size of a line in memory.
std::size_t bytes_of(const AuditLine& line);

class AuditBook {
 public:
  /// The last batch of one life of the agent on a host.
  struct Batch {
    std::uint64_t generation = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Batch&) const = default;
  };
  using Lines = std::deque<AuditLine>;
  using Batches = std::map<HostId, Batch>;

  AuditBook() = default;
  /// From a snapshot. `last`: the number of the newest line.
  AuditBook(std::uint64_t last, Lines lines, Batches batches);

  /// The oldest first.
  const Lines& lines() const { return lines_; }
  /// The number of the newest line; 0 = there was no line.
  std::uint64_t last() const { return last_; }
  std::size_t bytes() const { return bytes_; }
  const Batches& batches() const { return batches_; }
  /// The first line behind that number. O(1).
  Lines::const_iterator after(std::uint64_t number) const;

  /// Numbers the line, cuts its texts, and drops the oldest lines beyond the limits.
  void add(AuditLine line);
  /// True if the batch is above the last one of that host: then it is the last one from now on.
  bool take_batch(HostId host, Batch batch);
  bool knows(HostId host, Batch batch) const;
  void check() const;

 private:
  std::uint64_t last_ = 0;
  std::size_t bytes_ = 0;
  Lines lines_;
  Batches batches_;
};

}  // namespace muster::scheduler
