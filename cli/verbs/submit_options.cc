#include "cli/verbs/submit_options.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "cli/kit/duration.h"
#include "cli/verbs/slurm_hints.h"
#include "gossip/base/name.h"

namespace muster::cli {
namespace {

/// Shorter than what a change of leaders or a restart of the agent may take.
constexpr Duration kHoldLeast = std::chrono::seconds(10);

Error wrong(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

bool is_key(const std::string& text) {
  return text.size() == kKeyDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// As the kernel would store them, each with its ending zero.
std::size_t size_of(const std::vector<std::string>& words) {
  std::size_t size_bytes = 0;
  for (const std::string& word : words) {
    size_bytes += word.size() + 1;
  }
  return size_bytes;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Status check_variable(const std::string& variable) {
  if (variable.empty() || variable.front() == '=') {
    return wrong("--env: '" + variable + "' is neither NAME nor NAME=VALUE");
  }
  return ok();
}

std::string name_of(const std::string& variable) {
  return variable.substr(0, variable.find('='));
}

bool is_one_of(std::span<const std::string_view> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The part of the submitter's environment that a job gets by default; and CONDA_*.
constexpr std::array<std::string_view, 6> kUsualVariables = {
    "PATH", "HOME", "LANG", "VIRTUAL_ENV", "PYTHONPATH", "LD_LIBRARY_PATH"};
constexpr std::string_view kUsualPrefix = "CONDA_";
/// Of this shell alone, and other at each command.
constexpr std::array<std::string_view, 4> kOfTheShell = {"_", "PWD", "OLDPWD", "SHLVL"};
/// A secret. The log keeps the environment of jobs, and their owners and others can read it.
constexpr std::string_view kAccessVariable = "MUSTER_ACCESS";
/// Variables that the supervisor sets for each rank over those of the job
/// (rank_supervisor_launch.h).
constexpr std::array<std::string_view, 14> kOwnVariables = {
    "RANK",         "LOCAL_RANK",   "WORLD_SIZE",           "LOCAL_WORLD_SIZE",  "NODE_RANK",
    "MASTER_ADDR",  "MASTER_PORT",  "CUDA_VISIBLE_DEVICES", "MUSTER_JOB_ID",     "MUSTER_ATTEMPT",
    "MUSTER_TOKEN", "MUSTER_HOSTS", "MUSTER_ARRAY_JOB_ID",  "MUSTER_ARRAY_INDEX"};

/// Runs a script, so that a job is better called after that.
bool is_interpreter(const std::string& name) {
  static constexpr std::array<std::string_view, 13> kInterpreters = {
      "bash", "sh",    "zsh",      "dash",       "perl",      "ruby",   "node",
      "env",  "julia", "torchrun", "accelerate", "deepspeed", "Rscript"};
  return name.starts_with("python") || is_one_of(kInterpreters, name);
}

bool is_script(const std::string& word) {
  static constexpr std::array<std::string_view, 8> kEndings = {".py", ".sh", ".pl", ".rb",
                                                               ".js", ".jl", ".R",  ".bash"};
  return word.front() != '-' && std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) {
           return word.size() > ending.size() && word.ends_with(ending);
         });
}

/// The default name of a job: that of its script or module, else that of its program.
std::string name_of_command(const std::vector<std::string>& argv) {
  const std::string program = base_name(argv.front());
  if (!is_interpreter(program)) {
    return program;
  }
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-m" && i + 1 < argv.size()) {
      return argv[i + 1];
    }
    if (!argv[i].empty() && is_script(argv[i])) {
      return base_name(argv[i]);
    }
  }
  return program;
}

struct GivenRun {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t step = 1;
};

/// "7", "0-9" or "0-9:2".
std::optional<GivenRun> task_run_of(const std::string& text) {
  const std::size_t dash = text.find('-');
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos && (dash == std::string::npos || colon < dash)) {
    return std::nullopt;
  }
  const auto first = parse_number(text.substr(0, dash));
  const auto last =
      dash == std::string::npos ? first : parse_number(text.substr(dash + 1, colon - dash - 1));
  const auto step =
      colon == std::string::npos ? Result<std::uint64_t>(1) : parse_number(text.substr(colon + 1));
  if (!first || !last || !step || *step == 0) {
    return std::nullopt;
  }
  return GivenRun{*first, *last, *step};
}

/// A file may be called what no job may, and a script's name may end with a line break: what steers
/// a terminal is replaced.
std::string line_of(std::string name) {
  name.resize(std::min(name.size(), kNameBytesMax));
  const auto keep = [&name](auto steers) {
    if (!is_line_name(name)) {
      std::replace_if(name.begin(), name.end(), steers, '_');
    }
  };
  constexpr std::string_view kBlanks = " \t\r\n";
  name.erase(std::min(name.find_last_not_of(kBlanks) + 1, name.size()));
  name.erase(0, std::min(name.find_first_not_of(kBlanks), name.size()));
  keep([](unsigned char byte) { return byte < 0x20 || byte == 0x7f; });
  keep([](unsigned char byte) { return byte >= 0x80; });
  return name;
}

}  // namespace

