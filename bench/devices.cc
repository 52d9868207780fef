// Grants with random GPUs over 16 device nodes (major 195, no driver behind them), each a real
// supervisor with real ranks. Each rank opens every node: in its /dev, and in a folder where all of
// them lie open to everybody, as a leaked descriptor or a careless image would show them. ENXIO
// says that the kernel let it through to a driver that is not there; else EPERM or ENOENT. Usage:
//
// bench_devices GRANTS SEED [AT_ONCE]     as root; makes a mount namespace of its own
// bench_devices planted         the same with one of the two ways missing: it has to be found
// bench_devices supervise ...   a supervisor
// bench_devices rank FOLDER     a rank

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/edge/isolation/ability_probe.h"
#include "agent/edge/isolation/device_nodes.h"
#include "agent/edge/ranks/supervise.h"
#include "agent/edge/supervisor/rank_supervisor.h"
#include "gossip/base/rng.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::uint32_t kGpus = 16;
constexpr std::uint32_t kNvidiaMajor = 195;
constexpr std::uint32_t kControlMinor = 255;
constexpr std::uint64_t kAtOnce = 4;
constexpr std::uint32_t kRanksMax = 3;
constexpr Duration kPatience = std::chrono::seconds(240);
const HostId kHost = HostId::from_bytes("0123456789abcdef");

std::string uuid_of(std::uint32_t minor) {
  return "GPU-" + std::to_string(minor);
}

/// The errno of opening it; 0 = it was opened.
int opened(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const int code = fd < 0 ? errno : 0;
  if (fd >= 0) {
    close(fd);
  }
  return code;
}

/// Prints what is wrong; as exit status, whether there was anything.
int run_rank(const std::string& folder) {
  std::set<std::string> own;
  const char* const said = getenv("CUDA_VISIBLE_DEVICES");
  const std::string visible = said == nullptr ? "" : said;
  for (std::size_t at = 0; at < visible.size();) {
    const std::size_t end = std::min(visible.find(',', at), visible.size());
    own.insert(visible.substr(at, end - at));
    at = end + 1;
  }
  int wrong = 0;
  const auto expect = [&](const std::string& path, std::set<int> codes) {
    const int code = opened(path);
    if (!codes.contains(code)) {
      std::printf("%s: %s\n", path.c_str(), std::strerror(code));
      ++wrong;
    }
  };
  for (std::uint32_t minor = 0; minor < kGpus; ++minor) {
    const std::string name = "/nvidia" + std::to_string(minor);
    const bool is_own = own.contains(uuid_of(minor));
    expect("/dev" + name, {is_own ? ENXIO : ENOENT});
    expect(folder + name, {is_own ? ENXIO : EPERM});
  }
  expect("/dev/nvidiactl", {ENXIO});
  expect("/dev/null", {0});
  expect(folder + "/disk", {EPERM});
  const std::string made = "/tmp/made" + std::to_string(getpid());
  if (mknod(made.c_str(), S_IFCHR | 0666, makedev(kNvidiaMajor, 0)) == 0) {
    std::printf("it made a node\n");
    ++wrong;
  }
  return wrong == 0 ? 0 : 1;
}

bool make_node(const std::string& path, mode_t type, unsigned major_number, unsigned minor_number) {
  return mknod(path.c_str(), type | 0666, makedev(major_number, minor_number)) == 0 &&
         chmod(path.c_str(), 0666) == 0;
}

/// A /dev of this process and its children alone, with what a host of 16 GPUs has, and `folder`
/// with all of it once more.
bool make_devices(const std::string& folder) {
  const std::string stage = folder + "/stage";
  const std::map<std::string, std::pair<unsigned, unsigned>> usual = {
      {"null", {1, 3}},    {"zero", {1, 5}}, {"full", {1, 7}}, {"random", {1, 8}},
      {"urandom", {1, 9}}, {"tty", {5, 0}},  {"ptmx", {5, 2}}};
  bool is_made = unshare(CLONE_NEWNS) == 0 &&
                 mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                 mount("tmpfs", folder.c_str(), "tmpfs", MS_NOSUID, "mode=755") == 0 &&
                 mkdir(stage.c_str(), 0755) == 0 &&
                 mount("tmpfs", stage.c_str(), "tmpfs", MS_NOSUID, "mode=755") == 0 &&
                 make_node(folder + "/disk", S_IFBLK, 7, 0);
  for (const auto& [name, number] : usual) {
    is_made = is_made && make_node(stage + "/" + name, S_IFCHR, number.first, number.second);
  }
  for (const std::string& place : {folder, stage}) {
    for (std::uint32_t minor = 0; minor < kGpus; ++minor) {
      const std::string path = place + "/nvidia" + std::to_string(minor);
      is_made = is_made && make_node(path, S_IFCHR, kNvidiaMajor, minor);
    }
  }
  return is_made && make_node(stage + "/nvidiactl", S_IFCHR, kNvidiaMajor, kControlMinor) &&
         mount(stage.c_str(), "/dev", nullptr, MS_MOVE, nullptr) == 0;
}

