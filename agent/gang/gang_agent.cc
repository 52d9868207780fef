#include "agent/gang/gang_agent.h"

#include <algorithm>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/overloaded.h"
#include "gossip/base/state_machine.h"
#include "scheduler/protocol/mutants.h"

namespace muster::agent {

static_assert(StateMachine<GangAgent>);

using scheduler::SchedulerMutant;

namespace {

constexpr const char* kWithheld = "gpu withheld";
constexpr std::size_t kGrantsMax = 256;  // 16 slices on each of 16 GPUs.

/// The places whose tokens show that an Assign is late. Shares without GPUs have one in common: the
/// host refuses a lower token than the last one there, and the job is tried again.
std::vector<scheduler::GpuSlot> fenced_places(const scheduler::Member& member) {
  return member.gpus.empty() ? std::vector{scheduler::GpuSlot{std::string(kNoGpu), 0}}
                             : member.gpus;
}

/// Hands out the orders above `heard`, and tells the last one that is heard then. The leader
/// repeats orders, and one that was replaced may still send those that it knows.
Token heard_after(Token heard, std::vector<scheduler::GpuOrder> orders, GangOutbox& out) {
  for (scheduler::GpuOrder& order : orders) {
    if (order.at > heard) {
      heard = order.at;
      out.emit(Severity::kInfo, "gpu_order_heard", order.at,
               (order.is_mask ? "mask " : "unmask ") + order.uuid + ": " + order.why);
      out.order(std::move(order));
    }
  }
  return heard;
}

/// The part of the inventory that may be given away: GPUs whose fence is known, each with its
/// island, and CPUs once the fence of ranks without GPUs is known.
Inventory offer_of(const Inventory& inventory, const Fence& fence) {
  Inventory offered = inventory;
  offered.cpus = fence.knows(kNoGpu) ? offered.cpus : 0;
  offered.gpus.clear();
  offered.traits.islands.clear();
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i) {
    if (!fence.knows(inventory.gpus[i])) {
      continue;
    }
    offered.gpus.push_back(inventory.gpus[i]);
    if (!inventory.traits.islands.empty()) {
      offered.traits.islands.push_back(inventory.traits.islands[i]);
    }
  }
  return offered;
}

std::string text_of(const OutputDropped& dropped) {
  const std::string why =
      dropped.lost_bytes > 0 ? "the disk is full" : "the limit of a rank's output is reached";
  const std::string rank = "rank " + std::to_string(dropped.rank);
  return dropped.is_whole
             ? rank + " wrote " + std::to_string(dropped.lost_bytes + dropped.surplus_bytes) +
                   " bytes more than is kept: " + why
             : rank + ": output is dropped from here on: " + why;
}

}  // namespace

GangAgent::GangAgent(GangAgentOptions options, AgentIdentity identity, const crdt::Records& records,
                     Inventory inventory, Rng rng, Instant now)
    : identity_(std::move(identity)),
      inventory_(std::move(inventory)),
      fence_(records),
      out_(rng),
      hello_exchange_(identity_.start, options.hello_retry),
      renewals_(options.renew_interval),
      grants_(options, identity_.host, identity_.start),
      stuck_(options.kill_slack, options.stuck_recheck),
      latest_(now) {
  CHECK(identity_.start.generation != Generation());
  CHECK(!identity_.host.is_zero());
  grants_.recover(records, out_);
  if (fence_.damaged() > 0) {
    out_.emit(Severity::kAlarm, "fence_record_damaged", {}, std::to_string(fence_.damaged()));
  }
}

void GangAgent::step(Instant now, Input input) {
  latest_ = std::max(latest_, now);
  if (hello_exchange_.is_refused()) {
    return;
  }
  hear(latest_, std::move(input));
  tick(latest_);
}

void GangAgent::tick(Instant now) {
  latest_ = std::max(latest_, now);
  if (hello_exchange_.is_refused()) {
    return;
  }
  cleaning().withhold_ended(latest_);
  grants_.tick(latest_, out_);
  stuck_.give_up_orphans(latest_, grants_, inventory_.gpus, out_);
  grants_.advance(latest_, stuck_.dirty(), renewals_, out_);
  if (stuck_.watch(latest_, grants_, out_)) {
    hello_exchange_.want_hello(latest_);
  }
  if (renewals_.is_due(latest_)) {
    renewals_.send(latest_, grants_.renewal(), out_);
  }
  if (hello_exchange_.is_due(latest_) && may_hello()) {
    send_hello(latest_);
  }
}

