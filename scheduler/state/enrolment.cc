#include "scheduler/state/enrolment.h"

#include <string>
#include <string_view>

#include "gossip/base/name.h"

namespace muster::scheduler {
namespace {

/// The first bytes of a key: how people see a ticket.
std::string short_name(const std::string& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name;
  for (std::size_t i = 0; i < key.size() && i < 6; ++i) {
    const auto byte = static_cast<unsigned char>(key[i]);
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

/// Why the ticket does not let this host in; "" = it does.
std::string why_not(const Step& step, const entry::Enrol& fact) {
  const Ticket* ticket = step.books.roll.ticket(fact.ticket);
  if (ticket == nullptr) {
    return "there is no such ticket here: make a new one with `muster ticket`";
  }
  if (const HostRecord* bearer = step.books.hosts.bearer(fact.host_name, fact.host)) {
    return why_taken(*bearer);
  }
  if (ticket->used_by.contains(fact.host)) {
    return "";
  }
  if (!ticket->host_name.empty() && ticket->host_name != fact.host_name) {
    return "the ticket is for host " + ticket->host_name;
  }
  return ticket->why_not(step.books.cluster_time);
}

/// Ends the tickets of a host with its right to vouch: an intruder there may have made them.
std::size_t end_tickets_of(Step& step, const entry::Enrol& fact, const std::string& by) {
  const std::size_t ended =
      step.books.roll.end_all_of(fact.host, by + fact.host_name, step.books.cluster_time);
  step.result.roll.tickets = step.result.roll.tickets || ended > 0;
  if (ended > 0) {
    step.result.told = std::to_string(ended) + (ended == 1 ? " open ticket" : " open tickets") +
                       (ended == 1 ? " made there is revoked" : " made there are revoked");
  }
  return ended;
}

void on_revoked(Step& step, const entry::Enrol& fact) {
  const std::size_t ended = end_tickets_of(step, fact, "the revocation of host ");
  step.result.events.push_back({Severity::kWarn,
                                "host_revoked",
                                {{"host", fact.host.short_hex()},
                                 {"name", fact.host_name},
                                 {"tickets_ended", std::to_string(ended)},
                                 {"by", fact.by.name}}});
}

}  // namespace

void on_make_ticket(Step& step, const entry::MakeTicket& fact) {
  const bool is_valid = !fact.key.empty() && fact.uses > 0 && fact.uses <= kTicketUsesMax &&
                        fact.ttl > Duration::zero() && fact.ttl <= kTicketTtlMax;
  if (!is_valid) {
    step.reject(ErrorCode::kInvalid, "a ticket is for 1 to " + std::to_string(kTicketUsesMax) +
                                         " hosts and for at most a year");
    return;
  }
  if (!fact.host_name.empty()) {
    if (const Status name = check_word_name(fact.host_name, "host"); !name) {
      step.reject(ErrorCode::kInvalid, name.error().text);
      return;
    }
  }
  if (step.books.roll.is_denied_tickets(fact.made_at)) {
    // Asked for before its host lost the right, and logged after: no ticket existed to end yet.
    step.reject(ErrorCode::kDenied, "the host that asks for this ticket may not vouch any more");
    return;
  }
  if (step.books.roll.ticket(fact.key) != nullptr) {
    return;  // Said again.
  }
  if (!step.books.roll.make(fact, step.books.cluster_time, step.unix_ms)) {
    step.reject(ErrorCode::kConflict, std::to_string(kTicketsMax) +
                                          " tickets are open: revoke some (muster ticket revoke)");
    return;
  }
  step.result.roll.tickets = true;
  step.result.events.push_back({Severity::kInfo,
                                "ticket_made",
                                {{"ticket", short_name(fact.key)},
                                 {"uses", std::to_string(fact.uses)},
                                 {"may_vote", fact.may_vote ? "yes" : "no"},
                                 {"by", fact.by.name}}});
}

void on_end_ticket(Step& step, const entry::EndTicket& fact) {
  if (step.books.roll.ticket(fact.key) == nullptr) {
    step.reject(ErrorCode::kNotFound, "there is no such ticket: see `muster ticket list`");
    return;
  }
  step.books.roll.end(fact);
  step.result.roll.tickets = true;
  step.result.events.push_back(
      {Severity::kInfo, "ticket_ended", {{"ticket", short_name(fact.key)}, {"by", fact.by.name}}});
}

void on_enrol(Step& step, const entry::Enrol& fact) {
  RollBook& roll = step.books.roll;
  if (fact.authority < roll.keys().authority()) {
    // Else a host that was revoked meanwhile would hold the secret of the new authority.
    step.reject(ErrorCode::kUnavailable, "the authority has just been replaced: repeat");
    return;
  }
  if (!fact.ticket.empty()) {
    if (std::string why = why_not(step, fact); !why.empty()) {
      step.reject(ErrorCode::kConflict, std::move(why));
      return;
    }
  }
  if (!roll.is_news(fact)) {
    // A repetition, or a newer record is known and counts. An operator that ordered another record
    // has to know.
    const EnrolledHost* known = roll.find(fact.host);
    if ((fact.is_revoked || !fact.by.name.empty()) && known->record != fact.record) {
      step.reject(ErrorCode::kConflict, "the host's record has just changed: repeat");
    }
    return;
  }
  if (roll.hosts().size() >= kEnrolledMax && roll.find(fact.host) == nullptr) {
    step.reject(ErrorCode::kUnavailable, "the membership list is full");
    return;
  }
  const bool is_new = roll.find(fact.host) == nullptr;
  roll.enrol(fact);
  step.result.roll.enrolled.push_back(fact.host);
  if (fact.is_revoked) {
    on_revoked(step, fact);
    return;
  }
  if (!fact.may_vouch) {
    end_tickets_of(step, fact, "taking --may-vouch from host ");
  }
  Event event{Severity::kInfo,
              is_new ? "host_enrolled" : "host_record_changed",
              {{"host", fact.host.short_hex()},
               {"name", fact.host_name},
               {"ticket", short_name(fact.ticket)},
               {"by", fact.by.name}}};
  std::erase_if(event.fields, [](const auto& field) { return field.second.empty(); });
  step.result.events.push_back(std::move(event));
}

void on_rotate_keys(Step& step, const entry::RotateKeys& fact) {
  if (step.books.roll.rotate(fact, step.books.cluster_time)) {
    step.result.events.push_back({Severity::kInfo,
                                  "keys_to_rotate",
                                  {{"round", std::to_string(fact.round)}, {"by", fact.by.name}}});
  }
}

void on_replace_authority(Step& step, const entry::ReplaceAuthority& fact) {
  const RollKeys& keys = step.books.roll.keys();
  if (fact.number == keys.authority() && !keys.links.empty() && keys.links.back().key == fact.key) {
    return;  // Said again.
  }
  if (fact.number != keys.authority() + 1 || fact.key.empty()) {
    step.reject(ErrorCode::kConflict, "the authority has just been replaced: see `muster keys`");
    return;
  }
  step.books.roll.replace_authority(fact);
  step.result.roll.authority = true;
  step.result.events.push_back({Severity::kWarn,
                                "authority_replaced",
                                {{"number", std::to_string(fact.number)}, {"by", fact.by.name}}});
}

}  // namespace muster::scheduler
