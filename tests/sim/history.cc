#include "tests/sim/history.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "scheduler/protocol/entry.h"
#include "tests/sim/world.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using agent::ResponseStatus;
using agent::Verb;
using scheduler::JobEvent;
using scheduler::JobState;

constexpr std::uint32_t kClients = 4;
constexpr std::size_t kAsksMax = 7;  ///< Of one client.
constexpr std::size_t kJobsMax = 4;
constexpr Duration kFirstFault = 4s;
constexpr Duration kFaultsEnd = 22s;
constexpr Duration kAsksEnd = 23s;
constexpr Duration kLastAsks = 25s;
constexpr Duration kEnd = 31s;
constexpr Duration kClientLooks = 10ms;  ///< Of a client for its answer.

std::optional<JobState> state_named(std::string_view name) {
  for (std::size_t i = 0; i < scheduler::kJobStateCount; ++i) {
    if (name == scheduler::text_of(static_cast<JobState>(i))) {
      return static_cast<JobState>(i);
    }
  }
  return std::nullopt;
}

Sighting sighting_of(const agent::JobSummary& summary) {
  return {summary.id,
          summary.name,
          state_named(summary.state).value_or(JobState::kQueued),
          static_cast<std::uint32_t>(summary.attempt),
          {}};
}

Verb verb_of(JobEvent word) {
  return word == JobEvent::kCancel    ? Verb::kCancel
         : word == JobEvent::kSuspend ? Verb::kSuspend
         : word == JobEvent::kResume  ? Verb::kResume
                                      : Verb::kRequeue;
}

/// Notes the answer of a node to the operation.
void take_answer(Operation& operation, const agent::Response& response) {
  switch (response.status) {
    case ResponseStatus::kNoQuorum:
      operation.answered = Answered::kNotDone;
      return;
    case ResponseStatus::kConflict:
      operation.answered = Answered::kConflict;
      return;
    case ResponseStatus::kNotFound:
      operation.answered = Answered::kNotFound;
      return;
    case ResponseStatus::kFailed:
    case ResponseStatus::kUsage:
    case ResponseStatus::kImpossible:
    case ResponseStatus::kDenied:
    case ResponseStatus::kUnknown:
      return;
    case ResponseStatus::kOk:
      break;
  }
  operation.answered = Answered::kDone;
  if (std::holds_alternative<SubmitAsked>(operation.asked)) {
    const auto given = agent::decode_payload<agent::JobRef>(response.payload);
    operation.job = given.has_value() ? given->job : JobId();
  } else if (std::holds_alternative<ListAsked>(operation.asked)) {
    const auto list = agent::decode_payload<agent::JobList>(response.payload);
    for (const agent::JobSummary& job : list.value_or(agent::JobList()).jobs) {
      operation.seen.push_back(sighting_of(job));
    }
  } else if (std::holds_alternative<ShowAsked>(operation.asked)) {
    const auto detail = agent::decode_payload<agent::JobDetail>(response.payload);
    if (detail.has_value()) {
      operation.seen.push_back(sighting_of(detail->summary));
      for (const agent::TransitionInfo& step : detail->transitions) {
        operation.seen.back().life.push_back(state_named(step.state).value_or(JobState::kQueued));
      }
    }
  }
}

class HistoryRun {
 public:
  explicit HistoryRun(const HistoryOptions& options)
      : hosts_(3 + static_cast<std::uint32_t>(options.seed % 3)),
        rng_(options.seed ^ 0x41571u),
        world_(world_options(options, hosts_)) {}

  HistoryResult run() {
    for (std::uint32_t client = 0; client < kClients; ++client) {
      world_.at(Instant() + rng_.between(3s, 6s), [this, client] { ask_something(client); });
    }
    for (Instant when = Instant() + kFirstFault; when < Instant() + kFaultsEnd;
         when += rng_.between(300ms, 5s)) {
      world_.at(when, [this] { some_fault(); });
    }
    world_.at(Instant() + kFaultsEnd, [this] { stop_faults(); });
    for (std::uint32_t host = 0; host < hosts_; ++host) {
      world_.at(Instant() + kLastAsks + rng_.between(0ms, 1s),
                [this, host] { ask(kClients, host, ListAsked()); });
    }
    world_.run_until(Instant() + kEnd);
    return result();
  }

 private:
  static WorldOptions world_options(const HistoryOptions& options, std::uint32_t hosts) {
    WorldOptions world;
    world.hosts = hosts;
    world.seed = options.seed;
    world.drift_ppm_max = 10'000;
    world.trace = options.trace;
    world.compact_entries = 40;
    world.invariant_stride = 64;
    return world;
  }

