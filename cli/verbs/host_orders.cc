// muster hosts drain, undrain, remove, revoke: an operator's word about a host's place in the
// fleet, through any node. Each may be said again.

#include <optional>

#include "agent/api/hosts.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/retry.h"
#include "cli/kit/text.h"
#include "cli/verbs/drain_text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

constexpr Duration kSayAgain = std::chrono::milliseconds(500);

class HostOrder : public Verb {
 public:
  int run(Session& session) override {
    if (const Status status = check(); !status) {
      return session.fail(ResponseStatus::kUsage, status.error().text);
    }
    const auto found = find_host(session, name_);
    if (!found.host.has_value()) {
      return found.exit_code;
    }
    const agent::HostInfo& host = *found.host;
    if (const std::string question = asks(host);
        !question.empty() && !confirmation_.is_agreed(session, question)) {
      return confirmation_.refuse(
          session, printable("host " + host.name + " was not " + std::string(done())));
    }
    agent::Request request;
    request.verb = verb();
    request.arguments = arguments(host);
    request.user = session.world().user_name();
    Reply reply = said(session, request);
    if (!reply.is_ok()) {
      reply.text += reply.status == ResponseStatus::kUnknown
                        ? "; repeat with: muster hosts " + std::string(word()) + " " + name_
                        : "";
      return session.fail(reply);
    }
    if (session.common().is_json) {
      session.out() << agent::host_ordered_json(done(), host.name, host.id) << "\n";
    } else {
      session.out() << printable("host " + host.name + " " + std::string(done())) << "\n";
      if (!reply.text.empty()) {
        session.note(reply.text);
      }
      tell_more(session, host);
    }
    return 0;
  }

 protected:
  virtual agent::Verb verb() const = 0;
  virtual std::string_view word() const = 0;
  virtual std::string_view done() const = 0;  ///< "host b DONE"; also the key of --json.
  virtual std::string arguments(const agent::HostInfo& host) const {
    return agent::encode_payload(agent::HostRef{host.id});
  }
  virtual Status check() const { return ok(); }
  /// The question to a person first; "" = none.
  virtual std::string asks(const agent::HostInfo&) const { return ""; }
  virtual Reply said(Session& session, const agent::Request& request) const {
    return exchange_with_retries(session, request).reply;
  }
  virtual void tell_more(Session&, const agent::HostInfo&) const {}

  std::string name_;
  Confirmation confirmation_;
};

/// An order that may take a host's vote: while the vote cannot be spared, another host takes its
/// place, and the order is said again until that is done.
Reply said_until_spared(Session& session, const agent::Request& request) {
  const WorldClock& clock = session.world().clock;
  const Instant end = clock.now() + session.common().timeout;
  Reply reply = exchange_with_retries(session, request).reply;
  bool is_told = false;
  while (reply.status == ResponseStatus::kNoQuorum && reply.is_from_node && clock.now() < end) {
    if (!is_told) {
      session.note(reply.text);
      is_told = true;
    }
    clock.sleep(kSayAgain);
    reply = exchange_with_retries(session, request).reply;
  }
  return reply;
}

class Drain final : public HostOrder {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    options.text("--why", why_, "Reason, shown by `muster hosts`", "TEXT");
    options.value(
        "--deadline",
        [this](const std::string& given) -> Status {
          const auto parsed = parse_duration(given);
          deadline_ = parsed ? std::optional(*parsed) : std::nullopt;
          return parsed ? ok() : Status(parsed.error());
        },
        "Requeue the jobs that still run there after this long, without using up a retry",
        "DURATION");
    options.flag("--requeue", requeue_, "Requeue the jobs there at once, without using up a retry");
    common_.describe(options);
    options.example("muster hosts drain gpu17 --why 'fan 3' --deadline 2h");
  }

 protected:
  agent::Verb verb() const override { return agent::Verb::kDrain; }
  std::string_view word() const override { return "drain"; }
  std::string_view done() const override { return "drained"; }
  Status check() const override {
    return requeue_ && deadline_.has_value()
               ? Status(Error{ErrorCode::kInvalid,
                              "--requeue acts at once and --deadline later: choose one"})
               : ok();
  }
  std::string arguments(const agent::HostInfo& host) const override {
    return agent::encode_payload(
        agent::DrainArgs{host.id, why_, requeue_ || deadline_.has_value(),
                         static_cast<std::uint64_t>(to_ms(deadline_.value_or(Duration(0))))});
  }
  void tell_more(Session& session, const agent::HostInfo& host) const override {
    if (host.is_voter) {
      session.note(
          "host " + host.name +
          " keeps its vote: a drain affects only its GPUs; `muster quorum remove` takes the vote");
    }
    const auto uses = read_host_uses(session, true);
    const bool is_known = uses.has_value() && uses->contains(host.id);
    if (is_known && uses->at(host.id).is_drained) {
      session.note(drain_text(uses->at(host.id)));
    }
  }

 private:
  std::string why_;
  std::optional<Duration> deadline_;
  bool requeue_ = false;
};