Status SubmitOptions::accept_array(const std::string& text) {
  const std::size_t percent = text.find('%');
  const auto at_once = percent == std::string::npos ? Result<std::uint64_t>(1)
                                                    : parse_number(text.substr(percent + 1));
  const Error none = wrong(
      "'" + text + "' is not an array: write 0-999, 0-99:2 or 1,3,5-7; add %50 to run 50 at once");
  if (!at_once || *at_once == 0) {
    return none;
  }
  const std::string list = text.substr(0, percent);
  std::vector<std::uint32_t> numbers;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    const auto run = task_run_of(list.substr(start, end - start));
    if (!run.has_value()) {
      return none;
    }
    if (run->last < run->first) {
      return wrong("'" + text + "' ends before it begins");
    }
    const std::uint64_t count = (run->last - run->first) / run->step + 1;
    if (run->last > kTaskIndexMax || count + numbers.size() > scheduler::kTasksMax) {
      return wrong("'" + text + "': an array has at most " + std::to_string(scheduler::kTasksMax) +
                   " tasks, numbered up to " + std::to_string(kTaskIndexMax));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      numbers.push_back(static_cast<std::uint32_t>(run->first + i * run->step));
    }
    start = end + 1;
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  array_ = scheduler::range_of(numbers);
  const std::uint64_t most = percent == std::string::npos ? 0 : *at_once;
  array_->at_once = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, scheduler::kTasksMax));
  return validate(*array_);
}

