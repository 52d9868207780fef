#include "agent/edge/run/event_loop.h"

#include <fcntl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "agent/edge/event_log.h"
#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/supervisor/output_file.h"
#include "agent/front/audit_model.h"
#include "agent/node/node_metrics.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

/// The loop looks around at least this often, whatever the machines wait for.
constexpr Duration kTurnMax = std::chrono::seconds(1);
/// A turn that took this much longer than meant: others may not be judged by what we missed.
constexpr Duration kPauseNoticed = std::chrono::milliseconds(500);
/// Between two lines about refused connections.
constexpr Duration kRefusedPeriod = std::chrono::minutes(1);
/// The wall clock of the node may be so far off.
constexpr std::int64_t kWallClockOffMs = 200;
/// The backlog of a pause is over when nothing came for kBacklogQuiet: the transport's own thread
/// has to read it first. Under steady traffic it is over after kBacklogMax: ticks must go on too.
constexpr Duration kBacklogQuiet = std::chrono::milliseconds(5);
constexpr Duration kBacklogMax = std::chrono::milliseconds(250);

using Work = LoopAccount::Work;

/// Signs of life are not kept waiting by the rows that came before them: where those are many, that
/// would be taken for death.
bool goes_first(const gossip::TransportInput& input) {
  const auto* received = std::get_if<gossip::Received>(&input);
  return received == nullptr || gossip::is_vital(received->bytes);
}

std::vector<std::string> hosts_of(const Launch& launch, const crdt::AddressBook& addresses) {
  std::vector<std::string> hosts;
  for (const scheduler::Member& member : launch.record.members) {
    const auto endpoint = addresses.control(member.host);
    hosts.push_back(endpoint.has_value() ? endpoint->ip_text() : addresses.name(member.host));
  }
  return hosts;
}

}  // namespace

EventLoop::EventLoop(LoopParts parts)
    : parts_(std::move(parts)), logins_(*parts_.login_names, geteuid()), metrics_(unix_now_ms()) {
  if (parts_.web != nullptr) {
    parts_.web->tell_metrics(
        [this] { return metrics_.text(boot_now(), [this] { return metrics(); }); });
  }
}

EventLoop::End EventLoop::run() {
  started_ = boot_now();
  drain();
  const Status adopted = parts_.supervisors->adopt();
  if (!adopted) {
    log_event({Severity::kAlarm, "supervisors_unreadable", {{"error", adopted.error().text}}});
    return End::kFailed;
  }
  account_.took(Work::kStart);
  while (!end_.has_value()) {
    wait(std::min({parts_.node->next_deadline(), logins_.next_deadline(),
                   parts_.hardware->next_deadline(), parts_.hooks->next_deadline(),
                   parts_.web == nullptr ? kNever : parts_.web->next_deadline()}));
    look_at_wall_clock();
    tell_refused();
    keep_in_order();
    look_at_hardware();
    look_at_hooks();
    look_at_host();
    account_.took(Work::kWait);
    if (was_paused_) {
      drain_backlog();
    } else {
      take_inputs();
    }
    const Instant now = boot_now();
    if (parts_.node->next_deadline() <= now) {
      parts_.node->tick(now);
      drain();
      account_.took(Work::kTick);
    }
    feed_audit();
  }
  return *end_;
}

void EventLoop::wait(Instant deadline) {
  const Instant before = boot_now();
  const Duration until = deadline <= before   ? Duration(0)
                         : deadline == kNever ? kTurnMax
                                              : std::min<Duration>(kTurnMax, deadline - before);
  std::vector<int> fds = parts_.supervisors->fds();
  const std::size_t supervisors = fds.size();
  const std::vector<int> probers = parts_.hardware->fds();
  fds.insert(fds.end(), probers.begin(), probers.end());
  const std::vector<int> hooks = parts_.hooks->fds();
  fds.insert(fds.end(), hooks.begin(), hooks.end());
  fds.push_back(parts_.storage->fd());
  fds.push_back(parts_.row_check->fd());
  fds.push_back(parts_.login_names->fd());
  fds.push_back(parts_.stop_fd);
  if (parts_.audit != nullptr) {
    fds.push_back(parts_.audit->fd());
  }
  if (parts_.web != nullptr) {
    const std::vector<int> doors = parts_.web->fds();
    fds.insert(fds.end(), doors.begin(), doors.end());
  }
  parts_.transport->wait(until, fds);
  notice_pause(before, until);
  if (parts_.transport->readable(parts_.stop_fd)) {
    on_stop_signal();
  }
  for (const int fd : probers) {
    if (parts_.transport->readable(fd)) {
      parts_.hardware->on_readable(fd);
    }
  }
  for (const int fd : hooks) {
    if (parts_.transport->readable(fd)) {
      parts_.hooks->on_readable(boot_now(), fd);
    }
  }
  fds.resize(supervisors);
  for (const int fd : fds) {
    if (parts_.transport->readable(fd)) {
      parts_.supervisors->on_readable(fd);
    }
  }
}

