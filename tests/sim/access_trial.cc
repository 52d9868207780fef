#include "tests/sim/access_trial.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "agent/api/enrolment.h"
#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/output.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/users.h"
#include "gossip/base/check.h"
#include "scheduler/access/access_token.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/sim/access_oracle.h"
#include "tests/sim/checkers.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using agent::encode_payload;
using agent::Verb;

constexpr std::uint32_t kHosts = 4;
constexpr std::uint32_t kAnother = 3;  ///< It may not vouch, and has no vote.
constexpr std::uint32_t kFirstUid = 2'000;
constexpr std::int64_t kCeiling = 100;  ///< The default of a team.
const std::string kVision = "vision";
const std::string kSpeech = "speech";
const std::string kMate = "mate";  ///< Of the team of all persons.
const std::string kOtto = "otto";  ///< Of the other team.
const auto kUnknownToken = scheduler::AccessTokenId::from_bytes("unknown token___");
const HostId kUnknownHost = HostId::from_bytes("unknown host____");

/// The ways that show an access token, and its rights.
struct TokenWay {
  Way way{};
  bool may_read = false;
  bool may_submit = false;
  const char* team = "";
};
constexpr TokenWay kTokenWays[] = {{Way::kToken, true, true, ""},
                                   {Way::kReadToken, true, false, ""},
                                   {Way::kTeamToken, false, true, "vision"}};

/// The jobs of one user: one is held, so that orders meet it, and one ran, so that it has output.
struct JobsOfUser {
  JobId held;
  Token ran;
  std::uint32_t host = 0;  ///< That ran it.
};

bool is_about_a_job(Verb verb) {
  const std::string_view about[] = {"submit",  "dry_run", "cancel", "suspend", "resume",
                                    "requeue", "edit",    "show",   "why",     "output"};
  const agent::VerbRow* row = agent::find_verb(verb);
  for (const std::string_view name : about) {
    if (row != nullptr && row->name == name) {
      return true;
    }
  }
  return false;
}

class AccessTrial {
 public:
  explicit AccessTrial(std::uint64_t seed) : world_(world_options(seed)) { add_checkers(world_); }

  AccessTrialResult run() {
    if (settle()) {
      for (const bool hides : {false, true}) {
        if (hides) {
          change([](scheduler::DirectoryChange& change) { change.hides_other_teams = true; });
        }
        try_all(hides);
      }
    }
    result_.violations = world_.violations();
    return std::move(result_);
  }

 private:
  static WorldOptions world_options(std::uint64_t seed) {
    WorldOptions options;
    options.hosts = kHosts;
    options.seed = seed;
    options.last_may_vote = false;
    options.last_may_vouch = false;
    return options;
  }

  // ---- requests ----

  static gossip::Sender login(const std::string& user) {
    gossip::Sender sender{gossip::Sender::Kind::kLogin};
    if (user != kOperator) {
      // A uid is the name's alone: any will do, but for that of root.
      sender.uid = kFirstUid + static_cast<std::uint32_t>(user.size());
      sender.login_name = user;
    }
    return sender;
  }

  /// nullopt if no answer comes.
  std::optional<agent::Response> ask(std::uint32_t host, const gossip::Sender& sender,
                                     agent::Request request, Duration patience = 10s) {
    const std::uint64_t client = world_.ask(host, std::move(request), sender);
    world_.run_until_true([&] { return world_.reply_to(client) != nullptr; }, patience);
    const ClientReply* reply = world_.reply_to(client);
    return reply == nullptr ? std::nullopt : std::optional(reply->response);
  }
  agent::Response ask_well(const std::string& user, Verb verb, std::string arguments) {
    agent::Request request;
    request.verb = verb;
    request.user = user;
    request.arguments = std::move(arguments);
    const auto response = ask(0, login(user), std::move(request)).value_or(agent::Response());
    if (response.status != agent::ResponseStatus::kOk) {
      world_.violation("access", "the trial could not be prepared: " + response.text);
    }
    return response;
  }
  template <class Fill>
  void change(Fill fill) {
    agent::DirectoryArgs arguments;
    fill(arguments.change);
    ask_well(kOperator, Verb::kChangeUsers, encode_payload(arguments));
    world_.run_for(5s);  // The host without the log fetches the list.
  }

