#include "cli/edge/system_world.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <thread>

#include "cli/edge/audit_reader.h"
#include "cli/edge/config_file.h"
#include "cli/edge/person_signer.h"
#include "cli/edge/queues_toml.h"
#include "cli/edge/run_agent.h"
#include "cli/edge/tickets.h"
#include "cli/edge/users_toml.h"
#include "cli/edge/zmq_node_client.h"
#include "cli/kit/duration.h"
#include "gossip/base/check.h"
#include "gossip/base/ids.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/secret_file.h"

namespace muster::cli {
namespace {

/// A wait that is longer than this gets a line on the terminal.
constexpr Duration kQuietMax = std::chrono::seconds(2);
/// A ticket is one line of far less.
constexpr std::size_t kTicketTextMax = 64 << 10;

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<std::string> all_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    all.emplace_back(*variable);
  }
  return all;
}

volatile std::sig_atomic_t interrupts = 0;

/// Interrupts that no verb has taken when the process ends at once: it may wait for an answer.
constexpr int kInterruptsBorne = 3;
constexpr int kExitInterrupted = 128 + SIGINT;

void on_interrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts >= kInterruptsBorne) {
    _exit(kExitInterrupted);
  }
}

bool take_interrupt() {
  static const bool is_caught = [] {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    return sigaction(SIGINT, &action, nullptr) == 0;
  }();
  const bool was_interrupted = is_caught && interrupts != 0;
  interrupts = 0;
  return was_interrupted;
}

std::string random_key() {
  std::array<std::uint8_t, 16> bytes{};
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return Id128<struct SubmitKeyTag>(bytes).hex();
}

std::string user_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry == nullptr ? std::to_string(geteuid()) : entry->pw_name;
}

/// A path from / on without "." and "..", which the shell may have reached through links.
bool is_logical(const std::string& path) {
  const std::string bounded = path + "/";
  return path.starts_with('/') && bounded.find("/./") == std::string::npos &&
         bounded.find("/../") == std::string::npos;
}

Result<std::string> working_directory() {
  struct stat here {};
  struct stat named {};
  const std::string pwd = environment("PWD").value_or("");
  if (is_logical(pwd) && stat(".", &here) == 0 && stat(pwd.c_str(), &named) == 0 &&
      here.st_dev == named.st_dev && here.st_ino == named.st_ino) {
    return pwd;
  }
  std::array<char, 4096> path{};
  if (getcwd(path.data(), path.size()) == nullptr) {
    return Error{ErrorCode::kNotFound, std::string("cannot read the working directory (") +
                                           std::strerror(errno) + ": was it removed?)"};
  }
  return std::string(path.data());
}

/// Umask and soft limits, as a program that this shell starts would have them.
scheduler::SubmitShell shell_settings() {
  const auto soft = [](__rlimit_resource_t resource, std::uint64_t otherwise) {
    rlimit limit{};
    return getrlimit(resource, &limit) != 0  ? otherwise
           : limit.rlim_cur == RLIM_INFINITY ? scheduler::SubmitShell::kNoLimit
                                             : std::uint64_t{limit.rlim_cur};
  };
  scheduler::SubmitShell found;
  const mode_t mask = ::umask(0);  // There is no other way to ask.
  ::umask(mask);
  found.umask = mask & scheduler::SubmitShell::kUmaskMax;
  found.open_files = soft(RLIMIT_NOFILE, found.open_files);
  found.stack_bytes = soft(RLIMIT_STACK, found.stack_bytes);
  found.core_bytes = soft(RLIMIT_CORE, found.core_bytes);
  return found;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string text = name.data();
  return text.substr(0, text.find('.'));
}

