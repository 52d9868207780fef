#include "tests/sim/log_checkers.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace muster::sim {
namespace {

/// By then a host that woke has killed what it had to (hold + grace + 5 s).
constexpr Duration kWakesWithin = std::chrono::seconds(10);

const scheduler::State& log_at(const World& world, std::uint32_t host) {
  return world.node(host).seat().state();
}

bool is_waking(const World& world, std::uint32_t host) {
  const Instant thawed = world.thawed_at(host);
  return world.is_frozen(host) || (thawed != Instant() && world.now() - thawed < kWakesWithin);
}

/// The state is ahead of the events of one step: that edge itself is judged by its operator's word.
bool is_ended_by_word(const scheduler::State& log, const Token& token, const HostId& host,
                      const Event& event) {
  const scheduler::Attempt* attempt = log.attempt(token);
  const scheduler::MemberRecord* member = attempt == nullptr ? nullptr : attempt->find(host);
  return member != nullptr && member->is_fenced && event.field("edge") != "fenced";
}

}  // namespace

void DecideRaisesToken::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "job_scheduled") {
    return;
  }
  const std::string token(event.field("token"));
  const auto [place, is_new] = tokens_.emplace(number(event.field("index")), token);
  const auto value = [](const std::string& text) {
    return number(text.substr(text.find('.') + 1));
  };
  const bool above_earlier =
      place == tokens_.begin() || value(std::prev(place)->second) < value(token);
  const bool below_later =
      std::next(place) == tokens_.end() || value(token) < value(std::next(place)->second);
  if (place->second != token || (is_new && !(above_earlier && below_later))) {
    world.violation(name(), where(host) + " gave token " + token + " out of order");
  }
}

void FreedIsEmpty::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  if (fact.kind == FarmFact::Kind::kLaunched) {
    for (std::uint32_t voter = 0; voter < world.size(); ++voter) {
      if (world.is_running(voter) && log_at(world, voter).is_over(fact.token, world.id(host))) {
        world.violation(name(), where(host) + " starts ranks of " + fact.token.text() +
                                    ", whose GPUs " + where(voter) + " holds for free");
      }
    }
    Running& running = running_[fact.token.text()];
    running.token = fact.token;
    running.hosts.insert(host);
  } else if (fact.kind == FarmFact::Kind::kGone) {
    const auto found = running_.find(fact.token.text());
    if (found != running_.end()) {
      found->second.hosts.erase(host);
    }
  }
}

/// An operator said that the ranks of a host are gone, which this checker cannot hold the log to:
/// of what the entry ends it looks at that host no more.
void FreedIsEmpty::take_word(World& world, const Event& event) {
  const std::uint64_t index = number(event.field("index"));
  if (event.name == "host_fenced" && event.field("word") == "processes_gone") {
    words_[index] = std::string(event.field("host"));
  }
  const auto word = words_.find(index);
  const auto running = running_.find(std::string(event.field("token")));
  if (word != words_.end() && running != running_.end() && event.name == "attempt_edge" &&
      event.field("edge") == "fenced") {
    std::erase_if(running->second.hosts, [&](std::uint32_t member) {
      return world.id(member).short_hex() == word->second;
    });
  }
}

void FreedIsEmpty::on_event(World& world, std::uint32_t host, const Event& event) {
  take_word(world, event);
  const auto found = event.name == "attempt_edge" ? running_.find(std::string(event.field("token")))
                                                  : running_.end();
  if (found == running_.end()) {
    return;
  }
  for (const std::uint32_t member : found->second.hosts) {
    const scheduler::State& log = log_at(world, host);
    const Token& token = found->second.token;
    if (log.is_over(token, world.id(member)) && !is_waking(world, member) &&
        !is_ended_by_word(log, token, world.id(member), event)) {
      world.violation(name(), where(host) + " freed " + found->first + " on " + where(member) +
                                  " by " + std::string(event.field("edge")) +
                                  ", and its ranks run");
    }
  }
}

void EndedByTheLog::on_event(World& world, std::uint32_t host, const Event& event) {
  const std::string token(event.field("token"));
  if (event.name == "attempt_edge") {
    const std::string_view state = event.field("state");
    const auto& attempts = log_at(world, host).attempts();
    const auto known = std::find_if(attempts.begin(), attempts.end(),
                                    [&](const auto& each) { return each.first.text() == token; });
    const bool has_ended_member =
        known == attempts.end() ||
        std::any_of(known->second.members.begin(), known->second.members.end(),
                    [](const auto& record) { return record.end != scheduler::MemberEnd::kNone; });
    if (has_ended_member || (state != "reserved" && state != "started")) {
      ending_.insert(token);
    }
    return;
  }
  const std::string_view why = event.field("detail");
  const bool is_over = why == "over" || why == "over in the log";
  const bool is_ordered = event.name == "grant_terminated"
                              ? why != "isolated" && why != "revoked"
                              : event.name == "grant_aborted" && is_over;
  if (is_ordered && !ending_.contains(token)) {
    world.violation(name(), where(host) + " ended " + token + " for \"" + std::string(why) +
                                "\", which no log says");
  }
}

