#include "scheduler/leader/leader.h"

#include <algorithm>

namespace muster::scheduler {

Leader::Leader(const Turn& turn, std::uint64_t last_round)
    : desk_(last_round), judge_(turn), clients_(turn.now) {
  for (const Token& token : turn.state.live()) {
    follow(turn, token, false);
  }
}

void Leader::on_applied(const Turn& turn, const Entry& entry, const ApplyResult& result) {
  proposals_.on_applied(entry);
  for (const Token& token : result.touched) {
    follow(turn, token, std::holds_alternative<entry::Register>(entry));
  }
  clients_.on_applied(entry, result, turn.output);
  judge_.on_applied(turn, entry, result);
  desk_.on_applied(turn, entry);
}

/// The judge looks at a touched attempt later; its agents are told now.
void Leader::follow(const Turn& turn, const Token& token, bool is_rekeyed) {
  const bool was_reserved = judge_.on_touched(turn, token);
  resends_.on_touched(turn, token, was_reserved, is_rekeyed);
}

void Leader::on_agent_message(const Turn& turn, input::AgentMessageReceived& fact) {
  desk_.on_message(turn, proposals_, resends_, fact);
}

void Leader::on_majority_round(const Turn& turn, std::uint64_t context) {
  desk_.on_majority_round(turn, proposals_, resends_, context);
}

void Leader::on_submit(const Turn& turn, input::ClientSubmit& fact) {
  clients_.on_submit(turn, proposals_, fact);
}

void Leader::on_order(const Turn& turn, input::ClientOrder& fact) {
  clients_.on_order(turn, fact);
}

void Leader::on_roll_met(const Turn& turn, const input::RollMet& fact) {
  for (const entry::Enrol& record : fact.records) {
    if (turn.state.roll().is_news(record)) {
      proposals_.propose(turn, record);
    }
  }
  if (fact.rotation.has_value()) {
    proposals_.propose(turn, *fact.rotation);
  }
  if (fact.authority.has_value()) {
    proposals_.propose(turn, *fact.authority);
  }
}

void Leader::tick(const Turn& turn) {
  desk_.tick(turn);
  resends_.say_due(turn);
}

Instant Leader::next_deadline(const SchedulerConfig& config, const State& state) const {
  return std::min({resends_.next_deadline(), desk_.next_deadline(config),
                   judge_.next_deadline(config, state, proposals_)});
}

void Leader::check_invariants() const {
  resends_.check_invariants();
  desk_.check_invariants();
  clients_.check_invariants();
}

}  // namespace muster::scheduler
