#pragma once
// The leader's driver, and on every voter the keeper of the replicated state (design 8). It applies
// what the log commits; while it leads it turns the gossiped view into Observe entries, decides,
// and talks with the agents. Owned by agent/node, which connects it with Raft and the transport.
//
// Every message to an agent is a function of applied, committed state: nothing that must survive a
// change of leader is kept outside of State. What is kept beside it only delays or repeats:
// re-send times, proposals on their way, requests that wait for an answer, expire timers (each
// voter's own, begun when it applies a Condemn).
//
// Obligations of the caller: every committed entry above the snapshot arrives once, in order;
// LeadershipChanged{leads} as Raft says it, again with own_term_applied once this term's first
// entry has been given to Applied; a MajorityRound only for a round begun after its request. When
// Output::halted is not empty the process must end: the log holds what this version cannot apply.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/base/event.h"
#include "gossip/base/time.h"
#include "scheduler/placement/placement.h"
#include "scheduler/protocol/agent_messages.h"
#include "scheduler/protocol/entry.h"
#include "scheduler/state/state.h"

namespace muster::scheduler {

/// What gossip and membership say of a host, quantised.
struct HostView {
  HostId host;
  AgentStart start;  ///< As gossiped; generation 0 = not known.
  Verdict verdict = Verdict::kAlive;
  bool degraded = false;
  bool cordoned = false;
  std::vector<std::string> unhealthy_gpus;
  bool operator==(const HostView&) const = default;
};

namespace input {
/// A committed entry. Empty bytes: an entry of Raft's own, nothing to apply.
struct Applied {
  LogIndex index;
  std::string bytes;
};
/// Raft installed a snapshot: the state is replaced.
struct Restored {
  State state;
};
struct LeadershipChanged {
  bool leads = false;
  bool own_term_applied = false;
};
struct AgentMessageReceived {
  HostId from;
  Nonce nonce;
  AgentMessage message;
};
struct HostViewChanged {
  HostView view;
};
/// Storm mode PARTITION_SUSPECTED (design 5): nobody is evicted by silence meanwhile.
struct StormChanged {
  bool suspected = false;
};
/// Voters that do not answer this leader (`hosts`), and those whose disks do not follow (`late`).
/// Nothing new is placed there, long before any verdict: a leader that took over from a frozen one
/// would place on it first of all.
struct VotersQuiet {
  std::vector<HostId> hosts;
  /// What was decided is not on their disks for long: reservations that wait for them go elsewhere.
  std::vector<HostId> late;
  bool operator==(const VotersQuiet&) const = default;
};
/// The round of this context was answered by a majority.
struct MajorityRound {
  std::uint64_t context = 0;
};
struct ClientSubmit {
  std::uint64_t request = 0;
  std::string key;
  JobSpec spec;
  std::string submitted_by;
};
/// An operator's word. It is answered by its own entry, whatever this leader knows already: each
/// takes effect once, in the order in which they were said to the leader.
struct ClientOrder {
  std::uint64_t request = 0;
  std::variant<entry::Cancel, entry::Suspend, entry::Resume, entry::Requeue, entry::Fence> order;
};
}  // namespace input

struct ClientReply {
  std::uint64_t request = 0;
  JobId job;
  std::optional<Error> error;  ///< kUnavailable: surely not accepted; kUnknown: it may have been.
};

struct OutgoingMessage {
  HostId to;
  Nonce nonce;  ///< That of the message it answers; 0 for what the leader says by itself.
  AgentMessage message;
};

/// Bounds of what waits beside the state, each with what happens beyond it.
inline constexpr std::size_t kRoundWaitersMax = 65'536;  ///< Later ones are dropped, agents repeat.
inline constexpr std::size_t kRequestsMax = 20'000;      ///< Later ones are kUnavailable.
/// Of submits that are not in the log yet; later ones are kUnavailable.
inline constexpr std::size_t kSubmitBytesMax = 8 << 20;
/// After a leader took over: hosts that are alive and not registered yet may be what a job lacks.
/// Lower: a cluster that has just formed calls jobs impossible; higher: those are told later.
inline constexpr Duration kRegistrationWait = std::chrono::seconds(10);
inline constexpr std::size_t kRefusedHellosMax = 1024;       ///< More are told of more often.
inline constexpr Duration kRefusalToldAgain = std::chrono::minutes(1);
inline constexpr std::size_t kDecidesMax = 64;           ///< Proposed in one go.
inline constexpr std::size_t kObservesMax = 512;         ///< On their way at once.

struct SchedulerConfig {
  /// Of RESERVED, counted by each leader anew. Lower aborts slow starts, higher holds GPUs idle.
  Duration reserve_deadline = std::chrono::seconds(10);
  /// Times the deadline is counted anew by later leaders (rule 10), in cluster time.
  std::uint32_t deadline_counts = 3;
  Duration resend_first = std::chrono::seconds(1);
  Duration resend_last = std::chrono::seconds(10);
  /// Patience for `refused` (agent down): time to restart it.
  Duration agent_down_patience = std::chrono::seconds(60);
  /// No Condemn earlier than this after the verdict, nor within it of the own-term entry.
  Duration condemn_after = std::chrono::seconds(10);
  /// Above `hold + grace`, for the kill itself (design 8).
  Duration expire_margin = std::chrono::seconds(5);
  Duration tick_every = std::chrono::seconds(1);
  /// A proposal not seen applied for so long is proposed again; all are idempotent.
  Duration propose_again = std::chrono::seconds(5);
  /// A round not answered for so long is asked for again.
  Duration round_again = std::chrono::seconds(1);
  Status validate() const;
};

/// What makes two proposals the same: one of them on its way is enough.
std::string proposal_name(const Entry& entry);

/// The reason of a Refuse that quarantines the GPUs it is about (rule 11).
inline constexpr std::string_view kReasonStuck = "stuck";

class Scheduler {
 public:
  using Input = std::variant<input::Applied, input::Restored, input::LeadershipChanged,
                             input::AgentMessageReceived, input::HostViewChanged,
                             input::StormChanged, input::VotersQuiet, input::MajorityRound,
                             input::ClientSubmit, input::ClientOrder>;
  struct Output {
    std::vector<std::string> proposals;         ///< Encoded entries, in order, for Raft.
    std::vector<std::uint64_t> round_requests;  ///< Contexts for majority rounds.
    std::vector<OutgoingMessage> messages;
    std::vector<ClientReply> replies;
    std::vector<Event> events;
    std::string halted;  ///< Not empty: the log holds an entry this version cannot apply.
  };

