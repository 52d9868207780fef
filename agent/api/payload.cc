#include "agent/api/payload.h"

#include <type_traits>

#include "agent/api/audit.h"
#include "agent/api/enrolment.h"
#include "agent/api/events.h"
#include "agent/api/gpus.h"
#include "agent/api/hosts.h"
#include "agent/api/output.h"
#include "agent/api/quorum.h"
#include "agent/api/stats.h"
#include "agent/api/user_fields.h"
#include "gossip/wire/wire.h"
#include "scheduler/protocol/codec.h"

namespace muster::agent {
namespace {

using gossip::Encoder, gossip::Reader;
// Each struct has one list of fields for both directions: `a` is a Writer or a Loader.
template <class A>
void fields(A& a, VersionInfo& v) {
  a(v.product, v.protocol, v.host_name, v.host, v.generation, v.cluster);
}
template <class A>
void fields(A& a, HostInfo& v) {
  a(v.id, v.name, v.state, v.detail, v.since_ms, v.generation, v.address, v.rack, v.gpu_type,
    v.gpus, v.gpus_healthy, v.cpus, v.memory_mb, v.is_voter, v.is_leader, v.version, v.claimed_by,
    trailing(v.https));
}
template <class A>
void fields(A& a, Counter& v) {
  a(v.name, v.count, v.bytes, v.cpu_us);
}
template <class A>
void fields(A& a, StatsInfo& v) {
  a(v.uptime_ms, v.counters);
}
template <class A>
void fields(A& a, HostsQuery& v) {
  a(v.after);
}
template <class A>
void fields(A& a, StormInfo& v) {
  a(v.mode, v.since_ms, v.reason);
}
template <class A>
void fields(A& a, SeedInfo& v) {
  a(v.address, v.silence);
}
template <class A>
void fields(A& a, HostList& v) {
  a(v.hosts, trailing(v.next), trailing(v.storm), trailing(v.seeds_unmet), trailing(v.voter_notes));
}
template <class A>
void fields(A& a, VoterInfo& v) {
  a(v.id, v.name, v.match_index, v.contact_ms, v.state, trailing(v.is_learner), trailing(v.rack),
    trailing(v.why), trailing(v.behind), trailing(v.is_unheard));
}
template <class A>
void fields(A& a, QuorumInfo& v) {
  a(v.cluster, v.role, v.term, v.leader, v.leader_name, v.commit, v.applied, v.tolerates, v.voters,
    trailing(v.wanted), trailing(v.epoch), trailing(v.founders_wanted), trailing(v.founders_met),
    trailing(v.seeds_unmet));
}
template <class A>
void fields(A& a, EventsQuery& v) {
  a(v.after, trailing(v.newest), trailing(v.since_ms), trailing(v.severity), trailing(v.names),
    trailing(v.about));
}
template <class A>
void fields(A& a, EventInfo& v) {
  a(v.sequence, v.age_ms, v.severity, v.text, trailing(v.name), trailing(v.unix_ms));
}
template <class A>
void fields(A& a, EventsPage& v) {
  a(v.events, v.lost, trailing(v.last));
}
template <class A>
void fields(A& a, AuditQuery& v) {
  a(v.after, v.newest, v.since_ms, v.user, v.verb);
}
template <class A>
void fields(A& a, AuditInfo& v) {
  a(v.number, v.index, v.unix_ms, v.by, v.user, v.host, v.host_name, v.told_by, v.proof, v.verb,
    v.object, v.outcome, v.why);
}
template <class A>
void fields(A& a, AuditPage& v) {
  a(v.lines, v.next, v.first, v.last, v.is_own);
}
template <class A>
void fields(A& a, Contact& v) {
  a(v.address, v.link_key, v.host, v.authority, v.edition, v.record, v.signature,
    trailing(v.link_row));
}
template <class A>
void fields(A& a, FoundArgs& v) {
  a(v.founders, v.ticket, trailing(v.admin_key));
}
template <class A>
void fields(A& a, EnterArgs& v) {
  a(v.ticket);
}
template <class A>
void fields(A& a, JoinArgs& v) {
  a(v.identity_key, v.link_key, v.name, v.signature, v.ticket);
}
template <class A>
void fields(A& a, JoinInfo& v) {
  a(v.cluster, v.authority, v.own, v.contacts, v.authority_secret, v.authority_links, v.first_admin,
    trailing(v.first_admin_key));
}
template <class A>
void fields(A& a, gossip::AuthorityLink& v) {
  a(v.number, v.key, v.signature);
}
template <class A>
void fields(A& a, SetHostArgs& v) {
  a(v.host, v.may_vote, v.may_vouch);
}
template <class A>
void fields(A& a, RotateArgs& v) {
  a(v.host, v.is_authority);
}
template <class A>
void fields(A& a, HostKeys& v) {
  a(v.host, v.name, v.authority, v.serial, v.round, v.round_wanted, v.is_changing, v.is_reachable);
}
template <class A>
void fields(A& a, KeysInfo& v) {
  a(v.authority, v.authority_from, v.members, v.behind, v.hosts);
}
template <class A>
void fields(A& a, TicketArgs& v) {
  a(v.key, v.uses, v.ttl_ms, v.may_vote, v.may_vouch, v.host_name);
}
template <class A>
void fields(A& a, TicketMade& v) {
  a(v.authority, v.contacts);
}
template <class A>
void fields(A& a, TicketRef& v) {
  a(v.key);
}
template <class A>
void fields(A& a, TicketInfo& v) {
  a(v.key, v.uses, v.used, v.ends_in_ms, v.may_vote, v.may_vouch, v.host_name, v.by, v.age_ms,
    v.why_not);
}
template <class A>
void fields(A& a, TicketList& v) {
  a(v.tickets);
}
template <class A>
void fields(A& a, HostRef& v) {
  a(v.host);
}
template <class A>
void fields(A& a, ClaimInfo& v) {
  a(v.observer, v.kind, v.is_weak, v.age_ms);
}
template <class A>
void fields(A& a, WhyHostInfo& v) {
  a(v.host, v.claims, v.content, v.suspect_from, v.verdict_from, v.storm, v.events);
}
template <class A>
void fields(A& a, LeaveArgs& v) {
  a(v.force);
}
template <class A>
void fields(A& a, SubmitArgs& v) {
  a(v.key, v.spec);
}
template <class A>
void fields(A& a, JobRef& v) {
  a(v.job);
}
template <class A>
void fields(A& a, JobRun& v) {
  a(v.job, trailing(v.last));
}
template <class A>
void fields(A& a, RequeueArgs& v) {
  a(v.job, v.attempt);
}
template <class A>
void fields(A& a, QuorumWish& v) {
  a(v.action, v.host);
}
template <class A>
void fields(A& a, FenceArgs& v) {
  a(v.host, trailing(v.are_processes_gone));
}
template <class A>
void fields(A& a, DrainArgs& v) {
  a(v.host, v.why, v.requeues, v.after_ms);
}
template <class A>
void fields(A& a, DrainInfo& v) {
  a(v.by, v.why, v.since_ms, v.requeues, v.requeue_in_ms);
}
template <class A>
void fields(A& a, HostUse& v) {
  a(v.id, v.name, v.gpu_type, v.gpus, v.gpus_used, v.gpus_free, v.since_ms, v.has_left,
    v.is_removed, v.is_drained, v.drain, v.jobs, v.cpus_used, v.memory_mb_used,
    trailing(v.is_awaited));
}
template <class A>
void fields(A& a, HostUseList& v) {
  a(v.hosts, v.next);
}
template <class A>
void fields(A& a, GpuInfo& v) {
  a(v.uuid, v.state, v.job, v.job_name, v.user, v.rank, v.token);
}
template <class A>
void fields(A& a, HostDetail& v) {
  a(v.use, v.gpus, v.labels, v.spine, v.islands, trailing(v.may_vote), trailing(v.may_vouch));
}
template <class A>
void fields(A& a, GpusQuery& v) {
  a(v.host, v.job, v.uuid, v.after);
}
template <class A>
void fields(A& a, ListedGpu& v) {
  a(v.host, v.host_name, v.index, v.uuid, v.gpu_type, v.state, v.job, v.user, v.token, v.since_ms,
    v.why, v.by);
}
template <class A>
void fields(A& a, GpuList& v) {
  a(v.gpus, v.next);
}
template <class A>
void fields(A& a, GpuOrderArgs& v) {
  a(v.host, v.uuid, v.why);
}
template <class A>
void fields(A& a, GpuProcessInfo& v) {
  a(v.pid, v.used_bytes);
}
template <class A>
void fields(A& a, GpuOnBoard& v) {
  a(v.uuid, v.name, v.health, v.why, v.since_ms, v.evidence, v.use_percent, v.memory_used_bytes,
    v.memory_bytes, v.celsius, v.milliwatts, v.throttle, v.processes, v.processes_left_out);
}
template <class A>
void fields(A& a, GpuBoard& v) {
  a(v.host, v.driver, v.is_read, v.gpus);
}
template <class A>
void fields(A& a, EditArgs& v) {
  a(v.job, v.priority, trailing(v.keeps_priority), trailing(v.queue), trailing(v.tier),
    trailing(v.time_limit_ms), trailing(v.has_no_limit), trailing(v.adds_time),
    trailing(v.begin_ms), trailing(v.deadline_ms));
}
template <class A>
void fields(A& a, UsageQuery& v) {
  a(v.by, v.since_ms);
}
template <class A>
void fields(A& a, UsageRow& v) {
  a(v.key, v.gpus_now, v.jobs_now, v.gpu_ms);
}
template <class A>
void fields(A& a, UsageList& v) {
  a(v.rows, v.days, v.rows_left_out);
}
template <class A>
void fields(A& a, RecoverArgs& v) {
  a(v.is_order, v.term, v.index);
}
template <class A>
void fields(A& a, RecoveryInfo& v) {
  a(v.host, v.host_name, v.has_log, v.epoch, v.term, v.last, v.commit, v.live, v.voters, v.idle_ms,
    trailing(v.has_rival));
}
template <class A>
void fields(A& a, JobSummary& v) {
  a(v.id, v.name, v.user, v.state, v.gpus, v.gpu_type, v.attempt, v.priority, v.exit_code, v.cause,
    v.hosts, trailing(v.submit_unix_ms), trailing(v.start_unix_ms), trailing(v.end_unix_ms),
    trailing(v.age_ms), trailing(v.run_ms), trailing(v.gpu_ms), trailing(v.is_doubtful),
    trailing(v.reason), trailing(v.ranks), trailing(v.tasks), trailing(v.tasks_running),
    trailing(v.tasks_completed), trailing(v.tasks_failed), trailing(v.tasks_cancelled),
    trailing(v.queue), trailing(v.tier), trailing(v.wait));
}
template <class A>
void fields(A& a, JobList& v) {
  a(v.jobs, trailing(v.next), trailing(v.gpus_of_others));
}
template <class A>
void fields(A& a, JobsQuery& v) {
  a(v.after, trailing(v.array));
}
template <class A>
void fields(A& a, RankInfo& v) {
  a(v.rank, v.state, v.detail, trailing(v.output_bytes), trailing(v.lost_bytes),
    trailing(v.surplus_bytes));
}
template <class A>
void fields(A& a, MemberInfo& v) {
  a(v.host, v.host_name, v.first_rank, v.gpus, v.state, v.ranks, trailing(v.host_state),
    trailing(v.host_detail), trailing(v.host_since_ms), trailing(v.cpus), trailing(v.memory_mb));
}
template <class A>
void fields(A& a, AttemptInfo& v) {
  a(v.number, v.token, v.state, v.cause, v.members, trailing(v.members_left_out));
}
template <class A>
void fields(A& a, TransitionInfo& v) {
  a(v.index, v.cluster_ms, v.state, v.cause, trailing(v.unix_ms));
}
template <class A>
void fields(A& a, OutputRule& v) {
  a(v.age_ms, v.bytes, trailing(v.files));
}
template <class A>
void fields(A& a, TaskFailure& v) {
  a(v.task, v.exit_code, v.reason, v.hosts);
}
template <class A>
void fields(A& a, ArrayInfo& v) {
  a(v.waiting, v.queued, v.suspended, v.failures, v.failures_more);
}
template <class A>
void fields(A& a, JobDetail& v) {
  a(v.summary, v.spec, v.attempts, v.transitions, trailing(v.output_rule), trailing(v.array),
    trailing(v.is_private));
}
template <class A>
void fields(A& a, HolderInfo& v) {
  a(v.job, v.name, v.gpus, v.hosts, v.cpus);
}
template <class A>
void fields(A& a, WithheldInfo& v) {
  a(v.reason, v.gpus);
}
template <class A>
void fields(A& a, WhyFilter& v) {
  a(v.reason, v.hosts);
}
template <class A>
void fields(A& a, WhyLevel& v) {
  a(v.level, v.units);
}
template <class A>
void fields(A& a, WhyPlace& v) {
  a(v.host, v.units);
}
template <class A>
void fields(A& a, WhyInfo& v) {
  a(v.job, v.state, v.headline, v.wanted, v.free, v.lacking, v.ahead, v.holders, v.would_start,
    v.fits_now, trailing(v.ahead_count), trailing(v.left_out), trailing(v.withheld),
    trailing(v.awaits_hosts), trailing(v.holders_more), trailing(v.storm), v.has_gpus, v.open_hosts,
    v.filters, v.largest, v.would_fit, trailing(v.places), trailing(v.places_more),
    trailing(v.queue), trailing(v.tier), trailing(v.full_queue), trailing(v.full_text),
    trailing(v.others_wait), trailing(v.turn), trailing(v.wait));
}
template <class A>
void fields(A& a, OutputQuery& v) {
  a(v.token, v.rank, v.offset, trailing(v.since_ms), trailing(v.wants_marks));
}
template <class A>
void fields(A& a, OutputMark& v) {
  a(v.offset, v.unix_ms, v.stream);
}
template <class A>
void fields(A& a, OutputChunk& v) {
  a(v.bytes, v.size, v.ended, trailing(v.begin), trailing(v.marks));
}

class Writer {
 public:
  template <class... Fields>
  void operator()(Fields&&... values) {
    out_.array(sizeof...(values));
    (write(values), ...);
  }
  std::string take() { return out_.take(); }

