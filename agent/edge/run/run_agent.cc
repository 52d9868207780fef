#include "agent/edge/run/run_agent.h"

#include <malloc.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "agent/edge/disk/data_directory.h"
#include "agent/edge/disk/host_key.h"
#include "agent/edge/event_log.h"
#include "agent/edge/grant/rank_user.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/host/login_names.h"
#include "agent/edge/inheritance.h"
#include "agent/edge/join/unjoined_agent.h"
#include "agent/edge/own_path.h"
#include "agent/edge/ranks/supervise.h"
#include "agent/edge/run/agent_sockets.h"
#include "agent/edge/run/derived_signer.h"
#include "agent/edge/run/event_loop.h"
#include "agent/edge/run/host_hardware.h"
#include "agent/edge/run/host_room.h"
#include "agent/edge/run/socket_links.h"
#include "agent/edge/run/web_parts.h"
#include "agent/roll/authority_book.h"
#include "agent/roll/link_record.h"
#include "agent/step/start_record.h"
#include "crdt/edge/data_lock.h"
#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/login_listener.h"

namespace muster::agent {
namespace {

constexpr rlim_t kFilesWanted = 20'000;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitConflict = 7;

std::string socket_path(const RunOptions& options) {
  return options.data_dir + "/agent.sock";
}

/// The error text of the system does not say how many files are needed.
std::string with_file_limit(const std::string& text) {
  rlimit limit{};
  if (text.find(std::strerror(EMFILE)) == std::string::npos ||
      getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return text;
  }
  return text + ": this process may have " + std::to_string(limit.rlim_cur) +
         " open, and an agent wants " + std::to_string(kFilesWanted) +
         " (50, 4 for each other host and 3 for each rank here): set LimitNOFILE in its unit, or "
         "ulimit -n";
}

int fail(const Error& error) {
  std::fprintf(stderr, "muster agent: %s\n", with_file_limit(error.text).c_str());
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
    case ErrorCode::kDenied:
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
    return *first_error;  // The next start asks for the names again.
  }
  return endpoints;
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

gossip::ZmqTransport::Options ports_of(const RunOptions& options) {
  gossip::ZmqTransport::Options ports;
  ports.control = options.listen;
  ports.bulk = options.listen;
  ports.bulk.port = options.listen.port == 0 ? std::uint16_t{0}
                                             : static_cast<std::uint16_t>(options.listen.port + 1);
  return ports;
}

/// An agent that is about to wait for a ticket says at once that its ports are taken.
Status try_ports(const RunOptions& options) {
  gossip::ZmqTransport::Options ports = ports_of(options);
  ports.link = gossip::LinkKeys::make();
  const auto tried = gossip::ZmqTransport::open(ports);
  return tried ? ok() : Status(tried.error());
}

/// The keys that prove the links of this host: those of the day it joined, until it changed them.
LinkRecord link_of(const MembershipRecord& membership, const crdt::Records& id_records) {
  const std::string base = gossip::LinkKeys::from_seed(membership.link_seed).public_key;
  auto kept = link_record_in(id_records);
  const bool counts = kept.has_value() && kept->base == base;
  return counts ? *std::move(kept) : LinkRecord{base, 0, membership.link_seed, "", "", 0};
}

Result<std::unique_ptr<gossip::ZmqTransport>> open_transport(const RunOptions& options,
                                                             const MembershipRecord& membership,
                                                             const LinkRecord& link,
                                                             const gossip::LoginListener* logins) {
  gossip::ZmqTransport::Options ports = ports_of(options);
  ports.ipc_path = socket_path(options);
  ports.logins = logins;
  ports.link = gossip::LinkKeys::from_seed(link.seed);
  if (link.previous_seed.size() == gossip::kLinkSeedBytes) {
    ports.previous_link = gossip::LinkKeys::from_seed(link.previous_seed);
  }
  auto transport = gossip::ZmqTransport::open(ports);
  for (const Contact& contact : membership.contacts) {
    const auto at = gossip::Endpoint::parse(contact.address, kControlPort);
    if (transport && at.has_value()) {
      (*transport)->expect({*at, contact.link_key});
    }
  }
  return transport;
}

crdt::Field field_of(const Contact& contact) {
  return {{Generation(contact.authority), Sequence(contact.edition)},
          contact.record,
          contact.signature};
}

Credentials credentials_of(const HostKey& key, const MembershipRecord& membership) {
  Credentials own;
  own.signer = std::make_shared<HostKey>(key);
  own.link_seed = membership.link_seed;
  own.key_maker = std::make_shared<HostKeyMaker>();
  own.authority = membership.authority;
  if (!membership.authority_seed.empty()) {
    own.authority_secret = membership.authority_seed;
    own.authority_signer = std::make_shared<HostKey>(HostKey::from_seed(membership.authority_seed));
  }
  own.verifier = std::make_shared<HostKeyVerifier>();
  own.http_signer = std::make_shared<DerivedSigner>(own_domain());
  own.authority_links = membership.authority_links;
  own.founders = membership.founders;
  own.founding_ticket = membership.founding_ticket;
  own.first_admin = membership.first_admin;
  own.first_admin_key = membership.first_admin_key;
  own.records.emplace_back(membership.own.host, field_of(membership.own));
  for (const Contact& contact : membership.contacts) {
    own.records.emplace_back(contact.host, field_of(contact));
    const crdt::Row row = crdt::decode_row(contact.link_row).value_or(crdt::Row());
    const auto link = row.fields.find(static_cast<std::uint32_t>(crdt::FieldId::kLink));
    if (link != row.fields.end()) {
      crdt::Row only_link;
      only_link.fields.insert(*link);
      own.rows.push_back({contact.host, std::move(only_link)});
    }
  }
  return own;
}

Login own_login() {
  const std::string name = name_of_uid(geteuid());
  return {geteuid(), name.empty() ? std::to_string(geteuid()) : name};
}

RankUserRule rank_user_rule(const RunOptions& options) {
  return {own_login().name, geteuid() == 0, options.users.is_shared, options.users.system_users};
}

/// The membership on disk; else blocks until there is one. nullopt if asked to end meanwhile.
Result<std::optional<MembershipRecord>> membership_of(const RunOptions& options, const HostKey& key,
                                                      DataDirectory& data, int stop_fd,
                                                      Upkeep& upkeep) {
  Result<std::optional<MembershipRecord>> known = membership_in(data.recovered().id);
  const auto link = link_record_in(data.recovered().id);
  const bool is_damaged = link.has_value() && link->seed.size() != gossip::kLinkSeedBytes;
  if (!known || (known->has_value() && !is_damaged)) {
    return known;
  }
  if (is_damaged) {
    log_event({Severity::kAlarm,
               "link_key_damaged",
               {{"advice",
                 "no member accepts the link key of this host: join again with a ticket (muster "
                 "ticket, muster join); the host keeps its id and its running jobs"}}});
  }
  if (const Status free = try_ports(options); !free) {
    return free.error();
  }
  UnjoinedOptions unjoined;
  unjoined.ipc_path = socket_path(options);
  unjoined.logins = upkeep.logins();
  unjoined.name = options.name;
  unjoined.control = options.listen;
  unjoined.login = own_login();
  unjoined.stop_fd = stop_fd;
  unjoined.on_turn = [&upkeep] { upkeep.turn(boot_now()); };
  unjoined.ticket_path = options.ticket_path;
  known = wait_for_membership(key, unjoined);
  if (known && known->has_value()) {
    crdt::WriteBatch writes = writes_of(**known);
    writes.push_back({std::string(kLinkRecord), std::nullopt});
    if (!(*known)->cluster.is_zero()) {
      writes.push_back({std::string(kClusterKey), std::string((*known)->cluster.bytes())});
    }
    if (const Status done = data.commit_id(writes); !done) {
      return done.error();
    }
  }
  return known;
}

NodeOptions node_options(const RunOptions& options, const gossip::ZmqTransport& transport) {
  NodeOptions node;
  node.name = options.name;
  node.boot_id = boot_id();
  node.addresses.control = transport.control_endpoint();
  node.addresses.bulk = transport.bulk_endpoint();
  node.unix_ms = unix_now_ms();
  node.clients.login = own_login();
  node.hardware.has_namespaces = can_make_pid_namespace(geteuid() == 0 && !options.users.is_shared);
  if (!node.hardware.has_namespaces) {
    log_event({Severity::kWarn,
               "no_pid_namespaces",
               {{"advice", "denied here: this host takes only jobs with --isolation keep"}}});
  }
  return node;
}

RankSupervisorsOptions supervisors_options(const RunOptions& options, const NodeOptions& node,
                                           const OutputRule& rule, const RoomHost& room) {
  RankSupervisorsOptions supervisors;
  supervisors.data_directory = std::filesystem::absolute(options.data_dir).string();
  supervisors.address = node.addresses.control;
  supervisors.kept.rule = rule;
  supervisors.expects_namespaces = node.hardware.has_namespaces;
  supervisors.users = rank_user_rule(options);
  supervisors.room = room;
  supervisors.unfit = why_unfit(options.users.min_isolation, held_by(options, room.abilities));
  return supervisors;
}

std::unique_ptr<GrantHooks> hooks_of(const RunOptions& options) {
  const std::string data = std::filesystem::absolute(options.data_dir).string();
  return std::make_unique<GrantHooks>(options.hardware.hooks, data + "/epilogs");
}

/// The key of this host, which is durable.
Result<HostKey> key_in(DataDirectory& data) {
  Result<HostKey> key = HostKey::load_or_make(data.recovered().id);
  if (key) {
    if (const Status done = data.commit_id(key->writes()); !done) {
      return done.error();
    }
  }
  return key;
}

void add_contacts(const MembershipRecord& membership, std::vector<gossip::Endpoint>& seeds) {
  for (const Contact& contact : membership.contacts) {
    if (const auto at = gossip::Endpoint::parse(contact.address, kControlPort)) {
      seeds.push_back(*at);
    }
  }
}

/// Before the Node is made: the row of the host tells where HTTPS is.
Status open_door(WebParts& web, LoopParts& parts, NodeAddresses& addresses) {
  auto door = web.open(Rng(random_number()));
  if (!door) {
    return door.error();
  }
  parts.web = *std::move(door);
  parts.web_parts = &web;
  addresses.https = https_place(web.https(), addresses.control);
  return ok();
}

/// One life of the agent: a new generation, a new node. nullopt if asked to end before it began.
Result<std::optional<LoopParts>> make_parts(const RunOptions& options, Generation at_least,
                                            int stop_fd, Upkeep& upkeep, HostHardware& hardware,
                                            WebParts& web) {
  Result<DataDirectory> data = DataDirectory::open(options.data_dir);
  if (!data) {
    return data.error();
  }
  Result<HostKey> key = key_in(*data);
  if (!key) {
    return key.error();
  }
  if (const Status done =
          data->settle(key->host_id(), SeatId(random_number() | 1U), options.is_moved);
      !done) {
    return done.error();
  }
  Result<std::vector<gossip::Endpoint>> seeds = resolve_all(
      options.seeds, options.listen, data->recovered().id.contains(std::string(kClusterKey)));
  Result<HardwareChanged> offer = hardware.offer(key->host_id());
  if (!seeds || !offer) {
    return seeds ? offer.error() : seeds.error();
  }
  const Result<std::optional<MembershipRecord>> membership =
      membership_of(options, *key, *data, stop_fd, upkeep);
  if (!membership) {
    return membership.error();
  }
  if (!membership->has_value()) {
    return std::optional<LoopParts>();
  }
  const StartRecord start = next_start(data->recovered().id, StartId(random_number()), at_least);
  if (const Status done = data->commit_id(start.writes); !done) {
    return done.error();
  }
  add_contacts(**membership, *seeds);
  auto transport = open_transport(options, **membership,
                                  link_of(**membership, data->recovered().id), upkeep.logins());
  if (!transport) {
    return transport.error();
  }
  LoopParts parts;
  parts.transport = std::move(transport).value();
  const Recovered recovered = data->take_recovered();
  parts.storage = std::make_unique<crdt::StorageThread>(data->take_stores());
  NodeOptions node = node_options(options, *parts.transport);
  node.clients.output = upkeep.output_rule();
  node.self = key->host_id();
  node.credentials = credentials_of(*key, **membership);
  node.http_root = web.http_root();
  node.start = start.start;
  node.addresses.seeds = *seeds;
  node.hardware.capacity = std::move(offer->capacity);
  node.hardware.traits = std::move(offer->traits);
  node.hardware.are_watched = offer->are_watched;
  hardware.open_kernel_log(!recovered.id.contains(std::string(kGpusKey)));
  parts.supervisors = std::make_unique<RankSupervisors>(
      supervisors_options(options, node, upkeep.output_rule(), hardware.room()));
  parts.facts = std::make_unique<HostFacts>(options.data_dir);
  parts.hooks = hooks_of(options);
  parts.row_check = std::make_unique<RowCheckThread>(
      authority_in(recovered.id, node.self, node.credentials).authority,
      std::make_unique<HostKeyVerifier>());
  if (const Status opened = open_door(web, parts, node.addresses); !opened) {
    return opened.error();
  }
  parts.node = std::make_unique<Node>(std::move(node), recovered, Rng(random_number()), boot_now());
  return std::optional(std::move(parts));
}

/// They come by this descriptor alone from now on.
int descriptor_of(std::initializer_list<int> numbers) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : numbers) {
    sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
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
  if (options.users.is_shared) {
    log_event({Severity::kWarn,
               geteuid() == 0 ? "ranks_run_as_root" : "ranks_share_a_user",
               {{"user", own_login().name},
                {"advice", "ranks of all jobs run as this user, for shared_user is set"}}});
  }
}

/// Whatever it was started by and from.
Status mend_start(const RunOptions& options) {
  if (const Status mended = mend_inheritance(); !mended) {
    return mended;
  }
  const auto is_relative = [](const std::string& path) { return !path.empty() && path[0] != '/'; };
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  for (const std::string* path :
       {&options.data_dir, &options.log.file, &options.ticket_path, &options.users.audit_file,
        &options.web.certificate, &options.web.key}) {
    if (here.empty() && is_relative(*path)) {
      return Error{
          ErrorCode::kInvalid,
          "the directory in which the agent was started is gone, so " + *path +
              " cannot be resolved: cd to an existing directory, or give an absolute path"};
    }
  }
  return ok();
}

/// Before the agent has threads.
HostHardware hardware_of(const RunOptions& options) {
  const ProbedHost probed = probe_host(options);
  return {options.gpus, traits_of(options, probed.abilities), "/proc/self/exe",
          room_host(probed, options, socket_path(options)), options.hardware};
}

/// nullopt: the agent begins another life.
std::optional<int> exit_code(const RunOptions& options, EventLoop::End end, const EventLoop& loop) {
  switch (end) {
    case EventLoop::End::kStopped:
      return 0;
    case EventLoop::End::kFailed:
      return kExitFailed;
    case EventLoop::End::kRefused:
      return fail({ErrorCode::kConflict, loop.why_refused()});
    case EventLoop::End::kDoubled:
      return fail({ErrorCode::kConflict,
                   "another agent uses the id of this host, so both stop (was " + options.data_dir +
                       " copied?): move the data directory of one of them away, so that it joins "
                       "as a new host, and start the other one again"});
    case EventLoop::End::kRestart:
      break;
  }
  return std::nullopt;
}

}  // namespace

