// muster quorum recover: an operator's word that a majority of the voters will not come back. Looks
// at the logs of those that answer, shows what each would save, asks, and has the quorum go on from
// one of them.

#include <algorithm>
#include <tuple>

#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::RecoveryInfo;
using agent::ResponseStatus;

/// A quorum of one elects itself within its disk's time for two writes.
constexpr Duration kLeaderWithin = std::chrono::seconds(20);
/// The node refuses before, too: a majority that is left elects a leader within that.
constexpr std::uint64_t kLeaderlessMs = 5000;
constexpr Duration kLookEvery = std::chrono::milliseconds(300);

/// Of a log that ends later by term, then by index, nothing is missing that the other holds.
bool knows_less(const RecoveryInfo& one, const RecoveryInfo& other) {
  return std::tuple(one.has_log, one.epoch, one.term, one.last) <
         std::tuple(other.has_log, other.epoch, other.term, other.last);
}

class QuorumRecover final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_,
                 "Name or id of the voter whose log to use (default the most complete log)", false);
    options.flag("--yes", yes_,
                 "Do not ask for confirmation that the other voters are gone for good");
    common_.describe(options);
    options.example("muster quorum recover");
  }

  int run(Session& session) override {
    const auto quorum = session.read<agent::QuorumInfo>(agent::Verb::kQuorum);
    if (!quorum.has_value()) {
      return session.failed();
    }
    look(session, *quorum);
    const RecoveryInfo* chosen = choose(session);
    if (chosen == nullptr) {
      return exit_code_;
    }
    for (const RecoveryInfo& other : found_) {
      if (other.epoch > chosen->epoch) {
        return session.fail(ResponseStatus::kConflict,
                            "host " + other.host_name + " has epoch " +
                                std::to_string(other.epoch) + " and host " + chosen->host_name +
                                " epoch " + std::to_string(chosen->epoch) +
                                ": the quorum was already recovered at " + other.host_name +
                                "; start the voters that are down, and see `muster quorum`");
      }
    }
    if (!chosen->has_rival &&
        (chosen->idle_ms < kLeaderlessMs || chosen->live > chosen->voters / 2)) {
      return session.fail(ResponseStatus::kConflict,
                          "host " + chosen->host_name + " hears " + std::to_string(chosen->live) +
                              " of " + std::to_string(chosen->voters) +
                              " voters, and a leader was heard " + format_age(chosen->idle_ms) +
                              " ago: recover only after 5s without a leader and a majority; "
                              "see `muster quorum`");
    }
    if (!session.common().is_json) {
      session.out() << table() << "\n"
                    << fitted(printable_lines(consequences(*chosen)), 2, session.screen());
    }
    if (!yes_ && !confirms(session, *chosen)) {
      return session.fail(ResponseStatus::kUsage,
                          "nothing was changed: use --yes if the other voters are gone for good");
    }
    return recover(session, *chosen);
  }

 private:
  static agent::Request question(const agent::RecoverArgs& arguments, HostId target) {
    agent::Request request;
    request.verb = agent::Verb::kRecover;
    request.target = target;
    request.arguments = agent::encode_payload(arguments);
    return request;
  }

  void look(Session& session, const agent::QuorumInfo& quorum) {
    for (const agent::VoterInfo& voter : quorum.voters) {
      const Reply reply = session.exchange(question({}, voter.id));
      auto info = agent::decode_payload<RecoveryInfo>(reply.response.payload);
      if (reply.is_ok() && info.has_value()) {
        found_.push_back(*std::move(info));
      } else {
        silent_.push_back(voter.name);
      }
    }
  }

  const RecoveryInfo* choose(Session& session) {
    if (name_.empty()) {
      const auto best = std::max_element(found_.begin(), found_.end(), knows_less);
      if (best != found_.end() && best->has_log) {
        return &*best;
      }
      exit_code_ = session.fail(ResponseStatus::kNotFound,
                                "no voter that answers has a copy of the log: start one whose disk "
                                "is left, then repeat");
      return nullptr;
    }
    const FoundHost host = find_host(session, name_);
    exit_code_ = host.exit_code;
    if (!host.host.has_value()) {
      return nullptr;
    }
    const auto named = std::find_if(found_.begin(), found_.end(), [&](const RecoveryInfo& info) {
      return info.host == host.host->id && info.has_log;
    });
    if (named == found_.end()) {
      exit_code_ = session.fail(
          ResponseStatus::kConflict,
          "the log of host " + name_ +
              " cannot be used: it does not answer or is not a voter; name a voter that answers");
      return nullptr;
    }
    return &*named;
  }

  std::string table() const {
    Table table({{.title = "VOTER"},
                 {.title = "STATE"},
                 {.title = "EPOCH", .is_number = true},
                 {.title = "TERM", .is_number = true},
                 {.title = "LAST", .is_number = true},
                 {.title = "COMMITTED", .is_number = true}});
    for (const RecoveryInfo& info : found_) {
      table.add({info.host_name, info.has_log ? "answers" : "has no log",
                 std::to_string(info.epoch), std::to_string(info.term.value()),
                 std::to_string(info.last.value()), std::to_string(info.commit.value())});
    }
    for (const std::string& name : silent_) {
      table.add({name, "no answer", "-", "-", "-", "-"});
    }
    return table.text();
  }

  /// The facts that an operator must know before saying yes.
  std::string consequences(const RecoveryInfo& chosen) const {
    const std::string last = std::to_string(chosen.last.value());
    std::string text =
        chosen.has_rival
            ? "The quorum was recovered twice under one epoch: this recovery replaces both.\n"
            : "";
    text += "The quorum would continue from host " + chosen.host_name +
            ", with a log up to entry " + last + ".\n";
    const std::uint64_t unsure = chosen.last.value() - chosen.commit.value();
    if (unsure > 0) {
      text += "Kept, although it is not known whether they were acknowledged: entries " +
              std::to_string(chosen.commit.value() + 1) + " to " + last + ".\n";
    }
    for (const RecoveryInfo& other : found_) {
      if (knows_less(chosen, other)) {
        text += "Lost, although host " + other.host_name + " still has them: entries after " +
                last + " up to " + std::to_string(other.last.value()) + ".\n";
      }
    }
    text +=
        "Lost, if there are any: entries after " + last +
        " that only the missing voters have, with submits that were acknowledged.\n"
        "Running gangs go on. New ones wait until each live host has reported what it runs, at "
        "most "
        "30 s.\n"
        "No leader was heard for " +
        format_age(chosen.idle_ms) +
        ". Without a leader a gang stops at its isolation limit (default: 2m on one host, 10m on "
        "several).\n"
        "Voters that come back later discard their old log and join the new quorum.\n";
    return text;
  }

  static bool confirms(Session& session, const RecoveryInfo& chosen) {
    return says_yes(
        session, "Are the other voters gone for good, and should the quorum continue from host " +
                     chosen.host_name + "?");
  }

  int recover(Session& session, const RecoveryInfo& chosen) {
    agent::Request request = question({true, chosen.term, chosen.last}, chosen.host);
    request.user = session.world().user_name();
    Reply reply = session.exchange(request);
    if (!reply.is_ok()) {
      reply.text += reply.status == ResponseStatus::kUnknown
                        ? "; look with `muster quorum` before you repeat it"
                        : "";
      return session.fail(reply);
    }
    return await_leader(session, chosen);
  }

  static int await_leader(Session& session, const RecoveryInfo& chosen) {
    const World& world = session.world();
    const Instant until = world.clock.now() + kLeaderWithin;
    agent::Request request;
    request.verb = agent::Verb::kQuorum;
    while (world.clock.now() < until) {
      const Reply reply = session.exchange(request);
      const auto quorum = agent::decode_payload<agent::QuorumInfo>(reply.response.payload);
      if (reply.is_ok() && quorum.has_value() && quorum->epoch > chosen.epoch &&
          !quorum->leader.is_zero()) {
        session.out() << (session.common().is_json
                              ? agent::recovered_json(chosen.host_name, quorum->epoch, chosen.last)
                              : "recovered: " + printable(quorum->leader_name) + " leads, epoch " +
                                    std::to_string(quorum->epoch) +
                                    "; other hosts become voters within a minute")
                      << "\n";
        return 0;
      }
      session.progress("waiting for host " + chosen.host_name + " to lead");
      world.clock.sleep(kLookEvery);
    }
    return session.fail(
        ResponseStatus::kUnknown,
        "host " + chosen.host_name +
            " took the order, but no leader is elected yet: see `muster quorum` and its log");
  }

  std::string name_;
  bool yes_ = false;
  int exit_code_ = 0;
  std::vector<RecoveryInfo> found_;
  std::vector<std::string> silent_;
};

}  // namespace

std::unique_ptr<Verb> make_quorum_recover() {
  return std::make_unique<QuorumRecover>();
}

}  // namespace muster::cli
