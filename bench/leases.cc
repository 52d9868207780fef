// Grants of many hosts through the death of a leader: three real agents, whose leader is killed,
// and a farm of simulated hosts in this process (bench/lease_farm.h).
//
//   bench_leases PORT HOSTS --ticket FILE [--flood-ms N] [--relays 0|1] [--gang N] [--join N]
//   [--steady N]
//       [--after N] [--patience N] -- IP:PORT=PID=SOCKET...
//
// The ticket in FILE lets in a host that may vote: the authority's secret comes with it.
// Prints `figure` lines; exits 1 if some host did not get its grant or keep it.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/quorum.h"
#include "agent/api/request.h"
#include "agent/edge/join/joiner.h"
#include "bench/lease_farm.h"
#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/zmq_client.h"

namespace muster::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAnswer = seconds(10);
constexpr Duration kStep = milliseconds(100);
constexpr std::size_t kSubmitsInFlight = 64;

struct Real {
  std::string address;
  pid_t pid = 0;
  std::string socket;
  RealAgent agent;
};

struct Plan {
  std::uint16_t port = 0;
  std::string ticket_path;
  std::size_t hosts = 0;
  Duration flood = milliseconds(100);
  bool relays = true;
  std::size_t gang_hosts = 20;
  std::size_t joins_a_second = 250;
  Duration steady = seconds(30);
  Duration after = seconds(30);
  Duration patience = seconds(240);
  std::vector<Real> agents;
};

/// One connection of a client to an agent, for one request after the other.
class Asker {
 public:
  bool connect(const std::string& socket) {
    auto client = gossip::ZmqClient::connect("ipc://" + socket);
    if (!client) {
      std::fprintf(stderr, "bench_leases: %s\n", client.error().text.c_str());
      return false;
    }
    client_.emplace(std::move(client).value());
    return true;
  }
  bool send(agent::Verb verb, std::string arguments) {
    agent::Request request;
    request.verb = verb;
    request.arguments = std::move(arguments);
    gossip::Envelope envelope;
    envelope.version = kProtocolVersion;
    envelope.type = gossip::MessageType::kRequest;
    envelope.nonce = Nonce(++nonce_);
    return static_cast<bool>(client_->send(gossip::encode(envelope, agent::encode(request))));
  }
  std::optional<agent::Response> receive(Duration timeout) {
    auto bytes = client_->receive(timeout);
    if (!bytes || !bytes->has_value()) {
      return std::nullopt;
    }
    const auto message = gossip::decode(std::move(**bytes));
    return message ? agent::decode_response(message->body()) : std::nullopt;
  }
  template <class T>
  std::optional<T> ask(agent::Verb verb) {
    const auto response = send(verb, "") ? receive(kAnswer) : std::nullopt;
    return response ? agent::decode_payload<T>(response->payload) : std::nullopt;
  }

 private:
  std::optional<gossip::ZmqClient> client_;
  std::uint64_t nonce_ = 0;
};

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

void figure(const char* name, double value, const char* unit) {
  std::printf("figure %s %.4g %s\n", name, value, unit);
  std::fflush(stdout);
}

/// CPU time of one thread of a process, in seconds; of all threads if the name of its file is "".
double cpu_of(const std::string& stat_file) {
  std::ifstream file(stat_file);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  std::istringstream fields(all.substr(std::min(all.size(), all.rfind(')') + 1)));
  std::string word;
  double ticks = 0;
  for (int i = 0; i <= 12 && fields >> word; ++i) {
    ticks += i >= 11 ? std::strtod(word.c_str(), nullptr) : 0;
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double cpu_of(pid_t pid) {
  return cpu_of("/proc/" + std::to_string(pid) + "/stat");
}

double rss_mb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmRSS:")) {
      return std::strtod(line.c_str() + 6, nullptr) / 1024;
    }
  }
  return 0;
}

double own_cpu() {
  return cpu_of(getpid());
}

Duration quantile(std::vector<Duration> values, double share) {
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values.empty() ? Duration(0) : values[std::min(at, values.size() - 1)];
}

class Bench {
 public:
  explicit Bench(Plan plan) : plan_(std::move(plan)), began_(boot_now()) {}

  int run() {
    if (!meet() || !join() || !give_grants()) {
      return 1;
    }
    measure_steady();
    return kill_leader() ? 0 : 1;
  }

