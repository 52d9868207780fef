#include "tests/sim/drift.h"

#include <memory>
#include <optional>

#include "tests/sim/stage.h"

namespace muster::sim {
namespace {

constexpr std::uint32_t kCutOff = 4;  ///< No voter.
constexpr std::uint32_t kGpusOfAll = 40;
constexpr std::int64_t kPerMille = 1'000;

/// When the ranks of that host were gone, and when its GPUs were free.
class Freeing : public Checker {
 public:
  explicit Freeing(std::uint32_t host) : host_(host) {}
  std::string name() const override { return "freeing"; }
  void on_event(World& world, std::uint32_t voter, const Event& event) override {
    if (event.name == "attempt_edge" && token_.has_value() && !freed_at.has_value() &&
        world.node(voter).seat().state().is_over(*token_, world.id(host_))) {
      freed_at = world.now();
    }
  }
  void on_fact(World& world, std::uint32_t host, const FarmFact& fact) override {
    if (host == host_ && fact.kind == FarmFact::Kind::kLaunched) {
      token_ = fact.token;
    } else if (host == host_ && fact.kind == FarmFact::Kind::kGone && !gone_at.has_value()) {
      gone_at = world.now();
    }
  }

  std::optional<Instant> gone_at;
  std::optional<Instant> freed_at;

 private:
  std::uint32_t host_;
  std::optional<Token> token_;
};

class DriftRun : private Stage {
 public:
  DriftRun(std::uint64_t seed, std::int64_t permille) : Stage(seed) {
    for (std::uint32_t host = 0; host < kHosts; ++host) {
      world_.set_drift_ppm(host, (host == kCutOff ? -permille : permille) * kPerMille);
    }
    auto freeing = std::make_unique<Freeing>(kCutOff);
    freeing_ = freeing.get();
    world_.add_checker(std::move(freeing));
  }

  DriftResult run(Duration hold) {
    DriftResult result;
    const bool is_staged = until([this] { return is_at_rest(); }, std::chrono::minutes(5));
    if (is_staged) {
      submit_gang(hold);
    }
    if (!is_staged || !until([this] { return is(JobState::kRunning); }, std::chrono::minutes(1))) {
      return result;
    }
    const std::uint32_t friend_of_it = leader();
    for (std::uint32_t other = 0; other < kHosts; ++other) {
      if (other != friend_of_it && other != kCutOff) {
        world_.network().cut(other, kCutOff);
        world_.network().cut(kCutOff, other);
      }
    }
    until([this] { return is_condemned(); }, std::chrono::minutes(2));
    isolate(kCutOff);  // Else the leader would hear that its ranks are gone.
    world_.run_until_true(
        [this] { return freeing_->gone_at.has_value() && freeing_->freed_at.has_value(); },
        hold * 2);
    result.violations = world_.violations();
    result.was_freed = freeing_->gone_at.has_value() && freeing_->freed_at.has_value();
    if (result.was_freed) {
      result.slack = *freeing_->freed_at - *freeing_->gone_at;
    }
    return result;
  }

 private:
  /// On all hosts; a lost one alone does not stop it.
  void submit_gang(Duration hold) {
    scheduler::JobSpec spec;
    spec.name = "drift";
    spec.request.gpus = kGpusOfAll;
    spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(hold * 3)), "ignore_term=1"};
    spec.limits.hold = hold;
    spec.limits.grace = std::chrono::seconds(5);
    spec.retry.on_lost_host = scheduler::OnLostHost::kWait;
    submits_->submit(world_, leader(), spec);
  }
  bool is_condemned() const {
    const scheduler::MemberRecord* record =
        has_leader() && attempt() != nullptr ? attempt()->find(world_.id(kCutOff)) : nullptr;
    return record != nullptr && record->condemned != LogIndex();
  }

  Freeing* freeing_ = nullptr;
};

}  // namespace

DriftResult run_drift(std::uint64_t seed, std::int64_t permille, Duration hold) {
  return DriftRun(seed, permille).run(hold);
}

}  // namespace muster::sim
