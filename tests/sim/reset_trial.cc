#include "tests/sim/reset_trial.h"

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "agent/api/payload.h"
#include "agent/api/users.h"
#include "tests/sim/checkers.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using agent::Verb;

constexpr std::uint32_t kMembers = 4;
constexpr std::uint32_t kVoter = 1;
constexpr std::uint32_t kNoVoter = 3;  ///< It may vouch for its logins, and has no vote.
constexpr std::uint32_t kAdaUid = 2'001;
const std::string kAda = "ada";
const auto kTokenOfAda = scheduler::AccessTokenId::from_bytes("token of ada____");

gossip::SshKeyLine key_of(char point) {
  return {{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, point), ""}, "trial"};
}

gossip::Sender root() {
  return {gossip::Sender::Kind::kLogin};
}

gossip::Sender login_of(const std::string& name) {
  gossip::Sender sender{gossip::Sender::Kind::kLogin};
  sender.uid = kAdaUid;
  sender.login_name = name;
  return sender;
}

/// Counts the alarms of each host.
class AlarmCounter final : public Checker {
 public:
  explicit AlarmCounter(std::map<std::uint32_t, std::uint64_t>& alarms) : alarms_(alarms) {}
  std::string name() const override { return "reset alarms"; }
  void on_event(World&, std::uint32_t host, const Event& event) override {
    const bool is_one = event.name == "admin_reset" && event.severity == Severity::kAlarm;
    alarms_[host] += is_one ? 1U : 0U;
  }

 private:
  std::map<std::uint32_t, std::uint64_t>& alarms_;
};

class ResetTrial {
 public:
  explicit ResetTrial(std::uint64_t seed) : world_(world_options(seed)) {
    add_checkers(world_);
    world_.add_checker(std::make_unique<AlarmCounter>(alarms_));
  }

  ResetTrialResult run() {
    if (settle()) {
      try_those_that_may_not();
      try_root_of_a_voter();
      try_with_one_host_off();
    }
    for (const Violation& violation : world_.violations()) {
      result_.wrong.push_back(violation.checker + ": " + violation.text);
    }
    for (const auto& [host, count] : alarms_) {
      result_.alarms += count;
    }
    return std::move(result_);
  }

 private:
  static WorldOptions world_options(std::uint64_t seed) {
    WorldOptions options;
    options.hosts = kMembers;
    options.seed = seed;
    options.last_may_vote = false;
    return options;
  }

  void expect(bool holds, std::string what) {
    if (!holds) {
      result_.wrong.push_back(std::move(what));
    }
  }

  agent::ResponseStatus ask(std::uint32_t host, const gossip::Sender& sender, Verb verb,
                            std::string arguments, const std::string& node = "") {
    agent::Request request;
    request.verb = verb;
    request.user = kOperator;  // A client may say what it likes.
    request.arguments = std::move(arguments);
    request.node = node;
    const std::uint64_t client = world_.ask(host, std::move(request), sender);
    world_.run_until_true([&] { return world_.reply_to(client) != nullptr; }, 10s);
    const ClientReply* reply = world_.reply_to(client);
    return reply == nullptr ? agent::ResponseStatus::kUnknown : reply->response.status;
  }
  agent::ResponseStatus reset(std::uint32_t host, const gossip::Sender& sender, char point,
                              const std::string& node = "") {
    return ask(host, sender, Verb::kResetAdmin,
               agent::encode_payload(agent::ResetAdminArgs{"", key_of(point)}), node);
  }

  bool settle() {
    const bool is_founded = world_.run_until_true(
        [this] {
          const std::uint32_t leader = world_.leader();
          return leader < world_.size() && state_of(leader).directory().is_founded() &&
                 state_of(leader).roll().hosts().size() == world_.size();
        },
        2min);
    expect(is_founded, "the cluster did not settle");
    if (!is_founded) {
      return false;
    }
    world_.run_for(5s);
    agent::DirectoryArgs ada;
    ada.change.users.push_back(
        {kAda, false, scheduler::UserRole::kAdmin, {}, {}, {}, {key_of('a')}});
    agent::TokenArgs token;
    token.id = kTokenOfAda;
    token.hash = std::string(gossip::kSha256Bytes, 'h');
    token.label = "trial";
    token.may_read = true;
    token.ttl_ms = 3'600'000;
    using agent::ResponseStatus;
    expect(ask(0, root(), Verb::kChangeUsers, agent::encode_payload(ada)) == ResponseStatus::kOk,
           "ada was not made an administrator");
    expect(ask(0, login_of(kAda), Verb::kMakeToken, agent::encode_payload(token)) ==
               ResponseStatus::kOk,
           "ada got no token");
    world_.run_for(5s);  // The host without the log fetches the list.
    return result_.wrong.empty();
  }