 private:
  void write(std::uint64_t value) { out_.u64(value); }
  void write(std::int64_t value) { out_.i64(value); }
  void write(bool value) { out_.boolean(value); }
  void write(const std::string& value) { out_.bytes(value); }
  void write(Wish value) { out_.u64(static_cast<std::uint64_t>(value)); }
  void write(QuorumAction value) { out_.u64(static_cast<std::uint64_t>(value)); }
  void write(scheduler::Tier value) { out_.u64(static_cast<std::uint64_t>(value)); }
  void write(const Token& value) { out_.array(2).token(value); }
  void write(const scheduler::JobSpec& value) { scheduler::write(out_, value); }
  void write(const scheduler::DirectoryChange& value) { scheduler::write(out_, value); }
  void write(const gossip::SshKeyLine& value) { scheduler::write(out_, value); }
  void write(const scheduler::QueueTree& value) { scheduler::write(out_, value); }
  void write(const scheduler::QueueMove& value) { scheduler::write(out_, value); }
  void write(const scheduler::QueueAmounts& values) {
    out_.array(2 * values.size());
    for (const auto& [key, amount] : values) {
      out_.bytes(key).u64(amount);
    }
  }
  template <class T>
  void write(Trailing<T> value) {
    write(value.value);
  }
  template <class Tag>
  void write(Strong<Tag> value) {
    out_.num(value);
  }
  template <class Tag>
  void write(const Id128<Tag>& value) {
    out_.id(value);
  }
  template <class T>
  void write(std::vector<T>& values) {
    out_.array(values.size());
    for (T& value : values) {
      write(value);
    }
  }
  template <class T>
  requires requires(Writer& a, T& v) { fields(a, v); }
  void write(T& value) { fields(*this, value); }