  Scheduler(SchedulerConfig config, State state, Instant now);

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  /// The replicated state: read model of the CLI and content of snapshots (State::encode).
  const State& state() const { return state_; }
  /// Leads and applied its own-term entry: it may speak and decide.
  bool is_ready() const { return leads_ && own_term_applied_; }
  bool is_halted() const { return halted_; }
  /// Hosts that a leader places nothing on, for what it sees of its voters; and why, for people.
  std::map<HostId, std::string> left_out() const;
  /// Messages and facts dropped as stale or hostile.
  std::uint64_t dropped_count() const { return dropped_; }

 private:
  /// A message that is repeated until the log or the agent answers it.
  struct Resend {
    Instant at;
    Duration wait{0};
    AttemptState phase = AttemptState::kReserved;
    AgentStart start;  ///< The pair it was said to; a re-keyed grant is told anew.
  };
  struct ExpireTimer {
    LogIndex condemn;
    Instant due;
  };
  struct ViewRecord {
    HostView view;
    Instant since;  ///< Of the verdict.
  };
  struct Waiter {
    HostId host;
    Nonce nonce;
    std::variant<Renew, Hello> message;
    HostId relay = {};  ///< Who brought it and carries the answer back; zero = the host itself.
  };
  using MemberKey = std::pair<Token, HostId>;

  void on(Instant now, input::Applied& fact);
  void on(Instant now, input::Restored& fact);
  void on(Instant now, input::LeadershipChanged& fact);
  void on(Instant now, input::AgentMessageReceived& fact);
  void on(Instant now, input::HostViewChanged& fact);
  void on(Instant now, input::StormChanged& fact);
  void on(Instant now, input::VotersQuiet& fact);
  void on(Instant now, input::MajorityRound& fact);
  void on(Instant now, input::ClientSubmit& fact);
  void on(Instant now, input::ClientOrder& fact);

  // scheduler_agents.cc: what agents say.
  void hear(Instant now, const HostId& from, Nonce nonce, Hello& hello);
  void hear_unknown(const HostId& from, Nonce nonce, const Finish& finish);
  bool adopt(Instant now, const HostId& host, const Hello& hello);
  void hear(Instant now, const HostId& from, const Ready& ready);
  void hear(Instant now, const HostId& from, const Refuse& refuse);
  void hear(Instant now, const HostId& from, Nonce nonce, const Finish& finish);
  void acknowledge(const entry::Finish& finish);
  void hear(Instant now, std::vector<Waiter> renewals);
  void wait_for_round(Waiter waiter);
  void ask_round(Instant now);
  void answer(Instant now, const Waiter& waiter, const Hello& hello);
  void answer(Instant now, const Waiter& waiter, const Renew& renew);
  void say_relayed_acks();
  bool awaits_registrations(Instant now) const;
  std::string why_not_under(const std::string& key, const JobSpec& spec) const;
  void refuse_pair(Instant now, const Waiter& waiter, const Hello& hello, Generation raise_to);
  void forgive(Instant now, const HostId& host, const std::vector<Token>& tokens);
  void report_ended(Instant now, const HostId& host, const Hello& hello);
  void quarantine(Instant now, const HostId& from, const MemberRecord& record);

