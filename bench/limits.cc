// Grants that pass a limit, each a real supervisor with two real ranks and a memory of 64 MiB: by a
// rank, by its child, by memory that processes share, by files in its /tmp and /dev/shm, by forks
// without end. Others stay within: page cache, a rank that kills itself, ranks on their processors.
// Neighbours run beside them, several at once, and look at their own memory. Usage:
//
// bench_limits GRANTS SEED        as root; once with each way of this host to hold ranks
// bench_limits GRANTS SEED groups by control groups alone, on a machine that may be an emulated one
// bench_limits planted [groups]   without a limit: that it was passed has to be found
// bench_limits supervise ...      a supervisor
// bench_limits rank KIND FOLDER   a rank

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/edge/isolation/ability_probe.h"
#include "agent/edge/ranks/supervise.h"
#include "agent/edge/supervisor/rank_supervisor.h"
#include "gossip/base/rng.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::uint64_t kMemoryMb = 64;
constexpr std::size_t kTooMuch = std::size_t{2} * (kMemoryMb << 20);
constexpr std::uint64_t kProcesses = 200;
constexpr int kForksMax = 600;  ///< Of a bomb: the host has to live if nothing stops it.
/// A rank that lives on for so long beyond its limit was not held. Far above the 250 ms of a look.
constexpr useconds_t kBeyondUs = 3'000'000;
/// On a machine that may be an emulated one.
constexpr useconds_t kSlowBeyondUs = 24'000'000;
constexpr std::uint32_t kRanks = 2;
constexpr std::size_t kAtOnce = 4;
constexpr Duration kPatience = std::chrono::seconds(120);
constexpr Duration kEachGrant = std::chrono::seconds(10);
constexpr Duration kHold = std::chrono::minutes(10);
const HostId kHost = HostId::from_bytes("0123456789abcdef");

struct Trial {
  const char* kind;
  const char* told;  ///< The beginning of the detail of its ranks; "" = they have none.
  bool ends_well;
};
constexpr Trial kTrials[] = {{"rank", "out of memory: ", false},
                             {"child", "out of memory: ", false},
                             {"shared", "out of memory: ", false},
                             {"files", "out of memory: ", false},
                             {"bomb", "too many processes: ", false},
                             {"cache", "", true},
                             {"cpus", "", true},
                             {"killed", "", false},
                             {"neighbour", "", true}};
constexpr std::size_t kNeighbour = std::size(kTrials) - 1;

// ---- a rank ----

constexpr char kBeyondName[] = "BEYOND_US";

useconds_t beyond_us() {
  const char* const told = getenv(kBeyondName);
  return told == nullptr ? kBeyondUs : static_cast<useconds_t>(std::strtoul(told, nullptr, 10));
}

/// Says when it passes its limit, in its log.
void mark_passing() {
  std::printf("passed %lld\n", static_cast<long long>(to_ms(boot_now().time_since_epoch())));
  std::fflush(stdout);
}

char* memory_of(std::size_t bytes, int flags) {
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  return place == MAP_FAILED ? nullptr : static_cast<char*>(place);
}

int fill(std::size_t bytes, int flags) {
  char* const place = memory_of(bytes, flags);
  if (place == nullptr) {
    return 1;
  }
  for (std::size_t at = 0; at < bytes; at += 4096) {
    place[at] = 1;
    if (at == bytes / 2) {
      mark_passing();
    }
  }
  usleep(beyond_us());
  return 0;
}

int write_files(std::size_t bytes, const std::vector<std::string>& paths) {
  const std::string block(1 << 20, 'x');
  for (const std::string& path : paths) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (std::size_t at = 0; at < bytes / paths.size(); at += block.size()) {
      if (write(file, block.data(), block.size()) <= 0) {
        break;  // The file system is as large as the limit.
      }
    }
    close(file);
  }
  return 0;
}

int run_child() {
  const pid_t child = fork();
  if (child == 0) {
    _exit(fill(kTooMuch, MAP_PRIVATE));
  }
  waitpid(child, nullptr, 0);
  return 0;
}

/// Half of it, seen by four processes: each page counts once, and it is twice the limit all the
/// same.
int run_shared() {
  char* const place = memory_of(kTooMuch, MAP_SHARED);
  if (place == nullptr) {
    return 1;
  }
  std::memset(place, 1, kTooMuch);
  mark_passing();
  for (int i = 0; i < 3; ++i) {
    if (fork() == 0) {
      volatile char sum = 0;
      for (std::size_t at = 0; at < kTooMuch; at += 4096) {
        sum = static_cast<char>(sum + place[at]);
      }
      usleep(beyond_us());
      _exit(0);
    }
  }
  usleep(beyond_us());
  return 0;
}

