// muster join: gives the agent of this host a ticket, with which it becomes a member.

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/json/enrolment.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/first_contact.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

constexpr std::string_view kTicketHead = "muster";
constexpr Duration kLook = std::chrono::milliseconds(100);
constexpr Duration kBackWithin = std::chrono::seconds(10);
/// A member may be asked for so long.
constexpr Duration kAskedFor = std::chrono::seconds(15);

class Join final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("TICKET", ticket_,
                 "Ticket from `muster ticket` or `muster init`: its line, a file with it, or - for "
                 "stdin; a line on the command line is visible to other users");
    contact_.describe(options);
    common_.describe(options);
    options.example("muster join ticket");
  }

  int run(Session& session) override {
    std::string line = ticket_;
    const bool is_line = line.starts_with(kTicketHead) && line.find('/') == std::string::npos &&
                         !session.world().exists(line);
    if (!is_line) {
      Result<std::string> read = session.world().tickets.read(line);
      if (!read) {
        return session.fail(read.error().code == ErrorCode::kDenied ? agent::ResponseStatus::kDenied
                                                                    : agent::ResponseStatus::kUsage,
                            read.error().code == ErrorCode::kDenied
                                ? read.error().text
                                : read.error().text +
                                      ", and it is not a ticket either: give the line that `muster "
                                      "ticket` printed, a file that holds it, or - for stdin");
      }
      line = std::move(read).value();
    }
    agent::Request request;
    request.verb = agent::Verb::kEnter;
    request.arguments = agent::encode_payload(agent::EnterArgs{line});
    const Reply reply = exchange_with_new_agent(session, request, kAskedFor);
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    return wait_for_agent(session);
  }

 private:
  /// It opens its ports now: its socket is away for a moment.
  int wait_for_agent(Session& session) const {
    agent::Request question;
    question.verb = agent::Verb::kVersion;
    const Instant end = session.world().clock.now() + kBackWithin;
    while (session.world().clock.now() < end) {
      session.world().clock.sleep(kLook);
      const Reply reply = session.exchange(question);
      const auto node = agent::decode_payload<agent::VersionInfo>(reply.response.payload);
      if (!reply.is_ok() || !node.has_value() || node->generation == Generation()) {
        continue;  // Not back yet.
      }
      const auto first = contact_.is_wanted() ? contact_.wait(session) : FirstContact::Outcome();
      if (first.is == FirstContact::Is::kLate) {
        return session.fail(agent::ResponseStatus::kFailed,
                            "host " + node->host_name +
                                " is a member, and the cluster does not answer it yet: see its "
                                "log, and `muster quorum`");
      }
      // Its cluster may have been born meanwhile.
      const auto now =
          agent::decode_payload<agent::VersionInfo>(session.exchange(question).response.payload);
      const ClusterId cluster = now.has_value() ? now->cluster : node->cluster;
      const std::string what = cluster.is_zero() ? " is a founder of the cluster"
                                                 : " is a member of cluster " + cluster.short_hex();
      session.out() << (session.common().is_json
                            ? agent::joined_json(node->host_name, node->host, cluster)
                            : printable("host " + node->host_name + what))
                    << "\n";
      if (first.is == FirstContact::Is::kAlone && !session.common().is_json) {
        session.note(std::to_string(first.founders_missing) +
                     (first.founders_missing == 1 ? " more founder has" : " more founders have") +
                     " to join before anything is placed");
      }
      return 0;
    }
    return session.fail(agent::ResponseStatus::kFailed,
                        "the ticket was taken, and the agent does not answer yet: see its log");
  }

  std::string ticket_;
  FirstContact contact_;
};

}  // namespace

std::unique_ptr<Verb> make_join() {
  return std::make_unique<Join>();
}

}  // namespace muster::cli
