#include "scheduler/state/host_book.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "gossip/base/check.h"
#include "gossip/base/name.h"
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
  record.traits = fact.traits;
  record.has_namespaces = fact.has_namespaces;
  record.recovery.awaits_hello = false;
  record.recovery.unadopted = fact.adoptable;
  // A quarantined GPU is offered again when its agent says that it is clean, a reboot among others.
  record.quarantined = fact.stuck;
}

/// Adds to a sorted list.
void join(std::vector<std::string>& sorted, const std::vector<std::string>& more) {
  std::set<std::string> all(sorted.begin(), sorted.end());
  all.insert(more.begin(), more.end());
  sorted.assign(all.begin(), all.end());
}

/// Sets the verdict. The time of its change is for people.
void set_verdict(HostRecord& record, Verdict verdict, std::int64_t unix_ms) {
  record.unix_ms = record.verdict == verdict ? record.unix_ms : unix_ms;
  record.verdict = verdict;
}

}  // namespace

bool are_numbers_dense(const std::map<HostId, HostRecord>& hosts) {
  std::vector<bool> given(hosts.size());
  for (const auto& [id, host] : hosts) {
    const std::uint32_t index = index_of(host.number);
    if (index >= given.size() || given[index]) {
      return false;
    }
    given[index] = true;
  }
  return true;
}

HostBook::HostBook(std::map<HostId, HostRecord> hosts) : hosts_(std::move(hosts)) {
  for (const auto& [id, host] : hosts_) {
    lists_.put(host);
  }
}

template <class Change>
void HostBook::change(HostRecord& host, Change change) {
  lists_.take(host);
  change(host);
  lists_.put(host);
}

const HostRecord* HostBook::find(const HostId& id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

const HostRecord* HostBook::bearer(const std::string& name, const HostId& except) const {
  const HostRecord* own = find(except);
  const bool is_own = own != nullptr && own->keeps_name() && own->name == name;
  if (lists_.bearers(name) <= (is_own ? 1U : 0U)) {
    return nullptr;
  }
  const auto found = std::find_if(all().begin(), all().end(), [&](const auto& entry) {
    return entry.first != except && entry.second.keeps_name() && entry.second.name == name;
  });
  CHECK(found != all().end());
  return &found->second;
}

std::string why_taken(const HostRecord& bearer) {
  const std::string who = "the name " + bearer.name + " belongs to host " + bearer.id.short_hex();
  return bearer.is_reachable() ? who + ": choose another one (--name)"
                               : who +
                                     ", which is off: choose another one (--name), or, if it is "
                                     "gone for good, `muster hosts remove " +
                                     bearer.name + "` first";
}

namespace {

/// Whether people can type the names, and tables list them. A label may be any printable text
/// without a blank, such as the name of a kernel.
bool are_names(const entry::Register& fact) {
  const std::vector<std::string>& labels = fact.traits.labels;
  return is_word_name(fact.name) && (fact.gpu_type.empty() || is_word_name(fact.gpu_type)) &&
         (fact.traits.rack.empty() || is_word_name(fact.traits.rack)) &&
         (fact.traits.spine.empty() || is_word_name(fact.traits.spine)) &&
         std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
           return !label.empty() && label.size() <= kNameBytesMax && is_line_name(label) &&
                  label.find(' ') == std::string::npos;
         });
}

}  // namespace

std::string HostBook::why_not(const entry::Register& fact) const {
  if (fact.start.generation == Generation() || fact.gpus.size() > kHostGpusMax ||
      fact.stuck.size() > kHostGpusMax ||
      std::any_of(fact.gpus.begin(), fact.gpus.end(),
                  [](const std::string& uuid) { return uuid.size() > kUuidBytesMax; })) {
    return "malformed registration";
  }
  if (fact.cpus > kHostCpusMax || fact.memory_mb > kMemoryMbMax) {
    return "no machine has so many CPUs or so much memory";
  }
  const HostTraits& traits = fact.traits;
  if (traits.labels.size() > kLabelsMax ||
      std::adjacent_find(traits.labels.begin(), traits.labels.end(), std::greater_equal<>()) !=
          traits.labels.end() ||
      std::any_of(traits.islands.begin(), traits.islands.end(),
                  [](std::uint32_t island) { return island >= kHostIslandsMax; }) ||
      (!traits.islands.empty() && traits.islands.size() != fact.gpus.size())) {
    return "malformed traits";
  }
  if (!are_names(fact)) {
    return "its name, GPU type, rack, spine or one of its labels is not valid";
  }
  std::set<std::string> uuids(fact.gpus.begin(), fact.gpus.end());
  if (uuids.size() != fact.gpus.size() || uuids.count("") != 0) {
    return "gpu uuids are not unique";
  }
  const HostRecord* known = find(fact.host);
  if (const HostRecord* other = bearer(fact.name, fact.host)) {
    return why_taken(*other);
  }
  if (known != nullptr && known->start != fact.start &&
      known->start.generation >= fact.start.generation &&
      !mutant(SchedulerMutant::kOldGenerationRegistered)) {
    return "generation is not above the registered one";
  }
  return "";
}