Instant GangAgent::next_deadline() const {
  if (hello_exchange_.is_refused()) {
    return kNever;
  }
  const Instant deadline =
      std::min({renewals_.next_deadline(), stuck_.next_deadline(), grants_.next_deadline()});
  return may_hello() ? std::min(deadline, hello_exchange_.next_deadline()) : deadline;
}

void GangAgent::check_invariants() const {
  grants_.check_invariants(fence_);
  renewals_.check_invariants();
  stuck_.check_invariants();
}

std::vector<std::string> GangAgent::offered_gpus() const {
  return offer_of(inventory_, fence_).gpus;
}

std::vector<GrantView> GangAgent::grants() const {
  std::vector<GrantView> views;
  for (const auto& [token, grant] : grants_.all()) {
    views.push_back({token, grant.state(), grant.record.job, grant.record.attempt,
                     grants_.member_of(grant).gpus, grant.hold_until, grant.is_out_of_hand()});
  }
  return views;
}

const GrantRecord* GangAgent::find(Token token) const {
  const Grant* grant = grants_.find(token);
  return grant == nullptr ? nullptr : &grant->record;
}

void GangAgent::hear(Instant now, Input input) {
  std::visit(
      Overloaded{
          [&](LeaderMessage& message) { on_leader_message(now, std::move(message)); },
          [&](LeaderChanged& changed) { on_leader_changed(now, changed); },
          [&](EpochObeyed& obeyed) { hello_exchange_.epoch_obeyed(now, obeyed.epoch); },
          [&](LeaveBegun&) { leaving_ = true; },
          [&](Persisted& persisted) { grants_.on_persisted(persisted.id); },
          [&](SupervisorAdopted& adopted) { on_adopted(now, adopted); },
          [&](SupervisorSilent& silent) { on_silent(now, silent.token); },
          [&](SupervisorGone& gone) { on_gone(std::move(gone)); },
          [&](SupervisorsScanned&) { on_scanned(now); },
          [&](SupervisorPrepared& prepared) { on_prepared(now, prepared); },
          [&](LaunchFailed& failed) { grants_.on_launch_failed(failed, out_); },
          [&](RanksStarted& started) { grants_.on_ranks_started(started.token, out_); },
          [&](RankFailedEarly& failed) { grants_.on_rank_failed(now, std::move(failed), out_); },
          [&](AllRanksEnded& ended) { on_ranks_ended(std::move(ended)); },
          [&](OutputDropped& dropped) {
            out_.emit(Severity::kWarn, "output_dropped", dropped.token, text_of(dropped));
          },
          [&](InventoryChanged& changed) { on_inventory(now, std::move(changed.inventory)); },
          [&](const GpusCleaned& cleaned) {
            for (const std::string& uuid : cleaned.uuids) {
              stuck_.on_cleaned(uuid);
            }
          },
          [&](UnwellGpusChanged& changed) { unwell_ = std::move(changed.uuids); },
          [&](ShortageChanged& changed) { on_shortage(std::move(changed.shortage)); },
      },
      input);
}

// ---- what the supervisors report ----

void GangAgent::on_adopted(Instant now, const SupervisorAdopted& input) {
  Grant* grant = grants_.find(input.token);
  if (grant == nullptr || !grant->is_live()) {
    stuck_.add_orphan(now, input.token, out_);
  } else if (grants_.on_adopted(*grant, input, out_)) {
    renewals_.hasten(now);
  }
}

void GangAgent::on_silent(Instant now, Token token) {
  Grant* grant = grants_.find(token);
  if (grant == nullptr || !grant->is_live()) {
    stuck_.add_orphan(now, token, out_);
  } else if (grants_.on_silent(now, *grant, out_)) {
    renewals_.hasten(now);
  }
}

void GangAgent::on_gone(SupervisorGone input) {
  cleaning().forget_orphan(latest_, input.token);
  Grant* grant = grants_.find(input.token);
  if (grant == nullptr || !grant->is_live()) {
    out_.command(Forget{input.token});
    return;
  }
  grants_.on_gone(*grant, std::move(input.results), scanned_, out_);
}

void GangAgent::on_scanned(Instant now) {
  scanned_ = true;
  grants_.on_scanned(out_);
  cleaning().withhold_idle(now, inventory_.gpus);
}

void GangAgent::on_prepared(Instant now, const SupervisorPrepared& input) {
  // A namespace that failed once may have been a shortage: only this grant is refused for it. If
  // the host took its offer back, no later grant could show that it works.
  if (input.has_namespace && !inventory_.has_namespaces) {
    inventory_.has_namespaces = true;
    hello_exchange_.want_hello(now);
  }
  grants_.on_prepared(input, out_);
}

