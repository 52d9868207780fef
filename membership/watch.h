#pragma once
// Watch: this host as an observer. Owned by Membership. It probes its subjects, calls the other
// observers of one that misses answers, and claims what it saw itself. It sweeps before it accuses
// a second subject, and makes weak claims while it is cut off itself (PROTOCOL.md, 3 to 7). Pure:
// no clock, no network.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crdt/rows/host_state.h"
#include "gossip/base/event.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"
#include "gossip/wire/transport.h"
#include "membership/codec.h"
#include "membership/local_health.h"
#include "membership/probe.h"

namespace muster::membership {

/// A message of membership: `to` is a host, the node knows where it listens.
struct Outgoing {
  HostId to;
  Nonce nonce;
  Body body;
  bool reply = false;  ///< Belongs on the connection the question came in on.
};

class Watch {
 public:
  struct Output {
    std::vector<Outgoing> messages;
    std::vector<HostId> drop_links;
    std::vector<Event> events;
  };

  Watch(HostId self, std::string rack, Rng rng) : self_(self), rack_(std::move(rack)), rng_(rng) {}

  /// Begins or goes on watching: a new generation forgets everything about the old one.
  void set_subject(Instant now, HostId subject, Generation generation,
                   const std::vector<HostId>& observers, const std::string& rack);
  void drop_subject(HostId subject);
  void set_absent(HostId subject, bool absent);

  /// True if the Ack answers an attempt of the latest round. It is judged by `at`, when it arrived.
  bool on_ack(Instant now, Instant at, HostId from, Nonce nonce, const Ack& ack);
  void on_call(Instant now, HostId from, Nonce nonce, const Call& call);
  void on_veto(Instant now, HostId from, Nonce nonce, const Veto& veto);
  void on_link_lost(Instant now, HostId subject, gossip::LinkLoss loss);
  /// A message came from this host: if it is claimed, it is probed at once.
  void on_sign_of_life(Instant now, HostId from);
  void paused(Instant now);
  void add_fault() { health_.add_fault(); }
  void be_late(Duration lag) { health_.be_late(lag); }
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output() { return std::exchange(output_, {}); }
  void check_invariants() const;

  /// The own claims, by subject.
  std::vector<crdt::Claim> claims() const;
  std::vector<HostId> subjects() const;
  bool watches(HostId subject) const { return find(subject) != nullptr; }
  bool may_judge(Instant now) const { return health_.may_judge(now); }
  bool is_isolated() const { return is_isolated_; }
  /// Since it last claimed nobody, it claimed more hosts at once than single deaths bring.
  bool claimed_many() const;
  /// Subjects that are not away for long, and subjects that miss answers now.
  std::size_t present_count() const;
  std::size_t missing_count() const;

 private:
  const SubjectProbe* find(HostId subject) const;
  SubjectProbe* find(HostId subject);
  void begin_round(Instant now, SubjectProbe& probe);
  void send_attempt(Instant now, SubjectProbe& probe);
  void attempt_over(Instant now, SubjectProbe& probe);
  void missed(Instant now, SubjectProbe& probe);
  void refused(Instant now, SubjectProbe& probe);
  void poke(Instant now, SubjectProbe& probe);
  void look_at_claimed(Instant now);
  void give_up_link(SubjectProbe& probe);
  void take_sample(SubjectProbe& probe, bool unanswered);
  int median_misses_of_others(const SubjectProbe& probe) const;
  void claim(Instant now, SubjectProbe& probe, crdt::ClaimKind kind);
  void accuse(const SubjectProbe& probe, crdt::ClaimKind kind);
  void call_ring(Instant now, SubjectProbe& probe);
  void tell_ring_alive(const SubjectProbe& probe);
  void answer_callers(SubjectProbe& probe);
  bool must_sweep_first(Instant now) const;
  void consider_sweep(Instant now);
  void update_isolation(Instant now);
  bool is_one_rack_missing() const;
  Instant next_try(Instant now, const SubjectProbe& probe);
  void emit(Severity severity, std::string_view name, HostId about, std::string detail);

  const HostId self_;
  const std::string rack_;
  Rng rng_;
  LocalHealth health_;
  std::vector<SubjectProbe> probes_;     ///< By subject, ascending.
  std::map<HostId, std::string> racks_;  ///< Of each subject.
  Instant swept_at_ = kLongAgo;
  Instant sweep_over_ = kLongAgo;
  bool is_isolated_ = false;
  std::size_t most_claims_ = 0;  ///< The most at once since there was no claim.
  Output output_;
};

}  // namespace muster::membership
