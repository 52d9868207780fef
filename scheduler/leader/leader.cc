#include "scheduler/leader/leader.h"

#include <algorithm>
#include <variant>

namespace muster::scheduler {

Leader::Leader(const StepContext& step, std::uint64_t last_round)
    : desk_(last_round),
      reconciler_(step),
      clock_(step.now),
      clients_(step.now),
      gpu_orders_(step) {
  for (const Token& token : step.state.live()) {
    follow(step, token, false);
  }
}

void Leader::on_applied(const StepContext& step, const Entry& entry, const ApplyResult& result) {
  proposals_.on_applied(entry);
  for (const Token& token : result.touched) {
    follow(step, token, std::holds_alternative<entry::Register>(entry));
  }
  clients_.on_applied(entry, result, step.output);
  reconciler_.on_applied(step, entry, result);
  desk_.on_applied(step, entry);
  gpu_orders_.on_applied(step, entry);
}

/// The Reconciler looks at a touched attempt later; its agents are told now.
void Leader::follow(const StepContext& step, const Token& token, bool is_rekeyed) {
  const bool was_reserved = reconciler_.on_touched(step, token);
  resends_.on_touched(step, token, was_reserved, is_rekeyed);
}

void Leader::on_agent_message(const StepContext& step, input::AgentMessageReceived& fact) {
  if (const auto* ack = std::get_if<GpuOrdersAck>(&fact.message)) {
    dropped_ += gpu_orders_.on_ack(step, fact.from, *ack) ? 0 : 1;
    return;
  }
  desk_.on_message(step, proposals_, resends_, fact);
}

void Leader::on_majority_round(const StepContext& step, std::uint64_t context) {
  desk_.on_majority_round(step, proposals_, resends_, context);
}

void Leader::on_submit(const StepContext& step, input::ClientSubmit& fact) {
  clients_.on_submit(step, proposals_, clock_, fact);
}

void Leader::on_order(const StepContext& step, input::ClientOrder& fact) {
  clients_.on_order(step, proposals_, clock_, fact);
}

void Leader::on_roll_met(const StepContext& step, const input::RollMet& fact) {
  for (const entry::Enrol& record : fact.records) {
    if (step.state.roll().is_news(record)) {
      proposals_.propose(step, record);
    }
  }
  if (fact.rotation.has_value()) {
    proposals_.propose(step, *fact.rotation);
  }
  if (fact.authority.has_value()) {
    proposals_.propose(step, *fact.authority);
  }
  if (fact.directory.has_value()) {
    proposals_.propose(step, *fact.directory);
  }
}

void Leader::on_notes_met(const StepContext& step, const input::NotesMet& fact) {
  proposals_.propose(step, fact.batch);
}

void Leader::tick(const StepContext& step) {
  desk_.tick(step);
  resends_.say_due(step);
  gpu_orders_.say_due(step);
}

Instant Leader::next_deadline(const SchedulerConfig& config, const State& state) const {
  return std::min({resends_.next_deadline(), gpu_orders_.next_deadline(),
                   desk_.next_deadline(config), reconciler_.next_deadline(proposals_),
                   clock_.next_deadline(config, state, proposals_)});
}

void Leader::check_invariants() const {
  resends_.check_invariants();
  desk_.check_invariants();
  clients_.check_invariants();
  gpu_orders_.check_invariants();
}

}  // namespace muster::scheduler