void GangAgent::on_ranks_ended(AllRanksEnded input) {
  if (cleaning().forget_orphan(latest_, input.token)) {
    out_.command(Forget{input.token});
    return;
  }
  grants_.on_ranks_ended(std::move(input), out_);
}

void GangAgent::on_inventory(Instant now, Inventory inventory) {
  if (inventory_ == inventory) {
    return;
  }
  std::vector<std::string> unseen;  // Nobody looked at them until now.
  for (const std::string& uuid : inventory.gpus) {
    const auto& known = inventory_.gpus;
    if (!inventory_.are_watched || std::find(known.begin(), known.end(), uuid) == known.end()) {
      unseen.push_back(uuid);
    }
  }
  inventory_ = std::move(inventory);
  if (scanned_) {
    cleaning().withhold_idle(now, unseen);
  }
  hello_exchange_.want_hello(now);
}

void GangAgent::on_shortage(std::string shortage) {
  out_.emit(shortage.empty() ? Severity::kInfo : Severity::kAlarm,
            shortage.empty() ? "grants_can_start" : "no_grant_can_start", {},
            shortage.empty() ? shortage_ : shortage);
  shortage_ = std::move(shortage);
}

// ---- what the leader says ----
// Messages are functions of committed state and idempotent by token. Therefore no part remembers
// which leader sent one, except for hello and renewals.

void GangAgent::on_leader_message(Instant now, LeaderMessage input) {
  if (auto* reply = std::get_if<scheduler::HelloReply>(&input.message)) {
    on_hello_reply(now, input.nonce, *reply);
  } else if (auto* assign = std::get_if<scheduler::Assign>(&input.message)) {
    on_assign(now, std::move(*assign));
  } else if (auto* start = std::get_if<scheduler::Start>(&input.message)) {
    on_start(now, *start);
  } else if (auto* stop = std::get_if<scheduler::Stop>(&input.message)) {
    on_stop(now, *stop);
  } else if (auto* finish_ack = std::get_if<scheduler::FinishAck>(&input.message)) {
    on_finish_ack(input.nonce, *finish_ack);
  } else if (auto* renew_ack = std::get_if<scheduler::RenewAck>(&input.message)) {
    on_renew_ack(input.nonce, *renew_ack);
  } else if (auto* orders = std::get_if<scheduler::GpuOrders>(&input.message)) {
    if (orders->start != identity_.start) {
      drop("gpu orders", {});
      return;
    }
    order_heard_ = heard_after(order_heard_, std::move(orders->orders), out_);
    out_.send(scheduler::GpuOrdersAck{identity_.start, order_heard_});
  } else {
    drop("type", {});
  }
}

void GangAgent::on_leader_changed(Instant now, const LeaderChanged& input) {
  out_.set_leader(input.leader);
  hello_exchange_.leader_changed(now, input.spread, out_);
  grants_.restart_reports(now);
  renewals_.leader_changed(now);
}

/// First the verdicts about interrupted grants are durable, and orphans are gone or given up: the
/// leader acts on what hello says.
bool GangAgent::may_hello() const {
  return scanned_ && grants_.are_settled() && !stuck_.are_orphans_ending() && out_.has_leader();
}

void GangAgent::send_hello(Instant now) {
  scheduler::Hello hello;
  hello.start = identity_.start;
  hello.boot_id = identity_.boot_id;
  hello.name = identity_.name;
  Inventory offered = offer_of(inventory_, fence_);
  hello.gpu_type = offered.gpu_type;
  hello.gpus = std::move(offered.gpus);
  hello.cpus = offered.cpus;
  hello.memory_mb = offered.memory_mb;
  hello.traits = std::move(offered.traits);
  hello.stuck = stuck_.withheld();
  hello.has_namespaces = inventory_.has_namespaces;
  hello.grants = grants_.reports(hello_exchange_.epoch());
  hello_exchange_.hello_sent(now, out_.send(std::move(hello)));
}

void GangAgent::on_hello_reply(Instant now, Nonce nonce, const scheduler::HelloReply& reply) {
  switch (hello_exchange_.on_reply(now, nonce, reply, out_)) {
    case HelloExchange::Reply::kStray:
      drop("hello reply", {});
      return;
    case HelloExchange::Reply::kRefused:
    case HelloExchange::Reply::kNotYet:
      return;
    case HelloExchange::Reply::kRegistered:
      raise_floor(now, reply.floor);
      for (const Token token : reply.kill) {
        grants_.kill(now, token, out_);
      }
      grants_.restart_reports(now);
      return;
  }
}

