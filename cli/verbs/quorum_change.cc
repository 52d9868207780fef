// muster quorum add, remove and transfer: an operator's say in who votes and who leads. An order
// that names a host may be given twice and is repeated if its answer is lost; a transfer to any
// host is not.

#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/host_name.h"
#include "cli/kit/retry.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::QuorumAction;
using agent::ResponseStatus;

struct Kind {
  QuorumAction action;
  const char* verb;
  const char* done;  ///< "host d added", and the key of the JSON answer.
  const char* help;
  bool needs_name;
};

constexpr Kind kAdd{QuorumAction::kAdd, "add", "added", "Name or id of the host", true};
constexpr Kind kRemove{QuorumAction::kRemove, "remove", "removed", "Name or id of the host", true};
constexpr Kind kTransfer{QuorumAction::kTransfer, "transfer", "leads",
                         "Name or id of the voter to lead (default the best suited)", false};

class QuorumChange final : public Verb {
 public:
  explicit QuorumChange(const Kind& kind) : kind_(kind) {}

  void describe(Options& options) override {
    options.word("NAME", name_, kind_.help, kind_.needs_name);
    if (kind_.action == QuorumAction::kRemove) {
      options.flag("-y,--yes", yes_,
                   "Do not ask for confirmation, even if no further voter may fail then");
    }
    common_.describe(options);
    options.example(std::string("muster quorum ") + kind_.verb + " gpu17");
  }

  int run(Session& session) override {
    agent::QuorumWish wish;
    wish.action = kind_.action;
    if (!name_.empty()) {
      const FoundHost found = find_host(session, name_);
      if (!found.host.has_value()) {
        return found.exit_code;
      }
      wish.host = found.host->id;
      name_ = found.host->name;
    }
    if (kind_.action == QuorumAction::kRemove && !yes_) {
      const std::string warning = why_not_remove(session, wish.host);
      if (!warning.empty() && !confirms(session, warning)) {
        return session.fail(
            ResponseStatus::kUsage,
            "host " + name_ + " keeps its vote: " + warning + "; use --yes to remove it anyway");
      }
    }
    agent::Request request;
    request.verb = agent::Verb::kChangeQuorum;
    request.arguments = agent::encode_payload(wish);
    request.user = session.world().user_name();
    Reply reply =
        name_.empty() ? session.exchange(request) : exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      if (reply.status == ResponseStatus::kUnknown) {
        reply.text += "; see `muster quorum`, or repeat: muster quorum ";
        reply.text += kind_.verb + (name_.empty() ? "" : " " + name_);
      }
      return session.fail(reply);
    }
    say(session, reply.response.text);
    return 0;
  }

 private:
  /// The loss of the quorum without that voter: its tolerance of a failure. "" if it loses none, or
  /// if that cannot be learned; then the order itself says what is wrong.
  static std::string why_not_remove(Session& session, HostId host) {
    agent::Request request;
    request.verb = agent::Verb::kQuorum;
    const Reply reply = session.exchange(request);
    const auto quorum = agent::decode_payload<agent::QuorumInfo>(reply.response.payload);
    if (!reply.is_ok() || !quorum.has_value() || quorum->tolerates == 0) {
      return "";
    }
    std::size_t left = 0;
    std::size_t live = 0;
    bool is_voter = false;
    for (const agent::VoterInfo& voter : quorum->voters) {
      const bool is_gone =
          voter.state == "suspect" || voter.state == "unreachable" || voter.state == "left";
      const bool stays = !voter.is_learner && voter.id != host;
      left += stays ? 1 : 0;
      live += stays && !is_gone ? 1 : 0;
      is_voter = is_voter || (!voter.is_learner && voter.id == host);
    }
    if (!is_voter || live > left / 2 + 1) {
      return "";
    }
    return left == 1 ? "with 1 voter left, its failure would stop all placement"
                     : "with " + std::to_string(left) +
                           " voters left, the failure of one would stop all placement";
  }

  bool confirms(Session& session, const std::string& warning) const {
    return says_yes(session, "W" + warning.substr(1) + ". Remove the vote of host " + name_ + "?");
  }

  void say(Session& session, const std::string& detail) const {
    if (session.common().is_json) {
      session.out() << agent::quorum_changed_json(kind_.done, name_, detail) << "\n";
    } else if (name_.empty()) {
      session.out() << "the leadership was handed over: `muster quorum` shows the leader\n";
    } else {
      session.out() << "host " << printable(name_) << " "
                    << (kind_.action == QuorumAction::kRemove ? "no longer votes" : kind_.done)
                    << (detail.empty() ? "" : ": " + printable(detail)) << "\n";
    }
  }

  const Kind& kind_;
  std::string name_;
  bool yes_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_quorum_add() {
  return std::make_unique<QuorumChange>(kAdd);
}
std::unique_ptr<Verb> make_quorum_remove() {
  return std::make_unique<QuorumChange>(kRemove);
}
std::unique_ptr<Verb> make_quorum_transfer() {
  return std::make_unique<QuorumChange>(kTransfer);
}

}  // namespace muster::cli