void SubmitOptions::describe(Options& options) {
  request_.describe(options);
  options.text("--name", name_, "Job name (default the name of the script or command)", "NAME");
  options.number("--retries", retries_,
                 "Restart the job up to N times if its program fails, after a pause of 1s that "
                 "doubles each time, up to 1m");
  options.text("--team", spec_.team, "Team of the job (default your first team)", "TEAM");
  describe_queue(options);
  describe_eligibility(options);
  options.integer("--priority", priority_, "Priority in the queue; higher runs first");
  options.value(
      "--array", [this](const std::string& text) { return accept_array(text); },
      "Submit an array: one task per number, as 0-999, 0-99:2 or 1,3,5-7, at most 1000000. %N runs "
      "at most N at once. Each task is named JOB.NUMBER and gets its number in MUSTER_ARRAY_INDEX",
      "FIRST-LAST[:STEP][,...][%N]");
  options.list("-e,--env", environment_,
               "Set a variable for every rank; without =VALUE, pass its value here; repeatable. "
               "PATH, HOME, LANG, VIRTUAL_ENV, CONDA_*, PYTHONPATH and LD_LIBRARY_PATH are passed "
               "by default. Muster sets RANK, WORLD_SIZE, MASTER_ADDR and the like itself",
               "NAME[=VALUE]");
  options.flag("--env-all", env_all_, "Pass all variables of this environment");
  options.flag("--env-none", env_none_, "Pass no variables except those given by -e");
  options.text("--cwd", directory_, "Run in this directory (default the current one)", "DIR");
  options.value(
      "--isolation", [this](const std::string& text) { return accept_hold(text); },
      "Let ranks run on this long after their host lost contact with the quorum, at least 10s; "
      "keep: with no limit (default 2m on one host, 10m on several)",
      "DURATION|keep");
  options.flag("-H,--hold", spec_.is_held, "Submit the job suspended; `muster resume` queues it");
  options.duration("--grace", spec_.limits.grace,
                   "Wait this long between TERM and KILL when the job is stopped");
  options.duration("--patience", spec_.limits.patience,
                   "Wait this long for a silent host before the gang stops");
  options.value(
      "--on-lost-host",
      [this](const std::string& text) -> Status {
        if (text != "requeue" && text != "wait") {
          return wrong("'" + text + "' is neither requeue nor wait");
        }
        spec_.retry.on_lost_host =
            text == "wait" ? scheduler::OnLostHost::kWait : scheduler::OnLostHost::kRequeue;
        return ok();
      },
      "After --patience, run again elsewhere, or wait for proof that the host is dead (default "
      "requeue)",
      "requeue|wait");
  options.value(
      "--time-limit",
      [this](const std::string& text) -> Status {
        if (text == "none") {
          spec_.limits.time_limit = scheduler::kNoTimeLimit;
          return ok();
        }
        const Result<Duration> limit = parse_duration(text);
        spec_.limits.time_limit = limit ? *limit : Duration(0);
        return limit ? ok() : Status(wrong(limit.error().text + ", or none"));
      },
      "Stop the job after this long, as 90m or 2h; none where its queue lets jobs run for ever "
      "(default that of its tier, and no limit while there are no queues)",
      "DURATION|none");
  options.text("--key", key_,
               "Repeat a submit under its key of 32 hex digits, so that only one job results",
               "HEX");
  options.command(argv_);
  options.hints(submit_hints());
}

void SubmitOptions::describe_queue(Options& options) {
  options.value(
      "--queue",
      [this](const std::string& text) {
        spec_.queue = text;
        return scheduler::check_queue_path(text);
      },
      "Queue of the job, as `muster queue` lists them (default the first one that names you or a "
      "team of yours)",
      "PATH");
  options.value(
      "--tier",
      [this](const std::string& text) -> Status {
        const auto tier = scheduler::tier_of(text);
        spec_.tier = tier.value_or(scheduler::Tier::kNone);
        return spec_.tier != scheduler::Tier::kNone
                   ? ok()
                   : Status(wrong("'" + text + "' is not a tier: give interactive, batch, " +
                                  "standard, premium or inference"));
      },
      "Tier of the job; in a queue the higher tier goes first: inference, premium, standard, "
      "batch, "
      "interactive (default the first one of its queue)",
      "TIER");
}

void SubmitOptions::describe_eligibility(Options& options) {
  options.value(
      "--after",
      [this](const std::string& text) -> Status {
        auto items = parse_after(text);
        if (items) {
          spec_.eligibility.after = *std::move(items);
        }
        return items ? ok() : Status(items.error());
      },
      "Wait until other jobs ended, at most 16: ok:7 completed, fail:7 failed or was cancelled, "
      "any:7 ended. JOB may be a task (8.3) or an array with all its tasks. If that can never be, "
      "the job is cancelled",
      "ok|fail|any:JOB[,...]");
  options.value(
      "--begin",
      [this](const std::string& text) { return take_time(text, times_.may_be_none, times_.begin); },
      "Begin no earlier than this: 22:00 (tomorrow, if that has passed), 2026-12-01T08:00 or +2h",
      "TIME");
  options.value(
      "--deadline",
      [this](const std::string& text) {
        return take_time(text, times_.may_be_none, times_.deadline);
      },
      "Fail if the job has not started by this time; written as --begin. A time of day is the "
      "first one after --begin",
      "TIME");
}