/// Only GPUs without a record take the floor. For the others the stored fence is exact, and the
/// floor may name an attempt whose Assign is still on its way here.
void GangAgent::raise_floor(Instant now, Token floor) {
  crdt::WriteBatch batch;
  std::vector<std::string> fenced = inventory_.gpus;
  fenced.emplace_back(kNoGpu);
  for (const std::string& uuid : fenced) {
    if (!fence_.knows(uuid)) {
      fence_.raise({uuid, 0}, floor, batch);
    }
  }
  if (!batch.empty()) {
    out_.persist(std::move(batch));
    hello_exchange_.want_hello(now);
  }
}

void GangAgent::on_assign(Instant now, scheduler::Assign assign) {
  const auto member =
      std::find_if(assign.members.begin(), assign.members.end(),
                   [&](const scheduler::Member& one) { return one.host == identity_.host; });
  if (assign.start != identity_.start || member == assign.members.end() ||
      member->rank_count() == 0) {
    drop("assign", assign.token);
    return;
  }
  const Grant* known = grants_.find(assign.token);
  if (known != nullptr) {
    grants_.on_repeated_assign(*known, out_);
    return;
  }
  const std::optional<std::string> reason = reason_to_refuse(assign, *member);
  if (reason.has_value()) {
    if (*reason == kWithheld) {
      hello_exchange_.want_hello(now);
    }
    grants_.refuse(assign.token, *reason, out_);
    return;
  }
  const scheduler::Member mine = *member;
  accept(now, std::move(assign), mine);
}

std::optional<std::string> GangAgent::reason_to_refuse(const scheduler::Assign& assign,
                                                       const scheduler::Member& member) const {
  if (leaving_) {
    return "leaving";
  }
  if (!shortage_.empty()) {
    return shortage_;  // The leader decided before our row told the shortage.
  }
  for (const scheduler::GpuSlot& place : member.gpus) {
    if (std::find(inventory_.gpus.begin(), inventory_.gpus.end(), place.uuid) ==
        inventory_.gpus.end()) {
      return "gpu missing";
    }
    if (stuck_.is_orphans_gpu(place.uuid.text()) || stuck_.is_dirty(place.uuid.text())) {
      return kWithheld;  // The leader decided before our hello told it.
    }
    if (unwell_.contains(place.uuid.text())) {
      return "gpu not healthy";  // It decided before our row told it.
    }
  }
  if (!fence_.accepts(fenced_places(member), assign.token)) {
    return "stale token";
  }
  if (grants_.all().size() >= kGrantsMax) {
    return "too many grants";
  }
  if (assign.hold <= Duration(0)) {
    return "no hold";
  }
  return std::nullopt;
}

void GangAgent::accept(Instant now, scheduler::Assign assign, const scheduler::Member& member) {
  grants_.revoke_older(assign, member, now, out_);
  crdt::WriteBatch batch;
  for (const scheduler::GpuSlot& place : fenced_places(member)) {
    fence_.raise(place, assign.token, batch);
  }
  grants_.add(std::move(assign), std::move(batch), out_);
}

void GangAgent::on_start(Instant now, const scheduler::Start& start) {
  Grant* grant = addressed(start.token, start.start, "start");
  if (grant != nullptr) {
    grants_.on_start(now, *grant, start, out_);
  }
}

void GangAgent::on_stop(Instant now, const scheduler::Stop& stop) {
  Grant* grant = addressed(stop.token, stop.start, "stop");
  if (grant != nullptr) {
    grants_.on_stop(now, *grant, stop, out_);
  }
}

void GangAgent::on_finish_ack(Nonce nonce, const scheduler::FinishAck& ack) {
  if (!grants_.on_finish_ack(nonce, ack.token, out_)) {
    drop("finish ack", ack.token);
  }
}

/// A hold counts from our own send: a late or relayed acknowledgement can never lengthen it.
void GangAgent::on_renew_ack(Nonce nonce, const scheduler::RenewAck& ack) {
  const std::optional<Renewal> renewal = renewals_.take(nonce);
  if (!renewal.has_value()) {
    drop("renew ack", {});
    return;
  }
  const Instant counted = mutant(SchedulerMutant::kHoldFromReceipt) ? latest_ : renewal->sent;
  grants_.on_renewed(counted, *renewal, ack.tokens, out_);
}

Grant* GangAgent::addressed(Token token, AgentStart start, std::string_view what) {
  Grant* grant = start == identity_.start ? grants_.find(token) : nullptr;
  if (grant == nullptr) {
    drop(what, token);
  }
  return grant;
}

void GangAgent::drop(std::string_view what, Token token) {
  ++dropped_count_;
  out_.emit(Severity::kDebug, "agent_message_dropped", token, std::string(what));
}

}  // namespace muster::agent
