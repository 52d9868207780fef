#include "agent/api/rest/submit_body.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agent/api/rest/call_input.h"
#include "agent/api/rest/job_ids.h"
#include "gossip/base/name.h"

namespace muster::agent {
namespace {

using scheduler::JobSpec;

/// Shorter than what a change of leaders or a restart of the agent may take.
constexpr Duration kHoldLeast = std::chrono::seconds(10);
constexpr std::size_t kKeyDigits = 32;
constexpr std::size_t kJobNameBytesMax = 255;
constexpr std::size_t kDirectoryBytesMax = 4095;  ///< PATH_MAX.
/// Of the command and the environment together.
constexpr std::size_t kCommandWordsMax = 4096;
/// A secret. The log keeps the environment of jobs, and their owners and others can read it.
constexpr std::string_view kAccessVariable = "MUSTER_ACCESS";
/// Variables that the supervisor sets for each rank over those of the job.
constexpr std::array<std::string_view, 14> kOwnVariables = {
    "RANK",         "LOCAL_RANK",   "WORLD_SIZE",           "LOCAL_WORLD_SIZE",  "NODE_RANK",
    "MASTER_ADDR",  "MASTER_PORT",  "CUDA_VISIBLE_DEVICES", "MUSTER_JOB_ID",     "MUSTER_ATTEMPT",
    "MUSTER_TOKEN", "MUSTER_HOSTS", "MUSTER_ARRAY_JOB_ID",  "MUSTER_ARRAY_INDEX"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string last_of_path(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Runs a script, so that a job is better called after that.
bool runs_scripts(const std::string& name) {
  static constexpr std::array<std::string_view, 13> kInterpreters = {
      "bash", "sh",    "zsh",      "dash",       "perl",      "ruby",   "node",
      "env",  "julia", "torchrun", "accelerate", "deepspeed", "Rscript"};
  return name.starts_with("python") || is_among(kInterpreters, name);
}

bool is_script_word(const std::string& word) {
  static constexpr std::array<std::string_view, 8> kEndings = {".py", ".sh", ".pl", ".rb",
                                                               ".js", ".jl", ".R",  ".bash"};
  return !word.empty() && word.front() != '-' &&
         std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) {
           return word.size() > ending.size() && word.ends_with(ending);
         });
}

/// The default name of a job: that of its script or module, else that of its program.
std::string name_of_program(const std::vector<std::string>& argv) {
  const std::string program = last_of_path(argv.front());
  for (std::size_t i = 1; runs_scripts(program) && i < argv.size(); ++i) {
    if (argv[i] == "-m" && i + 1 < argv.size()) {
      return argv[i + 1];
    }
    if (is_script_word(argv[i])) {
      return last_of_path(argv[i]);
    }
  }
  return program;
}

/// As `muster submit` keeps a name: in one line, without what steers a terminal.
std::string line_of_name(std::string name) {
  name.resize(std::min(name.size(), kJobNameBytesMax));
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

/// One of two names for the same member.
template <class T>
std::optional<T> either(JsonFields& body, std::string_view second, std::optional<T> by_first,
                        std::optional<T> by_second) {
  if (by_first.has_value() && by_second.has_value()) {
    body.refuse(second, "it is given twice, by another name");
  }
  return by_first.has_value() ? std::move(by_first) : std::move(by_second);
}

void take_command(JsonFields& body, JobSpec& spec) {
  auto argv = either(body, "command", body.texts("argv"), body.texts("command"));
  spec.command.argv = argv.value_or(std::vector<std::string>());
  if (spec.command.argv.empty() || spec.command.argv.front().empty()) {
    body.refuse("command", "give the program and its arguments as a list of strings");
    return;
  }
  const auto name = body.text("name");
  if (name.has_value() && name->size() > kJobNameBytesMax) {
    body.refuse("name", "it has at most " + std::to_string(kJobNameBytesMax) + " bytes");
  }
  spec.name =
      line_of_name(name.has_value() && !name->empty() ? *name : name_of_program(spec.command.argv));
}

void take_directory(JsonFields& body, JobSpec& spec) {
  spec.command.directory = body.text("directory").value_or("");
  if (!spec.command.directory.starts_with('/')) {
    body.refuse("directory", "give the absolute path of the directory in which the ranks run");
  }
  if (spec.command.directory.size() > kDirectoryBytesMax) {
    body.refuse("directory", "it is longer than " + std::to_string(kDirectoryBytesMax) + " bytes");
  }
}

/// Of two values of a variable the later one counts. Variables that Muster sets itself are left
/// out.
void take_environment(JsonFields& body, JobSpec& spec) {
  std::map<std::string, std::string> variables;
  for (const std::string& given : body.texts("environment").value_or(JsonFields::Texts())) {
    const std::size_t equals = given.find('=');
    if (equals == std::string::npos || equals == 0) {
      body.refuse("environment", "'" + given + "' is not NAME=VALUE");
      return;
    }
    variables[given.substr(0, equals)] = given;
  }
  if (variables.contains(std::string(kAccessVariable))) {
    body.refuse("environment",
                std::string(kAccessVariable) +
                    " is a secret, and the environment of a job is not: have the job read it from "
                    "a file that only its user can read");
  }
  for (auto& [name, variable] : variables) {
    if (!is_among(kOwnVariables, name)) {
      spec.command.environment.push_back(std::move(variable));
    }
  }
}

std::size_t bytes_of(const std::vector<std::string>& words) {
  std::size_t bytes = 0;
  for (const std::string& word : words) {
    bytes += word.size() + 1;  // As the kernel stores it, with its ending zero.
  }
  return bytes;
}

void check_command(JsonFields& body, const scheduler::Command& command) {
  const std::size_t bytes = bytes_of(command.argv) + bytes_of(command.environment);
  if (bytes > scheduler::kCommandBytesMax) {
    body.refuse("command", "command and environment take " + std::to_string(bytes) +
                               " bytes, at most " + std::to_string(scheduler::kCommandBytesMax) +
                               " are possible: put them into a file");
  }
  if (command.argv.size() + command.environment.size() > kCommandWordsMax) {
    body.refuse("command", "command and environment are more than " +
                               std::to_string(kCommandWordsMax) + " words: put them into a file");
  }
}

/// "0027"
std::optional<std::uint32_t> octal_of(std::string_view text) {
  std::uint32_t mode = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '7' || text.size() > 4) {
      return std::nullopt;
    }
    mode = mode * 8 + static_cast<std::uint32_t>(digit - '0');
  }
  return text.empty() || mode > scheduler::SubmitShell::kUmaskMax ? std::nullopt
                                                                  : std::optional(mode);
}

void take_shell(JsonFields& body, scheduler::SubmitShell& shell) {
  JsonFields* given = body.object("shell");
  if (given == nullptr) {
    return;
  }
  if (const auto text = given->text("umask")) {
    const auto umask = octal_of(*text);
    shell.umask = umask.value_or(shell.umask);
    if (!umask.has_value()) {
      given->refuse("umask", "write it in octal digits, as \"0022\"");
    }
  }
  const auto take_limit = [given](std::string_view name, std::uint64_t& limit) {
    const bool is_unlimited = given->is_null(name);
    limit = is_unlimited ? scheduler::SubmitShell::kNoLimit
                         : given->number(name, 0, UINT64_MAX).value_or(limit);
  };
  take_limit("open_files", shell.open_files);
  take_limit("stack_bytes", shell.stack_bytes);
  take_limit("core_bytes", shell.core_bytes);
}

/// Names without doubles, in their order.
std::vector<std::string> take_names(JsonFields& body, std::string_view name, bool are_labels) {
  std::vector<std::string> given = body.texts(name).value_or(JsonFields::Texts());
  if (given.size() > scheduler::kNamedMax) {
    body.refuse(name, "it has at most " + std::to_string(scheduler::kNamedMax) + " names");
    return {};
  }
  std::vector<std::string> names;
  for (std::string& each : given) {
    if (each.empty() || each.size() > scheduler::kNameBytesMax) {
      body.refuse(name, "it has an empty or very long name in it");
    } else if (are_labels && !is_label(each)) {
      body.refuse(name, "'" + each + "' is not a label: write key=value or key");
    } else if (std::find(names.begin(), names.end(), each) == names.end()) {
      names.push_back(std::move(each));
    }
  }
  return names;
}

std::vector<std::string> take_sorted(JsonFields& body, std::string_view name, bool are_labels) {
  std::vector<std::string> names = take_names(body, name, are_labels);
  std::sort(names.begin(), names.end());
  return names;
}

void take_pack(JsonFields& body, scheduler::Request& request) {
  using scheduler::Pack;
  if (const auto level = body.choice("pack", {"island", "host", "rack", "spine", "any"})) {
    for (const Pack pack : {Pack::kAny, Pack::kIsland, Pack::kHost, Pack::kRack, Pack::kSpine}) {
      request.pack = *level == scheduler::text_of(pack) ? pack : request.pack;
    }
  }
  request.pack_wait = span_of(body, "pack_wait").value_or(Duration(0));
  if (request.pack == Pack::kAny && request.pack_wait != Duration(0)) {
    body.refuse("pack_wait_ms", "there is no closeness to wait for: give pack, too");
  }
}

std::uint32_t count_of(JsonFields& body, std::string_view name, std::uint32_t max,
                       std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(body.number(name, 0, max).value_or(otherwise));
}

void take_request(JsonFields& body, scheduler::Request& request) {
  request.gpus = count_of(body, "gpus", scheduler::kGangUnitsMax, request.gpus);
  request.gpus_per_host = count_of(body, "gpus_per_host", scheduler::kGangUnitsMax, 0);
  request.ranks = count_of(body, "ranks", scheduler::kGangUnitsMax, 0);
  request.ranks_per_host = count_of(body, "ranks_per_host", scheduler::kHostUnitsMax, 0);
  if (const auto cpus = body.number("cpu_thousandths", 0, scheduler::kCpusMax)) {
    request.cpus = static_cast<std::uint32_t>(*cpus);
  }
  request.memory_mb = body.number("memory_mib", 0, scheduler::kMemoryMbMax);
  request.gpu_types = take_names(body, "gpu_types", false);
  if (const auto type = body.text("gpu_type")) {
    if (!request.gpu_types.empty()) {
      body.refuse("gpu_type", "it is given twice: leave out gpu_types or this");
    }
    request.gpu_types = {*type};
    if (type->empty() || type->size() > scheduler::kNameBytesMax) {
      body.refuse("gpu_type", "it is empty or very long");
    }
  }
  request.labels = take_sorted(body, "labels", true);
  request.not_labels = take_sorted(body, "not_labels", true);
  request.hosts = take_sorted(body, "hosts", false);
  request.not_hosts = take_sorted(body, "not_hosts", false);
  take_pack(body, request);
  if (request.gpus == 0 && request.ranks == 0) {
    body.refuse("ranks", "a job without GPUs needs the number of its ranks");
  } else if (request.gpus != 0 && request.ranks != 0) {
    body.refuse("ranks", "with GPUs there is one rank each: give gpus 0, or ranks_per_host");
  }
  if (const Status valid = validate(request); !valid) {
    body.refuse("gpus", valid.error().text);
  }
}

void take_limits(JsonFields& body, scheduler::Limits& limits) {
  limits.hold = span_of(body, "isolation").value_or(Duration(0));
  limits.keep_when_isolated = body.boolean("keep_when_isolated").value_or(false);
  if (limits.hold != Duration(0) && limits.hold < kHoldLeast) {
    body.refuse("isolation_ms", "it is too short: an election would end the ranks; at least 10 s");
  }
  if (limits.hold != Duration(0) && limits.keep_when_isolated) {
    body.refuse("isolation_ms", "with keep_when_isolated there is no limit: choose one");
  }
  limits.grace = span_of(body, "grace").value_or(limits.grace);
  limits.patience = span_of(body, "patience").value_or(limits.patience);
  // Null is what `muster show` prints of a job without a limit.
  const bool is_null_ms = body.is_null("time_limit_ms");
  const bool is_endless = body.is_null("time_limit_s") || is_null_ms;
  limits.time_limit =
      span_of(body, "time_limit").value_or(is_endless ? scheduler::kNoTimeLimit : Duration(0));
}

void take_place(JsonFields& body, JobSpec& spec) {
  spec.team = body.text("team").value_or("");
  spec.priority = static_cast<std::int32_t>(
      body.integer("priority", INT32_MIN, INT32_MAX).value_or(spec.priority));
  if (const auto queue = body.text("queue")) {
    spec.queue = *queue;
    if (const Status status = scheduler::check_queue_path(*queue); !status) {
      body.refuse("queue", status.error().text);
    }
  }
  const auto tier =
      body.choice("tier", {"interactive", "batch", "standard", "premium", "inference"});
  spec.tier = scheduler::tier_of(tier.value_or("")).value_or(scheduler::Tier::kNone);
  spec.is_held = body.boolean("is_held").value_or(false);
  spec.retry.retries = static_cast<std::uint32_t>(
      body.number("retries", 0, std::numeric_limits<std::uint32_t>::max()).value_or(0));
  spec.retry.on_lost_host = body.choice("on_lost_host", {"requeue", "wait"}) == "wait"
                                ? scheduler::OnLostHost::kWait
                                : scheduler::OnLostHost::kRequeue;
}

void take_eligibility(JsonFields& body, scheduler::Eligibility& eligibility) {
  const auto after = parse_after(body.texts("after").value_or(JsonFields::Texts()));
  if (after) {
    eligibility.after = *after;
  } else {
    body.refuse("after", after.error().text);
  }
  eligibility.begin = span_of(body, "begin_in").value_or(Duration(0));
  eligibility.deadline = span_of(body, "deadline_in").value_or(Duration(0));
  if (const Status valid = validate(eligibility); !valid) {
    body.refuse("deadline_in_ms", valid.error().text);
  }
}

scheduler::TaskRun take_run(JsonFields& run) {
  run.need("first");
  run.need("last");
  const std::uint32_t first = count_of(run, "first", kTaskIndexMax, 0);
  return {first, count_of(run, "last", kTaskIndexMax, first),
          static_cast<std::uint32_t>(run.number("step", 1, kTaskIndexMax).value_or(1))};
}

std::vector<scheduler::TaskRun> take_runs(JsonFields& array) {
  const std::vector<JsonFields*> given = array.objects("runs");
  std::vector<scheduler::TaskRun> runs;
  if (given.empty()) {
    runs.push_back(take_run(array));
  } else if (given.size() > scheduler::kTaskRunsMax) {
    array.refuse("runs", "there are at most " + std::to_string(scheduler::kTaskRunsMax));
  } else {
    // The ends of all runs, which `show` prints beside them.
    array.number("first", 0, kTaskIndexMax);
    array.number("last", 0, kTaskIndexMax);
    for (JsonFields* run : given) {
      runs.push_back(take_run(*run));
    }
  }
  return runs;
}

/// The numbers of all runs; empty after an error.
std::vector<std::uint32_t> numbers_of(JsonFields& array,
                                      const std::vector<scheduler::TaskRun>& runs) {
  std::vector<std::uint32_t> numbers;
  for (const scheduler::TaskRun& run : runs) {
    if (run.last < run.first) {
      array.refuse("last", "it is before the first number");
      return {};
    }
    const std::uint64_t count = (run.last - run.first) / run.step + 1;
    if (count + numbers.size() > scheduler::kTasksMax) {
      array.refuse("last", "an array has at most " + std::to_string(scheduler::kTasksMax) +
                               " tasks, numbered up to " + std::to_string(kTaskIndexMax));
      return {};
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      numbers.push_back(static_cast<std::uint32_t>(run.first + i * run.step));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// {"first": 0, "last": 99, "step": 2, "at_once": 10}; "runs" in the place of the first three.
void take_array(JsonFields& body, JobSpec& spec) {
  JsonFields* array = body.object("array");
  if (array == nullptr) {
    return;
  }
  const std::vector<scheduler::TaskRun> runs = take_runs(*array);
  const std::uint32_t at_once = count_of(*array, "at_once", scheduler::kTasksMax, 0);
  // Without an error so far the numbers are worth their time.
  const std::vector<std::uint32_t> numbers =
      body.is_good() ? numbers_of(*array, runs) : std::vector<std::uint32_t>();
  if (numbers.empty()) {
    return;
  }
  spec.array = scheduler::range_of(numbers);
  spec.array->at_once = at_once;
  if (const Status valid = validate(*spec.array); !valid) {
    body.refuse("array", valid.error().text);
  }
  if (spec.is_held) {
    body.refuse("is_held", "an array cannot be held: submit it so and suspend its tasks");
  }
}

}  // namespace

Result<JobSpec> job_of_body(JsonFields& body) {
  JobSpec spec;
  take_command(body, spec);
  take_directory(body, spec);
  take_environment(body, spec);
  take_shell(body, spec.command.shell);
  check_command(body, spec.command);
  take_request(body, spec.request);
  take_limits(body, spec.limits);
  take_place(body, spec);
  take_eligibility(body, spec.eligibility);
  take_array(body, spec);
  const Status status = body.end();
  return status ? Result<JobSpec>(std::move(spec)) : status.error();
}

Result<std::string> submit_key_of(std::string_view field) {
  constexpr std::string_view kUuidDashes = "        -    -    -    -            ";
  std::string_view text = field;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  std::string key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter =
        text[i] >= 'A' && text[i] <= 'F' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    const bool is_dash = text.size() == kUuidDashes.size() && kUuidDashes[i] == '-';
    const bool is_digit = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
    if (is_dash ? letter != '-' : !is_digit) {
      key.clear();
      break;
    }
    key += is_dash ? "" : std::string(1, letter);
  }
  return key.size() == kKeyDigits
             ? Result<std::string>(std::move(key))
             : Error{ErrorCode::kInvalid,
                     "Idempotency-Key: give 32 digits of 0-9 and a-f, or a UUID"};
}

}  // namespace muster::agent