class Undrain final : public HostOrder {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    common_.describe(options);
    options.example("muster hosts undrain gpu17");
  }

 protected:
  agent::Verb verb() const override { return agent::Verb::kUndrain; }
  std::string_view word() const override { return "undrain"; }
  std::string_view done() const override { return "undrained"; }
};

class RemoveHost final : public HostOrder {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    common_.describe(options);
    options.example("muster hosts remove gpu17");
  }

 protected:
  agent::Verb verb() const override { return agent::Verb::kRemoveHost; }
  std::string_view word() const override { return "remove"; }
  std::string_view done() const override { return "removed"; }
};

class RevokeHost final : public HostOrder {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    confirmation_.describe(options);
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster hosts revoke gpu17 --yes");
  }

 protected:
  agent::Verb verb() const override { return agent::Verb::kRevokeHost; }
  std::string_view word() const override { return "revoke"; }
  std::string_view done() const override { return "revoked"; }
  std::string asks(const agent::HostInfo& host) const override {
    return "host " + host.name + " (" + host.state +
           ") will be expelled for good; open tickets that were made there are revoked, and its "
           "jobs run elsewhere. Revoke it?";
  }
  Reply said(Session& session, const agent::Request& request) const override {
    return said_until_spared(session, request);
  }
  void tell_more(Session& session, const agent::HostInfo&) const override {
    session.note(
        "its keys are refused from now on; its jobs run elsewhere once they must have ended there; "
        "to come back it joins as a new host, with a new data directory and a ticket");
  }
};

class SetHost final : public HostOrder {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Name or id of the host");
    describe_right(options, "--may-vouch", vouch_,
                   "Allow its logins to submit, cancel, administer and read the output of others");
    describe_right(options, "--may-vote", vote_,
                   "Allow it to become a voter; root on a voter controls the cluster");
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster hosts set gpu17 --may-vouch yes");
  }

 protected:
  agent::Verb verb() const override { return agent::Verb::kSetHost; }
  std::string_view word() const override { return "set"; }
  std::string_view done() const override { return "changed"; }
  Status check() const override {
    return vouch_ == agent::Wish::kAsItIs && vote_ == agent::Wish::kAsItIs
               ? Status(Error{ErrorCode::kInvalid,
                              "give --may-vouch yes|no, --may-vote yes|no, or both"})
               : ok();
  }
  std::string arguments(const agent::HostInfo& host) const override {
    return agent::encode_payload(agent::SetHostArgs{host.id, vote_, vouch_});
  }
  Reply said(Session& session, const agent::Request& request) const override {
    return said_until_spared(session, request);
  }
  void tell_more(Session& session, const agent::HostInfo&) const override {
    if (vote_ != agent::Wish::kAsItIs) {
      session.note(vote_ == agent::Wish::kYes
                       ? "the authority is being replaced, so that it gets the new secret: see "
                         "`muster keys`; then `muster quorum add` makes it a voter"
                       : "it knew the authority's secret, so the authority is being replaced: see "
                         "`muster keys`");
    }
  }

 private:
  static void describe_right(Options& options, const std::string& name, agent::Wish& wish,
                             const std::string& help) {
    options.value(
        name,
        [&wish](const std::string& given) -> Status {
          wish = given == "yes"  ? agent::Wish::kYes
                 : given == "no" ? agent::Wish::kNo
                                 : agent::Wish::kAsItIs;
          return wish == agent::Wish::kAsItIs ? Status(Error{ErrorCode::kInvalid, "give yes or no"})
                                              : ok();
        },
        help, "yes|no");
  }

  agent::Wish vouch_ = agent::Wish::kAsItIs;
  agent::Wish vote_ = agent::Wish::kAsItIs;
};

}  // namespace

std::unique_ptr<Verb> make_host_set() {
  return std::make_unique<SetHost>();
}
std::unique_ptr<Verb> make_host_revoke() {
  return std::make_unique<RevokeHost>();
}
std::unique_ptr<Verb> make_host_drain() {
  return std::make_unique<Drain>();
}
std::unique_ptr<Verb> make_host_undrain() {
  return std::make_unique<Undrain>();
}
std::unique_ptr<Verb> make_host_remove() {
  return std::make_unique<RemoveHost>();
}

}  // namespace muster::cli