void GenerationsRise::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "host_registered") {
    return;
  }
  const std::string who(event.field("host"));
  const std::uint64_t generation = number(event.field("generation"));
  auto& generations = generations_[who];
  const auto [place, is_new] = generations.emplace(number(event.field("index")), generation);
  bool is_reused = is_new && place != generations.begin() && std::prev(place)->second > generation;
  for (const auto& [id, record] : log_at(world, host).hosts()) {
    // The same start may register again, with another inventory.
    if (id.short_hex() == who && record.start.generation.value() == generation) {
      const auto [start, is_first] =
          starts_.emplace(std::pair(who, generation), record.start.start_id);
      is_reused = is_reused || start->second != record.start.start_id;
    }
  }
  if (is_reused) {
    world.violation(name(), where(host) + " registers " + who + " under generation " +
                                std::to_string(generation) + ", which was used");
  }
}

void AbortedNeverRan::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  if (fact.kind != FarmFact::Kind::kLaunched) {
    return;
  }
  launched_.insert(fact.token.text());
  if (aborted_.contains(fact.token.text())) {
    world.violation(name(), where(host) + " starts " + fact.token.text() + ", which was aborted");
  }
}

void AbortedNeverRan::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "attempt_aborted") {
    return;
  }
  const std::string token(event.field("token"));
  if (aborted_.insert(token).second && launched_.contains(token)) {
    world.violation(name(), where(host) + " aborts " + token + ", which has run");
  }
}

void RerunOnlyBroken::on_fact(World&, std::uint32_t host, const FarmFact& fact) {
  if (fact.kind == FarmFact::Kind::kRankEnded) {
    Share& share = shares_[{fact.token, host}];
    ++(fact.result.is_success() ? share.successes : share.failures);
  }
}

bool RerunOnlyBroken::is_broken(const World& world, const scheduler::Attempt& attempt) const {
  return std::any_of(
      attempt.members.begin(), attempt.members.end(), [&](const scheduler::MemberRecord& record) {
        const auto host = world.find(record.member.host);
        const auto found = shares_.find({attempt.token, host.value_or(world.size())});
        const Share share = found == shares_.end() ? Share() : found->second;
        if (record.end == scheduler::MemberEnd::kNone) {
          return share.failures != 0;
        }
        // A disk that was put back knows of no success.
        return record.end != scheduler::MemberEnd::kFinished ||
               share.successes < record.member.rank_count() || world.was_put_back(*host);
      });
}

void RerunOnlyBroken::on_event(World& world, std::uint32_t host, const Event& event) {
  const std::string_view token = event.name == "job_queued" ? event.field("token") : "";
  if (token.empty()) {
    return;
  }
  for (const auto& [known, attempt] : log_at(world, host).attempts()) {
    if (known.text() == token && !is_broken(world, attempt)) {
      world.violation(name(), where(host) + " queues job " + std::string(event.field("job")) +
                                  " again though " + std::string(token) + " may yet complete");
    }
  }
}

void StatesAgree::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "job_queued" && event.name != "job_ended") {
    return;
  }
  const scheduler::State& state = log_at(world, host);
  const std::pair step{host, world.steps()};
  if (std::exchange(looked_at_, step) == step) {
    return;  // Another event of the same step tells of the same state.
  }
  const std::uint64_t digest = state.digest();
  const auto [known, is_new] = digests_.emplace(state.applied().value(), digest);
  if (!is_new && known->second != digest) {
    world.violation(name(), where(host) + " holds another state than others at index " +
                                std::to_string(known->first));
  }
}