  // ---- the scene ----

  bool settle() {
    const bool leads = world_.run_until_true(
        [this] {
          const std::uint32_t leader = world_.leader();
          return leader < world_.size() &&
                 world_.node(leader).seat().state().directory().is_founded() &&
                 world_.node(leader).seat().state().hosts().size() == world_.size() &&
                 world_.node(leader).seat().state().roll().hosts().size() == world_.size();
        },
        2min);
    if (!leads) {
      world_.violation("access", "the cluster did not settle");
      return false;
    }
    world_.run_for(5s);
    ask_well(kOperator, Verb::kDrain,
             encode_payload(agent::DrainArgs{world_.id(kAnother), "access", false, 0}));
    change([](scheduler::DirectoryChange& change) {
      change.teams = {{kVision}, {kSpeech}};
      for (const Person person : kPersons) {
        if (person != Person::kStranger) {
          change.users.push_back({name_of(person), false, {}, {kVision}, {}});
        }
      }
      change.users.push_back({kMate, false, {}, {kVision}, {}});
      change.users.push_back({kOtto, false, {}, {kSpeech}, {}});
    });
    for (const Person person : kPersons) {
      submit_jobs(name_of(person));
    }
    submit_jobs(kMate);
    submit_jobs(kOtto);
    for (const Person person : kPersons) {
      for (const TokenWay& way : kTokenWays) {
        // A stranger is in no team of its own.
        if (person != Person::kStranger || way.way != Way::kTeamToken) {
          make_token(name_of(person), way);
        }
      }
    }
    change([](scheduler::DirectoryChange& change) {
      using scheduler::UserRole;
      change.are_logins_users = false;
      change.users = {{name_of(Person::kViewer), false, UserRole::kViewer},
                      {name_of(Person::kLead), false, UserRole::kLead},
                      {name_of(Person::kOfficer), false, UserRole::kOperator},
                      {name_of(Person::kAdmin), false, UserRole::kAdmin}};
    });
    return world_.violations().empty();
  }

  JobId submit(const std::string& user, bool is_held) {
    scheduler::JobSpec spec;
    spec.name = "trial";
    spec.request.gpus = 1;
    spec.command.argv = {"sim", "run_ms=1000"};
    spec.is_held = is_held;
    const agent::Response done =
        ask_well(user, Verb::kSubmit, encode_payload(agent::SubmitArgs{next_key(), spec}));
    return agent::decode_payload<agent::JobRef>(done.payload).value_or(agent::JobRef()).job;
  }
  void submit_jobs(const std::string& user) {
    JobsOfUser& jobs = jobs_[user];
    jobs.held = submit(user, true);
    const JobId ran = submit(user, false);
    const auto attempt = [this, ran]() -> const scheduler::Attempt* {
      const std::uint32_t leader = world_.leader();
      if (leader == world_.size()) {
        return nullptr;
      }
      const scheduler::State& state = world_.node(leader).seat().state();
      const scheduler::Job* job = state.job(ran);
      return job == nullptr || job->life.attempt_tokens.empty()
                 ? nullptr
                 : state.attempt(job->life.attempt_tokens.back());
    };
    if (world_.run_until_true([&] { return attempt() != nullptr; }, 30s)) {
      jobs.ran = attempt()->token;
      jobs.host = world_.find(attempt()->members.front().member.host).value_or(0);
    } else {
      world_.violation("access", "a job of " + user + " did not run");
    }
  }
  void make_token(const std::string& user, const TokenWay& way) {
    std::string secret = user + " " + text_of(way.way);
    secret.resize(scheduler::kAccessSecretBytes, '.');
    std::string id = next_key();
    id.resize(scheduler::AccessTokenId::kSizeBytes);
    const scheduler::AccessToken token{world_.node(0).cluster(),
                                       scheduler::AccessTokenId::from_bytes(id), secret};
    agent::TokenArgs arguments;
    arguments.id = token.id;
    arguments.hash = hash_of(token, gossip::testing::StandInVerifier());
    arguments.label = "trial";
    arguments.may_read = way.may_read;
    arguments.may_submit = way.may_submit;
    arguments.team = way.team;
    arguments.ttl_ms = static_cast<std::uint64_t>(to_ms(std::chrono::hours(24)));
    ask_well(user, Verb::kMakeToken, encode_payload(arguments));
    lines_[user][way.way] = to_line(token);
  }
  std::string next_key() { return "access " + std::to_string(++keys_); }

