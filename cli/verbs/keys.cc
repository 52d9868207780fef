// muster keys and keys rotate: what hosts prove themselves with, and how that is replaced.

#include <algorithm>
#include <string>

#include "agent/api/enrolment.h"
#include "agent/api/json/enrolment.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/duration.h"
#include "cli/kit/host_name.h"
#include "cli/kit/retry.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

constexpr Duration kLookAgain = std::chrono::milliseconds(500);

std::string state_of(const agent::KeysInfo& keys, const agent::HostKeys& host) {
  const std::string away = host.is_reachable ? "" : ", not reachable";
  if (host.is_changing) {
    return "changing its key" + away;
  }
  return (host.authority < keys.authority  ? "to be signed again"
          : host.round < host.round_wanted ? "to change its key"
                                           : "current") +
         away;
}

class ListKeys final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    options.example("muster keys");
  }

  int run(Session& session) override {
    auto keys = session.read<agent::KeysInfo>(agent::Verb::kKeys);
    if (!keys.has_value()) {
      return session.failed();
    }
    std::stable_sort(keys->hosts.begin(), keys->hosts.end(),
                     [](const auto& left, const auto& right) { return left.name < right.name; });
    if (session.common().is_json) {
      session.out() << to_json(*keys, session.last()) << "\n";
      return 0;
    }
    Table table({{.title = "HOST", .columns_min = 8},
                 {.title = "LINK KEY", .is_number = true},
                 {.title = "AUTHORITY", .is_number = true},
                 {.title = "STATE", .columns_min = 12}});
    for (const agent::HostKeys& host : keys->hosts) {
      table.add({host.name, std::to_string(host.serial), std::to_string(host.authority),
                 state_of(*keys, host)});
    }
    session.out() << "authority " << keys->authority << ", " << keys->members
                  << (keys->members == 1 ? " member" : " members")
                  << (keys->behind == 0 ? ", all current"
                                        : ", " + std::to_string(keys->behind) + " behind")
                  << "\n"
                  << table.text(session.screen());
    return 0;
  }
};

class RotateKeys final : public Verb {
 public:
  void describe(Options& options) override {
    options.word("NAME", name_, "Host to give a new link key", false);
    options.flag("--all", all_,
                 "Replace the link keys of all hosts, a few at a time, rack by rack");
    options.flag("--authority", authority_,
                 "Replace the authority, and sign the membership list again");
    options.flag("--no-wait", no_wait_, "Return at once, without waiting until it is done");
    options.duration("--patience", patience_, "Wait at most this long until it is done",
                     std::chrono::seconds(1));
    confirmation_.describe(options);
    common_.describe_signing(options);
    common_.describe(options);
    options.example("muster keys rotate --all");
  }

  int run(Session& session) override {
    if ((name_.empty() ? 0 : 1) + (all_ ? 1 : 0) + (authority_ ? 1 : 0) != 1) {
      return session.fail(ResponseStatus::kUsage, "give a host's NAME, --all, or --authority");
    }
    if (authority_ &&
        !confirmation_.is_agreed(session,
                                 "The authority, which signs the membership list, is replaced for "
                                 "good. Open tickets stay valid. Replace it?")) {
      return confirmation_.refuse(session, "the authority was not replaced");
    }
    agent::RotateArgs args;
    args.is_authority = authority_;
    if (!name_.empty()) {
      const auto found = find_host(session, name_);
      if (!found.host.has_value()) {
        return found.exit_code;
      }
      args.host = found.host->id;
    }
    const auto before = session.read<agent::KeysInfo>(agent::Verb::kKeys);
    if (!before.has_value()) {
      return session.failed();
    }
    agent::Request request;
    request.verb = agent::Verb::kRotateKeys;
    request.user = session.world().user_name();
    request.arguments = agent::encode_payload(args);
    const Reply reply = exchange_with_retries(session, request).reply;
    if (!reply.is_ok()) {
      return session.fail(reply);
    }
    if (no_wait_) {
      return done(session, false);
    }
    return wait(session, args, *before);
  }

 private:
  /// Hosts that have not done yet what was wished for. Of one host all others are no matter.
  static std::size_t left(const agent::KeysInfo& now, const agent::RotateArgs& args,
                          const agent::KeysInfo& before) {
    if (args.is_authority) {
      return now.authority_from > before.authority ? 0 : std::max<std::size_t>(now.behind, 1);
    }
    std::size_t count = 0;
    for (const agent::HostKeys& host : before.hosts) {
      const auto found = std::find_if(now.hosts.begin(), now.hosts.end(),
                                      [&](const auto& each) { return each.host == host.host; });
      const bool is_meant = args.host.is_zero() ? host.is_reachable : args.host == host.host;
      count += is_meant && found != now.hosts.end() && found->serial <= host.serial ? 1 : 0;
    }
    return count;
  }

  int wait(Session& session, const agent::RotateArgs& args, const agent::KeysInfo& before) {
    const WorldClock& clock = session.world().clock;
    std::size_t open = 1;
    std::size_t told = 0;
    for (Duration waited{0}; waited < patience_; waited += kLookAgain) {
      // The agent that answers may be the one whose links end: a failed look is looked at again.
      const auto now = session.read<agent::KeysInfo>(agent::Verb::kKeys);
      if (now.has_value()) {
        open = left(*now, args, before);
      }
      if (open == 0) {
        return done(session, true);
      }
      if (open != told && waited >= std::chrono::seconds(2)) {
        session.note(std::to_string(open) + (open == 1 ? " host" : " hosts") + " to go");
        told = open;
      }
      clock.sleep(kLookAgain);
    }
    return session.fail(ResponseStatus::kUnknown,
                        std::to_string(open) + (open == 1 ? " host" : " hosts") + " to go after " +
                            format_duration(patience_) +
                            ": the rotation continues, see `muster keys`");
  }

  int done(Session& session, bool is_over) const {
    const std::string what = authority_ ? "authority" : all_ ? "all" : name_;
    if (session.common().is_json) {
      session.out() << agent::rotated_json(what, is_over) << "\n";
      return 0;
    }
    const std::string subject = authority_ ? "the authority was"
                                : all_     ? "all link keys were"
                                           : "the link key of host " + name_ + " was";
    session.out() << printable(is_over ? subject + " replaced"
                                       : "rotation started: `muster keys` shows its progress")
                  << "\n";
    return 0;
  }

  std::string name_;
  bool all_ = false;
  bool authority_ = false;
  bool no_wait_ = false;
  Confirmation confirmation_;
  Duration patience_ = std::chrono::minutes(10);
};

}  // namespace

std::unique_ptr<Verb> make_keys() {
  return std::make_unique<ListKeys>();
}
std::unique_ptr<Verb> make_keys_rotate() {
  return std::make_unique<RotateKeys>();
}

}  // namespace muster::cli