  // ---- clients ----

  struct Pending {
    std::size_t operation = 0;
    std::uint64_t request = 0;  ///< World's number of it.
    Instant patience;
  };

  std::uint32_t some_host() { return static_cast<std::uint32_t>(rng_.below(hosts_)); }

  /// Clients repeat the address that they know: often it is that of who led last.
  std::uint32_t asked_host() {
    if (rng_.chance(500'000)) {
      for (std::uint32_t host = 0; host < hosts_; ++host) {
        const std::uint32_t each = (host + shift_) % hosts_;
        if (world_.is_running(each) && world_.node(each).seat().leads()) {
          return each;
        }
      }
    }
    return some_host();
  }

  void ask_something(std::uint32_t client) {
    if (world_.now() >= Instant() + kAsksEnd || asks_[client] >= kAsksMax) {
      return;
    }
    shift_ = some_host();
    const std::uint32_t host = asked_host();
    if (!world_.is_running(host)) {  // Its port is closed: nothing was asked.
      world_.at(world_.now() + 200ms, [this, client] { ask_something(client); });
      return;
    }
    ++asks_[client];
    ask(client, host, something(client));
  }

  Asked something(std::uint32_t client) {
    std::string& again = unanswered_[client];
    if (!again.empty() && rng_.chance(800'000)) {
      return SubmitAsked{std::exchange(again, "")};
    }
    const std::uint64_t drawn = rng_.below(100);
    if (keys_ == 0 || (drawn < 25 && keys_ < kJobsMax)) {
      return SubmitAsked{"key-" + std::to_string(++keys_)};
    }
    if (drawn < 30) {
      return SubmitAsked{"key-" + std::to_string(1 + rng_.below(keys_))};
    }
    const JobId job(1 + rng_.below(keys_));
    if (drawn < 55) {
      static constexpr JobEvent kWords[] = {JobEvent::kCancel,  JobEvent::kSuspend,
                                            JobEvent::kSuspend, JobEvent::kResume,
                                            JobEvent::kResume,  JobEvent::kRequeue};
      return WordAsked{kWords[rng_.below(std::size(kWords))], job};
    }
    return drawn < 80 ? Asked(ShowAsked{job}) : Asked(ListAsked());
  }

  scheduler::JobSpec spec_of(const std::string& key) const {
    // A function of the key: what is repeated is the same.
    Rng drawn(world_seed_ ^ static_cast<std::uint64_t>(key.back()));
    scheduler::JobSpec spec;
    spec.name = key;
    spec.request.gpus = static_cast<std::uint32_t>(1 + drawn.below(12));
    spec.command.argv = {"sim", "run_ms=" + std::to_string(200 + drawn.below(6'000))};
    if (drawn.below(6) == 0) {
      spec.command.argv.push_back("fail_rank=0");
    }
    spec.retry.retries = static_cast<std::uint32_t>(drawn.below(2));
    spec.limits.hold = 12s;
    spec.limits.grace = 1s;
    spec.limits.patience = 1s;
    return spec;
  }

  agent::Request request_of(const Asked& asked) const {
    agent::Request request;
    if (const auto* submit = std::get_if<SubmitAsked>(&asked)) {
      request.verb = Verb::kSubmit;
      request.arguments =
          agent::encode_payload(agent::SubmitArgs{submit->key, spec_of(submit->key)});
    } else if (const auto* word = std::get_if<WordAsked>(&asked)) {
      request.verb = verb_of(word->word);
      request.arguments = word->word == JobEvent::kRequeue
                              ? agent::encode_payload(agent::RequeueArgs{word->job, 0})
                              : agent::encode_payload(agent::JobRef{word->job});
    } else if (const auto* show = std::get_if<ShowAsked>(&asked)) {
      request.verb = Verb::kShow;
      request.consistent = true;
      request.arguments = agent::encode_payload(agent::JobRef{show->job});
    } else {
      request.verb = Verb::kJobs;
      request.consistent = true;
    }
    return request;
  }

  void ask(std::uint32_t client, std::uint32_t host, Asked asked) {
    Operation operation;
    operation.asked = std::move(asked);
    operation.began = world_.now();
    operation.by = "client " + std::to_string(client) + " at host " + std::to_string(host);
    const std::uint64_t request = world_.ask(host, request_of(operation.asked));
    history_.push_back(std::move(operation));
    requests_.push_back(request);
    if (client < kClients) {
      wait(client, {history_.size() - 1, request, world_.now() + rng_.between(500ms, 6s)});
    }
  }

  void wait(std::uint32_t client, Pending pending) {
    const ClientReply* reply = world_.reply_to(pending.request);
    if (reply == nullptr && world_.now() < pending.patience) {
      world_.at(world_.now() + kClientLooks, [this, client, pending] { wait(client, pending); });
      return;
    }
    const auto* submit = std::get_if<SubmitAsked>(&history_[pending.operation].asked);
    const bool is_done = reply != nullptr && reply->response.status == ResponseStatus::kOk;
    if (submit != nullptr && !is_done) {
      unanswered_[client] = submit->key;
    }
    const Duration think = rng_.chance(500'000) ? rng_.between(0ms, 200ms) : rng_.between(0ms, 5s);
    world_.at(world_.now() + think, [this, client] { ask_something(client); });
  }

  // ---- faults ----

  void after(Duration delay, std::function<void()> action) {
    world_.at(world_.now() + delay, std::move(action));
  }
  Duration a_while() { return rng_.between(200ms, 6s); }

  std::uint32_t leader_or_some_host() {
    for (std::uint32_t host = 0; host < hosts_ && rng_.chance(900'000); ++host) {
      if (world_.is_running(host) && world_.node(host).seat().leads()) {
        return host;
      }
    }
    return some_host();
  }

  void some_fault() {
    const std::uint32_t host = leader_or_some_host();
    switch (rng_.below(9)) {
      case 0:
        ++counts_["agent_killed"];
        world_.kill_agent(host);
        return after(a_while(), [this, host] { world_.start_agent(host); });
      case 1:
        ++counts_["power_lost"];
        world_.power_off(host);
        return after(a_while(), [this, host] { world_.power_on(host); });
      case 2:
      case 3:
        ++counts_["frozen"];
        return world_.freeze(host, a_while());
      case 4:
        ++counts_["isolated"];
        cut(host, true, true);
        return after(a_while(), [this] { world_.network().heal_all(); });
      case 5:
        ++counts_["one_way"];
        host % 2 == rng_.below(2) ? cut(host, true, false) : cut(host, false, true);
        return after(a_while(), [this] { world_.network().heal_all(); });
      case 6:
      case 7:
        return bad_network();
      default:
        return slow_disks();
    }
  }

  void cut(std::uint32_t host, bool from, bool to) {
    for (std::uint32_t other = 0; other < hosts_; ++other) {
      if (other != host && from) {
        world_.network().cut(host, other);
      }
      if (other != host && to) {
        world_.network().cut(other, host);
      }
    }
  }

  void bad_network() {
    ++counts_["bad_network"];
    NetworkFaults faults;
    faults.loss = static_cast<std::uint32_t>(rng_.below(150'000));
    faults.duplicate = static_cast<std::uint32_t>(rng_.below(100'000));
    faults.late = static_cast<std::uint32_t>(rng_.below(200'000));
    faults.delay_max = rng_.between(1ms, 60ms);
    faults.late_max = rng_.between(100ms, 3s);
    world_.network().faults = faults;
    after(a_while(), [this] { world_.network().faults = NetworkFaults(); });
  }

  void slow_disks() {
    ++counts_["slow_disk"];
    for (std::uint32_t host = 0; host < hosts_; ++host) {
      if (rng_.chance(500'000)) {
        world_.set_fsync(host, 10ms, rng_.between(50ms, 900ms));
        after(a_while(), [this, host] { world_.set_fsync(host, 100us, 2ms); });
      }
    }
  }

  void stop_faults() {
    world_.network().heal_all();
    world_.network().faults = NetworkFaults();
    for (std::uint32_t host = 0; host < hosts_; ++host) {
      world_.power_on(host);
      world_.start_agent(host);
      world_.set_fsync(host, 100us, 2ms);
    }
  }

  // ---- the end ----

  HistoryResult result() {
    HistoryResult result;
    for (std::size_t i = 0; i < history_.size(); ++i) {
      Operation& operation = history_[i];
      if (const ClientReply* reply = world_.reply_to(requests_[i])) {
        operation.ended = reply->when;
        take_answer(operation, reply->response);
      }
    }
    result.verdict = judge(history_);
    result.operations = std::move(history_);
    result.counts = std::move(counts_);
    result.hash = world_.hash();
    return result;
  }

  std::uint32_t hosts_;
  Rng rng_;
  World world_;
  std::uint64_t world_seed_ = rng_.next();
  std::uint32_t shift_ = 0;
  std::size_t keys_ = 0;
  std::size_t asks_[kClients] = {};
  std::string unanswered_[kClients];
  std::vector<Operation> history_;
  std::vector<std::uint64_t> requests_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace

HistoryResult run_history(const HistoryOptions& options) {
  return HistoryRun(options).run();
}

}  // namespace muster::sim