  // ---- the cells ----

  void try_all(bool hides_other_teams) {
    for (const agent::VerbRow& row : agent::verbs::kTable) {
      for (const Variant variant : variants_of(row.verb)) {
        for (const Person person : kPersons) {
          try_ways({row.verb, variant, person, {}, {}, hides_other_teams});
        }
      }
    }
  }
  void try_ways(AccessCell cell) {
    for (const Relation relation : kRelations) {
      if (relation == Relation::kOwn || is_about_a_job(cell.verb)) {
        for (const Way way : kWays) {
          cell.relation = relation;
          cell.way = way;
          judge(cell);
        }
      }
    }
  }

  static std::vector<Variant> variants_of(Verb verb) {
    if (verb == Verb::kSubmit || verb == Verb::kDryRun || verb == Verb::kEdit) {
      return {Variant::kPlain, Variant::kHighPriority};
    }
    if (verb == Verb::kMakeTicket || verb == Verb::kRecover) {
      return {Variant::kPlain, Variant::kWithRights};
    }
    if (verb == Verb::kChangeUsers) {
      return {Variant::kPlain, Variant::kGivesRole, Variant::kOtherTeam, Variant::kRules};
    }
    return {Variant::kPlain};
  }
  static std::uint32_t asked_of(Way way) {
    return way == Way::kAnother || way == Way::kFromAnother || way == Way::kToken ? kAnother : 1;
  }
  /// kHosts = no host is named.
  static std::uint32_t named_of(Way way) {
    switch (way) {
      case Way::kThrough:
        return 2;
      case Way::kThroughOther:
        return kAnother;
      case Way::kFromAnother:
        return 1;
      case Way::kVouching:
      case Way::kAnother:
      case Way::kToken:
      case Way::kReadToken:
      case Way::kTeamToken:
      case Way::kNobody:
        break;
    }
    return kHosts;
  }

  void judge(const AccessCell& cell) {
    if (cell.person == Person::kStranger && cell.way == Way::kTeamToken) {
      return;
    }
    agent::Request request = request_of(cell);
    request.user = kOperator;  // A client may say what it likes.
    if (const std::uint32_t named = named_of(cell.way); named != kHosts) {
      request.node = world_.node(named).options().name;
    }
    const bool is_nobody = cell.way == Way::kNobody;
    std::string user = name_of(cell.person);
    if (const auto line = lines_[user].find(cell.way); line != lines_[user].end()) {
      request.access = line->second;
      user = kOtto;  // The login that shows it does not count.
    }
    const auto response = ask(asked_of(cell.way), is_nobody ? gossip::Sender() : login(user),
                              std::move(request), is_nobody ? Duration(200ms) : Duration(10s));
    const bool is_denied =
        response.has_value() && response->status == agent::ResponseStatus::kDenied;
    const Expected seen = !response.has_value() ? Expected::kNoAnswer
                          : is_denied           ? Expected::kDenied
                                                : Expected::kAllowed;
    ++result_.cells;
    result_.refused += is_denied ? 1U : 0U;
    if (seen != expected(cell)) {
      result_.wrong.push_back(
          text_of(cell) + ": " +
          (response.has_value() ? "answered: " + response->text : std::string("no answer")));
    }
  }