struct Figures {
  std::uint64_t grants = 0;
  std::uint64_t ranks = 0;
  std::uint64_t wrong = 0;
  std::vector<Duration> preparing;  ///< Of each grant.
};

double ms(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void print_preparing(std::vector<Duration> preparing) {
  if (preparing.empty()) {
    return;
  }
  std::sort(preparing.begin(), preparing.end());
  double sum = 0;
  for (const Duration each : preparing) {
    sum += ms(each);
  }
  const std::size_t count = preparing.size();
  std::printf("figure prepare_ms %.1f ms\n", sum / static_cast<double>(count));
  std::printf("figure prepare_ms_p50 %.1f ms\n", ms(preparing[count / 2]));
  std::printf("figure prepare_ms_p99 %.1f ms\n", ms(preparing[count * 99 / 100]));
}

class Grants {
 public:
  Grants(const std::string& data, const std::string& folder, const ProbedHost& probed,
         std::uint64_t seed)
      : folder_(folder), rng_(seed) {
    RankSupervisorsOptions options;
    options.data_directory = data;
    options.address = gossip::Endpoint::ipv4(127, 0, 0, 1, 0);
    options.users = {"root", true, false, {"nobody"}};
    options.expects_namespaces = true;
    options.room.abilities = probed.abilities;
    options.room.group_root = probed.group_root;
    options.room.data_directory = data;
    options.room.memory_mb = 64;
    for (std::uint32_t minor = 0; minor < kGpus; ++minor) {
      options.room.gpus[uuid_of(minor)] = gpu_node(minor);
    }
    agent_ = std::make_unique<RankSupervisors>(options);
  }

  Figures play(std::uint64_t count, std::uint64_t at_once = kAtOnce) {
    static_cast<void>(agent_->adopt());
    const Instant deadline = boot_now() + kPatience * static_cast<std::int64_t>(count / 100 + 1);
    while (figures_.grants < count && boot_now() < deadline) {
      while (open_.size() < at_once && begun_ < count) {
        begin();
      }
      turn();
    }
    figures_.wrong += count - figures_.grants;  // The grants that never ended.
    while (!agent_->fds().empty() && boot_now() < deadline) {
      turn();  // Their groups are removed when their supervisors are gone.
    }
    return figures_;
  }

 private:
  struct Grant {
    Launch launch;
    Instant began{};
  };

  void begin() {
    const Token token{1, ++begun_};
    Grant& grant = open_[token];
    grant.launch.record.token = token;
    grant.launch.record.job = JobId(begun_);
    scheduler::JobSpec& spec = grant.launch.record.spec;
    spec.user = "nobody";
    spec.command.argv = {own_path(), "rank", folder_};
    spec.command.directory = "/";
    grant.launch.member.host = kHost;
    for (std::uint32_t minor = 0; minor < kGpus; ++minor) {
      if (rng_.below(3) == 0) {
        grant.launch.member.gpus.push_back({uuid_of(minor), 0});
      }
    }
    grant.launch.member.ranks = 1 + static_cast<std::uint32_t>(rng_.below(kRanksMax));
    grant.launch.record.members = {grant.launch.member};
    grant.began = boot_now();
    agent_->carry_out(Prepare{token, false, std::chrono::minutes(1), spec.user, grant.launch.member,
                              spec.command.directory});
  }

  static std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

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
        launch(prepared->token);
      } else if (const auto* ended = std::get_if<AllRanksEnded>(&input)) {
        end(ended->token, ended->results);
      } else if (const auto* failed = std::get_if<LaunchFailed>(&input)) {
        std::printf("# %s\n", failed->text.c_str());
        end(failed->token, {});
      }
    }
  }

  void launch(Token token) {
    Grant& grant = open_.at(token);
    figures_.preparing.push_back(boot_now() - grant.began);
    grant.launch.hold_until = boot_now() + std::chrono::minutes(1);
    agent_->carry_out(grant.launch, {"host"});
  }

  void end(Token token, const std::vector<scheduler::RankResult>& results) {
    const std::uint32_t wanted = open_.at(token).launch.member.ranks;
    std::uint32_t good = 0;
    for (const scheduler::RankResult& result : results) {
      good += result.is_success() ? 1U : 0U;
    }
    if (good != wanted) {
      std::printf("# grant %s: %u of %u ranks found what they should\n", token.text().c_str(), good,
                  wanted);
      for (const scheduler::RankResult& result : results) {
        const std::string log =
            agent_->directory_of(token) + "/rank-" + std::to_string(result.rank) + ".log";
        std::printf("# %s\n", read_file(log).value_or("").substr(0, 300).c_str());
      }
    }
    figures_.wrong += wanted - good;
    figures_.ranks += wanted;
    ++figures_.grants;
    agent_->carry_out(Forget{token});
    open_.erase(token);
  }

  std::string folder_;
  Rng rng_;
  std::unique_ptr<RankSupervisors> agent_;
  std::map<Token, Grant> open_;
  std::uint64_t begun_ = 0;
  Figures figures_;
};