  Encoder out_;
};

class Loader {
 public:
  explicit Loader(Reader in) : in_(std::move(in)) {}

  template <class... Fields>
  void operator()(Fields&&... values) {
    (read(values), ...);
  }
  bool ok() const { return in_.ok(); }

 private:
  void read(std::uint64_t& value) { value = in_.u64(); }
  void read(std::int64_t& value) { value = in_.i64(); }
  void read(bool& value) { value = in_.boolean(); }
  void read(std::string& value) { value = std::string(in_.bytes()); }
  template <class T>
  void read_up_to(T last, T& value) {
    value = static_cast<T>(in_.u64_at_most(static_cast<std::uint64_t>(last)));
  }
  void read(Wish& value) { read_up_to(Wish::kYes, value); }
  void read(QuorumAction& value) { read_up_to(QuorumAction::kTransfer, value); }
  void read(scheduler::Tier& value) { read_up_to(scheduler::kTierLast, value); }
  void read(Token& value) { value = in_.array().token(); }
  void read(scheduler::JobSpec& value) { value = scheduler::read_job_spec(in_); }
  void read(scheduler::DirectoryChange& value) { value = scheduler::read_directory_change(in_); }
  void read(gossip::SshKeyLine& value) { value = scheduler::read_key_line(in_); }
  void read(scheduler::QueueTree& value) { value = scheduler::read_queue_tree(in_); }
  void read(scheduler::QueueMove& value) { value = scheduler::read_queue_move(in_); }
  void read(scheduler::QueueAmounts& values) {
    Reader inner = in_.array();
    while (inner.ok() && inner.left() > 0) {
      std::string key(inner.bytes());
      values[std::move(key)] = inner.u64();
    }
  }
  template <class T>
  void read(Trailing<T> value) {
    if (in_.left() > 0) {
      read(value.value);
    }
  }
  template <class Tag>
  void read(Strong<Tag>& value) {
    value = in_.num<Strong<Tag>>();
  }
  template <class Tag>
  void read(Id128<Tag>& value) {
    value = in_.id<Id128<Tag>>();
  }
  template <class T>
  void read(std::vector<T>& values) {
    Loader inner(in_.array());
    while (inner.ok() && inner.in_.left() > 0) {
      inner.read(values.emplace_back());
    }
  }
  template <class T>
  requires requires(Loader& a, T& v) { fields(a, v); }
  void read(T& value) {
    Loader inner(in_.array());
    fields(inner, value);
  }

