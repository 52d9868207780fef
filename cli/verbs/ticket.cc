// muster ticket, ticket list and ticket revoke: how hosts are let into the cluster.

#include <algorithm>

#include "agent/api/enrolment.h"
#include "agent/api/json/bytes_text.h"
#include "agent/api/json/enrolment.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/duration.h"
#include "cli/kit/retry.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/ticket_output.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

constexpr Duration kTtl = std::chrono::hours(1);
/// Of a key, as people name tickets.
constexpr std::size_t kNameDigits = 12;

std::string name_of(const agent::TicketInfo& ticket) {
  return agent::hex(ticket.key).substr(0, kNameDigits);
}

class MakeTicket final : public Verb {
 public:
  void describe(Options& options) override {
    options.number("--uses", ticket_.uses, "Number of hosts that may join");
    options.duration("--ttl", ttl_, "Let hosts join for this long; the time stops without a leader",
                     std::chrono::seconds(1));
    options.text("--host", ticket_.host_name, "Let only the host of this name join", "NAME");
    options.flag("--may-vote", ticket_.may_vote,
                 "Let these hosts become voters; root on a voter controls the cluster");
    options.flag(
        "--may-vouch", ticket_.may_vouch,
        "Let logins of these hosts submit, cancel, administer and read the output of others");
    output_.describe(options);
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster ticket --uses 20 --ttl 2h --out ticket");
  }

  int run(Session& session) override {
    if (const auto refused = output_.refusal(session)) {
      return *refused;
    }
    const NewTicket ticket = session.world().tickets.make();
    ticket_.key = ticket.key;
    ticket_.ttl_ms = static_cast<std::uint64_t>(to_ms(ttl_));
    agent::Request request;
    request.verb = agent::Verb::kMakeTicket;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(ticket_);
    const Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    const auto made = agent::decode_payload<agent::TicketMade>(reply.response.payload);
    const Result<std::string> line =
        session.world().tickets.line(ticket.secret, made.value_or(agent::TicketMade()));
    if (!line) {
      return session.fail(agent::ResponseStatus::kFailed, line.error().text);
    }
    const std::string name = agent::hex(ticket.key).substr(0, kNameDigits);
    const bool is_json = session.common().is_json;
    if (!is_json || !output_.path().empty()) {
      if (const int failed = output_.put(session, *line); failed != 0) {
        return failed;
      }
    }
    if (is_json) {
      session.out() << agent::ticket_json(name, output_.path().empty() ? *line : "", output_.path())
                    << "\n";
    } else {
      session.note("with that ticket " + std::to_string(ticket_.uses) +
                   (ticket_.uses == 1 ? " host" : " hosts") + " can join (muster join) within " +
                   format_duration(ttl_) + "; `muster ticket revoke " + name + "` ends it");
    }
    return 0;
  }

 private:
  agent::TicketArgs ticket_;
  TicketOutput output_;
  Duration ttl_ = kTtl;
};

/// "open", or what ended it: "used 2 times, its limit".
std::string state_of(const agent::TicketInfo& ticket) {
  std::string state = ticket.why_not.empty() ? "open" : ticket.why_not;
  for (const std::string_view start : {"the ticket ", "was ", "has "}) {
    state.erase(0, state.starts_with(start) ? start.size() : 0);
  }
  return state;
}

class ListTickets final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster ticket list");
  }

  int run(Session& session) override {
    const auto list = session.read<agent::TicketList>(agent::Verb::kTickets);
    if (!list.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << to_json(*list, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "TICKET", .columns_min = kNameDigits},
                 {.title = "USED", .is_number = true},
                 {.title = "OF", .is_number = true},
                 {.title = "ENDS IN", .is_number = true},
                 {.title = "FOR", .columns_min = 8},
                 {.title = "MADE BY", .columns_min = 8},
                 {.title = "STATE", .columns_min = 12}});
    for (const agent::TicketInfo& ticket : list->tickets) {
      const std::string rights = ticket.may_vote && ticket.may_vouch ? "vote, vouch"
                                 : ticket.may_vote                   ? "vote"
                                 : ticket.may_vouch                  ? "vouch"
                                                                     : "";
      table.add({name_of(ticket), std::to_string(ticket.used), std::to_string(ticket.uses),
                 ticket.why_not.empty() ? format_age(ticket.ends_in_ms) : "-",
                 (ticket.host_name.empty() ? "any host" : ticket.host_name) +
                     (rights.empty() ? "" : " (" + rights + ")"),
                 ticket.by, state_of(ticket)});
    }
    session.out() << table.text(session.screen());
    return 0;
  }
};

class RevokeTicket final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("TICKET", name_, "Ticket to revoke, as `muster ticket list` names it");
    common_.describe(options);
    options.example("muster ticket revoke 5f0c1d22ab90");
  }

  int run(Session& session) override {
    const auto list = session.read<agent::TicketList>(agent::Verb::kTickets);
    if (!list.has_value()) {
      return session.failed();
    }
    const auto is_named = [&](const agent::TicketInfo& ticket) {
      return !name_.empty() && agent::hex(ticket.key).starts_with(name_);
    };
    const auto found = std::find_if(list->tickets.begin(), list->tickets.end(), is_named);
    if (found == list->tickets.end() ||
        std::count_if(list->tickets.begin(), list->tickets.end(), is_named) > 1) {
      return session.fail(agent::ResponseStatus::kNotFound,
                          "no ticket, or more than one, has a name that begins with " + name_ +
                              ": see `muster ticket list`");
    }
    agent::Request request;
    request.verb = agent::Verb::kEndTicket;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(agent::TicketRef{found->key});
    const Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    session.out() << (session.common().is_json
                          ? agent::ticket_json(name_of(*found), "", "")
                          : "ticket " + name_of(*found) +
                                " admits no more hosts; hosts that joined with it stay members")
                  << "\n";
    return 0;
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Verb> make_ticket() {
  return std::make_unique<MakeTicket>();
}
std::unique_ptr<Verb> make_ticket_list() {
  return std::make_unique<ListTickets>();
}
std::unique_ptr<Verb> make_ticket_revoke() {
  return std::make_unique<RevokeTicket>();
}

}  // namespace muster::cli
