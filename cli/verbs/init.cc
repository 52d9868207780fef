// muster init: founds a cluster, on this host alone or together with others.

#include "agent/api/enrolment.h"
#include "agent/api/json/enrolment.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "cli/kit/admin_key.h"
#include "cli/kit/first_contact.h"
#include "cli/kit/text.h"
#include "cli/kit/ticket_output.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

class Init final : public Verb {
 public:
  void describe(Options& options) override {
    options.value(
        "--expect",
        [this](const std::string& given) -> Status {
          expect_ = given == "1" ? 1 : given == "3" ? 3 : given == "5" ? 5 : 0;
          return expect_ != 0 ? ok() : Status(Error{ErrorCode::kInvalid, "give 1, 3 or 5"});
        },
        "Number of founding hosts, voters from the start; 1 tolerates no failed host (default 1)",
        "1|3|5");
    key_.describe(options);
    output_.describe(options);
    contact_.describe(options);
    common_.describe(options);
    options.example("muster init --expect 3 --out founding");
  }

  int run(Session& session) override {
    if (const auto refused = expect_ == 1 ? std::nullopt : output_.refusal(session)) {
      return *refused;
    }
    const Result<gossip::SshKeyLine> key = key_.take(session, session.world().user_name());
    if (!key) {
      return session.fail(agent::ResponseStatus::kUsage, key.error().text);
    }
    const NewTicket ticket = session.world().tickets.make();
    agent::Request request;
    request.verb = agent::Verb::kFound;
    request.arguments = agent::encode_payload(
        agent::FoundArgs{expect_, expect_ == 1 ? "" : ticket.key, to_line(*key)});
    const Reply reply = exchange_with_new_agent(session, request, session.common().timeout);
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    const auto made = agent::decode_payload<agent::TicketMade>(reply.response.payload);
    const Result<std::string> line =
        session.world().tickets.line(ticket.secret, made.value_or(agent::TicketMade()));
    if (!line) {
      return session.fail(agent::ResponseStatus::kFailed, line.error().text);
    }
    if (expect_ == 1) {
      return wait_for_quorum(session);
    }
    const bool is_json = session.common().is_json;
    const std::string& path = output_.path();
    if (!is_json || !path.empty()) {
      if (const int failed = output_.put(session, *line); failed != 0) {
        return failed;
      }
    }
    if (is_json) {
      session.out() << agent::founding_json(expect_, path.empty() ? *line : "", path) << "\n";
    } else {
      session.note("on each of the " + std::to_string(expect_ - 1) +
                   " other founders: start the agent and run muster join " +
                   (path.empty() ? "FILE, a file with that line that only you can read" : path) +
                   "; keep it secret: it lets any host found the cluster with you");
    }
    return 0;
  }

 private:
  /// The agent opens its ports and founds: its socket is away for a moment.
  int wait_for_quorum(Session& session) {
    agent::Request question;
    question.verb = agent::Verb::kQuorum;
    if (contact_.is_wanted() && contact_.wait(session).is != FirstContact::Is::kAnswered) {
      return session.fail(agent::ResponseStatus::kFailed,
                          "the agent has not founded the cluster yet: see its log");
    }
    const auto quorum = agent::decode_payload<agent::QuorumInfo>(
        contact_.is_wanted() ? session.exchange(question).response.payload : "");
    session.out()
        << (session.common().is_json ? agent::founding_json(1, "", "")
            : quorum.has_value()
                ? "cluster " + quorum->cluster.short_hex() +
                      " is founded; `muster ticket` lets other hosts join"
                : "the agent is creating the cluster; `muster quorum` shows when it is ready")
        << "\n";
    return 0;
  }

  std::uint64_t expect_ = 1;
  AdminKey key_;
  TicketOutput output_;
  FirstContact contact_;
};

}  // namespace

std::unique_ptr<Verb> make_init() {
  return std::make_unique<Init>();
}

}  // namespace muster::cli