int run_agent(const RunOptions& options) {
  if (const Status mended = mend_start(options); !mended) {
    return fail(mended.error());
  }
  if (const Status opened =
          open_event_log(options.log.is_json, options.log.level, options.log.file);
      !opened) {
    return fail(opened.error());
  }
  if (const Status own = check_own_path(options.data_dir); !own) {
    return fail(own.error());
  }
  Result<crdt::DataLock> lock = crdt::DataLock::acquire(options.data_dir);
  if (!lock) {
    return fail(lock.error());
  }
  const Result<std::optional<gid_t>> group = socket_group(options);
  if (!group) {
    return fail(group.error());
  }
  give_memory_back();
  raise_file_limit();
  warn_of_open_doors(options);
  // Before any thread begins: one that does not block a signal would end with it.
  const int stop_fd = descriptor_of({SIGTERM, SIGINT});
  const int hangup_fd = descriptor_of({SIGHUP});
  std::signal(SIGPIPE, SIG_IGN);
  HostHardware hardware = hardware_of(options);
  Generation at_least;
  LoginNames names;
  std::optional<AuditThread> audit;
  if (!options.users.audit_file.empty()) {
    audit.emplace(
        AuditThread::Options{options.users.audit_file, std::make_shared<HostKeyVerifier>()});
  }
  gossip::LoginListener logins;
  SocketLinks links;
  make_links(options, *group, logins, links);
  Upkeep upkeep({hangup_fd, &links, options.output_rule, options.reread, &logins});
  WebParts web(options, runtime_directory(), *group);
  if (const Status prepared = web.prepare(); !prepared) {
    return fail(prepared.error());
  }
  while (true) {
    Result<std::optional<LoopParts>> parts =
        make_parts(options, at_least, stop_fd, upkeep, hardware, web);
    if (!parts) {
      return fail(parts.error());
    }
    if (!parts->has_value()) {
      return 0;
    }
    (*parts)->stop_fd = stop_fd;
    (*parts)->upkeep = &upkeep;
    (*parts)->hardware = &hardware;
    (*parts)->login_names = &names;
    (*parts)->audit = audit.has_value() ? &*audit : nullptr;
    EventLoop loop(*std::move(parts).value());
    if (const auto code = exit_code(options, loop.run(), loop)) {
      return *code;
    }
    at_least = loop.raise_to();
  }
}

}  // namespace muster::agent