/// The first asks the node to end, which may hand over before; the second ends it at once.
void EventLoop::on_stop_signal() {
  signalfd_siginfo signal{};
  const bool is_first = !stop_asked_;
  stop_asked_ = true;
  if (is_first && read(parts_.stop_fd, &signal, sizeof signal) == sizeof signal) {
    step(StopAsked{});
  } else {
    end_ = End::kStopped;
  }
}

/// After a freeze the node must know of it before anything is judged.
void EventLoop::notice_pause(Instant before, Duration meant) {
  const Instant now = boot_now();
  const Duration took = now - before;
  metrics_.waited(before, meant, now);
  if (took > meant + kPauseNoticed) {
    was_paused_ = true;
    step(Paused{took - meant});
  }
}

/// People read it beside events: it is told when it jumped, or drifted as far.
void EventLoop::look_at_wall_clock() {
  const Instant now = boot_now();
  const std::int64_t shown = unix_now_ms();
  if (std::abs(shown - told_wall_clock_.unix_ms(now)) > kWallClockOffMs) {
    told_wall_clock_ = WallClock(now, shown);
    step(WallClockSet{shown});
  }
}

/// Logs refused connections: one line in kRefusedPeriod, however many there are.
void EventLoop::tell_refused() {
  const gossip::ZmqTransport::Stats& now = parts_.transport->stats();
  const auto news = [&](std::uint64_t gossip::ZmqTransport::Stats::*count) {
    return now.*count - told_refused_.*count;
  };
  using Stats = gossip::ZmqTransport::Stats;
  const std::uint64_t unknown = news(&Stats::refused_unknown_key);
  const std::uint64_t plain = news(&Stats::refused_no_curve);
  const std::uint64_t malformed = news(&Stats::refused_malformed);
  const std::uint64_t early = news(&Stats::refused_early_tickets);
  const std::uint64_t unfinished = news(&Stats::ended_unfinished);
  const std::uint64_t unproven = news(&Stats::dropped_unproven);
  const std::uint64_t logins = news(&Stats::refused_logins);
  const std::uint64_t failed = news(&Stats::failed_logins);
  const std::uint64_t messages = news(&Stats::held_logins);
  const std::uint64_t all =
      unknown + plain + malformed + early + unfinished + unproven + logins + failed + messages;
  if (all == 0 || boot_now() < tell_refused_at_) {
    return;
  }
  log_event({Severity::kWarn,
             "connections_refused",
             {{"unknown_key", std::to_string(unknown)},
              {"no_key", std::to_string(plain)},
              {"malformed", std::to_string(malformed)},
              {"too_many_joins", std::to_string(early)},
              {"unfinished", std::to_string(unfinished)},
              {"no_longer_admitted", std::to_string(unproven)},
              {"too_many_of_a_login", std::to_string(logins)},
              {"logins_not_passed_on", std::to_string(failed)},
              {"logins_held_back", std::to_string(messages)}}});
  told_refused_ = now;
  tell_refused_at_ = boot_now() + kRefusedPeriod;
  for (const std::string& address : parts_.transport->take_plain_peers()) {
    log_event(
        {Severity::kWarn,
         "peer_without_keys",
         {{"address", address}, {"hint", "only members of the cluster may connect to this port"}}});
  }
}