  const JobsOfUser& jobs_of(const AccessCell& cell) {
    return jobs_[cell.relation == Relation::kOwn    ? name_of(cell.person)
                 : cell.relation == Relation::kTeam ? kMate
                                                    : kOtto];
  }

  agent::Request request_of(const AccessCell& cell) {
    agent::Request request;
    request.verb = cell.verb;
    request.arguments = arguments_of(cell);
    if (cell.verb == Verb::kOutput) {
      request.target = world_.id(jobs_of(cell).host);
    } else if (cell.verb == Verb::kLeave) {
      request.target = kUnknownHost;  // Refused, if it gets so far: the trial needs its hosts.
    }
    return request;
  }

  std::string submission_of(const AccessCell& cell) {
    scheduler::JobSpec spec;
    spec.name = "trial";
    spec.request.gpus = 1;
    spec.command.argv = {"sim", "run_ms=10"};
    spec.is_held = true;
    spec.team = cell.relation == Relation::kOther ? kSpeech : kVision;
    spec.priority = cell.variant == Variant::kHighPriority ? kCeiling + 1 : kCeiling;
    return encode_payload(agent::SubmitArgs{next_key(), spec});
  }
  static std::string change_of(const AccessCell& cell) {
    agent::DirectoryArgs change;
    switch (cell.variant) {
      case Variant::kGivesRole:
        change.change.users.push_back({kMate, false, scheduler::UserRole::kUser});
        break;
      case Variant::kOtherTeam:
        change.change.users.push_back({kOtto, false, {}, {kSpeech}, {}});
        break;
      case Variant::kRules:
        change.change.are_logins_users = false;
        break;
      case Variant::kPlain:
      case Variant::kHighPriority:
      case Variant::kWithRights:
        change.change.users.push_back({kMate, false, {}, {kVision}, {}});
        break;
    }
    return encode_payload(change);
  }
  std::string ticket_of(const AccessCell& cell) {
    agent::TicketArgs ticket;
    ticket.key = next_key();
    ticket.ttl_ms = 1'000;
    ticket.may_vote = cell.variant == Variant::kWithRights;
    return encode_payload(ticket);
  }
  std::string token_of() {
    agent::TokenArgs token;
    std::string id = next_key();
    id.resize(scheduler::AccessTokenId::kSizeBytes);
    token.id = scheduler::AccessTokenId::from_bytes(id);
    token.hash = std::string(gossip::kSha256Bytes, 'h');
    token.label = "trial";
    token.may_read = true;
    token.ttl_ms = 1'000;
    return encode_payload(token);
  }
  HostId host_about(const AccessCell& cell) const {
    const std::uint32_t named = named_of(cell.way);
    return world_.id(cell.way == Way::kThroughOther ? 0U
                     : named != kHosts              ? named
                                                    : asked_of(cell.way));
  }