  // scheduler_drive.cc: what follows from the log, said to the agents.
  void drive_all(Instant now);
  void drive(Instant now, const Token& token);
  void drive_member(Instant now, const Attempt& attempt, const MemberRecord& record);
  void schedule_resend(const MemberKey& key, const Resend& resend);
  void drop_resend(const MemberKey& key);
  void note_started(Instant now, const MemberKey& key, const Attempt& attempt, const Renew& renew);
  void resend_due(Instant now);
  std::optional<AgentMessage> wanted_message(const Attempt& attempt,
                                             const MemberRecord& record) const;
  void tell_aborted(const Attempt& attempt);
  void say(const HostId& to, Nonce nonce, AgentMessage message);
  void sync_expire_timers(Instant now, const Token& token);

  // scheduler_decide.cc: what the leader proposes.
  void decide(Instant now);
  bool propose(Instant now, const Entry& entry);
  bool forget_lost_proposals(Instant now);
  bool is_registering(const HostId& host);
  void observe_hosts(Instant now);
  std::optional<entry::Observe> wanted_observe(const HostRecord& record) const;
  /// Hosts that get nothing now: what is still to be observed is not decided upon.
  std::set<HostId> unplaceable() const;
  void place_queue(Instant now);
  void judge_attempts(Instant now);
  bool fits_without(const HostId& gone, const Attempt& attempt, const Job& job) const;
  void judge_reserved(Instant now, const Attempt& attempt, const Job& job);
  void judge_started(Instant now, const Attempt& attempt, const Job& job);
  static Cause ordered_cause(const Job& job);
  Cause stop_cause(Instant now, const Attempt& attempt, const Job& job);
  bool is_lost_past_patience(Instant now, const Attempt& attempt, const Job& job);
  void judge_hosts(Instant now);
  void expire_due(Instant now);
  void tick_cluster_time(Instant now);
  Instant unreachable_since(const HostRecord& record) const;
  void wake_at(Instant when);

  void follow_applied(Instant now, const Entry& entry, const ApplyResult& result);
  void answer_clients(const Entry& entry, const ApplyResult& result);
  void lose_leadership();
  void emit(Severity severity, std::string_view name,
            std::vector<std::pair<std::string_view, std::string>> fields);

  SchedulerConfig config_;
  State state_;
  Output output_;
  bool leads_ = false;
  bool own_term_applied_ = false;
  bool halted_ = false;
  bool storm_ = false;
  std::set<HostId> quiet_;  ///< Voters that do not answer, the late ones among them.
  std::set<HostId> late_;
  std::uint64_t dropped_ = 0;
  Instant ready_since_;    ///< When this leader applied its own-term entry.
  Instant last_tick_;      ///< Up to when cluster time has been proposed.
  Instant wake_ = kNever;  ///< The earliest moment at which time alone changes a judgement.

  // Every voter.
  std::map<HostId, ViewRecord> views_;
  std::map<MemberKey, ExpireTimer> expire_timers_;

  // While it leads; forgotten with the leadership.
  std::map<std::string, Instant> proposed_;  ///< Entry on its way -> when it may be repeated.
  std::set<HostId> unobserved_;              ///< Hosts whose view and log record may differ.
  bool placing_wanted_ = false;
  std::set<Token> unjudged_;                 ///< Attempts something happened to.
  std::map<Token, Instant> reserved_since_;  ///< This leader's own count of the deadline.
  std::map<MemberKey, Resend> resends_;
  std::set<std::pair<Instant, MemberKey>> resends_by_time_;
  std::set<MemberKey> running_;  ///< Members that answered a Start: by renewal.
  /// Their Condemn is on its way, and in `proposed_`: their renewals are refused.
  std::set<MemberKey> condemning_;
  std::map<HostId, Instant> renewed_at_;  ///< By its registered pair, a round confirming it.
  std::vector<Waiter> waiting_;                             ///< For the next round.
  std::vector<Waiter> in_round_;                            ///< For the round asked for.
  std::map<HostId, std::vector<RelayedAck>> relayed_acks_;  ///< By relay, within one step.
  std::uint64_t round_context_ = 0;
  std::optional<Instant> round_asked_;
  /// Finish on its way, last or early -> nonce of the message, which its FinishAck echoes.
  std::map<std::pair<MemberKey, bool>, Nonce> finish_nonces_;
  std::map<HostId, Waiter> hellos_;                            ///< Waiting for their Register.
  struct PendingSubmit {
    JobSpec spec;
    std::size_t bytes = 0;
    std::vector<std::uint64_t> requests;
    bool is_twice = false;  ///< Proposed again: the log may hold it twice.
  };
  std::map<std::string, PendingSubmit> submits_;  ///< By key, on their way through the log.
  std::size_t submit_bytes_ = 0;                  ///< Of these.
  struct RefusedHello {
    std::string why;
    Instant again_at;
  };
  std::map<HostId, RefusedHello> refused_hellos_;  ///< As last told of in an event.
  std::map<std::string, std::deque<std::uint64_t>> orders_;    ///< Proposal name -> requests.
  std::size_t request_count_ = 0;
};

}  // namespace muster::scheduler