void EventLoop::keep_in_order() {
  if (parts_.upkeep->turn(boot_now())) {
    parts_.supervisors->keep(parts_.upkeep->output_rule());
    step(OutputRuleSet{parts_.upkeep->output_rule()});
  }
  if (parts_.web_parts != nullptr) {
    parts_.web_parts->turn(boot_now(), *parts_.web);
    if (auto wish = parts_.web_parts->wish(boot_now(), parts_.node->authority().number())) {
      step(CertificateWanted{*std::move(wish)});
    }
  }
  if (const std::uint64_t renewed = parts_.transport->stats().cli_renewed;
      std::exchange(told_renewed_, renewed) != renewed) {
    log_event({Severity::kWarn, "socket_renewed", {{"why", "another process removed it"}}});
  }
}

void EventLoop::look_at_hardware() {
  auto changed = parts_.hardware->take_change(boot_now());
  if (parts_.hardware->take_new_room()) {
    parts_.supervisors->hold_to(parts_.hardware->room());
  }
  if (changed.has_value()) {
    step(*std::move(changed));
  }
  for (gpus::Input& fact : parts_.hardware->take_facts()) {
    step(GpuFact{std::move(fact)});
  }
  for (const Event& event : parts_.hardware->take_events()) {
    log_event(event);
  }
}

/// Carries out what waited for programs of the site.
void EventLoop::look_at_hooks() {
  parts_.hooks->on_time(boot_now());
  for (const Prepare& each : parts_.hooks->take_commands()) {
    parts_.supervisors->carry_out(each);
  }
  for (LaunchFailed& report : parts_.hooks->take_reports()) {
    step(SupervisorReport{std::move(report)});
  }
  for (gpus::Input& fact : parts_.hooks->take_facts()) {
    step(GpuFact{std::move(fact)});
  }
  for (const Event& event : parts_.hooks->take_events()) {
    log_event(event);
  }
}

/// The turns of the loop come often enough for its deadline.
void EventLoop::look_at_host() {
  const Instant now = boot_now();
  if (now < parts_.facts->next_deadline()) {
    return;
  }
  const std::set<std::uint32_t> pids =
      watched_processes(parts_.node->gpus().reading(), parts_.hardware->room().group_root);
  for (health::HostFact& fact : parts_.facts->look(now, pids)) {
    step(GpuFact{health::Input(std::move(fact))});
  }
}

/// Gives the lines that the log's state has and the audit file lacks, a page a turn, to the thread
/// that writes them. A host without a log has no lines.
void EventLoop::feed_audit() {
  if (parts_.audit == nullptr) {
    return;
  }
  for (const Event& event : parts_.audit->take_events()) {
    log_event(event);
  }
  const scheduler::AuditBook& audit = parts_.node->seat().state().audit();
  if (audit.last() == 0) {
    return;
  }
  const auto after = parts_.audit->wanted(parts_.node->cluster(), audit.last());
  if (after.has_value() && *after < audit.last()) {
    AuditQuery query;
    query.after = *after;
    parts_.audit->submit(*after, audit_page(audit, query, 0, [this](HostId host) {
                                   return parts_.node->addresses().name(host);
                                 }).lines);
  }
}

/// Hears what waited through a freeze, for at most kBacklogMax, before a tick judges by the clock.
void EventLoop::drain_backlog() {
  const Instant until = boot_now() + kBacklogMax;
  bool has_more = true;
  while (has_more && !end_.has_value() && boot_now() < until) {
    wait(boot_now() + kBacklogQuiet);
    has_more = take_inputs();
  }
  was_paused_ = false;
}