/// Without one of the two ways to hold ranks, some see a device too many.
int run_planted(const std::string& data, const std::string& folder, const ProbedHost& probed) {
  static constexpr std::uint64_t kGrants = 20;
  std::uint64_t found = 0;
  for (const Ability held : {Ability::kDevices, Ability::kMounts}) {
    ProbedHost lesser = probed;
    lesser.abilities = AbilitySet().add(held);
    found += Grants(data, folder, lesser, 1).play(kGrants).wrong > 0 ? 1U : 0U;
  }
  std::printf("figure devices_planted_found %llu count\n", static_cast<unsigned long long>(found));
  return found == 2 ? 0 : 1;
}

void remove_places(const char* data, const char* folder) {
  std::error_code ignored;
  std::filesystem::remove_all(data, ignored);
  umount2(folder, MNT_DETACH);
  rmdir(folder);
}

struct Wish {
  std::uint64_t grants = 0;
  std::uint64_t seed = 0;
  std::uint64_t at_once = kAtOnce;
  bool is_planted = false;
};

int run_all(const Wish& wish) {
  char data[] = "/var/tmp/muster-devices-XXXXXX";
  char folder[] = "/var/tmp/muster-nodes-XXXXXX";
  if (geteuid() != 0) {
    std::printf("devices: left out, only root makes device nodes\n");
    return 0;
  }
  if (mkdtemp(data) == nullptr || mkdtemp(folder) == nullptr || !make_devices(folder)) {
    std::perror("devices: its own /dev");
    return 1;
  }
  const ProbedHost probed = probe_abilities(data, true);
  if (!probed.abilities.has(Ability::kDevices) || !probed.abilities.has(Ability::kMounts)) {
    std::printf("devices: left out, this host can hold ranks to %s\n",
                probed.abilities.text().c_str());
    return 0;
  }
  if (wish.is_planted) {
    const int status = run_planted(data, folder, probed);
    remove_places(data, folder);
    return status;
  }
  const Figures figures = Grants(data, folder, probed, wish.seed).play(wish.grants, wish.at_once);
  remove_places(data, folder);
  std::printf("figure devices_grants %llu count\n",
              static_cast<unsigned long long>(figures.grants));
  std::printf("figure devices_ranks %llu count\n", static_cast<unsigned long long>(figures.ranks));
  print_preparing(figures.preparing);
  std::printf("figure devices_wrong %llu count\n", static_cast<unsigned long long>(figures.wrong));
  return figures.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "supervise") {
    return muster::agent::supervise_main(argc, argv);
  }
  if (first == "rank" && argc == 3) {
    return muster::agent::run_rank(argv[2]);
  }
  muster::agent::Wish wish;
  wish.is_planted = argc == 2 && first == "planted";
  if (argc != 3 && argc != 4 && !wish.is_planted) {
    std::fprintf(stderr, "usage: bench_devices GRANTS SEED [AT_ONCE] | planted\n");
    return 2;
  }
  if (!wish.is_planted) {
    wish.grants = std::strtoull(argv[1], nullptr, 10);
    wish.seed = std::strtoull(argv[2], nullptr, 10);
    wish.at_once = argc == 4 ? std::strtoull(argv[3], nullptr, 10) : wish.at_once;
  }
  return muster::agent::run_all(wish);
}
