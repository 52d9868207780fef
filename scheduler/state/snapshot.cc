#include "scheduler/state/snapshot.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "gossip/wire/wire.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/array_snapshot.h"
#include "scheduler/state/attempt_snapshot.h"
#include "scheduler/state/audit_snapshot.h"
#include "scheduler/state/directory_snapshot.h"
#include "scheduler/state/host_snapshot.h"
#include "scheduler/state/popularity_snapshot.h"
#include "scheduler/state/preemption_snapshot.h"
#include "scheduler/state/queue_snapshot.h"
#include "scheduler/state/roll_snapshot.h"
#include "scheduler/state/share_snapshot.h"
#include "scheduler/state/wait_snapshot.h"

namespace muster::scheduler {
namespace {

using gossip::Encoder;
using gossip::Reader;

enum class Section : std::uint8_t {
  kHead = 1,
  kHost = 2,
  kAttempt = 3,
  kMember = 4,
  kJob = 5,
  kKey = 6,
  kUsage = 7,
  kEnrolled = 8,
  kTicket = 9,
  kRollKeys = 10,
  kArray = 11,
  kPopularity = 12,
  kDirectory = 13,
  kAudit = 14,
  kQueues = 15,
  kShares = 16,
  kOver = 17,
  kPreemption = 18,
};
/// 10: attempts say where they are guaranteed.
constexpr std::uint64_t kSnapshotVersion = 10;
constexpr std::size_t kLengthBytes = 4;

void append(std::string& out, Encoder document) {
  const std::string bytes = document.take();
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    out += static_cast<char>(bytes.size() >> (8 * (kLengthBytes - 1 - i)) & 0xff);
  }
  out += bytes;
}

void append_all(std::string& out, std::vector<Encoder> documents) {
  for (Encoder& document : documents) {
    append(out, std::move(document));
  }
}

constexpr std::uint64_t number_of(Section which) {
  return static_cast<std::uint64_t>(which);
}

Encoder section(Section which, std::size_t fields) {
  Encoder out;
  out.array(1 + fields).u64(number_of(which));
  return out;
}

template <class E>
E read_enum(Reader& in, E highest) {
  return static_cast<E>(in.u64_at_most(static_cast<std::uint64_t>(highest)));
}

std::uint32_t read_u32(Reader& in) {
  return static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
}

void write_history(Encoder& out, const std::vector<Transition>& history) {
  out.array(history.size());
  for (const Transition& step : history) {
    out.array(7)
        .u64(static_cast<std::uint64_t>(step.to))
        .text(step.cause)
        .duration(step.at)
        .num(step.index)
        .token(step.token)
        .i64(step.unix_ms);
  }
}

std::vector<Transition> read_history(Reader& in) {
  std::vector<Transition> history;
  Reader list = in.array();
  while (list.ok() && list.left() > 0) {
    Reader item = list.array();
    Transition step;
    step.to = read_enum(item, JobState::kCancelled);
    step.cause = item.text();
    step.at = item.duration();
    step.index = item.num<LogIndex>();
    step.token = item.token();
    step.unix_ms = item.i64();
    history.push_back(std::move(step));
  }
  return history;
}

Encoder encode_job(const Job& job) {
  Encoder out = section(Section::kJob, job.life.wait.is_none() ? 29 : 30);
  out.num(job.id);
  write(out, job.spec);
  out.text(job.key)
      .text(job.submitted_by)
      .u64(static_cast<std::uint64_t>(job.life.state))
      .u64(job.life.attempts)
      .u64(job.life.failures.count)
      .u64(job.life.lost_attempts)
      .u64(job.life.evictions)
      .boolean(job.orders.cancel_requested)
      .i64(job.life.exit_code)
      .text(job.life.reason)
      .duration(job.history.submitted_at)
      .duration(job.history.ended_at)
      .num(job.life.ended_index)
      .token(job.life.current);
  write(out, job.life.attempt_tokens);
  out.array(job.life.left_out.size() * 2);
  for (const LeftOut& left_out : job.life.left_out) {
    out.id(left_out.host).duration(left_out.until);
  }
  write_history(out, job.history.transitions);
  out.u64(static_cast<std::uint64_t>(job.orders.order))
      .text(job.orders.ordered_by)
      .i64(job.orders.priority)
      .i64(job.history.submitted_unix_ms)
      .i64(job.history.started_unix_ms)
      .i64(job.history.ended_unix_ms)
      .u64(job.history.gpu_ms)
      .boolean(job.life.is_relaxed)
      .duration(job.life.failures.retry_at);
  if (!job.life.wait.is_none()) {
    write_wait(out, job.life.wait);
  }
  return out;
}

Job read_job(Reader& in) {
  Job job;
  job.id = in.num<JobId>();
  job.spec = read_job_spec(in);
  job.key = in.text();
  job.submitted_by = in.text();
  job.life.state = read_enum(in, JobState::kCancelled);
  job.life.attempts = read_u32(in);
  job.life.failures.count = read_u32(in);
  job.life.lost_attempts = read_u32(in);
  job.life.evictions = read_u32(in);
  job.orders.cancel_requested = in.boolean();
  job.life.exit_code = static_cast<std::int32_t>(in.i64());
  job.life.reason = in.text();
  job.history.submitted_at = in.duration();
  job.history.ended_at = in.duration();
  job.life.ended_index = in.num<LogIndex>();
  job.life.current = in.token();
  job.life.attempt_tokens = read_tokens(in);
  Reader left_out = in.array();
  while (left_out.ok() && left_out.left() > 0) {
    const HostId host = left_out.id<HostId>();
    job.life.left_out.push_back(LeftOut{host, left_out.duration()});
  }
  job.history.transitions = read_history(in);
  job.orders.order = read_enum(in, JobOrder::kRequeue);
  job.orders.ordered_by = in.text();
  job.orders.priority = static_cast<std::int32_t>(in.i64());
  job.history.submitted_unix_ms = in.i64();
  job.history.started_unix_ms = in.i64();
  job.history.ended_unix_ms = in.i64();
  job.history.gpu_ms = in.u64();
  job.life.is_relaxed = in.boolean();
  job.life.failures.retry_at = in.duration();
  if (in.left() > 0) {
    job.life.wait = read_wait(in);
  }
  return job;
}

/// Takes the next document off `bytes`; nullopt if the prefix is wrong.
std::optional<std::string> take_document(std::string_view& bytes) {
  if (bytes.size() < kLengthBytes) {
    return std::nullopt;
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    size = size << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  bytes.remove_prefix(kLengthBytes);
  if (size > bytes.size()) {
    return std::nullopt;
  }
  std::string document(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return document;
}

void write_epochs(Encoder& out, const Epochs& epochs) {
  out.duration(epochs.recovered_at()).array(epochs.past().size() * 2);
  for (const auto& [epoch, past] : epochs.past()) {
    out.u64(epoch).num(past.last);
  }
  write(out, std::vector<Token>(epochs.unsure().begin(), epochs.unsure().end()));
  out.array(epochs.past().size());
  for (const auto& [epoch, past] : epochs.past()) {
    out.num(past.job);
  }
}

/// Reads the epochs from the fields behind the plain head; the first epoch has no such fields.
Epochs read_epochs(Reader& in, std::uint64_t counter) {
  if (in.left() == 0) {
    return Epochs(counter);
  }
  const Duration recovered_at = in.duration();
  std::map<std::uint64_t, Epochs::Past> past;
  Reader lasts = in.array();
  while (lasts.ok() && lasts.left() > 0) {
    const std::uint64_t epoch = lasts.u64();
    past[epoch].last = lasts.num<LogIndex>();
  }
  const std::vector<Token> unsure = read_tokens(in);
  Reader jobs = in.left() > 0 ? in.array() : Reader();
  for (auto& [epoch, known] : past) {
    known.job = jobs.left() > 0 ? jobs.num<JobId>() : JobId();
  }
  return {counter, recovered_at, std::move(past), {unsure.begin(), unsure.end()}};
}

struct RollParts {
  std::map<HostId, EnrolledHost> hosts;
  std::map<std::string, Ticket> tickets;
  RollKeys keys;
};

/// The contents of the documents of a snapshot, before other books are derived from them.
struct Parts {
  Epochs epochs;
  LogIndex applied;
  Duration cluster_time{0};
  JobId last_job;
  std::map<HostId, HostRecord> hosts;
  std::map<Token, Attempt> attempts;
  std::map<Token, Cover> covers;  ///< Of attempts that are guaranteed somewhere.
  std::map<JobId, Job> jobs;
  ArrayBook::Arrays arrays;
  ClientKeys::Records keys;
  UsageBook::Rows usage;
  PopularityParts popularity;
  RollParts roll;
  DirectoryParts directory;
  AuditParts audit;
  QueueBook queues;
  ShareParts shares;
  std::deque<Over> over;
  std::vector<Preemption> preemptions;
};

void read_head(Reader& in, Parts& parts) {
  if (in.u64() != kSnapshotVersion) {
    in.fail();
  }
  const std::uint64_t epoch = in.u64();
  parts.applied = in.num<LogIndex>();
  parts.cluster_time = in.duration();
  parts.last_job = in.num<JobId>();
  in.u64();
  parts.epochs = read_epochs(in, epoch);
}

void read_usage(Reader& in, UsageBook::Rows& rows) {
  UsageKey key;
  key.day = in.i64();
  key.user = in.text();
  key.gpu_type = in.text();
  rows[std::move(key)] = in.u64();
}

void read_client_key(Reader& in, ClientKeys::Records& keys) {
  std::string key = in.text();
  const JobId job = in.num<JobId>();
  keys[job] = ClientKeys::Record{std::move(key), in.duration()};
}

void read_open_ticket(Reader& in, std::map<std::string, Ticket>& tickets) {
  std::string key = in.text();
  tickets[std::move(key)] = read_ticket(in);
}

template <class Id, class Record>
void keep(std::map<Id, Record>& records, Record record) {
  const Id id = record.id;
  records[id] = std::move(record);
}

void add_attempt(Reader& in, Parts& parts) {
  Cover cover;
  Attempt attempt = read_attempt(in, cover);
  if (!cover.is_none()) {
    parts.covers[attempt.token] = cover;
  }
  parts.attempts[attempt.token] = std::move(attempt);
}

void add_preemption(Reader& in, Parts& parts) {
  Cover cover;
  Preemption preemption = read_preemption(in, cover);
  parts.covers[preemption.token] = cover;
  parts.preemptions.push_back(std::move(preemption));
}

/// False if the document does not fit.
bool read_document(Reader& in, Parts& parts) {
  switch (read_enum(in, Section::kPreemption)) {
    case Section::kHead:
      read_head(in, parts);
      break;
    case Section::kHost:
      keep(parts.hosts, read_host(in));
      break;
    case Section::kAttempt:
      add_attempt(in, parts);
      break;
    case Section::kMember: {
      const auto attempt = parts.attempts.find(in.token());
      if (attempt == parts.attempts.end()) {
        return false;
      }
      attempt->second.members.push_back(read_member_record(in));
      break;
    }
    case Section::kJob:
      keep(parts.jobs, read_job(in));
      break;
    case Section::kKey:
      read_client_key(in, parts.keys);
      break;
    case Section::kUsage:
      read_usage(in, parts.usage);
      break;
    case Section::kEnrolled: {
      const HostId host = in.id<HostId>();
      parts.roll.hosts[host] = read_enrolled(in);
      break;
    }
    case Section::kArray: {
      TaskArray array = read_array(in);
      parts.arrays[array.id] = std::move(array);
      break;
    }
    case Section::kPopularity:
      read_popularity(in, parts.popularity);
      break;
    case Section::kTicket:
      read_open_ticket(in, parts.roll.tickets);
      break;
    case Section::kRollKeys:
      parts.roll.keys = read_roll_keys(in);
      break;
    case Section::kDirectory:
      read_directory(in, parts.directory);
      break;
    case Section::kAudit:
      read_audit(in, parts.audit);
      break;
    case Section::kQueues:
      parts.queues = read_queues(in);
      break;
    case Section::kShares:
      read_shares(in, parts.shares);
      break;
    case Section::kOver:
      read_over(in, parts.over);
      break;
    case Section::kPreemption:
      add_preemption(in, parts);
      break;
  }
  return in.ok();
}

Result<Parts> read_parts(std::string_view bytes) {
  Parts parts;
  std::size_t position = 0;
  while (!bytes.empty()) {
    std::optional<std::string> next = take_document(bytes);
    if (!next.has_value()) {
      return Error{ErrorCode::kCorrupt, "snapshot cut at document " + std::to_string(position)};
    }
    const Result<gossip::Document> document = gossip::Document::parse(std::move(*next));
    if (!document) {
      return Error{ErrorCode::kCorrupt, "snapshot document " + std::to_string(position)};
    }
    Reader in = document->root();
    if (!read_document(in, parts)) {
      return Error{ErrorCode::kCorrupt, "snapshot document " + std::to_string(position)};
    }
    ++position;
  }
  if (position == 0) {
    return Error{ErrorCode::kCorrupt, "empty snapshot"};
  }
  for (const auto& [token, attempt] : parts.attempts) {
    if (attempt.members.empty()) {
      return Error{ErrorCode::kCorrupt, "snapshot lacks the members of " + token.text()};
    }
  }
  return parts;
}

void append_attempts(std::string& out, const Books& books) {
  for (const auto& [token, attempt] : books.attempts.all()) {
    append(out,
           attempt_document(attempt, books.guarantees.cover(token), number_of(Section::kAttempt)));
    for (const MemberRecord& record : attempt.members) {
      append(out, member_document(token, record, number_of(Section::kMember)));
    }
  }
}

}  // namespace

std::string encoded(const Books& books) {
  std::string out;
  Encoder head = section(Section::kHead, books.epochs.past().empty() ? 6 : 10);
  head.u64(kSnapshotVersion)
      .u64(books.epochs.counter())
      .num(books.applied)
      .duration(books.cluster_time)
      .num(books.jobs.last())
      .u64(books.jobs.all().size());
  if (!books.epochs.past().empty()) {
    write_epochs(head, books.epochs);
  }
  append(out, std::move(head));
  for (const auto& [id, host] : books.hosts.all()) {
    append(out, host_document(host, number_of(Section::kHost)));
  }
  append_attempts(out, books);
  for (const auto& [id, job] : books.jobs.all()) {
    append(out, encode_job(job));
  }
  for (const auto& [id, array] : books.arrays.all()) {
    Encoder document = section(Section::kArray, kArrayElements + (array.wait.is_none() ? 0 : 1));
    write_array(document, array);
    append(out, std::move(document));
  }
  for (const auto& [job, record] : books.keys.all()) {
    if (mutant(SchedulerMutant::kLostKeyAfterSnapshot)) {
      break;
    }
    Encoder document = section(Section::kKey, 3);
    document.text(record.key).num(job).duration(record.at);
    append(out, std::move(document));
  }
  for (const auto& [key, time] : books.usage.rows()) {
    Encoder document = section(Section::kUsage, 4);
    document.i64(key.day).text(key.user).text(key.gpu_type).u64(time);
    append(out, std::move(document));
  }
  append_all(out, popularity_documents(books.popularity, number_of(Section::kPopularity)));
  for (const auto& [id, host] : books.roll.hosts()) {
    Encoder document = section(Section::kEnrolled, kEnrolledHostElements);
    write_enrolled(document, id, host);
    append(out, std::move(document));
  }
  for (const auto& [key, ticket] : books.roll.tickets()) {
    Encoder document = section(Section::kTicket, kTicketElements);
    write_ticket(document, key, ticket);
    append(out, std::move(document));
  }
  if (books.roll.keys() != RollKeys()) {
    Encoder document = section(Section::kRollKeys, kRollKeysElements);
    write_roll_keys(document, books.roll.keys());
    append(out, std::move(document));
  }
  append_all(out, directory_documents(books.directory, number_of(Section::kDirectory)));
  append_all(out, audit_documents(books.audit, number_of(Section::kAudit)));
  append_all(out, queue_documents(books.queues, number_of(Section::kQueues)));
  append_all(out, share_documents(books.shares, books.queues, number_of(Section::kShares)));
  for (const auto& [job, preemption] : books.preemptions.all()) {
    Encoder document = section(Section::kPreemption, kPreemptionElements);
    write_preemption(document, preemption, books.guarantees.cover(preemption.token));
    append(out, std::move(document));
  }
  append_all(out, over_documents(books.eligibility, number_of(Section::kOver)));
  return out;
}

Result<Books> decoded(std::string_view bytes, const KeptBytesMax& kept_max) {
  Result<Parts> parts = read_parts(bytes);
  if (!parts) {
    return parts.error();
  }
  if (!are_numbers_dense(parts->hosts)) {
    return Error{ErrorCode::kCorrupt, "the snapshot's hosts are not numbered one by one"};
  }
  Books books;
  books.applied = parts->applied;
  books.cluster_time = parts->cluster_time;
  books.epochs = std::move(parts->epochs);
  books.jobs = JobBook(std::move(parts->jobs), parts->last_job);
  books.arrays = ArrayBook(std::move(parts->arrays));
  books.hosts = HostBook(std::move(parts->hosts));
  books.attempts = AttemptBook(std::move(parts->attempts));
  books.keys = ClientKeys(std::move(parts->keys));
  books.usage = UsageBook(std::move(parts->usage));
  books.popularity = std::move(parts->popularity).whole();
  books.roll = RollBook(std::move(parts->roll.hosts), std::move(parts->roll.tickets),
                        std::move(parts->roll.keys));
  books.directory = std::move(parts->directory).whole();
  books.audit = std::move(parts->audit).whole();
  books.queues = std::move(parts->queues);
  std::optional<ShareBook> shares =
      std::move(parts->shares).whole(books.queues, books.cluster_time);
  if (!shares.has_value()) {
    return Error{ErrorCode::kCorrupt, "the snapshot's shares are of another tree of queues"};
  }
  books.shares = *std::move(shares);
  books.sizes = StateSizes(kept_max);
  books.eligibility.set_over(std::move(parts->over));
  derive(books);
  if (!are_sound(books, parts->preemptions)) {
    return Error{ErrorCode::kCorrupt, "the snapshot's preemptions are of other jobs"};
  }
  for (Preemption& preemption : parts->preemptions) {
    books.preemptions.add(std::move(preemption));
  }
  std::optional<GuaranteeBook> guarantees = guaranteed_by(books, parts->covers);
  if (!guarantees.has_value()) {
    return Error{ErrorCode::kCorrupt, "the snapshot's guarantees are of another tree of queues"};
  }
  books.guarantees = *std::move(guarantees);
  return books;
}

std::uint64_t digest_of(const Books& books) {
  const std::string bytes = encoded(books);
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace muster::scheduler