Status SubmitOptions::take_times(scheduler::Eligibility& eligibility,
                                 const WorldClock& clock) const {
  const Result<JobTimes> times = read_times(times_, clock);
  if (!times) {
    return times.error();
  }
  eligibility.begin = times->begin.value_or(Duration(0));
  eligibility.deadline = times->deadline.value_or(Duration(0));
  return ok();
}

Status SubmitOptions::accept_hold(const std::string& text) {
  if (text == "keep") {
    spec_.limits.keep_when_isolated = true;
    return ok();
  }
  const Result<Duration> hold = parse_duration(text);
  if (!hold) {
    return wrong(hold.error().text + ", or keep");
  }
  if (*hold == Duration(0)) {
    return wrong("0 would kill the ranks at once: give a duration, or keep");
  }
  if (*hold < kHoldLeast) {
    return wrong("'" + text + "' is too short: an election would end the ranks; at least " +
                 format_duration(kHoldLeast));
  }
  spec_.limits.keep_when_isolated = false;
  spec_.limits.hold = *hold;
  return ok();
}

Status SubmitOptions::check() const {
  if (argv_.empty() || argv_.front().empty()) {
    return wrong("no command: muster submit [OPTIONS] -- COMMAND [ARGS]");
  }
  if (retries_ > std::numeric_limits<std::uint32_t>::max()) {
    return wrong("--retries: " + std::to_string(retries_) + " is too many");
  }
  if (priority_ < std::numeric_limits<std::int32_t>::min() ||
      priority_ > std::numeric_limits<std::int32_t>::max()) {
    return wrong("--priority: " + std::to_string(priority_) + " does not fit into 32 bits");
  }
  if (spec_.is_held && array_.has_value()) {
    return wrong("--hold: an array cannot be held; submit it without --hold and suspend its tasks");
  }
  if (env_all_ && env_none_) {
    return wrong("--env-all and --env-none: choose one");
  }
  for (const std::string& variable : environment_) {
    if (const Status status = check_variable(variable); !status) {
      return status;
    }
  }
  if (name_.size() > kNameBytesMax) {
    return wrong("--name has at most " + std::to_string(kNameBytesMax) + " bytes");
  }
  if (!key_.empty() && !is_key(key_)) {
    return wrong("--key: '" + key_ + "' is not 32 digits of 0-9 and a-f");
  }
  return ok();
}

Status SubmitOptions::check_command(const std::vector<std::string>& environment) const {
  const std::size_t size_bytes = size_of(argv_) + size_of(environment);
  if (size_bytes > scheduler::kCommandBytesMax) {
    return wrong("command and environment take " + std::to_string(size_bytes) + " bytes, at most " +
                 std::to_string(scheduler::kCommandBytesMax) +
                 " are possible: put them into a file");
  }
  if (argv_.size() + environment.size() > kCommandWordsMax) {
    return wrong("command and environment are more than " + std::to_string(kCommandWordsMax) +
                 " words: put them into a file");
  }
  return ok();
}

Result<std::vector<std::string>> SubmitOptions::environment(const World& world) const {
  std::map<std::string, std::string> variables;
  for (const std::string& variable : world.all_environment()) {
    const std::string name = name_of(variable);
    const bool is_usual = is_one_of(kUsualVariables, name) || name.starts_with(kUsualPrefix);
    if (!env_none_ && name != kAccessVariable &&
        (env_all_ ? !is_one_of(kOfTheShell, name) : is_usual)) {
      variables[name] = variable;
    }
  }
  for (const std::string& given : environment_) {
    const std::string name = name_of(given);
    if (name == kAccessVariable) {
      return wrong("--env: " + name +
                   " is a secret, and the environment of a job is not: have the job read it from "
                   "a file that only its user can read (--access-file)");
    }
    const auto here = name == given ? world.environment(name) : std::optional<std::string>("");
    if (!here.has_value()) {
      const bool is_file = name.find_first_of("./%") != std::string::npos;
      return wrong("--env: " + name + " is not set here: give it a value as " + name + "=VALUE" +
                   (is_file ? "; Muster stores what ranks write to stderr: muster logs" : ""));
    }
    variables[name] = name == given ? name + "=" + *here : given;
  }
  std::vector<std::string> all;
  for (auto& [name, variable] : variables) {
    if (!is_one_of(kOwnVariables, name)) {
      all.push_back(std::move(variable));
    }
  }
  return all;
}

