#include "scheduler/state/audit_rules.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace muster::scheduler {
namespace {

/// Digits by which people name a ticket: cli/verbs/ticket.cc.
constexpr std::size_t kTicketBytesNamed = 6;

std::string job_text(JobId job) {
  return "job " + text_of(job);
}

std::string ticket_text(const std::string& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "ticket ";
  for (const char byte : key.substr(0, kTicketBytesNamed)) {
    text += kDigits[static_cast<std::uint8_t>(byte) >> 4U];
    text += kDigits[static_cast<std::uint8_t>(byte) & 0xfU];
  }
  return text;
}

/// "user ann", "2 users, team vision, rules"
std::string change_text(const DirectoryChange& change) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto add_all = [&add](const std::string& kind, const auto& changes) {
    if (changes.size() == 1) {
      add(kind + " " + changes.front().name);
    } else if (!changes.empty()) {
      add(std::to_string(changes.size()) + " " + kind + "s");
    }
  };
  add_all("user", change.users);
  add_all("team", change.teams);
  if (change.changes_rules()) {
    add("rules");
  }
  return text;
}

/// "3 queues", "1 queue, 2 moves"
std::string queues_text(const entry::SetQueues& fact) {
  const auto counted = [](std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  return counted(fact.tree.nodes.size(), "queue") +
         (fact.moves.empty() ? "" : ", " + counted(fact.moves.size(), "move"));
}

/// Names an entry that a person may order, and its object. An entry without an overload is one that
/// a leader makes by itself.
struct Naming {
  const Books& books;

  using Named = std::optional<AuditLine>;

  Named operator()(const entry::Submit& fact) const {
    auto line = about(fact.by, "submit", "");
    if (line.has_value() && books.keys.find(fact.key).has_value()) {
      line->why = "repeated";
    }
    return line;
  }
  Named operator()(const entry::Cancel& fact) const {
    const bool is_run = is_task(fact.job) && fact.last > index_of_task(fact.job);
    return about(fact.by, "cancel",
                 job_text(fact.job) + (is_run ? "-" + std::to_string(fact.last) : ""));
  }
  Named operator()(const entry::Suspend& fact) const {
    return about(fact.by, "suspend", job_text(fact.job));
  }
  Named operator()(const entry::Resume& fact) const {
    return about(fact.by, "resume", job_text(fact.job));
  }
  Named operator()(const entry::Requeue& fact) const {
    return about(fact.by, "requeue", job_text(fact.job));
  }
  Named operator()(const entry::Edit& fact) const {
    return about(fact.by, "edit", job_text(fact.job));
  }
  Named operator()(const entry::Fence& fact) const {
    return about(fact.by, "fence", host_text(fact.host));
  }
  Named operator()(const entry::Drain& fact) const {
    return about(fact.by, "drain", host_text(fact.host));
  }
  Named operator()(const entry::Undrain& fact) const {
    return about(fact.by, "undrain", host_text(fact.host));
  }
  Named operator()(const entry::RemoveHost& fact) const {
    return about(fact.by, "remove_host", host_text(fact.host));
  }
  Named operator()(const entry::MakeTicket& fact) const {
    return about(fact.by, "make_ticket", ticket_text(fact.key));
  }
  Named operator()(const entry::EndTicket& fact) const {
    return about(fact.by, "end_ticket", ticket_text(fact.key));
  }
  Named operator()(const entry::Enrol& fact) const {
    return about(fact.by, fact.is_revoked ? "revoke_host" : "change_host", host_text(fact.host));
  }
  Named operator()(const entry::RotateKeys& fact) const {
    return about(fact.by, "rotate_keys", "all hosts");
  }
  Named operator()(const entry::ReplaceAuthority& fact) const {
    return about(fact.by, "replace_authority", "authority " + std::to_string(fact.number));
  }
  Named operator()(const entry::ChangeDirectory& fact) const {
    return about(fact.by, "change_users", change_text(fact.change));
  }
  Named operator()(const entry::MakeAccessToken& fact) const {
    return about(fact.by, "make_token", "access token " + fact.id.short_hex());
  }
  Named operator()(const entry::EndAccessToken& fact) const {
    return about(fact.by, "end_token", "access token " + fact.id.short_hex());
  }
  Named operator()(const entry::ResetAdmin& fact) const {
    return about(fact.by, "reset_admin", "user " + fact.admin);
  }
  Named operator()(const entry::GpuOrder& fact) const {
    return about(fact.by, fact.is_mask ? "mask_gpu" : "unmask_gpu",
                 host_text(fact.host) + " gpu " + fact.uuid);
  }
  Named operator()(const entry::SetQueues& fact) const {
    return about(fact.by, "set_queues", queues_text(fact));
  }
  template <class T>
  Named operator()(const T&) const {
    return std::nullopt;
  }

 private:
  std::string host_text(HostId host) const {
    const HostRecord* record = books.hosts.find(host);
    return "host " + (record == nullptr || record->name.empty() ? host.short_hex() : record->name);
  }
  static Named about(const Subject& by, std::string_view verb, std::string object) {
    if (by.user.empty()) {
      return std::nullopt;
    }
    AuditLine line;
    line.by = by.name;
    line.user = by.user;
    line.host = by.host;
    line.proof = proof_of(by);
    line.verb = verb;
    line.object = std::move(object);
    return line;
  }
};

}  // namespace

std::optional<AuditLine> audited(const Books& books, const Entry& entry) {
  return std::visit(Naming{books}, entry);
}

void add_to_audit(Step& step, AuditLine line) {
  const ApplyResult& result = step.result;
  line.unix_ms = step.unix_ms;
  line.index = step.index;
  if (!result.rejected.empty()) {
    const bool is_denied = result.rejected_as == ErrorCode::kDenied;
    line.outcome = is_denied ? AuditOutcome::kDenied : AuditOutcome::kRefused;
    line.why = word_of(result.rejected_as);
  } else if (line.object.empty() && result.job != JobId()) {
    line.object = job_text(result.job);
  }
  step.books.audit.add(std::move(line));
}

void on_note_requests(Step& step, const entry::NoteRequests& fact) {
  if (!step.books.audit.take_batch(fact.host, {fact.generation, fact.batch})) {
    return;  // The leader heard it twice.
  }
  for (const RequestNote& note : fact.notes) {
    AuditLine line;
    line.unix_ms = step.unix_ms;
    line.index = step.index;
    line.by = note.by.name;
    line.user = note.by.user;
    line.host = note.by.host;
    line.told_by = fact.host;
    line.proof = proof_of(note.by);
    line.outcome = note.was_done ? AuditOutcome::kDone : AuditOutcome::kDenied;
    line.verb = note.verb;
    line.object = note.object;
    line.why = note.why;
    step.books.audit.add(std::move(line));
  }
}

}  // namespace muster::scheduler
