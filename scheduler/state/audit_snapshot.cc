#include "scheduler/state/audit_snapshot.h"

#include <utility>

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::Reader;

enum class AuditPart : std::uint8_t { kLast = 0, kBatch = 1, kLine = 2 };

Encoder begin(std::uint64_t section, AuditPart part, std::size_t fields) {
  Encoder out;
  out.array(2 + fields).u64(section).u64(static_cast<std::uint64_t>(part));
  return out;
}

Encoder encode_line(std::uint64_t section, const AuditLine& line) {
  Encoder out = begin(section, AuditPart::kLine, 11);
  out.i64(line.unix_ms)
      .num(line.index)
      .text(line.by)
      .text(line.user)
      .id(line.host)
      .id(line.told_by)
      .u64(static_cast<std::uint64_t>(line.proof))
      .u64(static_cast<std::uint64_t>(line.outcome))
      .text(line.verb)
      .text(line.object)
      .text(line.why);
  return out;
}

AuditLine read_line(Reader& in) {
  AuditLine line;
  line.unix_ms = in.i64();
  line.index = in.num<LogIndex>();
  line.by = in.text(kAuditTextBytesMax);
  line.user = in.text(kAuditTextBytesMax);
  line.host = in.id<HostId>();
  line.told_by = in.id<HostId>();
  line.proof = static_cast<AuditProof>(in.u64_at_most(static_cast<std::uint64_t>(kLastAuditProof)));
  line.outcome =
      static_cast<AuditOutcome>(in.u64_at_most(static_cast<std::uint64_t>(AuditOutcome::kDenied)));
  line.verb = in.text(kAuditTextBytesMax);
  line.object = in.text(kAuditTextBytesMax);
  line.why = in.text(kAuditTextBytesMax);
  return line;
}

/// The lines follow the last number, in their order.
void read_next_line(Reader& in, AuditParts& parts) {
  AuditLine line = read_line(in);
  parts.bytes += bytes_of(line);
  if (parts.lines.size() >= kAuditLinesMax || parts.lines.size() >= parts.last ||
      parts.bytes > kAuditBytesMax) {
    in.fail();
    return;
  }
  parts.lines.push_back(std::move(line));
}

void read_last(Reader& in, AuditParts& parts) {
  parts.last = in.u64();
  if (!parts.lines.empty()) {
    in.fail();
  }
}

}  // namespace

AuditBook AuditParts::whole() && {
  std::uint64_t number = last - lines.size();
  for (AuditLine& line : lines) {
    line.number = ++number;
  }
  return {last, std::move(lines), std::move(batches)};
}

std::vector<Encoder> audit_documents(const AuditBook& audit, std::uint64_t section) {
  std::vector<Encoder> documents;
  if (audit.last() > 0) {
    documents.push_back(begin(section, AuditPart::kLast, 1));
    documents.back().u64(audit.last());
  }
  for (const auto& [host, batch] : audit.batches()) {
    documents.push_back(begin(section, AuditPart::kBatch, 3));
    documents.back().id(host).u64(batch.generation).u64(batch.number);
  }
  for (const AuditLine& line : audit.lines()) {
    documents.push_back(encode_line(section, line));
  }
  return documents;
}

void read_audit(Reader& in, AuditParts& parts) {
  switch (static_cast<AuditPart>(in.u64_at_most(static_cast<std::uint64_t>(AuditPart::kLine)))) {
    case AuditPart::kLast:
      return read_last(in, parts);
    case AuditPart::kBatch: {
      const HostId host = in.id<HostId>();
      AuditBook::Batch& batch = parts.batches[host];
      batch.generation = in.u64();
      batch.number = in.u64();
      return;
    }
    case AuditPart::kLine:
      return read_next_line(in, parts);
  }
}

}  // namespace muster::scheduler