int run_bomb() {
  for (int i = 0; i < kForksMax; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      usleep(beyond_us() * 2);
      _exit(0);
    }
    if (child < 0) {
      std::printf("fork: %s\n", std::strerror(errno));
      return 1;
    }
    if (i == static_cast<int>(kProcesses)) {
      mark_passing();
    }
  }
  usleep(beyond_us());
  return 0;
}

int run_cache(const std::string& folder) {
  const char* const token = getenv("MUSTER_TOKEN");
  const std::string path = folder + "/" + (token == nullptr ? "" : token);
  write_files(2 * kTooMuch, {path});
  usleep(kBeyondUs / 5);
  return unlink(path.c_str());
}

/// As many processors as threads were told, if the grant has whole ones.
int run_cpus() {
  cpu_set_t own;
  const char* const threads = getenv("OMP_NUM_THREADS");
  if (threads == nullptr || sched_getaffinity(0, sizeof own, &own) != 0) {
    return 1;
  }
  std::printf("%d processors, %s threads\n", CPU_COUNT(&own), threads);
  return CPU_COUNT(&own) == 1 || CPU_COUNT(&own) == sysconf(_SC_NPROCESSORS_ONLN) ? 0 : 1;
}

/// Within its limits: half of the memory, on which it writes and reads for a second.
int run_neighbour() {
  static constexpr std::size_t kOwn = (kMemoryMb << 20) / 4;
  static constexpr int kRounds = 100;
  char* const place = memory_of(kOwn, MAP_PRIVATE);
  for (int round = 0; round < kRounds && place != nullptr; ++round) {
    for (std::size_t at = 0; at < kOwn; at += 4096) {
      if (place[at] != static_cast<char>(round)) {
        return 1;
      }
      place[at] = static_cast<char>(round + 1);
    }
    usleep(10'000);
  }
  return place == nullptr ? 1 : 0;
}

int run_rank(const std::string& kind, const std::string& folder) {
  const char* const local = getenv("LOCAL_RANK");
  const bool is_first = local != nullptr && std::strcmp(local, "0") == 0;
  if (kind == "neighbour") {
    return run_neighbour();
  }
  if (kind == "cpus") {
    return run_cpus();
  }
  if (!is_first) {
    const bool is_over = kind == "cache" || kind == "killed";
    // The kernel refuses forks of the other rank, and this one lives on.
    usleep(is_over ? 0 : kind == "bomb" ? kBeyondUs * 2 : beyond_us() * 2);
    return 0;
  }
  if (kind == "rank") {
    return fill(kTooMuch, MAP_PRIVATE);
  }
  if (kind == "child") {
    return run_child();
  }
  if (kind == "shared") {
    return run_shared();
  }
  if (kind == "files") {
    write_files(kTooMuch, {"/tmp/file", "/dev/shm/file"});
    mark_passing();
    usleep(beyond_us());
    return 0;
  }
  if (kind == "bomb") {
    return run_bomb();
  }
  if (kind == "cache") {
    return run_cache(folder);
  }
  return kind == "killed" ? raise(SIGKILL) : 2;
}

// ---- its host ----

struct Figures {
  std::uint64_t grants = 0;
  std::uint64_t ends = 0;   ///< That a limit has to make.
  std::uint64_t named = 0;  ///< Told by cause, of those.
  std::uint64_t broken = 0;
  std::uint64_t neighbours = 0;
  std::uint64_t touched = 0;
  std::vector<std::int64_t> late_ms;  ///< From passing a limit to the end of the whole grant.
};

class Grants {
 public:
  Grants(const std::string& data, const std::string& folder, const ProbedHost& probed,
         std::uint64_t seed, bool is_planted, bool is_slow)
      : folder_(folder),
        rng_(seed),
        is_planted_(is_planted),
        are_forks_refused_(probed.abilities.has(Ability::kPids)),
        beyond_us_(is_slow ? kSlowBeyondUs : kBeyondUs) {
    RankSupervisorsOptions options;
    options.data_directory = data;
    options.address = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    options.users = {"root", true, false, {"nobody"}};
    options.expects_namespaces = true;
    options.room.abilities = probed.abilities;
    options.room.group_root = probed.group_root;
    options.room.data_directory = data;
    options.room.memory_mb = 1024;
    options.room.processes_base = is_planted ? 10 * kForksMax : kProcesses;
    agent_ = std::make_unique<RankSupervisors>(options);
  }

  Figures play(std::uint64_t count) {
    static_cast<void>(agent_->adopt());
    const Instant deadline = boot_now() + kPatience + kEachGrant * static_cast<int>(count);
    while (figures_.grants < count && boot_now() < deadline) {
      while (open_.size() < kAtOnce && begun_ < count) {
        begin();
      }
      turn();
    }
    figures_.broken += count - figures_.grants;  // The grants that never ended.
    while (!agent_->fds().empty() && boot_now() < deadline) {
      turn();
    }
    return figures_;
  }

 private:
  struct Grant {
    const Trial* trial = nullptr;
    Launch launch;
  };

  void begin() {
    const Token token{1, ++begun_};
    Grant& grant = open_[token];
    // One neighbour at any time.
    const bool has_neighbour = std::any_of(open_.begin(), open_.end(), [](const auto& entry) {
      return entry.second.trial == &kTrials[kNeighbour];
    });
    grant.trial = &kTrials[has_neighbour ? rng_.below(kNeighbour) : kNeighbour];
    grant.launch.record.token = token;
    grant.launch.record.job = JobId(begun_);
    scheduler::JobSpec& spec = grant.launch.record.spec;
    spec.user = "nobody";
    spec.command.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "rank",
                         grant.trial->kind, folder_};
    spec.command.directory = "/";
    spec.command.environment = {std::string(kBeyondName) + "=" + std::to_string(beyond_us_)};
    scheduler::Member& member = grant.launch.member;
    member.host = kHost;
    member.ranks = kRanks;
    member.memory_mb = is_planted_ ? 0 : kMemoryMb;
    member.cpus = std::strcmp(grant.trial->kind, "bomb") == 0 ? 0 : scheduler::kOneCpu;
    grant.launch.record.members = {member};
    agent_->carry_out(Prepare{token, false, kHold, spec.user, member, spec.command.directory});
  }

  void turn() {
    std::vector<pollfd> set;
    for (const int fd : agent_->fds()) {
      set.push_back({fd, POLLIN, 0});
    }
    poll(set.data(), set.size(), 10);
    for (const pollfd& entry : set) {
      if (entry.revents != 0) {
        agent_->on_readable(entry.fd);
      }
    }
    for (const GangAgentInput& input : agent_->take_inputs()) {
      if (const auto* prepared = std::get_if<SupervisorPrepared>(&input)) {
        Grant& grant = open_.at(prepared->token);
        grant.launch.hold_until = boot_now() + kHold;
        agent_->carry_out(grant.launch, {"host"});
      } else if (const auto* ended = std::get_if<AllRanksEnded>(&input)) {
        end(ended->token, ended->results);
      } else if (const auto* failed = std::get_if<LaunchFailed>(&input)) {
        std::printf("# %s\n", failed->text.c_str());
        end(failed->token, {});
      }
    }
  }

  std::string log_of(Token token) const {
    return read_file(agent_->directory_of(token) + "/rank-0.log").value_or("");
  }

  void end(Token token, const std::vector<scheduler::RankResult>& results) {
    const Trial& trial = *open_.at(token).trial;
    const bool is_limit = trial.told[0] != '\0';
    const bool is_killed_whole =
        is_limit && !(are_forks_refused_ && std::strcmp(trial.kind, "bomb") == 0);
    bool is_right = results.size() == kRanks;
    bool is_told = is_right;
    for (const scheduler::RankResult& result : results) {
      const bool is_spared = !is_killed_whole && result.rank != 0;
      const bool has_cause = is_limit && !is_spared;
      is_right = is_right && result.is_success() == (trial.ends_well || is_spared);
      is_told =
          is_told && (has_cause ? result.detail.starts_with(trial.told) : result.detail.empty());
    }
    if (&trial == &kTrials[kNeighbour]) {
      ++figures_.neighbours;
      figures_.touched += is_right ? 0U : 1U;
    } else {
      figures_.broken += is_right && (is_limit || is_told) ? 0U : 1U;
    }
    if (is_limit) {
      ++figures_.ends;
      figures_.named += is_told ? 1U : 0U;
      note_delay(token);
    }
    if (!is_planted_ && !(is_right && is_told)) {
      complain(token, trial, results);
    }
    ++figures_.grants;
    agent_->carry_out(Forget{token});
    open_.erase(token);
  }

  void note_delay(Token token) {
    long long passed = 0;
    if (std::sscanf(log_of(token).c_str(), "passed %lld", &passed) == 1) {
      figures_.late_ms.push_back(to_ms(boot_now().time_since_epoch()) - passed);
    }
  }

  void complain(Token token, const Trial& trial,
                const std::vector<scheduler::RankResult>& results) const {
    std::printf("# grant %s, %s: %s\n", token.text().c_str(), trial.kind,
                log_of(token).substr(0, 200).c_str());
    for (const scheduler::RankResult& result : results) {
      std::printf("#   rank %u: kind %d, code %d, '%s'\n", result.rank,
                  static_cast<int>(result.kind), result.code, result.detail.c_str());
    }
  }

  std::string folder_;
  Rng rng_;
  bool is_planted_;
  bool are_forks_refused_;  ///< By the kernel: the rank that forks fails, and the others go on.
  useconds_t beyond_us_;
  std::unique_ptr<RankSupervisors> agent_;
  std::map<Token, Grant> open_;
  std::uint64_t begun_ = 0;
  Figures figures_;
};