bool EventLoop::take_inputs() {
  std::vector<gossip::TransportInput> heard = parts_.transport->take_inputs();
  if (parts_.web != nullptr) {
    std::vector<gossip::TransportInput> asked = parts_.web->take(boot_now());
    std::move(asked.begin(), asked.end(), std::back_inserter(heard));
  }
  std::vector<gossip::TransportInput> inputs = logins_.pass(std::move(heard), boot_now());
  std::stable_partition(inputs.begin(), inputs.end(), goes_first);
  account_.took(Work::kReceive);
  bool has_any = !inputs.empty();
  for (gossip::TransportInput& input : inputs) {
    hear(std::move(input));
  }
  for (crdt::RowsChecked& rows : parts_.row_check->take_checked()) {
    has_any = true;
    step(std::move(rows));
    account_.took(Work::kRows);
  }
  for (const std::uint64_t id : parts_.storage->take_completed()) {
    has_any = true;
    step(Persisted{id});
    account_.took(Work::kDisk);
  }
  if (const auto error = parts_.storage->take_rows_error()) {
    log_event({Severity::kWarn, "rows_not_stored", {{"error", error->text}}});
  }
  if (const auto failure = parts_.storage->failure()) {
    log_event({Severity::kAlarm, "disk_failed", {{"error", failure->text}}});
    end_ = End::kFailed;
  }
  for (GangAgentInput& input : parts_.supervisors->take_inputs()) {
    has_any = true;
    parts_.hooks->hear(boot_now(), input);
    step(SupervisorReport{std::move(input)});
    account_.took(Work::kSupervisor);
  }
  for (const Event& event : parts_.supervisors->take_events()) {
    log_event(event);
  }
  return has_any;
}

void EventLoop::hear(gossip::TransportInput input) {
  auto* received = std::get_if<gossip::Received>(&input);
  if (received == nullptr) {
    std::visit([this](auto&& each) { step(std::forward<decltype(each)>(each)); }, std::move(input));
    account_.took(Work::kLinks);
    return;
  }
  const gossip::MessageType type = gossip::type_in(received->bytes);
  const std::size_t size = received->bytes.size();
  if (parts_.web != nullptr) {
    parts_.web->notice_message();
  }
  step(std::move(*received));
  account_.heard(type, size);
}

void EventLoop::step(Node::Input input) {
  parts_.node->step(boot_now(), std::move(input));
  drain();
}

void EventLoop::drain() {
  Node::Output output = parts_.node->take_output();
  for (Persist& persist : output.persists) {
    parts_.storage->submit(persist.id, persist.environment, std::move(persist.writes));
  }
  for (gossip::TransportOutput& each : output.transport) {
    carry(each);
  }
  for (const SupervisorCommand& each : output.supervisor) {
    command(each);
  }
  for (const gpus::Command& each : output.gpus) {
    if (!parts_.hooks->keeps(boot_now(), each)) {
      parts_.hardware->obey(each);
    }
  }
  for (crdt::RowsToCheck& check : output.checks) {
    if (!parts_.row_check->submit(std::move(check)) && !are_rows_dropped_) {
      are_rows_dropped_ = true;  // Once a start: the next audit brings them again.
      log_event({Severity::kWarn, "rows_dropped", {{"why", "more to check than is kept"}}});
    }
  }
  for (const ReadOutput& read : output.reads) {
    read_output(read);
  }
  for (const ReadStats& read : output.stats_reads) {
    read_stats(read);
  }
  for (const Event& event : output.events) {
    log_event(event);
  }
  if (output.certificate.has_value() && parts_.web_parts != nullptr) {
    parts_.web_parts->take(*output.certificate);
  }
  if (output.raise_to.has_value()) {
    raise_to_ = *output.raise_to;
    end_ = End::kRestart;
  } else if (output.exit) {
    why_refused_ = output.conflict;
    end_ = output.doubled ? End::kDoubled : output.conflict.empty() ? End::kStopped : End::kRefused;
  }
}

void EventLoop::carry(gossip::TransportOutput& output) {
  if (const auto* send = std::get_if<gossip::Send>(&output)) {
    account_.said(send->bytes);
    parts_.transport->send(*send);
  } else if (const auto* reply = std::get_if<gossip::Reply>(&output)) {
    account_.said(reply->bytes);
    if (parts_.web != nullptr && WebDoor::owns(reply->route)) {
      parts_.web->hear(boot_now(), *reply);
    } else {
      parts_.transport->reply(*reply);
    }
  } else if (const auto* drop = std::get_if<gossip::DropLink>(&output)) {
    parts_.transport->drop(*drop);
  } else if (const auto* admit = std::get_if<gossip::Admit>(&output)) {
    parts_.transport->admit(*admit);
  } else if (const auto* expect = std::get_if<gossip::Expect>(&output)) {
    parts_.transport->expect(*expect);
  } else if (const auto* with = std::get_if<gossip::DialWith>(&output)) {
    parts_.transport->dial_with(*with);
  } else {
    const std::string& seed = std::get<gossip::Rekey>(output).link_seed;
    parts_.transport->rekey(gossip::LinkKeys::from_seed(seed));
  }
}

