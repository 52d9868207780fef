#include "tests/sim/gpu_farm.h"

#include "gossip/base/overloaded.h"

namespace muster::sim {
namespace {

namespace clean = agent::clean;
namespace gpus = agent::gpus;
namespace health = agent::health;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kDraws = 1'000'000;
constexpr std::uint64_t kCleanBytes = 500ULL << 20;
constexpr std::uint64_t kHeldBytes = 9ULL << 30;

}  // namespace

std::vector<GpuFarm::Answer> GpuFarm::answers(Instant now, const gpus::Command& command) {
  std::vector<Answer> answers;
  std::visit(
      Overloaded{
          [&](const gpus::CleanLook& asked) {
            const Duration after = rng_.between(milliseconds(5), milliseconds(400));
            answers.push_back({after, look(now, now + after, asked.uuid)});
          },
          [&](const gpus::KillHolder& kill) {
            if (const auto found = dirt_.find(kill.uuid);
                found != dirt_.end() && found->second.is_ours) {
              found->second.until = std::min(found->second.until, now + milliseconds(50));
            }
          },
          [&](const gpus::LookSoon&) {},
          [&](const gpus::ResetGpu& reset) {
            dirt_.erase(reset.uuid);
            answers.push_back({seconds(1), health::Input(health::ResetBegan{reset.uuid})});
            answers.push_back({seconds(3), health::Input(health::ResetEnded{reset.uuid, ""})});
          },
          [&](const gpus::CheckGpu& check) {
            answers.push_back({seconds(1), health::Input(health::CheckEnded{check.uuid, now, ""})});
          },
      },
      command);
  return answers;
}

std::string GpuFarm::on_fact(Instant now, const FarmFact& fact) {
  std::string wrong;
  for (const scheduler::GpuSlot& place : fact.member.gpus) {
    const std::string uuid = place.uuid.text();
    if (fact.kind == FarmFact::Kind::kLaunched && is_dirty(now, uuid)) {
      wrong = "ranks of " + fact.token.text() + " began on " + uuid + ", which is not clean";
    }
    if (fact.kind == FarmFact::Kind::kGone) {
      const bool is_long = rng_.between(Duration(0), Duration(kDraws)) < Duration(kDraws / 10);
      const Duration left = is_long ? rng_.between(seconds(5), seconds(90))
                                    : rng_.between(Duration(0), milliseconds(800));
      dirt_[uuid] = {now + left, rng_.between(Duration(0), Duration(1)) == Duration(0)};
    }
  }
  return wrong;
}

bool GpuFarm::is_dirty(Instant now, const std::string& uuid) const {
  const auto found = dirt_.find(uuid);
  return found != dirt_.end() && now < found->second.until;
}

gpus::Viewed GpuFarm::look(Instant now, Instant seen_at, const std::string& uuid) const {
  const bool is_held = is_dirty(seen_at, uuid);
  clean::Seen seen{uuid,
                   now,
                   !is_held,
                   is_held ? kHeldBytes : kCleanBytes,
                   std::vector<clean::Holder>(),
                   agent::RecoveryAction::kNothing};
  if (is_held) {
    seen.holders->push_back({77, dirt_.at(uuid).is_ours, "ann", "loader"});
  }
  gpus::Viewed viewed;
  viewed.view.has_answered = true;
  viewed.seen.push_back(std::move(seen));
  return viewed;
}

}  // namespace muster::sim