HostBook::RegisterEffect HostBook::on_registered(const entry::Register& fact,
                                                 std::int64_t unix_ms) {
  const auto [place, is_first] = hosts_.try_emplace(fact.host);
  HostRecord& record = place->second;
  if (is_first) {
    record.number = static_cast<HostNumber>(hosts_.size() - 1);
  }
  const RegisterEffect changed{
      is_first || record.start != fact.start || record.recovery.awaits_hello,
      !is_first && record.boot_id != fact.boot_id, record.quarantined != fact.stuck};
  if (!is_first) {
    lists_.take(record);
  }
  take_over(record, fact);
  if (changed.is_new_pair) {
    // A hello with a higher generation clears the verdict about the one before at once.
    record.seen = fact.start;
    set_verdict(record, Verdict::kAlive, unix_ms);
  }
  record.unix_ms = is_first ? unix_ms : record.unix_ms;
  record.is_removed = false;
  lists_.put(record);
  return changed;
}

bool HostBook::on_observed(const entry::Observe& fact, std::int64_t unix_ms) {
  const auto found = hosts_.find(fact.host);
  if (found == hosts_.end()) {
    return false;
  }
  change(found->second, [&](HostRecord& record) {
    // A host that came back may find its name taken: it is not there until it registers.
    const bool is_late = !record.keeps_name() && lists_.bearers(record.name) > 0;
    record.seen = fact.start;
    set_verdict(record, fact.verdict, unix_ms);
    record.is_removed = is_late || (record.is_removed && fact.verdict != Verdict::kAlive);
    record.health = fact.health;
    record.shortage = fact.shortage;
    record.unhealthy_gpus = fact.unhealthy_gpus;
    join(record.quarantined, fact.quarantined);
  });
  return true;
}

bool HostBook::withhold(const HostId& id, const AgentStart& start,
                        const std::vector<std::string>& uuids) {
  const auto found = hosts_.find(id);
  if (found == hosts_.end() || found->second.start != start) {
    return false;
  }
  change(found->second, [&](HostRecord& record) { join(record.quarantined, uuids); });
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
  change(found->second, [&](HostRecord& host) { host.drain = std::move(drain); });
}

void HostBook::remove(const HostId& id) {
  const auto found = hosts_.find(id);
  CHECK(found != hosts_.end());
  change(found->second, [](HostRecord& host) {
    host.is_removed = true;
    host.drain.reset();
  });
}

void HostBook::order(const HostId& id, GpuOrder order) {
  const auto found = hosts_.find(id);
  CHECK(found != hosts_.end());
  change(found->second, [&](HostRecord& host) {
    std::vector<GpuOrder>& orders = host.gpu_orders;
    std::erase_if(orders, [&](const GpuOrder& known) { return known.uuid == order.uuid; });
    orders.push_back(std::move(order));
    const auto is_unmask = [](const GpuOrder& known) { return !known.is_mask; };
    if (std::count_if(orders.begin(), orders.end(), is_unmask) >
        static_cast<std::ptrdiff_t>(kGpuUnmasksKept)) {
      orders.erase(std::find_if(orders.begin(), orders.end(), is_unmask));
    }
  });
}

void HostBook::await_all() {
  for (auto& [id, host] : hosts_) {
    change(host, [](HostRecord& record) {
      record.recovery.awaits_hello = true;
      record.recovery.unadopted.clear();
    });
  }
}

void HostBook::forget_unadopted(const Token& token) {
  for (auto& [id, host] : hosts_) {
    if (!host.recovery.unadopted.empty()) {
      change(host, [&](HostRecord& record) { std::erase(record.recovery.unadopted, token); });
    }
  }
}

void HostBook::check() const {
  CHECK(are_numbers_dense(all()));
  CHECK(HostBook(all()).lists_ == lists_);
}

}  // namespace muster::scheduler