void EventLoop::command(const SupervisorCommand& command) {
  if (parts_.hooks->keeps(boot_now(), command)) {
    return;
  }
  const auto* launch = std::get_if<Launch>(&command);
  parts_.supervisors->carry_out(command, launch == nullptr
                                             ? std::vector<std::string>()
                                             : hosts_of(*launch, parts_.node->addresses()));
}

void EventLoop::read_output(const ReadOutput& read) {
  const Token token = read.query.token;
  const std::string directory = parts_.supervisors->directory_of(token);
  step(OutputRead{
      read.request,
      agent::read_output(directory, read.query, parts_.supervisors->pid_of(token).has_value(),
                         static_cast<std::uint64_t>(unix_now_ms())),
      parts_.supervisors->why_no_output(token), KeptGrants::owner_of(directory)});
}

/// Families of the node, the fleet if it leads, the edge and the door.
std::vector<MetricFamily> EventLoop::metrics() const {
  std::vector<MetricFamily> all = metrics_of(parts_.node->view(boot_now()), parts_.node->notes());
  EdgeMetrics edge = metrics_.edge();
  edge.disk = {parts_.facts->space().size_bytes, parts_.facts->space().free_bytes,
               parts_.storage->stats().syncs};
  edge.links = link_metrics(parts_.transport->stats(), logins_.dropped());
  if (parts_.web_parts != nullptr) {
    edge.certificate_ends_unix_s = parts_.web_parts->certificate_ends();
  }
  for (std::vector<MetricFamily> more : {edge_families(edge), door_families(parts_.web->stats())}) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

void EventLoop::read_stats(const ReadStats& read) {
  StatsInfo stats;
  stats.uptime_ms = static_cast<std::uint64_t>(to_ms(boot_now() - started_));
  stats.counters = account_.counters();
  const auto tell = [&stats](std::string name, std::uint64_t count) {
    stats.counters.push_back({std::move(name), count});
  };
  const gossip::ZmqTransport::Stats& links = parts_.transport->stats();
  tell("links.dials", links.dials);
  tell("links.up", links.links_up);
  tell("links.down", links.links_down);
  tell("links.closed_idle", links.closed_idle);
  tell("links.refused", links.refused_unknown_key + links.refused_no_curve +
                            links.refused_malformed + links.refused_early_tickets);
  tell("links.sends_dropped", links.dropped_queue_full + links.dropped_no_route +
                                  links.dropped_link_ending + links.dropped_links_full);
  tell("logins.connections_refused", links.refused_logins);
  tell("logins.connections_failed", links.failed_logins);
  tell("logins.held_back", links.held_logins);
  tell("logins.messages_dropped", logins_.dropped());
  tell("requests.strangers", parts_.node->notes().strangers());
  tell("requests.notes_dropped", parts_.node->notes().dropped());
  const crdt::HostStore::Stats& rows = parts_.node->store().stats();
  tell("rows.publishes", rows.publishes);
  tell("rows.signatures_made", rows.signed_times);
  tell("rows.fields_merged", rows.fields_merged);
  const RowCheckThread::Stats checks = parts_.row_check->stats();
  tell("rows.messages_checked", checks.messages);
  tell("rows.signatures_checked", checks.checked);
  tell("rows.signatures_remembered", checks.remembered);
  if (parts_.audit != nullptr) {
    const AuditThread::Stats audit = parts_.audit->stats();
    tell("audit.lines_written", audit.written);
    tell("audit.failures", audit.failures);
  }
  const crdt::StorageThread::Stats disk = parts_.storage->stats();
  tell("disk.batches", disk.batches);
  tell("disk.transactions", disk.transactions);
  tell("disk.rows_syncs", disk.rows_syncs);
  for (Counter& thread : thread_counters()) {
    stats.counters.push_back(std::move(thread));
  }
  std::sort(stats.counters.begin(), stats.counters.end(),
            [](const Counter& left, const Counter& right) { return left.name < right.name; });
  step(StatsRead{read.request, std::move(stats)});
}

}  // namespace muster::agent
