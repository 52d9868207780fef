#include "cli/verbs/submit_options.h"

#include <algorithm>
#include <limits>

#include "cli/kit/duration.h"

namespace muster::cli {
namespace {

/// Shorter than what a change of leaders or a restart of the agent may take.
constexpr Duration kHoldLeast = std::chrono::seconds(10);

Error invalid(std::string text) {
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
  const std::size_t equals = variable.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid("--env: '" + variable + "' is not of the form KEY=VALUE");
  }
  return ok();
}

}  // namespace

void SubmitOptions::describe(Options& options) {
  options.number("-g,--gpus", gpus_, "GPUs of the gang, one rank each");
  options.text("--gpu-type", spec_.gpu_type, "GPU type, as `muster hosts` shows it; else any", "T");
  options.text("--name", name_, "Name for people; else the command's", "NAME");
  options.number("--retries", retries_, "New attempts after failures of the program");
  options.integer("--priority", priority_, "Higher goes first");
  options.list("-e,--env", environment_, "Set a variable for every rank; may be repeated", "K=V");
  options.text("--cwd", directory_, "Working directory of the ranks; else this one", "DIR");
  options.value(
      "--isolation,--hold", [this](const std::string& text) { return accept_hold(text); },
      "How long a host keeps its ranks alive without word from the quorum, or keep for ever "
      "(default 10m over several hosts, 2m on one)",
      "DURATION|keep");
  options.duration("--grace", spec_.grace, "Time between TERM and KILL");
  options.duration("--patience", spec_.patience, "Time a silent host has before the gang stops");
  options.value(
      "--on-lost-host",
      [this](const std::string& text) -> Status {
        if (text != "requeue" && text != "wait") {
          return invalid("'" + text + "' is neither requeue nor wait");
        }
        spec_.on_lost_host =
            text == "wait" ? scheduler::OnLostHost::kWait : scheduler::OnLostHost::kRequeue;
        return ok();
      },
      "After the patience: run again elsewhere, or wait for proof of its death (default requeue)",
      "requeue|wait");
  options.duration("--time-limit", spec_.time_limit, "Stop the job after this long; else never");
  options.text("--key", key_, "Repeat a submit under its key: 32 hex digits", "HEX");
  options.command(argv_);
}

Status SubmitOptions::accept_hold(const std::string& text) {
  if (text == "keep") {
    spec_.keep_when_isolated = true;
    return ok();
  }
  const Result<Duration> hold = parse_duration(text);
  if (!hold) {
    return invalid(hold.error().text + ", or keep");
  }
  if (*hold == Duration(0)) {
    return invalid("0 would kill the ranks at once: give a duration, or keep");
  }
  if (*hold < kHoldLeast) {
    return invalid("'" + text + "' is too short: an election would end the ranks; at least " +
                   format_duration(kHoldLeast));
  }
  spec_.keep_when_isolated = false;
  spec_.hold = *hold;
  return ok();
}

Status SubmitOptions::check() const {
  if (argv_.empty() || argv_.front().empty()) {
    return invalid("no command: muster submit [OPTIONS] -- COMMAND [ARGS]");
  }
  if (gpus_ < 1 || gpus_ > kGpusMax) {
    return invalid("--gpus: " + std::to_string(gpus_) + " is not between 1 and " +
                   std::to_string(kGpusMax));
  }
  if (retries_ > std::numeric_limits<std::uint32_t>::max()) {
    return invalid("--retries: " + std::to_string(retries_) + " is too many");
  }
  if (priority_ < std::numeric_limits<std::int32_t>::min() ||
      priority_ > std::numeric_limits<std::int32_t>::max()) {
    return invalid("--priority: " + std::to_string(priority_) + " does not fit into 32 bits");
  }
  for (const std::string& variable : environment_) {
    if (const Status status = check_variable(variable); !status) {
      return status;
    }
  }
  if (name_.size() > kNameBytesMax || spec_.gpu_type.size() > kNameBytesMax) {
    return invalid("--name and --gpu-type have at most " + std::to_string(kNameBytesMax) +
                   " bytes");
  }
  if (!key_.empty() && !is_key(key_)) {
    return invalid("--key: '" + key_ + "' is not 32 digits of 0-9 and a-f");
  }
  return check_command();
}

Status SubmitOptions::check_command() const {
  const std::size_t size_bytes = size_of(argv_) + size_of(environment_);
  if (size_bytes > scheduler::kCommandBytesMax) {
    return invalid("command and --env take " + std::to_string(size_bytes) + " bytes, at most " +
                   std::to_string(scheduler::kCommandBytesMax) +
                   " are possible: put them into a file");
  }
  if (argv_.size() + environment_.size() > kCommandWordsMax) {
    return invalid("command and --env are more than " + std::to_string(kCommandWordsMax) +
                   " words: put them into a file");
  }
  return ok();
}

Result<agent::SubmitArgs> SubmitOptions::arguments(const World& world) const {
  if (const Status status = check(); !status) {
    return status.error();
  }
  agent::SubmitArgs submit;
  submit.key = key_.empty() ? world.random_key() : key_;
  submit.spec = spec_;
  submit.spec.name = name_.empty() ? base_name(argv_.front()).substr(0, kNameBytesMax) : name_;
  submit.spec.user = world.user_name();
  submit.spec.gpus = static_cast<std::uint32_t>(gpus_);
  submit.spec.argv = argv_;
  submit.spec.environment = environment_;
  submit.spec.directory = world.working_directory();
  if (!directory_.empty()) {
    submit.spec.directory =
        directory_.front() == '/' ? directory_ : submit.spec.directory + "/" + directory_;
  }
  if (submit.spec.directory.size() > kDirectoryBytesMax) {
    return invalid("the working directory's path is longer than " +
                   std::to_string(kDirectoryBytesMax) + " bytes");
  }
  submit.spec.priority = static_cast<std::int32_t>(priority_);
  submit.spec.retries = static_cast<std::uint32_t>(retries_);
  return submit;
}

std::vector<std::string> as_repeated(const std::vector<std::string>& args,
                                     const agent::SubmitArgs& first) {
  std::vector<std::string> repeated = {"--key", first.key, "--cwd", first.spec.directory};
  const auto command = std::find(args.begin(), args.end(), "--");
  for (auto arg = args.begin(); arg < command; ++arg) {
    if (*arg == "--key" || *arg == "--cwd") {
      // Its value goes with it; parsing made sure that there is one.
      ++arg;
    } else if (arg->rfind("--key=", 0) != 0 && arg->rfind("--cwd=", 0) != 0) {
      repeated.push_back(*arg);
    }
  }
  repeated.insert(repeated.end(), command, args.end());
  return repeated;
}

}  // namespace muster::cli