 private:
  template <class Condition>
  bool wait_for(const char* what, Condition condition) {
    const Instant until = boot_now() + plan_.patience;
    Instant told = boot_now();
    while (!condition()) {
      if (boot_now() > until) {
        std::fprintf(stderr, "bench_leases: not in time: %s\n", what);
        tell(what);
        return false;
      }
      if (boot_now() - told > seconds(5)) {
        told = boot_now();
        tell(what);
      }
      farm_->run_until(boot_now() + kStep);
    }
    tell(what);
    return true;
  }

  void tell(const char* what) {
    const LeaseFarm::Counts& counts = farm_->counts();
    std::printf(
        "# %6.1f s %s: registered %zu running %zu acks %llu dials %llu dialled %llu lost "
        "%llu ended %zu; cpu own %.1f agents",
        seconds_of(boot_now() - began_), what, farm_->registered(), farm_->running(),
        static_cast<unsigned long long>(counts.acks), static_cast<unsigned long long>(counts.dials),
        static_cast<unsigned long long>(counts.dialled),
        static_cast<unsigned long long>(counts.lost_links), farm_->ended(), own_cpu());
    for (const Real& real : plan_.agents) {
      std::printf(" %s %.1f s %.0f MB", real.agent.name.c_str(), cpu_of(real.pid),
                  rss_mb(real.pid));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  bool meet() {
    FarmOptions options;
    options.hosts = plan_.hosts;
    options.port = plan_.port;
    options.flood = plan_.flood;
    options.relays = plan_.relays;
    for (Real& real : plan_.agents) {
      Asker asker;
      const auto info = asker.connect(real.socket)
                            ? asker.ask<agent::VersionInfo>(agent::Verb::kVersion)
                            : std::nullopt;
      const auto control = gossip::Endpoint::parse(real.address, 0);
      if (!info.has_value() || !control.has_value()) {
        return false;
      }
      real.agent = {info->host, *control, info->host_name};
      options.cluster = info->cluster;
      options.agents.push_back(real.agent);
    }
    if (!be_let_in(options)) {
      return false;
    }
    farm_ = std::make_unique<LeaseFarm>(options, boot_now());
    return farm_->listen();
  }

  /// The first host of the farm.
  bool be_let_in(FarmOptions& options) const {
    std::ifstream file(plan_.ticket_path);
    std::string ticket;
    std::getline(file, ticket);
    auto joined = agent::join_with(farm_key(0), farm_name(0), ticket);
    if (!joined || joined->authority_seed.empty()) {
      std::fprintf(
          stderr, "bench_leases: %s\n",
          joined ? "the ticket is none of a host that may vote" : joined.error().text.c_str());
      return false;
    }
    options.membership = *std::move(joined);
    for (RealAgent& agent : options.agents) {
      for (const agent::Contact& contact : options.membership.contacts) {
        agent.link_key = contact.host == agent.host ? contact.link_key : agent.link_key;
      }
      if (agent.link_key.empty()) {
        std::fprintf(stderr, "bench_leases: nobody told the key of %s\n", agent.name.c_str());
        return false;
      }
    }
    return true;
  }

  Real* real_of(HostId host) {
    const auto found = std::find_if(plan_.agents.begin(), plan_.agents.end(),
                                    [&](const Real& real) { return real.agent.host == host; });
    return found == plan_.agents.end() ? nullptr : &*found;
  }

  bool join() {
    farm_->introduce();
    Asker asker;
    std::optional<agent::QuorumInfo> quorum;
    farm_->run_until(boot_now() + seconds(2));
    if (!asker.connect(plan_.agents[0].socket) || !wait_for("introduced", [&] {
          quorum = asker.ask<agent::QuorumInfo>(agent::Verb::kQuorum);
          return quorum.has_value() && real_of(quorum->leader) != nullptr;
        })) {
      return false;
    }
    leader_ = *real_of(quorum->leader);
    const auto at_once = std::max<std::size_t>(1, plan_.joins_a_second / 10);
    const Instant began = boot_now();
    const bool all = wait_for("registered", [&] {
      if (farm_->told() < farm_->hosts()) {
        farm_->tell_leader(boot_now(), at_once, quorum->leader, quorum->term);
      }
      return farm_->registered() == farm_->hosts();
    });
    figure("leases_join", seconds_of(boot_now() - began), "s");
    return all;
  }

  bool give_grants() {
    Asker asker;
    if (!asker.connect(leader_.socket)) {
      return false;
    }
    const std::size_t jobs = (plan_.hosts + plan_.gang_hosts - 1) / plan_.gang_hosts;
    const Instant began = boot_now();
    double submitted = 0;
    std::atomic<int> answered{-1};  // Set by the thread: whether all of them were.
    std::thread submits([&] {
      const bool all = submit_all(asker, jobs);
      submitted = seconds_of(boot_now() - began);
      answered = all ? 1 : 0;
    });
    const bool all =
        wait_for("granted", [&] { return answered == 0 || farm_->running() == farm_->hosts(); });
    submits.join();
    if (!all || answered == 0) {
      return false;
    }
    figure("leases_submits_per_s", static_cast<double>(jobs) / submitted, "1/s");
    figure("leases_grants_per_s",
           static_cast<double>(farm_->hosts()) / seconds_of(boot_now() - began), "1/s");
    figure("leases_start_to_run_p99", seconds_of(quantile(farm_->start_times(), 0.99)), "s");
    leader_ = *real_of(farm_->leader());
    return true;
  }

  /// False if some were not answered in time.
  bool submit_all(Asker& asker, std::size_t jobs) const {
    std::size_t sent = 0;
    for (std::size_t answered = 0; answered < jobs;) {
      for (; sent < jobs && sent < answered + kSubmitsInFlight; ++sent) {
        agent::SubmitArgs args;
        char key[33];
        std::snprintf(key, sizeof key, "%032zx", sent + 1);
        args.key = key;
        args.spec.name = "lease";
        args.spec.user = "bench";
        const std::size_t hosts = std::min(plan_.gang_hosts, plan_.hosts - sent * plan_.gang_hosts);
        args.spec.request.gpus = static_cast<std::uint32_t>(hosts * FarmOptions().gpus);
        args.spec.command.argv = {"/bin/sleep", "3600"};
        args.spec.command.directory = "/";
        if (!asker.send(agent::Verb::kSubmit, agent::encode_payload(args))) {
          break;  // Its queue is full.
        }
      }
      const auto answer = asker.receive(kAnswer);
      if (!answer.has_value() || answer->status != agent::ResponseStatus::kOk) {
        return false;
      }
      ++answered;
    }
    return true;
  }

  void measure_steady() {
    farm_->run_until(boot_now() + seconds(12));  // Until the load of the grants is over.
    tell("settled");
    farm_->watch_gaps(boot_now());
    const LeaseFarm::Counts before = farm_->counts();
    const double own = own_cpu();
    std::vector<double> cpu;
    for (const Real& real : plan_.agents) {
      cpu.push_back(cpu_of(real.pid));
    }
    const Instant began = boot_now();
    farm_->run_until(began + plan_.steady);
    const double took = seconds_of(boot_now() - began);
    const LeaseFarm::Counts& after = farm_->counts();
    for (std::size_t i = 0; i < plan_.agents.size(); ++i) {
      const Real& real = plan_.agents[i];
      const double percent = (cpu_of(real.pid) - cpu[i]) / took * 100;
      if (real.pid == leader_.pid) {
        figure("leader_cpu_pct", percent, "%");
        figure("leases_leader_rss", rss_mb(real.pid), "MB");
      } else {
        std::printf("# follower %s cpu %.2f %% rss %.0f MB\n", real.agent.name.c_str(), percent,
                    rss_mb(real.pid));
      }
    }
    figure("leases_load_cpu", (own_cpu() - own) / took * 100, "%");
    figure("leases_acks_per_s", static_cast<double>(after.acks - before.acks) / took, "1/s");
    figure("leases_messages_in", static_cast<double>(after.sent - before.sent) / took, "1/s");
    figure("leases_messages_out", static_cast<double>(after.heard - before.heard) / took, "1/s");
    figure("leases_bytes_in", static_cast<double>(after.sent_bytes - before.sent_bytes) / took,
           "B/s");
    figure("leases_bytes_out", static_cast<double>(after.heard_bytes - before.heard_bytes) / took,
           "B/s");
    tell_gaps("leases_steady_gap");
    tell_types(before);
  }

  void tell_types(const LeaseFarm::Counts& before) {
    const LeaseFarm::Counts& after = farm_->counts();
    const auto line = [](const char* way, auto now, auto then) {
      std::printf("# %s by type:", way);
      for (const auto& [type, count] : now) {
        std::printf(" %d:%llu", static_cast<int>(type),
                    static_cast<unsigned long long>(count - then[type]));
      }
      std::printf("\n");
    };
    line("sent", after.sent_types, before.sent_types);
    line("heard", after.heard_types, before.heard_types);
  }

  Duration tell_gaps(const std::string& name) {
    const LeaseFarm::Gaps gaps = farm_->gaps(boot_now());
    const auto quantiles = [&](const std::string& of, const std::vector<Duration>& values) {
      figure((of + "_p50").c_str(), seconds_of(quantile(values, 0.5)), "s");
      figure((of + "_p99").c_str(), seconds_of(quantile(values, 0.99)), "s");
      figure((of + "_max").c_str(), seconds_of(quantile(values, 1.0)), "s");
    };
    quantiles(name, gaps.between);
    quantiles(name + "_of_hold", gaps.from_send);
    std::printf("# %zu hosts without any acknowledgement\n", gaps.never);
    return quantile(gaps.between, 1.0);
  }

  bool kill_leader() {
    farm_->watch_gaps(boot_now());
    const LeaseFarm::Counts before = farm_->counts();
    const Instant killed = boot_now();
    const HostId old = farm_->leader();
    kill(leader_.pid, SIGKILL);
    std::vector<double> cpu;
    for (const Real& real : plan_.agents) {
      cpu.push_back(cpu_of(real.pid));
    }
    if (!wait_for("another leader", [&] { return farm_->leader() != old; })) {
      return false;
    }
    figure("leases_leader_known", seconds_of(boot_now() - killed), "s");
    const Real& next = *real_of(farm_->leader());
    for (Duration at = seconds(1); at <= plan_.after; at += seconds(1)) {
      farm_->run_until(killed + at);
      const LeaseFarm::Gaps gaps = farm_->gaps(boot_now());
      const auto waiting = std::count_if(gaps.from_send.begin(), gaps.from_send.end(),
                                         [](Duration gap) { return gap > seconds(10); });
      std::printf("# %2.0f s after: acks %llu over 10 s %ld never %zu leader cpu %.2f load %.1f\n",
                  seconds_of(at), static_cast<unsigned long long>(farm_->counts().acks),
                  static_cast<long>(waiting), gaps.never, cpu_of(next.pid), own_cpu());
    }
    tell("after");
    figure("lease_gap_s", seconds_of(tell_gaps("leases_gap")), "s");
    tell_types(before);
    for (std::size_t i = 0; i < plan_.agents.size(); ++i) {
      if (plan_.agents[i].pid == next.pid) {
        figure("leases_new_leader_cpu",
               (cpu_of(next.pid) - cpu[i]) / seconds_of(boot_now() - killed) * 100, "%");
      }
    }
    figure("leases_hosts", static_cast<double>(farm_->hosts()), "");
    figure("leases_grants_lost", static_cast<double>(farm_->ended()), "");
    return farm_->ended() == 0;
  }

  Plan plan_;
  Instant began_;
  std::unique_ptr<LeaseFarm> farm_;
  Real leader_;
};

bool read_words(const std::vector<std::string>& words, Plan& plan) {
  if (words.size() < 3) {
    return false;
  }
  plan.port = static_cast<std::uint16_t>(std::atoi(words[0].c_str()));
  plan.hosts = std::strtoull(words[1].c_str(), nullptr, 10);
  std::size_t i = 2;
  for (; i + 1 < words.size() && words[i] != "--"; i += 2) {
    const long value = std::atol(words[i + 1].c_str());
    if (words[i] == "--ticket") {
      plan.ticket_path = words[i + 1];
    } else if (words[i] == "--flood-ms") {
      plan.flood = milliseconds(value);
    } else if (words[i] == "--relays") {
      plan.relays = value != 0;
    } else if (words[i] == "--gang") {
      plan.gang_hosts = static_cast<std::size_t>(std::max(value, 1L));
    } else if (words[i] == "--join") {
      plan.joins_a_second = static_cast<std::size_t>(value);
    } else if (words[i] == "--steady") {
      plan.steady = seconds(value);
    } else if (words[i] == "--after") {
      plan.after = seconds(value);
    } else if (words[i] == "--patience") {
      plan.patience = seconds(value);
    } else {
      return false;
    }
  }
  for (++i; i < words.size(); ++i) {
    const std::size_t at = words[i].find('=');
    const std::size_t then = words[i].find('=', at + 1);
    if (at == std::string::npos || then == std::string::npos) {
      return false;
    }
    plan.agents.push_back({words[i].substr(0, at),
                           std::atoi(words[i].c_str() + at + 1),
                           words[i].substr(then + 1),
                           {}});
  }
  return plan.port != 0 && plan.hosts > 0 && plan.agents.size() == 3;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  muster::bench::Plan plan;
  if (!muster::bench::read_words({argv + 1, argv + argc}, plan)) {
    std::fprintf(stderr, "usage: see the head of bench/leases.cc\n");
    return 2;
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return muster::bench::Bench(std::move(plan)).run();
}