  Reader in_;
};

}  // namespace

template <class T>
std::string encode_payload(const T& value) {
  Writer writer;
  // Writer and Loader share one list of fields; the Writer does not change what it is given.
  fields(writer, const_cast<T&>(value));
  return writer.take();
}

template <class T>
std::optional<T> decode_payload(std::string bytes) {
  Result<gossip::Document> document = gossip::Document::parse(std::move(bytes));
  if (!document) {
    return std::nullopt;
  }
  return read_payload<T>(document->root());
}

template <class T>
std::optional<T> read_payload(Reader body) {
  T value;
  Loader loader(std::move(body));
  fields(loader, value);
  return loader.ok() ? std::optional(std::move(value)) : std::nullopt;
}

#define MUSTER_PAYLOAD(T)                                   \
  template std::string encode_payload<T>(const T&);         \
  template std::optional<T> decode_payload<T>(std::string); \
  template std::optional<T> read_payload<T>(Reader)

MUSTER_PAYLOAD(VersionInfo);
MUSTER_PAYLOAD(HostsQuery);
MUSTER_PAYLOAD(HostList);
MUSTER_PAYLOAD(QuorumInfo);
MUSTER_PAYLOAD(EventsQuery);
MUSTER_PAYLOAD(EventsPage);
MUSTER_PAYLOAD(AuditQuery);
MUSTER_PAYLOAD(AuditPage);
MUSTER_PAYLOAD(HostRef);
MUSTER_PAYLOAD(FoundArgs);
MUSTER_PAYLOAD(EnterArgs);
MUSTER_PAYLOAD(JoinArgs);
MUSTER_PAYLOAD(JoinInfo);
MUSTER_PAYLOAD(TicketArgs);
MUSTER_PAYLOAD(TicketMade);
MUSTER_PAYLOAD(TicketRef);
MUSTER_PAYLOAD(TicketList);
MUSTER_PAYLOAD(SetHostArgs);
MUSTER_PAYLOAD(RotateArgs);
MUSTER_PAYLOAD(KeysInfo);
MUSTER_PAYLOAD(WhyHostInfo);
MUSTER_PAYLOAD(LeaveArgs);
MUSTER_PAYLOAD(SubmitArgs);
MUSTER_PAYLOAD(JobRef);
MUSTER_PAYLOAD(JobRun);
MUSTER_PAYLOAD(RequeueArgs);
MUSTER_PAYLOAD(QuorumWish);
MUSTER_PAYLOAD(FenceArgs);
MUSTER_PAYLOAD(RecoverArgs);
MUSTER_PAYLOAD(RecoveryInfo);
MUSTER_PAYLOAD(JobsQuery);
MUSTER_PAYLOAD(JobList);
MUSTER_PAYLOAD(JobDetail);
MUSTER_PAYLOAD(WhyInfo);
MUSTER_PAYLOAD(DrainArgs);
MUSTER_PAYLOAD(EditArgs);
MUSTER_PAYLOAD(GpusQuery);
MUSTER_PAYLOAD(GpuList);
MUSTER_PAYLOAD(GpuOrderArgs);
MUSTER_PAYLOAD(GpuBoard);
MUSTER_PAYLOAD(HostUseList);
MUSTER_PAYLOAD(HostDetail);
MUSTER_PAYLOAD(UsageQuery);
MUSTER_PAYLOAD(UsageList);
MUSTER_PAYLOAD(OutputQuery);
MUSTER_PAYLOAD(OutputChunk);
MUSTER_PAYLOAD(StatsInfo);
MUSTER_PAYLOAD(SignatureWanted);
MUSTER_PAYLOAD(WhoamiInfo);
MUSTER_PAYLOAD(UsersQuery);
MUSTER_PAYLOAD(UserList);
MUSTER_PAYLOAD(DirectoryArgs);
MUSTER_PAYLOAD(ResetAdminArgs);
MUSTER_PAYLOAD(TokenArgs);
MUSTER_PAYLOAD(TokenRef);
MUSTER_PAYLOAD(TokensQuery);
MUSTER_PAYLOAD(TokenList);
MUSTER_PAYLOAD(QueueList);
MUSTER_PAYLOAD(SetQueuesArgs);
MUSTER_PAYLOAD(SharesQuery);
MUSTER_PAYLOAD(ShareList);
MUSTER_PAYLOAD(RetryAfter);
MUSTER_PAYLOAD(CertifyArgs);
MUSTER_PAYLOAD(CertifiedInfo);
MUSTER_PAYLOAD(HttpRootInfo);
// Elements of lists: a node measures them before it sends the list.
MUSTER_PAYLOAD(HostInfo);
MUSTER_PAYLOAD(MemberInfo);
MUSTER_PAYLOAD(HolderInfo);
MUSTER_PAYLOAD(HostUse);
MUSTER_PAYLOAD(ListedGpu);

#undef MUSTER_PAYLOAD

}  // namespace muster::agent