void print(const char* name, std::uint64_t value, const char* unit) {
  std::printf("figure %s %llu %s\n", name, static_cast<unsigned long long>(value), unit);
}

int tell(Figures figures) {
  std::sort(figures.late_ms.begin(), figures.late_ms.end());
  print("limits_grants", figures.grants, "count");
  print("limits_ends", figures.ends, "count");
  print("limits_broken", figures.broken, "count");
  std::printf("figure end_named %.1f %%\n",
              100.0 * static_cast<double>(figures.named) /
                  static_cast<double>(std::max<std::uint64_t>(1, figures.ends)));
  print("neighbours", figures.neighbours, "count");
  print("neighbours_touched", figures.touched, "count");
  if (!figures.late_ms.empty()) {
    print("limit_late_ms_p50",
          static_cast<std::uint64_t>(figures.late_ms[figures.late_ms.size() / 2]), "ms");
    print("limit_late_ms_max", static_cast<std::uint64_t>(figures.late_ms.back()), "ms");
  }
  return figures.broken == 0 && figures.touched == 0 && figures.named == figures.ends ? 0 : 1;
}

/// The ways to hold ranks that are played: without control groups that count, and with those that
/// this host has.
std::vector<ProbedHost> ways_of(const ProbedHost& probed) {
  ProbedHost watched = probed;
  watched.abilities = AbilitySet();
  for (const Ability ability : {Ability::kDevices, Ability::kMounts}) {
    if (probed.abilities.has(ability)) {
      watched.abilities.add(ability);
    }
  }
  return watched.abilities == probed.abilities ? std::vector<ProbedHost>{watched}
                                               : std::vector<ProbedHost>{watched, probed};
}

