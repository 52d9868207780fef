#include "agent/edge/run/run_agent.h"

#include <malloc.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "agent/edge/disk/data_directory.h"
#include "agent/edge/disk/host_key.h"
#include "agent/edge/event_log.h"
#include "agent/edge/host/gpu_inventory.h"
#include "agent/edge/run/event_loop.h"
#include "agent/edge/supervisor/supervise.h"
#include "agent/edge/supervisor/supervise_protocol.h"
#include "agent/node/start_record.h"
#include "crdt/edge/data_lock.h"
#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::uint16_t kControlPort = 7450;
constexpr rlim_t kFilesWanted = 20'000;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitConflict = 7;

int fail(const Error& error) {
  std::fprintf(stderr, "muster agent: %s\n", error.text.c_str());
  switch (error.code) {
    case ErrorCode::kConflict:
      return kExitConflict;
    case ErrorCode::kInvalid:
    case ErrorCode::kNotFound:
    case ErrorCode::kImpossible:
      return kExitUsage;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kUnavailable:
    case ErrorCode::kUnknown:
      break;
  }
  return kExitFailed;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

/// Names are resolved once; from then on only addresses travel.
Result<gossip::Endpoint> resolve(const std::string& seed) {
  if (const auto numeric = gossip::Endpoint::parse(seed, kControlPort)) {
    return *numeric;
  }
  const std::size_t colon = seed.rfind(':');
  const std::string host = seed.substr(0, colon);
  const std::string port =
      colon == std::string::npos ? std::to_string(kControlPort) : seed.substr(colon + 1);
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0 || found == nullptr) {
    return Error{ErrorCode::kInvalid, "seed '" + seed + "' has no address; use IP:PORT"};
  }
  char address[NI_MAXHOST] = {};
  getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof address, nullptr, 0,
              NI_NUMERICHOST);
  freeaddrinfo(found);
  const auto endpoint = gossip::Endpoint::parse(std::string(address) + ":" + port, kControlPort);
  if (!endpoint.has_value()) {
    return Error{ErrorCode::kInvalid, "seed '" + seed + "' has no usable address"};
  }
  return *endpoint;
}

/// One name without an address must not keep a host off whom other seeds would take in.
Result<std::vector<gossip::Endpoint>> resolve_all(const std::vector<std::string>& seeds,
                                                  const gossip::Endpoint& own, bool is_member) {
  std::vector<gossip::Endpoint> endpoints;
  std::optional<Error> first_error;
  for (const std::string& seed : seeds) {
    Result<gossip::Endpoint> endpoint = resolve(seed);
    if (endpoint) {
      endpoints.push_back(*endpoint);
      continue;
    }
    log_event({Severity::kWarn, "seed_left_out", {{"why", endpoint.error().text}}});
    first_error = first_error.value_or(endpoint.error());
  }
  const bool has_other = std::any_of(endpoints.begin(), endpoints.end(),
                                     [&](const gossip::Endpoint& each) { return each != own; });
  if (!has_other && !is_member && first_error.has_value()) {
    return *first_error;  // Whoever starts it again asks for the names again.
  }
  return endpoints;
}

Status check_expect(std::uint32_t expect, std::size_t seeds) {
  if (expect != 0 && expect != 1 && expect != 3 && expect != 5) {
    return Error{ErrorCode::kInvalid, "--bootstrap-expect takes 1, 3 or 5 (or 0 to join only)"};
  }
  if (expect > 1 && seeds < expect) {
    return Error{ErrorCode::kInvalid, "--bootstrap-expect " + std::to_string(expect) +
                                          " needs at least as many --seeds; they are " +
                                          std::to_string(seeds)};
  }
  if (expect > 0 && seeds >= 2 * expect) {
    return Error{ErrorCode::kInvalid,
                 "--bootstrap-expect must be more than half of the seeds, or two clusters could "
                 "form; give fewer --seeds"};
  }
  return ok();
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  std::ifstream("/dev/urandom", std::ios::binary)
      .read(reinterpret_cast<char*>(&number), sizeof number);
  return number;
}

/// Large buffers go back to the kernel one by one, and what is free above the heap soon: what a
/// cut or a flood needed for a moment is not kept. By itself glibc raises the first limit to the
/// largest buffer it ever freed, and gives each thread a heap of its own.
void give_memory_back() {
  constexpr int kLargeBytes = 128 << 10;
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, kLargeBytes);
  mallopt(M_ARENA_MAX, 2);
}

Result<std::unique_ptr<gossip::ZmqTransport>> open_transport(const RunOptions& options) {
  gossip::ZmqTransport::Options ports;
  ports.control = options.listen;
  ports.bulk = options.listen;
  ports.bulk.port = options.listen.port == 0 ? std::uint16_t{0}
                                             : static_cast<std::uint16_t>(options.listen.port + 1);
  ports.ipc_path = options.data_dir + "/agent.sock";
  return gossip::ZmqTransport::open(ports);
}

