#include "tests/sim/revocation.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "agent/api/hosts.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/sim/checkers.h"

namespace muster::sim {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.

constexpr Duration kSettleMax = std::chrono::minutes(2);
/// A host that is not out by then is taken for one that stays.
constexpr Duration kOutMax = std::chrono::seconds(60);
/// Between two of them, and how long a host that is out must stay out.
constexpr Duration kRest = std::chrono::seconds(2);
constexpr Duration kRevocationLook = std::chrono::milliseconds(1);
/// An answer may be lost with the leader that owed it.
constexpr Duration kAskAgain = std::chrono::seconds(2);
constexpr std::uint32_t kInvariantStride = 64;
/// Real voters keep more: a snapshot every few entries would spoil this figure.
constexpr std::uint64_t kCompactEntries = 4096;
constexpr std::uint32_t kMillionthsOfPercent = 10'000;

class RevocationRun {
 public:
  explicit RevocationRun(const RevocationOptions& options)
      : options_(options), rng_(options.seed), world_(world_options(options)) {
    submits_ = add_checkers(world_).submits;
  }

  RevocationResult run() {
    if (settle()) {
      world_.network().faults.loss = options_.loss_percent * kMillionthsOfPercent;
      world_.run_for(kRest);
      for (std::uint32_t round = 1; round <= options_.rounds; ++round) {
        throw_out(round == options_.rounds);
      }
    }
    result_.violations = world_.violations();
    result_.hash = world_.hash();
    return std::move(result_);
  }

 private:
  static WorldOptions world_options(const RevocationOptions& options) {
    WorldOptions world;
    world.hosts = options.hosts;
    world.seed = options.seed;
    world.trace = options.trace;
    world.invariant_stride = kInvariantStride;
    world.compact_entries = kCompactEntries;
    world.tcp_links = true;
    return world;
  }

  bool look_until(const std::function<bool()>& condition, Duration limit) {
    for (const Instant end = world_.now() + limit; !condition(); world_.run_for(kRevocationLook)) {
      if (world_.now() >= end) {
        return false;
      }
    }
    return true;
  }

  /// A host leads, its log holds all hosts and their records, and each has ranks.
  bool settle() {
    const bool is_whole =
        world_.run_until_true([this] { return is_whole_at_leader(); }, kSettleMax);
    for (std::uint32_t host = 0; is_whole && host < world_.size(); ++host) {
      submit();
    }
    const bool is_settled =
        is_whole && world_.run_until_true([this] { return all_have_ranks(); }, kSettleMax);
    if (!is_settled) {
      world_.violation("revocation", "the cluster did not settle");
    }
    return is_settled;
  }

  std::uint32_t leader() const {
    std::uint32_t host = 0;
    while (host < world_.size() &&
           !(world_.is_running(host) && !is_out(host) && world_.node(host).seat().leads())) {
      ++host;
    }
    return host;
  }
  bool is_out(std::uint32_t host) const {
    return std::find(out_.begin(), out_.end(), host) != out_.end();
  }
  bool votes(std::uint32_t host) const {
    const auto voters = world_.node(leader()).seat().known_quorum().voters;
    return std::find(voters.begin(), voters.end(), world_.id(host)) != voters.end();
  }
  bool is_whole_at_leader() const {
    if (leader() == world_.size()) {
      return false;
    }
    const scheduler::State& state = world_.node(leader()).seat().state();
    return state.hosts().size() == world_.size() && state.roll().hosts().size() == world_.size();
  }
  bool all_have_ranks() const {
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (world_.farm(host).is_idle()) {
        return false;
      }
    }
    return true;
  }

  void submit() {
    scheduler::JobSpec spec;
    spec.name = "busy";
    spec.request.gpus = WorldOptions().gpus_per_host;
    spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(std::chrono::hours(1)))};
    submits_->submit(world_, leader(), spec);
  }

  /// Drawn among those that may be thrown out.
  std::uint32_t victim(bool shall_vote) {
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (!is_out(host) && host != leader() && votes(host) == shall_vote) {
        hosts.push_back(host);
      }
    }
    return hosts[rng_.below(hosts.size())];
  }

  bool refuses(std::uint32_t host, std::uint32_t out) const {
    return !world_.is_running(host) ||
           (world_.node(host).roll().is_revoked(world_.id(out)) && !world_.admits(host, out));
  }
  std::vector<std::uint32_t> others() const {
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t host = 0; host < world_.size(); ++host) {
      if (!is_out(host)) {
        hosts.push_back(host);
      }
    }
    return hosts;
  }
  /// False: it was not so of each of the others within kOutMax.
  bool await_all(const std::function<bool(std::uint32_t)>& is_true) {
    std::vector<std::uint32_t> waiting = others();
    return look_until(
        [&] {
          while (!waiting.empty() && is_true(waiting.back())) {
            waiting.pop_back();
          }
          return waiting.empty();
        },
        kOutMax);
  }

  void order(std::uint32_t out) {
    agent::Request request;
    request.verb = agent::Verb::kRevokeHost;
    request.arguments = agent::encode_payload(agent::HostRef{world_.id(out)});
    world_.ask(leader(), std::move(request));
  }
  /// Until the first that applies it, which is the leader, refuses that host.
  bool commit(std::uint32_t out) {
    Instant ask_at{};
    const auto is_committed = [&] {
      if (world_.now() >= ask_at && leader() < world_.size()) {
        order(out);
        ask_at = world_.now() + kAskAgain;
      }
      const std::uint32_t leading = leader();
      return leading < world_.size() && refuses(leading, out);
    };
    return look_until(is_committed, kOutMax);
  }

  void throw_out(bool shall_vote) {
    if (!look_until([this] { return leader() < world_.size(); }, kOutMax)) {
      return world_.violation("revocation", "nobody leads");
    }
    const std::uint32_t out = victim(shall_vote);
    Revocation revocation;
    revocation.had_a_vote = shall_vote;
    bool is_done = commit(out);
    const Instant committed = world_.now();
    out_.push_back(out);
    is_done = is_done && await_all([&](std::uint32_t host) { return refuses(host, out); });
    revocation.refused = world_.now() - committed;
    is_done =
        is_done && await_all([&](std::uint32_t host) { return !world_.are_linked(host, out); });
    revocation.closed = world_.now() - committed;
    if (!is_done) {
      return world_.violation("revocation", where(out) + " is not out");
    }
    result_.revocations.push_back(revocation);
    world_.run_for(kRest);
    judge_stays_out(out);
  }

  void judge_stays_out(std::uint32_t out) {
    for (const std::uint32_t host : others()) {
      if (!refuses(host, out) || world_.are_linked(host, out)) {
        world_.violation("revocation", where(host) + " took " + where(out) + " in again");
      }
    }
  }

  RevocationOptions options_;
  Rng rng_;
  World world_;
  SubmitsKept* submits_ = nullptr;
  std::vector<std::uint32_t> out_;  ///< The one being thrown out among them.
  RevocationResult result_;
};

}  // namespace

RevocationResult run_revocations(const RevocationOptions& options) {
  return RevocationRun(options).run();
}

}  // namespace muster::sim
