// The World and those who watch it: events to hash, trace and checkers, and what they find.

#include <cstdio>

#include <xxhash.h>

#include "tests/sim/world.h"

namespace muster::sim {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(10);

}  // namespace

void World::add_checker(std::unique_ptr<Checker> checker) {
  checkers_.push_back(std::move(checker));
}

bool World::run_until_true(const std::function<bool()>& condition, Duration limit) {
  const Instant deadline = now_ + limit;
  while (!condition()) {
    if (now_ >= deadline) {
      return false;
    }
    run_for(kLook);
  }
  return true;
}

void World::finish() {
  for (const auto& checker : checkers_) {
    checker->at_end(*this);
  }
}

void World::note(std::uint32_t index, const Event& event) {
  const std::string text = event.text();
  const std::uint64_t stamp = static_cast<std::uint64_t>(now_.time_since_epoch().count()) ^ index;
  hash_ = mix64(hash_ ^ stamp ^ XXH3_64bits(text.data(), text.size()));
  if (options_.trace && event.severity != Severity::kDebug) {
    std::printf("%10.3f h%-3u %s\n", static_cast<double>(to_ms(now_)) / 1000, index, text.c_str());
  }
  for (const auto& checker : checkers_) {
    checker->on_event(*this, index, event);
  }
}

void World::violation(const std::string& checker, const std::string& text) {
  violations_.push_back({checker, text});
  if (options_.trace) {
    std::printf("%10.3f VIOLATION %s: %s\n", static_cast<double>(to_ms(now_)) / 1000,
                checker.c_str(), text.c_str());
  }
}

const ClientReply* World::reply_to(std::uint64_t client) const {
  const auto found = replies_.find(client);
  return found == replies_.end() ? nullptr : &found->second;
}

}  // namespace muster::sim