  void try_those_that_may_not() {
    const gossip::Sender carrier{gossip::Sender::Kind::kHost, world_.id(kNoVoter)};
    const std::string voter = world_.node(kVoter).options().name;
    const struct {
      const char* name;
      std::uint32_t host;
      gossip::Sender sender;
      std::string node;
    } kRows[] = {
        {"a login of a voter", kVoter, login_of("uma"), ""},
        {"an administrator on a voter", kVoter, login_of(kAda), ""},
        {"root of a host without a vote", kNoVoter, root(), ""},
        {"root of a host without a vote, with --node of a voter", kNoVoter, root(), voter},
        {"root of a voter, with --node of another", 0, root(), voter},
        {"a host without a vote that carries a request on", kVoter, carrier, ""},
        {"the same, for the voter itself", kVoter, carrier, voter},
        {"the same, at the leader", world_.leader(), carrier, ""},
    };
    for (const auto& row : kRows) {
      const bool is_denied =
          reset(row.host, row.sender, 'x', row.node) == agent::ResponseStatus::kDenied;
      result_.refused += is_denied ? 1U : 0U;
      expect(is_denied, std::string(row.name) + " was not denied");
    }
    expect(state_of(world_.leader()).directory().last_reset().epoch == 0, "there was a reset");
  }

  void try_root_of_a_voter() {
    expect(reset(kVoter, root(), 'n') == agent::ResponseStatus::kOk,
           "root of a voter could not reset the administrators");
    world_.run_for(10s);
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      expect(alarms_[host] == 1, "host " + std::to_string(host) + " told " +
                                     std::to_string(alarms_[host]) + " alarms of one reset");
    }
    const scheduler::State& state = state_of(world_.leader());
    const scheduler::Directory& directory = state.directory();
    expect(directory.key(kOperator, key_of('n').key) != nullptr, "root did not get the new key");
    expect(directory.user(kAda).keys.empty(), "another administrator kept a key");
    expect(directory.tokens().find(kTokenOfAda) == nullptr, "an administrator kept a token");
    expect(!state.audit().lines().empty() && state.audit().lines().back().verb == "reset_admin",
           "the audit has no line about the reset");
    const scheduler::AdminReset first = directory.last_reset();
    expect(reset(kVoter, root(), 'n') == agent::ResponseStatus::kOk &&
               state_of(world_.leader()).directory().last_reset() == first,
           "a reset that is done was not done, or done again");
  }

  /// It hears of the second reset when it is back.
  void try_with_one_host_off() {
    world_.kill_agent(kNoVoter);
    world_.run_for(1s);
    expect(reset(0, root(), 'o') == agent::ResponseStatus::kOk, "there was no second reset");
    world_.run_for(1min);
    world_.start_agent(kNoVoter);
    world_.run_for(30s);
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      expect(alarms_[host] == 2, "host " + std::to_string(host) + " told " +
                                     std::to_string(alarms_[host]) + " alarms of two resets");
    }
  }

  const scheduler::State& state_of(std::uint32_t host) { return world_.node(host).seat().state(); }

  World world_;
  ResetTrialResult result_;
  std::map<std::uint32_t, std::uint64_t> alarms_;
};

}  // namespace

ResetTrialResult run_reset_trial(std::uint64_t seed) {
  return ResetTrial(seed).run();
}

int tell_reset_trials(const Seeds& seeds) {
  ResetTrialResult all;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const ResetTrialResult result = run_reset_trial(seed);
    for (const std::string& wrong : result.wrong) {
      std::printf("# seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    }
    all.refused += result.refused;
    all.alarms += result.alarms;
    all.wrong.insert(all.wrong.end(), result.wrong.begin(), result.wrong.end());
  }
  std::printf("figure reset_refused %llu count\n", static_cast<unsigned long long>(all.refused));
  std::printf("figure reset_alarms %llu count\n", static_cast<unsigned long long>(all.alarms));
  std::printf("figure reset_wrong %zu count\n", all.wrong.size());
  return all.wrong.empty() ? 0 : 1;
}

}  // namespace muster::sim
