#include "scheduler/state/host_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gossip/base/check.h"
#include "scheduler/protocol/mutants.h"

namespace muster::scheduler {
namespace {

void take_over(HostRecord& record, const entry::Register& fact) {
  record.id = fact.host;
  record.start = fact.start;
  record.boot_id = fact.boot_id;
  record.name = fact.name;
  record.gpu_type = fact.gpu_type;
  record.gpus = fact.gpus;
  record.cpus = fact.cpus;
  record.memory_mb = fact.memory_mb;
  record.has_namespaces = fact.has_namespaces;
  record.awaits_hello = false;
  record.unadopted = fact.adoptable;
  // A quarantined GPU is offered again when its agent says that it is clean, a reboot among others.
  record.quarantined = fact.stuck;
}

/// Since when it is so is for people.
void set_verdict(HostRecord& record, Verdict verdict, std::int64_t unix_ms) {
  record.unix_ms = record.verdict == verdict ? record.unix_ms : unix_ms;
  record.verdict = verdict;
}

}  // namespace

HostBook::HostBook(std::map<HostId, HostRecord> hosts) : hosts_(std::move(hosts)) {}

const HostRecord* HostBook::find(const HostId& id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

std::string HostBook::why_not(const entry::Register& fact) const {
  if (fact.start.generation == Generation() || fact.gpus.size() > kHostGpusMax ||
      fact.stuck.size() > kHostGpusMax) {
    return "malformed registration";
  }
  std::set<std::string> uuids(fact.gpus.begin(), fact.gpus.end());
  if (uuids.size() != fact.gpus.size() || uuids.count("") != 0) {
    return "gpu uuids are not unique";
  }
  const HostRecord* known = find(fact.host);
  // One that is known holds grants by its pair: a start that is refused would cost them.
  const bool is_taken =
      known == nullptr && !fact.name.empty() && std::ranges::any_of(hosts_, [&](const auto& item) {
        return item.second.name == fact.name && item.second.is_reachable();
      });
  if (is_taken) {
    return "host name is taken";
  }
  if (known != nullptr && known->start != fact.start &&
      known->start.generation >= fact.start.generation &&
      !mutant(SchedulerMutant::kOldGenerationRegistered)) {
    return "generation is not above the registered one";
  }
  return "";
}

bool HostBook::awaits_any() const {
  return std::any_of(hosts_.begin(), hosts_.end(), [](const auto& item) {
    const HostRecord& host = item.second;
    return host.is_reachable() && (host.awaits_hello || !host.unadopted.empty());
  });
}

std::optional<std::uint32_t> HostBook::largest_possible(const std::string& gpu_type,
                                                        bool is_kept) const {
  if (hosts_.empty()) {
    return std::nullopt;
  }
  std::map<std::string, std::uint32_t> by_type;
  for (const auto& [id, record] : hosts_) {
    if (record.verdict != Verdict::kLeft && !record.is_removed &&
        (is_kept || record.has_namespaces)) {
      by_type[record.gpu_type] += static_cast<std::uint32_t>(record.gpus.size());
    }
  }
  std::uint32_t largest = 0;
  for (const auto& [type, count] : by_type) {
    if (gpu_type.empty() || gpu_type == type) {
      largest = std::max(largest, count);
    }
  }
  return largest;
}

HostBook::Registered HostBook::on_registered(const entry::Register& fact, std::int64_t unix_ms) {
  const auto [place, is_first] = hosts_.try_emplace(fact.host);
  HostRecord& record = place->second;
  const Registered changed{is_first || record.start != fact.start || record.awaits_hello,
                           !is_first && record.boot_id != fact.boot_id,
                           record.quarantined != fact.stuck};
  take_over(record, fact);
  if (changed.is_new_pair) {
    // A hello with a higher generation clears the verdict about the one before at once.
    record.seen = fact.start;
    set_verdict(record, Verdict::kAlive, unix_ms);
  }
  record.unix_ms = is_first ? unix_ms : record.unix_ms;
  record.is_removed = false;
  return changed;
}

bool HostBook::on_observed(const entry::Observe& fact, std::int64_t unix_ms) {
  const auto found = hosts_.find(fact.host);
  if (found == hosts_.end()) {
    return false;
  }
  HostRecord& record = found->second;
  record.seen = fact.start;
  set_verdict(record, fact.verdict, unix_ms);
  record.is_removed = record.is_removed && fact.verdict != Verdict::kAlive;
  record.health = fact.health;
  record.unhealthy_gpus = fact.unhealthy_gpus;
  record.quarantined = fact.quarantined;
  return true;
}

void HostBook::raise_floor(const HostId& id, const Token& token) {
  const auto found = hosts_.find(id);
  CHECK(found != hosts_.end());
  found->second.highest = std::max(found->second.highest, token);
}

void HostBook::drain(const HostId& id, std::optional<HostDrain> drain) {
  const auto found = hosts_.find(id);
  CHECK(found != hosts_.end());
  found->second.drain = std::move(drain);
}

void HostBook::remove(const HostId& id) {
  const auto found = hosts_.find(id);
  CHECK(found != hosts_.end());
  found->second.is_removed = true;
  found->second.drain.reset();
}

void HostBook::await_all() {
  for (auto& [id, host] : hosts_) {
    host.awaits_hello = true;
    host.unadopted.clear();
  }
}

void HostBook::forget_unadopted(const Token& token) {
  for (auto& [id, host] : hosts_) {
    std::erase(host.unadopted, token);
  }
}

}  // namespace muster::scheduler