std::string local_time(std::uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  std::array<char, 32> text{};
  localtime_r(&seconds, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::optional<std::int64_t> unix_of(const LocalMinute& minute) {
  constexpr int kFirstYear = 1900;
  std::tm parts{};
  parts.tm_year = minute.year - kFirstYear;
  parts.tm_mon = minute.month - 1;
  parts.tm_mday = minute.day;
  parts.tm_hour = minute.hour;
  parts.tm_min = minute.minute;
  parts.tm_isdst = -1;  // The time zone knows.
  const std::time_t seconds = std::mktime(&parts);
  // A minute that does not exist is moved to one that does: 02-31 to 03-03.
  const bool is_kept = parts.tm_year == minute.year - kFirstYear &&
                       parts.tm_mon == minute.month - 1 && parts.tm_mday == minute.day &&
                       parts.tm_hour == minute.hour && parts.tm_min == minute.minute;
  return seconds == -1 || !is_kept ? std::nullopt : std::optional(std::int64_t{seconds} * 1000);
}

std::optional<std::string> ask(const std::string& question) {
  std::cerr << question << std::flush;
  std::string line;
  return std::getline(std::cin, line) ? std::optional(line) : std::nullopt;
}

/// A link is there even when what it leads to may not be looked at.
bool exists(const std::string& path) {
  return faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

WaitListener progress_listener(const std::string& address) {
  if (isatty(STDERR_FILENO) == 0) {
    return [](Duration) {};
  }
  return [address, is_said = false](Duration waited) mutable {
    if (waited >= kQuietMax && !is_said) {
      is_said = true;
      std::cerr << "muster: waiting for the answer of " << address << " ...\n";
    }
  };
}

/// The terminal that stdout is, if it is one.
Screen screen() {
  if (isatty(STDOUT_FILENO) == 0) {
    return {0, false};
  }
  constexpr std::size_t kColumnsMin = 40;
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  const auto no_colour = environment("NO_COLOR");
  const bool has_colour =
      no_colour.value_or("").empty() && environment("TERM").value_or("dumb") != "dumb";
  return {is_known ? std::max<std::size_t>(size.ws_col, kColumnsMin) : kScreenColumns, has_colour};
}

/// By the person's own pager.
bool page(const std::string& text) {
  const std::string pager = environment("PAGER").value_or("");
  FILE* const pipe = popen(pager.empty() ? "less -FRX 2>/dev/null || cat" : pager.c_str(), "w");
  if (pipe == nullptr) {
    return false;
  }
  std::signal(SIGPIPE, SIG_IGN);  // A reader who leaves the pager early has seen enough.
  std::fwrite(text.data(), 1, text.size(), pipe);
  return pclose(pipe) == 0;
}

}  // namespace

World system_world() {
  World world;
  world.out = &std::cout;
  world.err = &std::cerr;
  world.terminal.is_err = isatty(STDERR_FILENO) != 0;
  world.terminal.screen = screen();
  if (isatty(STDOUT_FILENO) != 0) {
    world.terminal.page = page;
  }
  world.environment = environment;
  world.all_environment = all_environment;
  world.terminal.take_interrupt = take_interrupt;
  world.terminal.bear_broken_pipes = [] { std::signal(SIGPIPE, SIG_IGN); };
  world.connect = [](const std::string& address) {
    return connect_node(address, progress_listener(address));
  };
  world.random_key = random_key;
  world.clock.now = boot_now;
  world.clock.local_time = local_time;
  world.clock.unix_of = unix_of;
  world.clock.unix_ms = [] {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
  };
  world.clock.sleep = [](Duration duration) { std::this_thread::sleep_for(duration); };
  world.user_name = user_name;
  world.shell = {working_directory, shell_settings};
  world.host_name = host_name;
  world.exists = exists;
  world.files = {read_config_file, read_users_file};
  world.files.audit = check_audit_file;
  world.files.queues = read_queues_file;
  world.is_writable = [](const std::string& path) { return access(path.c_str(), W_OK) == 0; };
  if (isatty(STDIN_FILENO) != 0 && world.terminal.is_err) {
    world.terminal.ask = ask;
  }
  world.tickets = {
      new_ticket,
      ticket_line,
      [](const std::string& path) { return gossip::read_secret(path, kTicketTextMax); },
      gossip::write_secret,
      [] { return gossip::why_not_secret(STDOUT_FILENO); },
      new_access,
      [](const std::string& path) {
        return gossip::read_secret(path, kTicketTextMax, "anyone who read it can ask in its name");
      },
      gossip::why_not_replaced};
  world.files.keys = {[](const SignWish& wish) {
                        return sign_as_person(wish, environment("SSH_AUTH_SOCK").value_or(""));
                      },
                      read_key, own_key};
  world.run_agent = run_agent;
  return world;
}

}  // namespace muster::cli
