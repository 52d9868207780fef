#include "scheduler/protocol/entry.h"

#include <array>
#include <iterator>
#include <utility>
#include <variant>

#include "gossip/base/enum_table.h"
#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/edit_codec.h"

namespace muster::scheduler {
namespace {
using gossip::Encoder;
using gossip::Reader;

/// The encoder of an entry, and the wall clock for its header.
struct Header {
  Encoder encoder;
  std::int64_t unix_ms = 0;
  std::uint64_t version = kEntryVersion;
};

/// Every body is [kind, version, unix_ms, fields...]; `fields` counts what follows the three.
Encoder& begin(Header& out, EntryKind kind, std::size_t fields) {
  return out.encoder.array(3 + fields)
      .u64(static_cast<std::uint64_t>(kind))
      .u64(out.version)
      .i64(out.unix_ms);
}

void write_entry(Header& header, const entry::Register& fact) {
  Encoder& out = begin(header, EntryKind::kRegister, 13).id(fact.host);
  write(out, fact.start);
  out.text(fact.boot_id).text(fact.name).text(fact.gpu_type);
  write(out, fact.gpus);
  out.u64(fact.cpus).u64(fact.memory_mb).array(fact.live.size() * 3);
  for (const entry::LiveGrant& grant : fact.live) {
    out.token(grant.token).boolean(grant.ended);
  }
  write(out, fact.stuck);
  out.boolean(fact.has_namespaces);
  write(out, fact.adoptable);
  write(out, fact.traits);
}

entry::Register read_register(Reader& in) {
  entry::Register fact;
  fact.host = in.id<HostId>();
  fact.start = read_agent_start(in);
  fact.boot_id = in.text();
  fact.name = in.text();
  fact.gpu_type = in.text();
  fact.gpus = read_texts(in, kUuidBytesMax);
  fact.cpus = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  fact.memory_mb = in.u64();
  Reader live = in.array();
  while (live.ok() && live.left() > 0) {
    entry::LiveGrant grant;
    grant.token = live.token();
    grant.ended = live.boolean();
    fact.live.push_back(grant);
  }
  fact.stuck = read_texts(in, kUuidBytesMax);
  fact.has_namespaces = in.boolean();
  fact.adoptable = read_tokens(in);
  fact.traits = read_host_traits(in);
  return fact;
}

void write_entry(Header& header, const entry::Submit& fact) {
  Encoder& out = begin(header, EntryKind::kSubmit, 3).text(fact.key);
  write(out, fact.spec);
  write(out, fact.by);
}

entry::Submit read_submit(Reader& in) {
  entry::Submit fact;
  fact.key = in.text();
  fact.spec = read_job_spec(in);
  fact.by = read_subject(in);
  return fact;
}

void write_entry(Header& header, const entry::Cancel& fact) {
  Encoder& out = begin(header, EntryKind::kCancel, 3).num(fact.job);
  write(out, fact.by);
  out.u64(fact.last);
}

void write_entry(Header& header, const entry::Observe& fact) {
  Encoder& out = begin(header, EntryKind::kObserve, 7).id(fact.host);
  write(out, fact.start);
  out.u64(static_cast<std::uint64_t>(fact.verdict)).u64(static_cast<std::uint64_t>(fact.health));
  write(out, fact.unhealthy_gpus);
  write(out, fact.quarantined);
  out.text(fact.shortage);
}

entry::Observe read_observe(Reader& in) {
  entry::Observe fact;
  fact.host = in.id<HostId>();
  fact.start = read_agent_start(in);
  fact.verdict = static_cast<Verdict>(in.u64_at_most(static_cast<std::uint64_t>(Verdict::kLeft)));
  fact.health = static_cast<Health>(in.u64_at_most(static_cast<std::uint64_t>(Health::kCordoned)));
  fact.unhealthy_gpus = read_texts(in, kUuidBytesMax);
  fact.quarantined = read_texts(in, kUuidBytesMax);
  fact.shortage = in.left() > 0 ? in.text() : "";
  return fact;
}

void write_entry(Header& header, const entry::Tick& fact) {
  begin(header, EntryKind::kTick, 1).duration(fact.elapsed);
}

entry::Tick read_tick(Reader& in) {
  entry::Tick fact;
  fact.elapsed = in.duration();
  return fact;
}

void write_entry(Header& header, const entry::Decide& fact) {
  Encoder& out = begin(header, EntryKind::kDecide, 6)
                     .num(fact.job)
                     .u64(fact.attempt)
                     .array(fact.members.size());
  for (const Member& member : fact.members) {
    write(out, member);
  }
  out.duration(fact.hold).duration(fact.grace).duration(fact.deadline);
}

entry::Decide read_decide(Reader& in) {
  entry::Decide fact;
  fact.job = in.num<JobId>();
  fact.attempt = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  Reader members = in.array();
  while (members.ok() && members.left() > 0) {
    fact.members.push_back(read_member(members));
  }
  fact.hold = in.duration();
  fact.grace = in.duration();
  fact.deadline = in.duration();
  return fact;
}

void write_entry(Header& header, const entry::Ready& fact) {
  Encoder& out = begin(header, EntryKind::kReady, 5).token(fact.token).id(fact.host);
  write(out, fact.start);
  write(out, fact.master);
}

entry::Ready read_ready_entry(Reader& in) {
  entry::Ready fact;
  fact.token = in.token();
  fact.host = in.id<HostId>();
  fact.start = read_agent_start(in);
  fact.master = read_endpoint(in);
  return fact;
}

void write_entry(Header& header, const entry::Start& fact) {
  begin(header, EntryKind::kStart, 2).token(fact.token);
}

entry::Start read_start_entry(Reader& in) {
  return entry::Start{in.token()};
}

void write_entry(Header& header, const entry::Stop& fact) {
  begin(header, EntryKind::kStop, 3).token(fact.token).u64(static_cast<std::uint64_t>(fact.cause));
}

Cause read_cause(Reader& in) {
  const auto cause = static_cast<Cause>(in.u64_at_most(UINT8_MAX));
  if (text_of(cause).empty()) {
    in.fail();
  }
  return cause;
}

entry::Stop read_stop_entry(Reader& in) {
  entry::Stop fact;
  fact.token = in.token();
  fact.cause = read_cause(in);
  return fact;
}

void write_entry(Header& header, const entry::Finish& fact) {
  const std::size_t fields = fact.withheld.empty() ? 6 : 7;
  write(begin(header, EntryKind::kFinish, fields).token(fact.token).id(fact.host), fact.start);
  write(header.encoder, fact.results);
  header.encoder.boolean(fact.last);
  if (!fact.withheld.empty()) {
    write(header.encoder, fact.withheld);
  }
}

entry::Finish read_finish_entry(Reader& in) {
  entry::Finish fact;
  fact.token = in.token();
  fact.host = in.id<HostId>();
  fact.start = read_agent_start(in);
  fact.results = read_rank_results(in);
  fact.last = in.boolean();
  fact.withheld = in.left() > 0 ? read_texts(in, kUuidBytesMax) : std::vector<std::string>();
  return fact;
}

void write_entry(Header& header, const entry::Abort& fact) {
  begin(header, EntryKind::kAbort, 5)
      .token(fact.token)
      .u64(static_cast<std::uint64_t>(fact.cause))
      .id(fact.host)
      .text(fact.why);
}

entry::Abort read_abort(Reader& in) {
  entry::Abort fact;
  fact.token = in.token();
  fact.cause = read_cause(in);
  fact.host = in.id<HostId>();
  fact.why = in.left() > 0 ? in.text() : "";
  return fact;
}

void write_entry(Header& header, const entry::Condemn& fact) {
  Encoder& out = begin(header, EntryKind::kCondemn, 2).id(fact.host);
  write(out, fact.tokens);
}

void write_entry(Header& header, const entry::Pardon& fact) {
  Encoder& out = begin(header, EntryKind::kPardon, 2).id(fact.host);
  write(out, fact.tokens);
}

template <class T>
T read_sentence(Reader& in) {
  T fact;
  fact.host = in.id<HostId>();
  fact.tokens = read_tokens(in);
  return fact;
}

void write_entry(Header& header, const entry::Expire& fact) {
  begin(header, EntryKind::kExpire, 4).id(fact.host).token(fact.token).num(fact.condemn);
}

entry::Expire read_expire(Reader& in) {
  entry::Expire fact;
  fact.host = in.id<HostId>();
  fact.token = in.token();
  fact.condemn = in.num<LogIndex>();
  return fact;
}

void write_entry(Header& header, const entry::Suspend& fact) {
  write(begin(header, EntryKind::kSuspend, 2).num(fact.job), fact.by);
}
void write_entry(Header& header, const entry::Resume& fact) {
  write(begin(header, EntryKind::kResume, 2).num(fact.job), fact.by);
}

entry::Cancel read_cancel(Reader& in) {
  entry::Cancel fact;
  fact.job = in.num<JobId>();
  fact.by = read_subject(in);
  fact.last = static_cast<std::uint32_t>(in.u64_at_most(kTaskIndexMax));
  return fact;
}

/// [job, by] of a Suspend or a Resume.
template <class T>
T read_word(Reader& in) {
  T fact;
  fact.job = in.num<JobId>();
  fact.by = read_subject(in);
  return fact;
}

void write_entry(Header& header, const entry::Requeue& fact) {
  write(begin(header, EntryKind::kRequeue, 3).num(fact.job).u64(fact.attempt), fact.by);
}

entry::Requeue read_requeue(Reader& in) {
  entry::Requeue fact;
  fact.job = in.num<JobId>();
  fact.attempt = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  fact.by = read_subject(in);
  return fact;
}

void write_entry(Header& header, const entry::Fence& fact) {
  Encoder& out = begin(header, EntryKind::kFence, 4).id(fact.host);
  write(out, fact.by);
  out.boolean(fact.are_processes_gone);
  write(out, fact.tokens);
}

entry::Fence read_fence(Reader& in) {
  entry::Fence fact;
  fact.host = in.id<HostId>();
  fact.by = read_subject(in);
  fact.are_processes_gone = in.boolean();
  fact.tokens = read_tokens(in);
  return fact;
}

void write_entry(Header& header, const entry::Edit& fact) {
  write(begin(header, EntryKind::kEdit, edit_elements(fact)), fact);
}

void write_entry(Header& header, const entry::Drain& fact) {
  Encoder& out = begin(header, EntryKind::kDrain, 5).id(fact.host);
  write(out, fact.by);
  out.text(fact.why).boolean(fact.requeues).duration(fact.after);
}

entry::Drain read_drain(Reader& in) {
  entry::Drain fact;
  fact.host = in.id<HostId>();
  fact.by = read_subject(in);
  fact.why = in.text();
  fact.requeues = in.boolean();
  fact.after = in.duration();
  return fact;
}

void write_entry(Header& header, const entry::Undrain& fact) {
  write(begin(header, EntryKind::kUndrain, 2).id(fact.host), fact.by);
}
void write_entry(Header& header, const entry::RemoveHost& fact) {
  write(begin(header, EntryKind::kRemoveHost, 2).id(fact.host), fact.by);
}

/// [host, by] of an Undrain or a RemoveHost.
template <class T>
T read_host_word(Reader& in) {
  T fact;
  fact.host = in.id<HostId>();
  fact.by = read_subject(in);
  return fact;
}

void write_entry(Header& header, const entry::Adopt& fact) {
  Encoder& out = begin(header, EntryKind::kAdopt, 5).id(fact.host);
  write(out, fact.start);
  out.token(fact.token);
  write(out, fact.detail);
}

entry::Adopt read_adopt(Reader& in) {
  entry::Adopt fact;
  fact.host = in.id<HostId>();
  fact.start = read_agent_start(in);
  fact.token = in.token();
  fact.detail = read_grant_detail(in);
  return fact;
}

void write_entry(Header& header, const entry::MakeTicket& fact) {
  write(begin(header, EntryKind::kMakeTicket, kMakeTicketElements), fact);
}
void write_entry(Header& header, const entry::EndTicket& fact) {
  write(begin(header, EntryKind::kEndTicket, kEndTicketElements), fact);
}
void write_entry(Header& header, const entry::Enrol& fact) {
  write(begin(header, EntryKind::kEnrol, kEnrolElements), fact);
}
void write_entry(Header& header, const entry::RotateKeys& fact) {
  write(begin(header, EntryKind::kRotateKeys, kRotateKeysElements), fact);
}
void write_entry(Header& header, const entry::ReplaceAuthority& fact) {
  write(begin(header, EntryKind::kReplaceAuthority, kReplaceAuthorityElements), fact);
}
void write_entry(Header& header, const entry::FoundDirectory& fact) {
  write(begin(header, EntryKind::kFoundDirectory, kFoundDirectoryElements), fact);
}
void write_entry(Header& header, const entry::ChangeDirectory& fact) {
  write(begin(header, EntryKind::kChangeDirectory, kChangeDirectoryElements), fact);
}
void write_entry(Header& header, const entry::MakeAccessToken& fact) {
  write(begin(header, EntryKind::kMakeAccessToken, kMakeAccessTokenElements), fact);
}
void write_entry(Header& header, const entry::EndAccessToken& fact) {
  write(begin(header, EntryKind::kEndAccessToken, kEndAccessTokenElements), fact);
}
void write_entry(Header& header, const entry::NoteRequests& fact) {
  write(begin(header, EntryKind::kNoteRequests, kNoteRequestsElements), fact);
}
void write_entry(Header& header, const entry::ResetAdmin& fact) {
  write(begin(header, EntryKind::kResetAdmin, kResetAdminElements), fact);
}
void write_entry(Header& header, const entry::GpuOrder& fact) {
  write(begin(header, EntryKind::kGpuOrder, kGpuOrderElements), fact);
}
void write_entry(Header& header, const entry::SetQueues& fact) {
  write(begin(header, EntryKind::kSetQueues, kSetQueuesElements), fact);
}
void write_entry(Header& header, const entry::Preempt& fact) {
  write(begin(header, EntryKind::kPreempt, kPreemptElements), fact);
}

/// Of the kinds in users.h, gpu_orders.h, queues.h and preempt.h, and the last of roll_entries.h.
Entry read_of_late_kinds(EntryKind kind, Reader& in) {
  using enum EntryKind;
  return kind == kFoundDirectory     ? Entry(read_found_directory(in))
         : kind == kChangeDirectory  ? Entry(read_change_directory(in))
         : kind == kMakeAccessToken  ? Entry(read_make_access_token(in))
         : kind == kEndAccessToken   ? Entry(read_end_access_token(in))
         : kind == kResetAdmin       ? Entry(read_reset_admin(in))
         : kind == kGpuOrder         ? Entry(read_gpu_order(in))
         : kind == kSetQueues        ? Entry(read_set_queues(in))
         : kind == kPreempt          ? Entry(read_preempt(in))
         : kind == kReplaceAuthority ? Entry(read_replace_authority(in))
                                     : Entry(read_note_requests(in));
}

std::optional<Entry> read_kind(EntryKind kind, Reader& in) {
  switch (kind) {
    case EntryKind::kRegister:
      return read_register(in);
    case EntryKind::kSubmit:
      return read_submit(in);
    case EntryKind::kCancel:
      return read_cancel(in);
    case EntryKind::kEdit:
      return read_edit(in);
    case EntryKind::kObserve:
      return read_observe(in);
    case EntryKind::kTick:
      return read_tick(in);
    case EntryKind::kDecide:
      return read_decide(in);
    case EntryKind::kReady:
      return read_ready_entry(in);
    case EntryKind::kStart:
      return read_start_entry(in);
    case EntryKind::kStop:
      return read_stop_entry(in);
    case EntryKind::kFinish:
      return read_finish_entry(in);
    case EntryKind::kAbort:
      return read_abort(in);
    case EntryKind::kCondemn:
      return read_sentence<entry::Condemn>(in);
    case EntryKind::kPardon:
      return read_sentence<entry::Pardon>(in);
    case EntryKind::kExpire:
      return read_expire(in);
    case EntryKind::kSuspend:
      return read_word<entry::Suspend>(in);
    case EntryKind::kResume:
      return read_word<entry::Resume>(in);
    case EntryKind::kRequeue:
      return read_requeue(in);
    case EntryKind::kFence:
      return read_fence(in);
    case EntryKind::kAdopt:
      return read_adopt(in);
    case EntryKind::kDrain:
      return read_drain(in);
    case EntryKind::kUndrain:
      return read_host_word<entry::Undrain>(in);
    case EntryKind::kRemoveHost:
      return read_host_word<entry::RemoveHost>(in);
    case EntryKind::kMakeTicket:
      return read_make_ticket(in);
    case EntryKind::kEndTicket:
      return read_end_ticket(in);
    case EntryKind::kEnrol:
      return read_enrol(in);
    case EntryKind::kRotateKeys:
      return read_rotate_keys(in);
    case EntryKind::kReplaceAuthority:
    case EntryKind::kPreempt:
    case EntryKind::kFoundDirectory:
    case EntryKind::kChangeDirectory:
    case EntryKind::kMakeAccessToken:
    case EntryKind::kEndAccessToken:
    case EntryKind::kNoteRequests:
    case EntryKind::kResetAdmin:
    case EntryKind::kGpuOrder:
    case EntryKind::kSetQueues:
      return read_of_late_kinds(kind, in);
  }
  return std::nullopt;
}

/// Kinds of the alternatives of Entry, in their order.
constexpr auto kKinds = [] {
  using enum EntryKind;
  return std::array{kRegister,       kSubmit,          kCancel,          kObserve,
                    kTick,           kDecide,          kReady,           kStart,
                    kStop,           kFinish,          kAbort,           kCondemn,
                    kPardon,         kExpire,          kSuspend,         kResume,
                    kRequeue,        kFence,           kAdopt,           kEdit,
                    kDrain,          kUndrain,         kRemoveHost,      kMakeTicket,
                    kEndTicket,      kEnrol,           kRotateKeys,      kReplaceAuthority,
                    kFoundDirectory, kChangeDirectory, kMakeAccessToken, kEndAccessToken,
                    kNoteRequests,   kResetAdmin,      kGpuOrder,        kSetQueues,
                    kPreempt};
}();
static_assert(kKinds.size() == std::variant_size_v<Entry>);
using CauseText = std::pair<Cause, std::string_view>;
constexpr CauseText kCauseTexts[] = {
    {Cause::kNone, "none"},
    {Cause::kRefused, "refused"},
    {Cause::kRecovered, "quorum_recovered"},
    {Cause::kDeadline, "deadline"},
    {Cause::kCondemned, "condemned"},
    {Cause::kRestarted, "agent_restarted"},
    {Cause::kFenced, "fenced"},
    {Cause::kRankFailed, "rank_failed"},
    {Cause::kHostLost, "host_lost"},
    {Cause::kAgentDown, "agent_down"},
    {Cause::kRanksLost, "ranks_lost"},
    {Cause::kTimeLimit, "time_limit"},
    {Cause::kPreempted, "preempted"},
    {Cause::kSuspended, "suspended"},
    {Cause::kRequeued, "requeued"},
    {Cause::kCancelled, "cancelled"},
};
static_assert(has_row_for_each(kCauseTexts, &CauseText::first));

/// By number.
constexpr std::string_view kJobStateTexts[] = {"queued",    "scheduled", "running", "stopping",
                                               "suspended", "completed", "failed",  "cancelled"};
static_assert(std::size(kJobStateTexts) == static_cast<std::size_t>(JobState::kCancelled) + 1);
}  // namespace

EntryKind kind_of(const Entry& entry) {
  return kKinds[entry.index()];
}

std::uint64_t level_needed(const Entry& entry) {
  if (const auto* submit = std::get_if<entry::Submit>(&entry)) {
    return level_of_submit(submit->spec);
  }
  const auto* edit = std::get_if<entry::Edit>(&entry);
  return edit != nullptr && edit->changes_times() ? kWaitsLevel : level_needed(kind_of(entry));
}

std::string encode(const Entry& entry, std::int64_t unix_ms) {
  Header out;
  out.unix_ms = unix_ms;
  out.version =
      level_needed(entry) > level_needed(kind_of(entry)) ? kEntryVersionLast : out.version;
  std::visit([&out](const auto& fact) { write_entry(out, fact); }, entry);
  return out.encoder.take();
}

Result<LoggedEntry> decode_entry(std::string bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(std::move(bytes));
  if (!document) {
    return document.error();
  }
  Reader in = document->root();
  const std::uint64_t kind = in.u64_at_most(UINT8_MAX);
  const std::uint64_t version = in.u64();
  if (!in.ok() || version < kEntryVersion || version > kEntryVersionLast) {
    return Error{ErrorCode::kInvalid,
                 version < kEntryVersion ? "log entry of an earlier build, which this one does not "
                                           "read: start with an empty data directory"
                                         : "log entry of an unknown version"};
  }
  const std::int64_t unix_ms = in.i64();
  std::optional<Entry> entry = read_kind(static_cast<EntryKind>(kind), in);
  if (!entry.has_value() || !in.ok()) {
    const std::string fault = entry.has_value() ? "malformed log entry of" : "log entry of unknown";
    return Error{ErrorCode::kInvalid, fault + " kind " + std::to_string(kind)};
  }
  return LoggedEntry{std::move(*entry), unix_ms};
}

std::string_view text_of(Cause cause) {
  const CauseText* row = find_row(kCauseTexts, &CauseText::first, cause);
  return row == nullptr ? "" : row->second;
}

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAlive:
      return "alive";
    case Verdict::kSilent:
      return "silent";
    case Verdict::kRefused:
      return "refused";
    case Verdict::kLeft:
      return "left";
  }
  return "";
}

std::string_view text_of(JobState state) {
  const auto number = static_cast<std::size_t>(state);
  return number < std::size(kJobStateTexts) ? kJobStateTexts[number] : "";
}

}  // namespace muster::scheduler
