#include "tests/sim/access_trial.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
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
#include "scheduler/access/intent.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/sim/access_oracle.h"
#include "tests/sim/checkers.h"
#include "tests/sim/pen.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using agent::encode_payload;
using agent::Verb;

constexpr std::uint32_t kHosts = 5;
constexpr std::uint32_t kSpare = 3;     ///< It runs no jobs; where persons have keys it is revoked.
constexpr std::uint32_t kAnother = 4;   ///< It may not vouch, and has no vote.
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

std::uint32_t asked_of(Way way) {
  return way == Way::kAnother || way == Way::kFromAnother || way == Way::kToken ||
                 way == Way::kSignedAtOther || way == Way::kSignedToken
             ? kAnother
             : 1;
}

/// kHosts = no host is named.
std::uint32_t named_of(Way way) {
  switch (way) {
    case Way::kThrough:
    case Way::kSignedThrough:
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
    case Way::kSigned:
    case Way::kSignedAtOther:
    case Way::kSignedToken:
    case Way::kSignedByOther:
    case Way::kSignedForOther:
    case Way::kSignedBefore:
      break;
  }
  return kHosts;
}

std::string change_of(const AccessCell& cell) {
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

bool is_signed(Way way) {
  return std::find(std::begin(kSignedWays), std::end(kSignedWays), way) != std::end(kSignedWays);
}

Expected seen_in(const std::optional<agent::Response>& response) {
  if (!response.has_value()) {
    return Expected::kNoAnswer;
  }
  const bool is_late = response->status == agent::ResponseStatus::kConflict &&
                       response->text == scheduler::kSignAgain;
  return response->status == agent::ResponseStatus::kDenied ? Expected::kDenied
         : is_late                                          ? Expected::kSignAgain
                                                            : Expected::kAllowed;
}

class AccessTrial {
 public:
  /// `has_keys`: all persons have keys, so that administrators have to sign.
  AccessTrial(std::uint64_t seed, bool has_keys, std::size_t wrong_max)
      : world_(world_options(seed)), has_keys_(has_keys), wrong_max_(wrong_max) {
    add_checkers(world_);
  }

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
    if (has_keys_) {
      sign(request, {user, user});
    }
    const auto response = ask(0, login_of(user), std::move(request)).value_or(agent::Response());
    if (response.status != agent::ResponseStatus::kOk) {
      world_.violation("access", "the trial could not be prepared: " + response.text);
    }
    return response;
  }
  /// Signs by the pen in the name of `user`, under the number that is next for its key, or the one
  /// before. A user without that key has no number.
  struct Hand {
    std::string pen;
    std::string user;
    std::uint64_t before = 0;
  };
  void sign(agent::Request& request, const Hand& hand) {
    const std::uint32_t leader = world_.leader();
    if (leader == world_.size()) {
      return;
    }
    const scheduler::Directory& directory = world_.node(leader).seat().state().directory();
    const scheduler::UserKey* key = directory.key(hand.pen, key_of(hand.pen));
    const std::uint64_t number = key == nullptr ? 1 : key->next - hand.before;
    const OrderWords words = words_under(request).value_or(OrderWords{request.arguments});
    request.signature =
        written(hand.pen, {directory.cluster(), hand.user, number, words.words}, words.holds);
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
    for (const std::uint32_t host : {kSpare, kAnother}) {
      ask_well(kOperator, Verb::kDrain,
               encode_payload(agent::DrainArgs{world_.id(host), "access", false, 0}));
    }
    if (has_keys_) {
      give_first_key();
    }
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
    if (has_keys_) {
      change([](scheduler::DirectoryChange& change) {
        for (const Person person : kPersons) {
          if (person != Person::kStranger) {
            change.users.push_back({name_of(person)});
            change.users.back().keys_added = {{key_of(name_of(person)), "trial"}};
          }
        }
      });
      ask_well(kOperator, Verb::kRevokeHost, encode_payload(agent::HostRef{world_.id(kSpare)}));
    }
    return world_.violations().empty();
  }

  /// From here on orders have to be signed.
  void give_first_key() {
    has_keys_ = false;
    change([](scheduler::DirectoryChange& change) {
      change.users.push_back({kOperator});
      change.users.back().keys_added = {{key_of(kOperator), "trial"}};
    });
    has_keys_ = true;
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
          try_ways({row.verb, variant, person, {}, {}, hides_other_teams, has_keys_});
        }
      }
    }
  }
  void try_ways(AccessCell cell) {
    for (const Relation relation : kRelations) {
      if (relation == Relation::kOwn || is_about_a_job(cell.verb)) {
        cell.relation = relation;
        for (const Way way : kWays) {
          judge(cell, way);
        }
        for (const Way way : kSignedWays) {
          if (has_keys_) {
            judge(cell, way);
          }
        }
      }
    }
  }

  void judge(AccessCell cell, Way way) {
    cell.way = way;
    const bool has_line = !(cell.person == Person::kStranger && way == Way::kTeamToken);
    if (!has_line || result_.wrong.size() >= wrong_max_) {
      return;
    }
    agent::Request request = request_of(cell);
    request.user = kOperator;  // A client may say what it likes.
    if (const std::uint32_t named = named_of(way); named != kHosts) {
      request.node = world_.node(named).options().name;
    }
    const bool is_nobody = way == Way::kNobody;
    std::string user = name_of(cell.person);
    if (is_signed(way)) {
      sign(request,
           {way == Way::kSignedByOther ? kOperator : user,
            way == Way::kSignedForOther ? kOperator : user, way == Way::kSignedBefore ? 1U : 0U});
    }
    const Way token_way = way == Way::kSignedToken ? Way::kToken : way;
    if (const auto line = lines_[user].find(token_way); line != lines_[user].end()) {
      request.access = line->second;
      user = kOtto;  // The login that shows it does not count.
    }
    const auto response = ask(asked_of(way), is_nobody ? gossip::Sender() : login_of(user),
                              std::move(request), is_nobody ? Duration(200ms) : Duration(10s));
    const Expected seen = seen_in(response);
    ++result_.cells;
    result_.refused += seen == Expected::kDenied ? 1U : 0U;
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
  static std::string reset_of(const std::string& admin) {
    const gossip::SshKey key{gossip::SshKeyType::kEd25519, std::string(gossip::kSshPointBytes, 'k'),
                             ""};
    return encode_payload(agent::ResetAdminArgs{admin, {key, admin}});
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
  /// Orders name a host that there is not. The signature of one that the leader makes a record of
  /// is looked at last: where it counts, they name one about which they change little.
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
    const HostId spare = has_keys_ ? world_.id(kSpare) : kUnknownHost;
    const HostId another = has_keys_ ? world_.id(kAnother) : kUnknownHost;
    const agent::QuorumWish wish{scheduler::QuorumAction::kAdd, kUnknownHost};
    const agent::DrainArgs drain{kUnknownHost, "access", false, 0};
    const std::string of_gpu = encode_payload(agent::GpuOrderArgs{kUnknownHost, "GPU-0", "access"});
    const Row rows[] = {
        {Verb::kWhyHost, about},
        {Verb::kHostDetail, about},
        {Verb::kUndrain, nobody},
        {Verb::kRemoveHost, nobody},
        {Verb::kRevokeHost, encode_payload(agent::HostRef{spare})},
        {Verb::kChangeQuorum, encode_payload(wish)},
        {Verb::kFence, encode_payload(agent::FenceArgs{kUnknownHost})},
        {Verb::kDrain, encode_payload(drain)},
        {Verb::kMaskGpu, of_gpu},
        {Verb::kUnmaskGpu, of_gpu},
        {Verb::kSetQueues, encode_payload(agent::SetQueuesArgs{99, {}, {}})},
        {Verb::kRotateKeys, encode_payload(agent::RotateArgs{another})},
        {Verb::kSetHost, encode_payload(agent::SetHostArgs{another})},
        {Verb::kRecover, encode_payload(agent::RecoverArgs{is_order, {}, {}})},
        {Verb::kFound, encode_payload(agent::FoundArgs())},
        {Verb::kEnter, encode_payload(agent::EnterArgs())},
        {Verb::kJoin, encode_payload(agent::JoinArgs())},
        {Verb::kMakeTicket, ticket_of(cell)},
        {Verb::kEndTicket, encode_payload(agent::TicketRef{"no such ticket"})},
        {Verb::kChangeUsers, change_of(cell)},
        {Verb::kMakeToken, token_of()},
        {Verb::kEndToken, encode_payload(agent::TokenRef{kUnknownToken})},
        {Verb::kResetAdmin, reset_of(name_of(cell.person))},
        {Verb::kLeave, encode_payload(agent::LeaveArgs())},
        {Verb::kCertify, encode_payload(agent::CertifyArgs())},
    };
    for (const Row& row : rows) {
      if (row.verb == cell.verb) {
        return row.arguments;
      }
    }
    return "";  // The others need none.
  }

  World world_;
  bool has_keys_;
  std::size_t wrong_max_;
  AccessTrialResult result_;
  std::map<std::string, JobsOfUser> jobs_;
  std::map<std::string, std::map<Way, std::string>> lines_;  ///< Access tokens of users.
  std::uint64_t keys_ = 0;
};

}  // namespace

AccessTrialResult& AccessTrialResult::operator+=(const AccessTrialResult& other) {
  cells += other.cells;
  refused += other.refused;
  wrong.insert(wrong.end(), other.wrong.begin(), other.wrong.end());
  violations.insert(violations.end(), other.violations.begin(), other.violations.end());
  return *this;
}

AccessTrialResult run_access_trial(std::uint64_t seed, std::size_t wrong_max) {
  AccessTrialResult all = AccessTrial(seed, false, wrong_max).run();
  if (all.wrong.size() < wrong_max) {
    all += AccessTrial(seed, true, wrong_max).run();
  }
  return all;
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
    all += result;
  }
  std::printf("figure access_cells %llu count\n", static_cast<unsigned long long>(all.cells));
  std::printf("figure access_refused %llu count\n", static_cast<unsigned long long>(all.refused));
  std::printf("figure access_wrong %zu count\n", all.wrong.size());
  return all.wrong.empty() && all.violations.empty() ? 0 : 1;
}

}  // namespace muster::sim