namespace {

std::optional<scheduler::JobState> moved_to(const Event& event) {
  using scheduler::JobState;
  static const std::map<std::string_view, JobState> kMoves = {
      {"job_queued", JobState::kQueued},
      {"job_scheduled", JobState::kScheduled},
      {"job_started", JobState::kRunning},
      {"job_stopping", JobState::kStopping},
      {"job_suspended", JobState::kSuspended}};
  if (event.name == "job_ended") {
    const std::string_view state = event.field("state");
    return state == "completed" ? JobState::kCompleted
           : state == "failed"  ? JobState::kFailed
                                : JobState::kCancelled;
  }
  const auto found = kMoves.find(event.name);
  return found == kMoves.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void LegalJobLife::on_event(World& world, std::uint32_t host, const Event& event) {
  const auto to = moved_to(event);
  if (!to.has_value()) {
    return;
  }
  const std::string job(event.field("job"));
  const std::uint64_t index = number(event.field("index"));
  // A voter that starts again tells an old entry once more, in another step.
  Told& told = told_[{host, job}];
  const bool is_same = told.place.first == index && told.step == world.steps();
  told = {{index, is_same ? told.place.second + 1 : 0}, world.steps()};
  auto& life = lives_[job];
  const auto [place, is_new] = life.emplace(told.place, *to);
  const std::string what = where(host) + " moves job " + job + " at index " +
                           std::to_string(index) + " to " + std::string(text_of(*to));
  if (place->second != *to) {
    world.violation(name(), what + ", others to " + std::string(text_of(place->second)));
  }
  const auto from = place == life.begin() ? scheduler::JobState::kQueued : std::prev(place)->second;
  const bool is_first = place == life.begin();
  const bool is_legal = is_first
                            ? *to == scheduler::JobState::kQueued && event.field("token").empty()
                            : scheduler::is_job_edge(from, *to);
  if (is_new && (!is_legal || std::next(place) != life.end())) {
    world.violation(name(), what + " from " + std::string(text_of(from)));
  }
}

void MaskHolds::on_event(World&, std::uint32_t, const Event& event) {
  const bool is_masked = event.name == "gpu_masked";
  const bool is_first_epoch = std::string_view(event.field("at")).starts_with("1.");
  if (!is_first_epoch) {
    return;  // Behind a recovery an index may be given again.
  }
  if (is_masked || event.name == "gpu_unmasked") {
    words_[{std::string(event.field("host")), std::string(event.field("gpu"))}]
          [number(event.field("index"))] = is_masked;
  }
}

void MaskHolds::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  if (fact.kind != FarmFact::Kind::kLaunched || fact.token.epoch != 1) {
    return;
  }
  for (const scheduler::GpuSlot& gpu : fact.member.gpus) {
    const auto words = words_.find({world.id(host).short_hex(), gpu.uuid.text()});
    if (words == words_.end()) {
      continue;
    }
    const auto after = words->second.upper_bound(fact.token.index);
    if (after != words->second.begin() && std::prev(after)->second) {
      world.violation(name(), where(host) + " launches " + fact.token.text() + " on " +
                                  gpu.uuid.text() + ", decided after it was masked at index " +
                                  std::to_string(std::prev(after)->first));
    }
  }
}

void OrdersHeard::at_end(World& world) {
  const scheduler::State* log = nullptr;
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (world.is_running(host)) {
      const scheduler::State& state = world.node(host).seat().state();
      log = log == nullptr || log->applied() < state.applied() ? &state : log;
    }
  }
  for (std::uint32_t host = 0; log != nullptr && host < world.size(); ++host) {
    const scheduler::HostRecord* record = log->host(world.id(host));
    if (record == nullptr || record->gpu_orders.empty() || !world.is_running(host)) {
      continue;
    }
    const agent::Node& node = world.node(host);
    const bool is_there = record->is_reachable() && !record->is_removed &&
                          record->start == node.options().start &&
                          node.gang_agent().is_registered();
    const Token last = record->gpu_orders.back().at;
    const bool is_heard =
        node.gang_agent().order_heard() >= last &&
        (!node.gang_agent().inventory().are_watched || node.gpus().ordered() >= last);
    if (is_there && !is_heard) {
      world.violation(name(), where(host) + " has heard orders up to " +
                                  node.gang_agent().order_heard().text() + ", and obeyed up to " +
                                  node.gpus().ordered().text() + ", the log has " + last.text());
    }
  }
}

void add_log_checkers(World& world) {
  world.add_checker(std::make_unique<LegalJobLife>());
  world.add_checker(std::make_unique<DecideRaisesToken>());
  world.add_checker(std::make_unique<FreedIsEmpty>());
  world.add_checker(std::make_unique<EndedByTheLog>());
  world.add_checker(std::make_unique<GenerationsRise>());
  world.add_checker(std::make_unique<AbortedNeverRan>());
  world.add_checker(std::make_unique<RerunOnlyBroken>());
  world.add_checker(std::make_unique<StatesAgree>());
  world.add_checker(std::make_unique<MaskHolds>());
  world.add_checker(std::make_unique<OrdersHeard>());
}

}  // namespace muster::sim