  /// The arguments of requests about one job; "" = it is about none.
  std::string job_arguments_of(const AccessCell& cell) {
    const JobsOfUser& jobs = jobs_of(cell);
    const std::int64_t priority =
        cell.variant == Variant::kHighPriority ? kCeiling + 1 : kCeiling - 1;
    if (cell.verb == Verb::kSubmit || cell.verb == Verb::kDryRun) {
      return submission_of(cell);
    }
    if (cell.verb == Verb::kCancel) {
      return encode_payload(agent::JobRun{jobs.held, 0});
    }
    if (cell.verb == Verb::kRequeue) {
      return encode_payload(agent::RequeueArgs{jobs.held, 0});
    }
    if (cell.verb == Verb::kEdit) {
      return encode_payload(agent::EditArgs{jobs.held, priority});
    }
    if (cell.verb == Verb::kOutput) {
      return encode_payload(agent::OutputQuery{jobs.ran});
    }
    return is_about_a_job(cell.verb) ? encode_payload(agent::JobRef{jobs.held}) : "";
  }
  /// Orders name a host that there is not.
  std::string arguments_of(const AccessCell& cell) {
    if (std::string of_job = job_arguments_of(cell); !of_job.empty()) {
      return of_job;
    }
    struct Row {
      Verb verb{};
      std::string arguments;
    };
    const bool is_order = cell.variant == Variant::kWithRights;
    const std::string nobody = encode_payload(agent::HostRef{kUnknownHost});
    const std::string about = encode_payload(agent::HostRef{host_about(cell)});
    const agent::QuorumWish wish{scheduler::QuorumAction::kAdd, kUnknownHost};
    const agent::DrainArgs drain{kUnknownHost, "access", false, 0};
    const Row rows[] = {
        {Verb::kWhyHost, about},
        {Verb::kHostDetail, about},
        {Verb::kUndrain, nobody},
        {Verb::kRemoveHost, nobody},
        {Verb::kRevokeHost, nobody},
        {Verb::kChangeQuorum, encode_payload(wish)},
        {Verb::kFence, encode_payload(agent::FenceArgs{kUnknownHost})},
        {Verb::kDrain, encode_payload(drain)},
        {Verb::kRotateKeys, encode_payload(agent::RotateArgs{kUnknownHost})},
        {Verb::kSetHost, encode_payload(agent::SetHostArgs{kUnknownHost})},
        {Verb::kRecover, encode_payload(agent::RecoverArgs{is_order, {}, {}})},
        {Verb::kFound, encode_payload(agent::FoundArgs())},
        {Verb::kEnter, encode_payload(agent::EnterArgs())},
        {Verb::kJoin, encode_payload(agent::JoinArgs())},
        {Verb::kMakeTicket, ticket_of(cell)},
        {Verb::kEndTicket, encode_payload(agent::TicketRef{"no such ticket"})},
        {Verb::kChangeUsers, change_of(cell)},
        {Verb::kMakeToken, token_of()},
        {Verb::kEndToken, encode_payload(agent::TokenRef{kUnknownToken})},
        {Verb::kLeave, encode_payload(agent::LeaveArgs())},
    };
    for (const Row& row : rows) {
      if (row.verb == cell.verb) {
        return row.arguments;
      }
    }
    return "";  // The others need none.
  }

  World world_;
  AccessTrialResult result_;
  std::map<std::string, JobsOfUser> jobs_;
  std::map<std::string, std::map<Way, std::string>> lines_;  ///< Access tokens of users.
  std::uint64_t keys_ = 0;
};

}  // namespace

AccessTrialResult run_access_trial(std::uint64_t seed) {
  return AccessTrial(seed).run();
}

int tell_access_trials(const Seeds& seeds) {
  constexpr std::size_t kShownMax = 20;
  AccessTrialResult all;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    AccessTrialResult result = run_access_trial(seed);
    for (const Violation& violation : result.violations) {
      std::printf("# seed %llu: %s: %s\n", static_cast<unsigned long long>(seed),
                  violation.checker.c_str(), violation.text.c_str());
    }
    for (std::size_t i = 0; i < result.wrong.size() && i < kShownMax; ++i) {
      std::printf("# seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  result.wrong[i].c_str());
    }
    all.cells += result.cells;
    all.refused += result.refused;
    all.wrong.insert(all.wrong.end(), result.wrong.begin(), result.wrong.end());
    all.violations.insert(all.violations.end(), result.violations.begin(), result.violations.end());
  }
  std::printf("figure access_cells %llu count\n", static_cast<unsigned long long>(all.cells));
  std::printf("figure access_refused %llu count\n", static_cast<unsigned long long>(all.refused));
  std::printf("figure access_wrong %zu count\n", all.wrong.size());
  return all.wrong.empty() && all.violations.empty() ? 0 : 1;
}

}  // namespace muster::sim