/// A host without --gpus offers none; it can still vote and answer.
Result<crdt::Capacity> read_capacity(const std::string& gpus, HostId host) {
  crdt::Capacity capacity;
  if (gpus.empty()) {
    return capacity;
  }
  Result<Inventory> inventory = read_inventory(gpus, host);
  if (!inventory) {
    return inventory.error();
  }
  capacity.gpu_type = inventory->gpu_type;
  capacity.cpus = inventory->cpus;
  capacity.memory_mb = inventory->memory_mb;
  for (const std::string& uuid : inventory->gpus) {
    capacity.gpus.push_back({uuid, true});
  }
  return capacity;
}

/// One life of the agent: a new generation, a new node.
Result<LoopParts> make_parts(const RunOptions& options, Generation at_least) {
  Result<DataDirectory> data = DataDirectory::open(options.data_dir);
  if (!data) {
    return data.error();
  }
  Result<HostKey> key = HostKey::load_or_make(data->recovered().id);
  if (!key) {
    return key.error();
  }
  const StartRecord start = next_start(data->recovered().id, StartId(random_number()), at_least);
  for (const crdt::WriteBatch& writes : {key->writes(), start.writes}) {
    if (const Status done = data->commit_id(writes); !done) {
      return done.error();
    }
  }
  if (const Status done = data->settle(key->host_id(), SeatId(random_number() | 1U)); !done) {
    return done.error();
  }
  Result<std::vector<gossip::Endpoint>> seeds = resolve_all(
      options.seeds, options.listen, data->recovered().id.contains(std::string(kClusterKey)));
  Result<crdt::Capacity> capacity = read_capacity(options.gpus, key->host_id());
  if (!seeds || !capacity) {
    return seeds ? capacity.error() : seeds.error();
  }
  if (const Status good = check_expect(options.bootstrap_expect, options.seeds.size()); !good) {
    return good.error();
  }
  auto transport = open_transport(options);
  if (!transport) {
    return transport.error();
  }
  LoopParts parts;
  parts.transport = std::move(transport).value();
  const Recovered recovered = data->take_recovered();
  parts.storage = std::make_unique<crdt::StorageThread>(data->take_stores());
  NodeOptions node;
  node.self = key->host_id();
  node.signer = std::make_shared<HostKey>(*key);
  node.start = start.start;
  node.name = options.name;
  node.boot_id = boot_id();
  node.rack = options.rack;
  node.control = parts.transport->control_endpoint();
  node.bulk = parts.transport->bulk_endpoint();
  node.seeds = *seeds;
  node.bootstrap_expect = static_cast<int>(options.bootstrap_expect);
  node.capacity = *capacity;
  node.unix_ms = unix_now_ms();
  node.output_rule = options.output_rule;
  node.has_namespaces = can_make_pid_namespace();
  if (!node.has_namespaces) {
    log_event({Severity::kWarn,
               "no_pid_namespaces",
               {{"advice", "denied here: this host takes only jobs with --isolation keep"}}});
  }
  RankSupervisorsOptions supervisors;
  supervisors.data_directory = std::filesystem::absolute(options.data_dir).string();
  supervisors.address = node.control;
  supervisors.kept.rule = options.output_rule;
  parts.supervisors = std::make_unique<RankSupervisors>(std::move(supervisors));
  parts.row_check = std::make_unique<RowCheckThread>(std::make_unique<HostKeyVerifier>());
  parts.node = std::make_unique<Node>(std::move(node), recovered, Rng(random_number()), boot_now());
  return parts;
}

int stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kFilesWanted) {
    limit.rlim_cur = std::min(kFilesWanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

void warn_of_open_doors(const RunOptions& options) {
  if (!options.listen.is_loopback()) {
    log_event({Severity::kWarn,
               "insecure",
               {{"listen", options.listen.text()},
                {"advice", "anyone who reaches this port can command this host"}}});
  }
  if (geteuid() == 0) {
    log_event({Severity::kWarn, "ranks_run_as_root", {{"advice", "start the agent as a user"}}});
  }
}

}  // namespace

int run_agent(const RunOptions& options) {
  if (const Status opened = open_event_log(options.log_json, options.log_level, options.log_file);
      !opened) {
    return fail(opened.error());
  }
  if (!options.listen.is_loopback() && !options.insecure) {
    return fail({ErrorCode::kInvalid,
                 "hosts do not authenticate each other yet: listen on loopback, or accept that "
                 "with --insecure"});
  }
  Result<crdt::DataLock> lock = crdt::DataLock::acquire(options.data_dir);
  if (!lock) {
    return fail(lock.error());
  }
  give_memory_back();
  raise_file_limit();
  warn_of_open_doors(options);
  const int stop_fd = stop_signals();
  Generation at_least;
  while (true) {
    Result<LoopParts> parts = make_parts(options, at_least);
    if (!parts) {
      return fail(parts.error());
    }
    parts->stop_fd = stop_fd;
    EventLoop loop(std::move(parts).value());
    switch (loop.run()) {
      case EventLoop::End::kStopped:
        return 0;
      case EventLoop::End::kFailed:
        return kExitFailed;
      case EventLoop::End::kDoubled:
        return fail({ErrorCode::kConflict,
                     "another agent lives under the id of this host, so both end (was " +
                         options.data_dir +
                         " copied?); move the data directory of one of them away, it then joins "
                         "as a new host, and start the other again"});
      case EventLoop::End::kRestart:
        at_least = loop.raise_to();
        break;
    }
  }
}

}  // namespace muster::agent
