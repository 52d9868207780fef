#include "scheduler/state/audit_book.h"

#include <algorithm>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// A text up to this size needs no memory of its own.
constexpr std::size_t kInlineBytes = 15;

std::size_t heap_bytes(const std::string& text) {
  return text.size() <= kInlineBytes ? 0 : text.size() + 1;
}

void cut(std::string& text) {
  if (text.size() > kAuditTextBytesMax) {
    text.resize(kAuditTextBytesMax);
  }
}

}  // namespace

std::string_view text_of(AuditProof proof) {
  switch (proof) {
    case AuditProof::kHost:
      return "host";
    case AuditProof::kToken:
      return "token";
    case AuditProof::kSignature:
      return "signature";
  }
  return "";
}

AuditProof proof_of(const Subject& subject) {
  return !subject.token.is_zero()        ? AuditProof::kToken
         : subject.signature.has_value() ? AuditProof::kSignature
                                         : AuditProof::kHost;
}

std::string_view text_of(AuditOutcome outcome) {
  switch (outcome) {
    case AuditOutcome::kDone:
      return "done";
    case AuditOutcome::kRefused:
      return "refused";
    case AuditOutcome::kDenied:
      return "denied";
  }
  return "";
}

std::string_view word_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kUnknown:
      return "unknown";
    case ErrorCode::kImpossible:
      return "impossible";
    case ErrorCode::kDenied:
      return "denied";
  }
  return "";
}

std::size_t bytes_of(const AuditLine& line) {
  return kAuditLineBytes + heap_bytes(line.by) + heap_bytes(line.user) + heap_bytes(line.verb) +
         heap_bytes(line.object) + heap_bytes(line.why);
}

AuditBook::AuditBook(std::uint64_t last, Lines lines, Batches batches)
    : last_(last), lines_(std::move(lines)), batches_(std::move(batches)) {
  for (const AuditLine& line : lines_) {
    bytes_ += bytes_of(line);
  }
}

AuditBook::Lines::const_iterator AuditBook::after(std::uint64_t number) const {
  const std::uint64_t before_first = last_ - lines_.size();
  const std::uint64_t skipped = std::clamp(number, before_first, last_) - before_first;
  return lines_.begin() + static_cast<std::ptrdiff_t>(skipped);
}

void AuditBook::add(AuditLine line) {
  cut(line.by);
  cut(line.user);
  cut(line.verb);
  cut(line.object);
  cut(line.why);
  line.number = ++last_;
  bytes_ += bytes_of(line);
  lines_.push_back(std::move(line));
  while (lines_.size() > kAuditLinesMax || bytes_ > kAuditBytesMax) {
    bytes_ -= bytes_of(lines_.front());
    lines_.pop_front();
  }
}

bool AuditBook::knows(HostId host, Batch batch) const {
  const auto last = batches_.find(host);
  return last != batches_.end() && batch <= last->second;
}

bool AuditBook::take_batch(HostId host, Batch batch) {
  if (knows(host, batch)) {
    return false;
  }
  batches_[host] = batch;
  return true;
}

void AuditBook::check() const {
  CHECK(lines_.size() <= kAuditLinesMax);
  CHECK(bytes_ <= kAuditBytesMax);
  CHECK(lines_.empty() || lines_.back().number == last_);
  CHECK(lines_.empty() || lines_.front().number == last_ - lines_.size() + 1);
}

}  // namespace muster::scheduler