std::vector<std::string> SubmitOptions::overruled() const {
  std::vector<std::string> names;
  for (const std::string& given : environment_) {
    if (is_one_of(kOwnVariables, name_of(given))) {
      names.push_back(name_of(given));
    }
  }
  return names;
}

Result<std::string> SubmitOptions::directory_of_ranks(const World& world) const {
  std::string directory = directory_;
  if (directory.empty() || directory.front() != '/') {
    const Result<std::string> here = world.shell.directory();
    if (!here) {
      return wrong(here.error().text + "; cd to one that exists, or name one with --cwd");
    }
    directory = directory.empty() ? *here : *here + "/" + directory;
  }
  if (directory.size() > kDirectoryBytesMax) {
    return wrong("the working directory's path is longer than " +
                 std::to_string(kDirectoryBytesMax) + " bytes");
  }
  return directory;
}

Result<agent::SubmitArgs> SubmitOptions::arguments(const World& world) const {
  if (const Status status = check(); !status) {
    return status.error();
  }
  Result<std::vector<std::string>> variables = environment(world);
  if (!variables) {
    return variables.error();
  }
  if (const Status status = check_command(*variables); !status) {
    return status.error();
  }
  Result<scheduler::Request> request = request_.request();
  if (!request) {
    return request.error();
  }
  agent::SubmitArgs submit;
  submit.key = key_.empty() ? world.random_key() : key_;
  submit.spec = spec_;
  submit.spec.name = line_of(name_.empty() ? name_of_command(argv_) : name_);
  submit.spec.user = world.user_name();
  submit.spec.request = *std::move(request);
  submit.spec.command.argv = argv_;
  submit.spec.command.environment = *std::move(variables);
  submit.spec.command.shell = world.shell.settings();
  Result<std::string> directory = directory_of_ranks(world);
  if (!directory) {
    return directory.error();
  }
  submit.spec.command.directory = *std::move(directory);
  if (const Status times = take_times(submit.spec.eligibility, world.clock); !times) {
    return times.error();
  }
  submit.spec.priority = static_cast<std::int32_t>(priority_);
  submit.spec.array = array_;
  submit.spec.retry.retries = static_cast<std::uint32_t>(retries_);
  return submit;
}

std::vector<std::string> as_repeated(const std::vector<std::string>& args,
                                     const agent::SubmitArgs& first) {
  static constexpr std::array<std::string_view, 4> kWithValue = {"--key", "--cwd", "-e", "--env"};
  static constexpr std::array<std::string_view, 2> kFlags = {"--env-all", "--env-none"};
  std::vector<std::string> repeated = {"--key", first.key, "--cwd", first.spec.command.directory,
                                       "--env-none"};
  for (const std::string& variable : first.spec.command.environment) {
    repeated.insert(repeated.end(), {"-e", variable});
  }
  const auto command = std::find(args.begin(), args.end(), "--");
  for (auto arg = args.begin(); arg < command; ++arg) {
    const bool is_joined = arg->starts_with("--key=") || arg->starts_with("--cwd=") ||
                           arg->starts_with("--env=") ||
                           (arg->starts_with("-e") && arg->size() > 2);
    if (is_one_of(kWithValue, *arg)) {
      // Its value goes with it; parsing made sure that there is one.
      ++arg;
    } else if (!is_joined && !is_one_of(kFlags, *arg)) {
      repeated.push_back(*arg);
    }
  }
  repeated.insert(repeated.end(), command, args.end());
  return repeated;
}

}  // namespace muster::cli