bool are_all_by_groups(const AbilitySet& abilities) {
  return std::all_of(kAbilities.begin(), kAbilities.end(),
                     [&](Ability ability) { return abilities.has(ability); });
}

int run_all(std::uint64_t grants, std::uint64_t seed, bool is_planted, bool is_by_groups) {
  static constexpr std::uint64_t kPlanted = 20;
  char data[] = "/var/tmp/muster-limits-XXXXXX";
  char folder[] = "/var/tmp/muster-cache-XXXXXX";
  if (geteuid() != 0) {
    std::printf("limits: left out, only root makes ranks of others\n");
    return 0;
  }
  if (mkdtemp(data) == nullptr || mkdtemp(folder) == nullptr || chmod(folder, 01777) != 0) {
    std::perror("limits");
    return 1;
  }
  const ProbedHost probed = probe_abilities(data, true);
  const std::vector<ProbedHost> ways =
      is_by_groups ? std::vector<ProbedHost>{probed} : ways_of(probed);
  int code = 0;
  if (!probed.abilities.has(Ability::kMounts)) {
    std::printf("limits: left out, this host can hold ranks to %s\n",
                probed.abilities.text().c_str());
  } else if (is_by_groups && !are_all_by_groups(probed.abilities)) {
    std::printf("# ranks are held to %s alone\n", probed.abilities.text().c_str());
    code = 1;
  } else if (is_planted) {
    const Figures figures = Grants(data, folder, ways.front(), 1, true, false).play(kPlanted);
    print("limits_planted_found", figures.broken, "count");
    code = figures.ends > 0 && figures.broken == figures.ends ? 0 : 1;
  } else {
    for (const ProbedHost& way : ways) {
      std::printf("# ranks are held to %s\n", way.abilities.text().c_str());
      code |= tell(Grants(data, folder, way, seed, false, is_by_groups).play(grants));
    }
  }
  std::error_code ignored;
  std::filesystem::remove_all(data, ignored);
  std::filesystem::remove_all(folder, ignored);
  return code;
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "supervise") {
    return muster::agent::supervise_main(argc, argv);
  }
  if (first == "rank" && argc == 4) {
    return muster::agent::run_rank(argv[2], argv[3]);
  }
  const bool is_planted = first == "planted";
  const int numbers = is_planted ? 1 : 2;
  const bool is_by_groups = argc == numbers + 2 && std::string_view(argv[argc - 1]) == "groups";
  if (argc != numbers + 1 && !is_by_groups) {
    std::fprintf(stderr, "usage: bench_limits GRANTS SEED [groups] | planted [groups]\n");
    return 2;
  }
  return muster::agent::run_all(is_planted ? 0 : std::strtoull(argv[1], nullptr, 10),
                                is_planted ? 0 : std::strtoull(argv[2], nullptr, 10), is_planted,
                                is_by_groups);
}
