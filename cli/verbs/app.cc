#include "cli/verbs/app.h"

#include <algorithm>
#include <array>
#include <optional>

#include "agent/api/json/orders.h"
#include "agent/api/verbs.h"
#include "cli/kit/fallback_stream.h"
#include "cli/kit/text.h"
#include "cli/verbs/verb.h"
#include "gossip/base/nearest_text.h"
#include "gossip/base/version.h"

namespace muster::cli {
namespace {

constexpr int kExitUsage = static_cast<int>(agent::ResponseStatus::kUsage);
constexpr int kExitUnknown = static_cast<int>(agent::ResponseStatus::kUnknown);
constexpr int kExitFailed = static_cast<int>(agent::ResponseStatus::kFailed);

using Args = std::vector<std::string>;

struct Entry {
  std::string_view group;
  std::string_view name;
  std::string_view usage;
  std::string_view purpose;
  std::optional<agent::Verb> asks;  ///< Its main question; empty: no node is asked.
  std::unique_ptr<Verb> (*make)(const Args& args);
};

template <std::unique_ptr<Verb> (*kMake)()>
std::unique_ptr<Verb> plain(const Args&) {
  return kMake();
}

/// Headings of the overview; the verbs of each stand together.
constexpr std::string_view kGroupJobs = "Jobs";
constexpr std::string_view kGroupHosts = "Hosts";
constexpr std::string_view kGroupUsers = "Users";
constexpr std::string_view kGroupCluster = "Cluster";
constexpr std::string_view kGroupThisAgent = "This agent";
constexpr std::string_view kGroupHelp = "Help";

constexpr std::array<Entry, 70> kVerbs = {{
    {kGroupJobs, "submit", "[OPTIONS] -- COMMAND [ARGS]",
     "Submit a job: a gang of ranks that start together, with empty stdin.", agent::Verb::kSubmit,
     make_submit},
    {kGroupJobs, "jobs", "[JOB...] [OPTIONS]", "List your jobs and the running jobs of others.",
     agent::Verb::kJobs, plain<make_jobs>},
    {kGroupJobs, "show", "JOB... [OPTIONS]",
     "Show the state, attempts, ranks and history of a job.", agent::Verb::kShow, plain<make_show>},
    {kGroupJobs, "why", "JOB [OPTIONS]",
     "Explain what a job waits for and what would let it start now.", agent::Verb::kWhy,
     plain<make_why>},
    {kGroupJobs, "logs", "JOB [OPTIONS]", "Print the output of a job's ranks.",
     agent::Verb::kOutput, plain<make_logs>},
    {kGroupJobs, "cancel", "JOB... [OPTIONS]", "Cancel jobs, whether queued, running or suspended.",
     agent::Verb::kCancel, plain<make_cancel>},
    {kGroupJobs, "suspend", "JOB... [OPTIONS]",
     "Stop jobs and free their GPUs until they are resumed.", agent::Verb::kSuspend,
     plain<make_suspend>},
    {kGroupJobs, "resume", "JOB... [OPTIONS]",
     "Put suspended jobs back in the queue, at their old place.", agent::Verb::kResume,
     plain<make_resume>},
    {kGroupJobs, "requeue", "JOB... [OPTIONS]",
     "Stop jobs and queue them again, without using up a retry.", agent::Verb::kRequeue,
     plain<make_requeue>},
    {kGroupJobs, "edit", "JOB [OPTIONS]",
     "Change the queue, tier, priority or time limit of a job.", agent::Verb::kEdit,
     plain<make_edit>},
    {kGroupJobs, "priority", "JOB PRIORITY [OPTIONS]", "Change the priority of a waiting job.",
     agent::Verb::kEdit, plain<make_priority>},
    {kGroupJobs, "usage", "[OPTIONS]",
     "Show GPUs in use and GPU-hours used, by user, GPU type or job name.", agent::Verb::kUsage,
     plain<make_usage>},
    {kGroupJobs, "queue", "[OPTIONS]",
     "List the queues with what they hold, what they are owed and how long jobs wait.",
     agent::Verb::kQueues, plain<make_queue>},
    {kGroupJobs, "queue show", "PATH [OPTIONS]", "Show one queue with its rules and its use.",
     agent::Verb::kQueues, plain<make_queue_show>},
    {kGroupJobs, "queue export", "[OPTIONS]", "Print the queues as a file for queue import.",
     agent::Verb::kQueues, plain<make_queue_export>},
    {kGroupJobs, "queue import", "FILE [OPTIONS]", "Replace all queues by those of a file.",
     agent::Verb::kSetQueues, plain<make_queue_import>},
    {kGroupJobs, "queue set", "PATH KEY=VALUE... [OPTIONS]", "Change a queue, or create it.",
     agent::Verb::kSetQueues, plain<make_queue_set>},
    {kGroupJobs, "queue remove", "PATH [OPTIONS]", "Remove a queue and those below it.",
     agent::Verb::kSetQueues, plain<make_queue_remove>},
    {kGroupJobs, "share", "[PATH] [OPTIONS]",
     "Show what each queue holds, its fair part, and which queue is next.", agent::Verb::kShares,
     plain<make_share>},
    {kGroupHosts, "hosts", "[OPTIONS]",
     "List the hosts with their state and their used and free GPUs.", agent::Verb::kHosts,
     plain<make_hosts>},
    {kGroupHosts, "hosts show", "NAME [OPTIONS]",
     "Show one host in detail, with the job on each of its GPUs.", agent::Verb::kHostDetail,
     plain<make_host_show>},
    {kGroupHosts, "hosts drain", "NAME [OPTIONS]", "Drain a host: no new job is placed there.",
     agent::Verb::kDrain, plain<make_host_drain>},
    {kGroupHosts, "hosts undrain", "NAME [OPTIONS]", "Let a drained host take new jobs again.",
     agent::Verb::kUndrain, plain<make_host_undrain>},
    {kGroupHosts, "hosts remove", "NAME [OPTIONS]",
     "Remove a host that is gone for good, and give its vote to another.", agent::Verb::kRemoveHost,
     plain<make_host_remove>},
    {kGroupHosts, "hosts revoke", "NAME [OPTIONS]",
     "Expel a host for good: its keys are refused and its jobs run elsewhere.",
     agent::Verb::kRevokeHost, plain<make_host_revoke>},
    {kGroupHosts, "hosts set", "NAME [OPTIONS]",
     "Change the rights of a host: to vote, and to vouch for its logins.", agent::Verb::kSetHost,
     plain<make_host_set>},
    {kGroupHosts, "hosts fence", "NAME [OPTIONS]",
     "Declare a host dead so that its jobs run elsewhere.", agent::Verb::kFence, plain<make_fence>},
    {kGroupHosts, "gpus", "[OPTIONS]", "List the GPUs with their state and their jobs.",
     agent::Verb::kGpus, plain<make_gpus>},
    {kGroupHosts, "gpus mask", "UUID [OPTIONS]",
     "Take a GPU out of use: jobs on it go on, and no new one gets it.", agent::Verb::kMaskGpu,
     plain<make_gpu_mask>},
    {kGroupHosts, "gpus unmask", "UUID [OPTIONS]",
     "Put a GPU back into use, also one that its host doubts.", agent::Verb::kUnmaskGpu,
     plain<make_gpu_unmask>},
    {kGroupHosts, "why-host", "NAME [OPTIONS]",
     "Explain a host's state: which hosts hear from it and which do not.", agent::Verb::kWhyHost,
     plain<make_why_host>},
    {kGroupUsers, "whoami", "[OPTIONS]",
     "Show your user name, role and teams, as the cluster knows you.", agent::Verb::kWhoami,
     plain<make_whoami>},
    {kGroupUsers, "user list", "[OPTIONS]", "List the users with their roles and teams.",
     agent::Verb::kUsers, plain<make_user_list>},
    {kGroupUsers, "user add", "NAME [OPTIONS]", "Give a login a role and teams.",
     agent::Verb::kChangeUsers, plain<make_user_add>},
    {kGroupUsers, "user set", "NAME [OPTIONS]", "Change the role or teams of a user.",
     agent::Verb::kChangeUsers, plain<make_user_set>},
    {kGroupUsers, "user remove", "NAME [OPTIONS]",
     "Take a user's role and teams away; the user's jobs go on.", agent::Verb::kChangeUsers,
     plain<make_user_remove>},
    {kGroupUsers, "team list", "[OPTIONS]", "List the teams with their highest priorities.",
     agent::Verb::kUsers, plain<make_team_list>},
    {kGroupUsers, "team add", "NAME [OPTIONS]", "Create a team.", agent::Verb::kChangeUsers,
     plain<make_team_add>},
    {kGroupUsers, "team set", "NAME [OPTIONS]", "Change the highest priority of a team.",
     agent::Verb::kChangeUsers, plain<make_team_set>},
    {kGroupUsers, "team remove", "NAME [OPTIONS]", "Remove a team; its users and jobs stay.",
     agent::Verb::kChangeUsers, plain<make_team_remove>},
    {kGroupUsers, "access", "[OPTIONS]", "Show the rules of access for logins and jobs.",
     agent::Verb::kUsers, plain<make_access>},
    {kGroupUsers, "access set", "KEY=VALUE... [OPTIONS]",
     "Change the rules of access for logins and jobs.", agent::Verb::kChangeUsers,
     plain<make_access_set>},
    {kGroupUsers, "users apply", "FILE [OPTIONS]",
     "Change users, teams and rules to what a file says.", agent::Verb::kChangeUsers,
     plain<make_users_apply>},
    {kGroupUsers, "token create", "[OPTIONS]",
     "Create and print an access token, with which a program asks in your name.",
     agent::Verb::kMakeToken, plain<make_token_create>},
    {kGroupUsers, "token list", "[OPTIONS]", "List access tokens with their rights and time left.",
     agent::Verb::kTokens, plain<make_token_list>},
    {kGroupUsers, "token revoke", "TOKEN [OPTIONS]",
     "Revoke an access token: nobody can ask with it any more.", agent::Verb::kEndToken,
     plain<make_token_revoke>},
    {kGroupUsers, "admin reset", "[OPTIONS]",
     "Replace lost keys of administrators by a new one, as root of a voter.",
     agent::Verb::kResetAdmin, plain<make_admin_reset>},
    {kGroupUsers, "audit verify", "FILE... [OPTIONS]",
     "Show whether audit files are whole, and the first line that is wrong.", std::nullopt,
     plain<make_audit_verify>},
    {kGroupCluster, "init", "[OPTIONS]", "Create a new cluster, on this host alone or with others.",
     agent::Verb::kFound, plain<make_init>},
    {kGroupCluster, "ticket", "[OPTIONS]", "Create and print a ticket that lets other hosts join.",
     agent::Verb::kMakeTicket, plain<make_ticket>},
    {kGroupCluster, "ticket list", "[OPTIONS]",
     "List tickets with their uses, time left and rights.", agent::Verb::kTickets,
     plain<make_ticket_list>},
    {kGroupCluster, "ticket revoke", "TICKET [OPTIONS]",
     "Revoke a ticket: no more hosts can join with it.", agent::Verb::kEndTicket,
     plain<make_ticket_revoke>},
    {kGroupCluster, "keys", "[OPTIONS]",
     "List each host's link key and authority, by number, and whether they are current.",
     agent::Verb::kKeys, plain<make_keys>},
    {kGroupCluster, "keys rotate", "[NAME] [OPTIONS]",
     "Replace link keys or the authority; running jobs go on.", agent::Verb::kRotateKeys,
     plain<make_keys_rotate>},
    {kGroupCluster, "http ca", "[OPTIONS]",
     "Print the root certificate of HTTPS, which clients have to trust.", agent::Verb::kHttpRoot,
     plain<make_http_ca>},
    {kGroupCluster, "quorum", "[OPTIONS]",
     "Show the voters, the leader and how many failures are tolerated.", agent::Verb::kQuorum,
     plain<make_quorum>},
    {kGroupCluster, "quorum add", "NAME [OPTIONS]", "Add a voter: the quorum grows by one host.",
     agent::Verb::kChangeQuorum, plain<make_quorum_add>},
    {kGroupCluster, "quorum remove", "NAME [OPTIONS]",
     "Remove a voter: the quorum shrinks by one host.", agent::Verb::kChangeQuorum,
     plain<make_quorum_remove>},
    {kGroupCluster, "quorum transfer", "[NAME] [OPTIONS]", "Hand the leadership to another voter.",
     agent::Verb::kChangeQuorum, plain<make_quorum_transfer>},
    {kGroupCluster, "quorum recover", "[NAME] [OPTIONS]",
     "Restart the quorum after a majority of its voters is lost for good.", agent::Verb::kRecover,
     plain<make_quorum_recover>},
    {kGroupThisAgent, "agent", "[OPTIONS]", "Run the agent of this host in the foreground.",
     std::nullopt, plain<make_agent>},
    {kGroupThisAgent, "join", "TICKET [OPTIONS]", "Join this host to a cluster with a ticket.",
     agent::Verb::kEnter, plain<make_join>},
    {kGroupThisAgent, "leave", "[OPTIONS]",
     "Take this host out of the cluster for good, and stop its agent.", agent::Verb::kLeave,
     plain<make_leave>},
    {kGroupThisAgent, "events", "[OPTIONS]",
     "Print the events of an agent, or the history of a job.", agent::Verb::kEvents,
     plain<make_events>},
    {kGroupThisAgent, "stats", "[OPTIONS]",
     "Show an agent's counters since it started, with bytes and CPU time.", agent::Verb::kStats,
     plain<make_stats>},
    {kGroupHelp, "help", "[VERB]", "List all verbs, or show the help of one.", std::nullopt,
     plain<make_help>},
    {kGroupHelp, "help terms", "[OPTIONS]", "Explain the words that Muster uses.", std::nullopt,
     plain<make_help_terms>},
    {kGroupHelp, "man", "[VERB] [OPTIONS]", "Print the manual page of a verb or of muster itself.",
     std::nullopt, plain<make_manual>},
    {kGroupHelp, "completion", "bash|zsh|fish", "Print a completion script for bash, zsh or fish.",
     std::nullopt, plain<make_completion>},
    {kGroupHelp, "version", "[OPTIONS]", "Print the versions of this program and of the agent.",
     agent::Verb::kVersion, plain<make_version>},
}};

std::string_view answerer_of(agent::Answerer answerer) {
  switch (answerer) {
    case agent::Answerer::kAsked:
    case agent::Answerer::kAskedAnyway:
      return "the agent you ask, from its own view";
    case agent::Answerer::kTarget:
      return "the agent of the host concerned, through the agent you ask";
    case agent::Answerer::kVoter:
      return "any voter, from its own copy of the cluster's state";
    case agent::Answerer::kVoterOrAsked:
      return "any voter; if none can be reached, the agent you ask";
    case agent::Answerer::kPlacer:
      return "the leader; if it cannot be reached, any voter";
    case agent::Answerer::kLeader:
      return "the leader, once a majority of the voters has recorded it";
    case agent::Answerer::kUnjoined:
      return "the agent of this host, while it belongs to no cluster";
    case agent::Answerer::kSigner:
      return "a voter that another agent asks";
  }
  return "";
}

/// On which hosts a login may ask it; "" where any login may.
std::string_view place_of(const agent::VerbRow& row) {
  if (row.openness == agent::Openness::kRootOfVoter) {
    return "voters, for root and the user of the agent";
  }
  switch (row.carrier) {
    case agent::Carrier::kVotersAlone:
      if (row.answerer == agent::Answerer::kLeader) {
        return "hosts that may vouch and may vote";
      }
      return row.openness == agent::Openness::kOwnHostToLook
                 ? "hosts that may vouch; for another host, hosts that may vouch and may vote"
                 : "the host concerned; for another host, hosts that may vouch and may vote";
    case agent::Carrier::kTicketMakers:
      return "hosts that may vouch; with --may-vote or --may-vouch, hosts that may also vote";
    case agent::Carrier::kMembers:
      break;
  }
  switch (row.openness) {
    case agent::Openness::kVouched:
      return "hosts that may vouch";
    case agent::Openness::kOwnHost:
    case agent::Openness::kOwnHostToLook:
    case agent::Openness::kAboutOwnHost:
      return "the host concerned; for another host, on hosts that may vouch";
    case agent::Openness::kAll:
    case agent::Openness::kTicket:
    case agent::Openness::kRootOfVoter:
      return "";
  }
  return "";
}

/// As the table of verbs says; "" when no node is asked.
std::string answered_by(std::optional<agent::Verb> asks) {
  const agent::VerbRow* row = asks.has_value() ? agent::find_verb(*asks) : nullptr;
  if (row == nullptr) {
    return "";
  }
  const std::string_view place = place_of(*row);
  return "Answered by: " + std::string(answerer_of(row->answerer)) + "." +
         (place.empty() ? "" : "\nAllowed on: " + std::string(place) + ".");
}

/// Where the purposes begin in the overview.
constexpr std::size_t kNameColumns = 28;
constexpr std::size_t kTypingErrorsMax = 2;

/// Neighbours in kVerbs that share one line of the overview, which is one screen.
struct SharedLine {
  std::string_view first;  ///< The name of the first one.
  std::size_t count = 0;
  std::string_view names;
  std::string_view purpose;
};
constexpr SharedLine kSharedLines[] = {
    {"suspend", 2, "suspend|resume",
     "Stop jobs and free their GPUs; resume them at their old place."},
    {"edit", 2, "edit|priority", "Change the queue, tier, priority or time limit of a job."},
    {"queue", 6, "queue [set|import|...]",
     "List the queues; show, export, import, set or remove some."},
    {"hosts drain", 2, "hosts drain|undrain",
     "Drain a host: no new job is placed there; undrain it."},
    {"hosts remove", 2, "hosts remove|revoke",
     "Remove a host that is gone for good; expel one for good."},
    {"hosts set", 2, "hosts set|fence",
     "Change the rights of a host; declare it dead: its jobs run elsewhere."},
    {"gpus", 3, "gpus [mask|unmask]",
     "List the GPUs; take one out of use, and put it back into use."},
    {"user list", 4, "user list|add|set|remove", "List, add, change and remove users."},
    {"team list", 4, "team list|add|set|remove", "List, add, change and remove teams."},
    {"access", 2, "access [set]", "Show or change the rules of access for logins and jobs."},
    {"token create", 3, "token create|list|revoke",
     "Create, list and revoke access tokens for programs."},
    {"ticket", 3, "ticket [list|revoke]",
     "Create a ticket that lets other hosts join; list or revoke it."},
    {"keys", 3, "keys [rotate]|http ca",
     "List or replace keys; print the root certificate of HTTPS."},
    {"quorum", 3, "quorum [add|remove]",
     "Show voters, leader and tolerated failures; add or remove a voter."},
    {"quorum transfer", 2, "quorum transfer|recover",
     "Hand the leadership on; restart after a majority is lost for good."},
    {"help", 2, "help [terms]", "List all verbs, show the help of one, or explain the words."},
    {"man", 2, "man|completion", "Print a manual page, or a completion script for a shell."},
};

const SharedLine* shared_line(std::string_view first) {
  const auto* found = std::find_if(std::begin(kSharedLines), std::end(kSharedLines),
                                   [&](const SharedLine& line) { return line.first == first; });
  return found == std::end(kSharedLines) ? nullptr : found;
}

/// Two beside each other where they fit: the overview is one screen.
std::string exit_code_lines(std::size_t columns) {
  constexpr std::size_t kRightCell = 48;
  std::vector<std::string> cells;
  for (const ExitCode& code : exit_codes()) {
    const std::string number(code.number);
    cells.push_back("  " + number + std::string(8 - number.size(), ' ') +
                    std::string(code.meaning));
  }
  const bool are_two = columns >= kScreenColumns;
  const std::size_t rows = are_two ? (cells.size() + 1) / 2 : cells.size();
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string& left = cells[row];
    text += left;
    if (row + rows < cells.size()) {
      text += std::string(kRightCell - left.size(), ' ') + cells[row + rows];
    }
    text += "\n";
  }
  return text;
}

const Entry* find(std::string_view name) {
  for (const Entry& entry : kVerbs) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

bool wants_json(const Args& args) {
  for (const std::string& arg : args) {
    if (arg == "--" || arg == "--json") {
      return arg == "--json";
    }
  }
  return false;
}

/// Before there is a session: the options themselves are wrong.
int refuse(World& world, const Args& args, const std::string& text) {
  *world.err << message_text(world, text) << "\n";
  if (wants_json(args)) {
    *world.out << agent::error_json(text, kExitUsage) << "\n";
  }
  return kExitUsage;
}

struct OtherName {
  std::string_view name;
  std::string_view verb;
};
/// Names of other programs for the same verbs.
constexpr std::array<OtherName, 36> kOtherNames = {{
    {"ps", "jobs"},           {"status", "jobs"},
    {"queues", "queue"},      {"squeue", "jobs"},
    {"list", "jobs"},         {"ls", "jobs"},
    {"job", "jobs"},          {"qstat", "jobs"},
    {"nodes", "hosts"},       {"node", "hosts"},
    {"sinfo", "hosts"},       {"members", "hosts"},
    {"host", "hosts"},        {"run", "submit"},
    {"sbatch", "submit"},     {"srun", "submit"},
    {"qsub", "submit"},       {"kill", "cancel"},
    {"stop", "cancel"},       {"scancel", "cancel"},
    {"delete", "cancel"},     {"describe", "show"},
    {"inspect", "show"},      {"log", "logs"},
    {"drain", "hosts drain"}, {"undrain", "hosts undrain"},
    {"terms", "help terms"},  {"glossary", "help terms"},
    {"users", "user list"},   {"user", "user list"},
    {"teams", "team list"},   {"team", "team list"},
    {"who", "whoami"},        {"id", "whoami"},
    {"sshare", "share"},      {"partition", "queue"},
}};

/// "" when none is near.
std::string nearest_verb(std::string_view given) {
  for (const OtherName& other : kOtherNames) {
    if (other.name == given) {
      return std::string(other.verb);
    }
  }
  std::string_view nearest;
  std::size_t least = kTypingErrorsMax + 1;
  for (const Entry& entry : kVerbs) {
    const std::size_t far = edit_distance(given, entry.name, least);
    if (far < least) {
      least = far;
      nearest = entry.name;
    }
  }
  return std::string(nearest);
}

/// How a run ended. `is_told`: whether stdout took the answer is dealt with.
struct Outcome {
  int exit_code = 0;
  bool is_told = false;
  Outcome(int code, bool told = false) : exit_code(code), is_told(told) {}  // NOLINT: implicit.
};

/// The changes of a verb are told by stderr when stdout is lost, else by the exit code.
Outcome run_told(World& world, Verb& verb) {
  FallbackStream told(*world.out, *world.err);
  World telling = world;
  telling.out = &told;
  bool has_changed = false;
  telling.terminal.on_change = [&](agent::Verb request) {
    has_changed = true;
    told.keep(is(request, agent::Answer::kSecret) ? OnLostOut::kWithhold : OnLostOut::kRepeat);
    if (world.terminal.bear_broken_pipes) {
      world.terminal.bear_broken_pipes();
    }
  };
  if (world.terminal.ask) {
    telling.terminal.ask = [&](const std::string& question) {
      told << std::flush;
      return world.terminal.ask(question);
    };
  }
  Session session(telling, verb.common());
  const int exit_code = verb.run(session);
  const bool is_told = told.finish();
  return {exit_code == 0 && !is_told ? kExitUnknown : exit_code, has_changed};
}

Outcome run_verb(World& world, const Entry& entry, const Args& args) {
  Options options(std::string(entry.name) + " " + std::string(entry.usage),
                  std::string(entry.purpose));
  const std::unique_ptr<Verb> verb = entry.make(args);
  verb->describe(options);
  options.answered_by(answered_by(entry.asks));
  const Result<bool> wants_help = options.parse(args);
  if (!wants_help) {
    return refuse(world, args,
                  wants_help.error().text + " (muster " + std::string(entry.name) + " --help)");
  }
  if (*wants_help) {
    *world.out << options.help(world.terminal.screen);
    return 0;
  }
  return run_told(world, *verb);
}

Outcome dispatch(World& world, const Args& args) {
  if (args.empty()) {
    *world.err << overview(world.terminal.screen);
    return kExitUsage;
  }
  const std::string& name = args.front();
  if (args.size() > 1) {
    // "hosts fence" is a verb of two words.
    if (const Entry* two_words = find(name + " " + args[1])) {
      return run_verb(world, *two_words, Args(args.begin() + 2, args.end()));
    }
  }
  if (name == "help" && args.size() > 1) {
    // Its words alone: behind a "--" nothing would be an option any more.
    Args about;
    for (const std::string& word : args) {
      if (&word != &args.front() && (word.empty() || word.front() != '-') && about.size() < 2) {
        about.push_back(word);
      }
    }
    const bool is_of_two = about.size() > 1 && find(about[0] + " " + about[1]) != nullptr;
    about.resize(std::min<std::size_t>(about.size(), is_of_two ? 2 : 1));
    about.emplace_back("--help");
    return dispatch(world, about);
  }
  if (name == "-h" || name == "--help") {
    *world.out << overview(world.terminal.screen);
    return 0;
  }
  if (name == "--version") {
    *world.out << "muster " << kProductVersion << "\n";
    return 0;
  }
  const Entry* entry = find(name);
  if (entry == nullptr) {
    const std::string nearest = nearest_verb(name);
    return refuse(world, args,
                  "'" + name + "' is not a verb" +
                      (nearest.empty() ? "; `muster --help` lists them"
                                       : "; did you mean " + nearest + "? (muster --help)"));
  }
  return run_verb(world, *entry, Args(args.begin() + 1, args.end()));
}

}  // namespace

std::string overview(const Screen& given) {
  const Screen screen = for_reading(given);
  std::string text = fitted(kMusterPurpose + std::string("\n"), 0, screen) +
                     "\nUsage: muster VERB [OPTIONS], or muster VERB --help\n\n";
  std::string_view group;
  std::size_t shared = 0;
  for (const Entry& entry : kVerbs) {
    if (shared > 0) {
      --shared;
      continue;
    }
    if (entry.group != group) {
      group = entry.group;
      text += std::string(group) + ":\n";
    }
    const SharedLine* line = shared_line(entry.name);
    shared = line == nullptr ? 0 : line->count - 1;
    const std::string name = "  " + std::string(line == nullptr ? entry.name : line->names);
    text += fitted(name + std::string(kNameColumns - name.size(), ' ') +
                       std::string(line == nullptr ? entry.purpose : line->purpose) + "\n",
                   kNameColumns, screen);
  }
  return text + "\nExit codes:\n" + exit_code_lines(screen.columns) +
         "\nStart with: muster agent --gpus sim:8xH100, and muster init in another shell\n";
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> codes = {
      {"0", "ok"},
      {"1", "failed"},
      {"2", "usage: an option or argument is wrong"},
      {"3", "impossible: no host can ever do it"},
      {"4", "denied"},
      {"5", "no quorum: surely not accepted"},
      {"6", "not found"},
      {"7", "conflict with what is there"},
      {"75", "outcome unknown: repeat under the same key"},
      {"124", "the job's time limit passed"},
      {"126-127", "the command cannot be executed"},
      {"128+n", "ended by signal n"},
  };
  return codes;
}

std::vector<VerbWords> verb_words() {
  std::vector<VerbWords> all;
  for (const Entry& entry : kVerbs) {
    Options options(std::string(entry.name), std::string(entry.purpose));
    const std::unique_ptr<Verb> verb = entry.make({});
    verb->describe(options);
    const std::string answerer = answered_by(entry.asks);
    all.push_back({entry.group, std::string(entry.name), std::string(entry.usage),
                   std::string(entry.purpose), options.names(), options.entries(),
                   options.example(), answerer});
  }
  return all;
}

int run(World& world, const std::vector<std::string>& args) {
  const Outcome outcome = dispatch(world, args);
  world.out->flush();
  if (!world.out->good() && outcome.exit_code == 0 && !outcome.is_told) {
    *world.err << "muster: the answer could not be written to stdout\n";
    return kExitFailed;
  }
  return outcome.exit_code;
}

}  // namespace muster::cli
