#include "scheduler/state/host_orders.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/name.h"
#include "scheduler/protocol/gpu_uuid.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/attempt_facts.h"

namespace muster::scheduler {
namespace {

void tell(Step& step, Severity severity, std::string_view name, const HostId& host,
          std::vector<std::pair<std::string_view, std::string>> more) {
  Event event{severity, name, {{"host", host.short_hex()}}};
  std::move(more.begin(), more.end(), std::back_inserter(event.fields));
  event.fields.emplace_back("index", std::to_string(step.index.value()));
  step.result.events.push_back(std::move(event));
}

/// Null, and the entry is rejected, if the host never registered.
const HostRecord* known(Step& step, const HostId& host) {
  const HostRecord* record = step.books.hosts.find(host);
  if (record == nullptr) {
    step.reject(ErrorCode::kNotFound, "there is no such host: see `muster hosts`");
  }
  return record;
}

/// Why the host cannot be off, or its ranks cannot be gone; "" = they can.
std::string why_not_fenced(const HostRecord& host, bool are_processes_gone) {
  if (host.verdict == Verdict::kAlive) {
    return "host " + host.name + " answers, so it is not off: " +
           (are_processes_gone
                ? "its agent reports what runs there, so --processes-gone is not needed"
                : "switch it off first");
  }
  if (host.verdict != Verdict::kRefused && are_processes_gone) {
    return "host " + host.name + " does not answer at all, so it is not known what runs there: " +
           "if it is off, leave out --processes-gone";
  }
  if (host.verdict == Verdict::kRefused && !are_processes_gone) {
    return "the kernel of host " + host.name + " answers, so it is not off: start its agent, or " +
           "switch it off first; if no process of its jobs is left there, use " +
           "--processes-gone";
  }
  return "";
}

/// Why the log does not take the order about a GPU of that host; no text = it does.
std::optional<Error> why_not_ordered(const HostRecord& host, const entry::GpuOrder& fact) {
  if (fact.why.empty() || fact.why.size() > kGpuWhyBytesMax || !is_line_name(fact.why)) {
    return Error{ErrorCode::kInvalid, "the reason is not a single line of 1 to " +
                                          std::to_string(kGpuWhyBytesMax) + " bytes"};
  }
  const bool is_masked = host.mask_of(fact.uuid) != nullptr;
  const bool is_registered =
      std::find(host.gpus.begin(), host.gpus.end(), fact.uuid) != host.gpus.end();
  if (!is_registered && (fact.is_mask || !is_masked)) {
    return Error{ErrorCode::kNotFound, "host " + host.name + " has not registered a GPU '" +
                                           fact.uuid.substr(0, kUuidBytesMax) +
                                           "': `muster gpus --host " + host.name +
                                           "` lists its GPUs"};
  }
  const auto masks = std::count_if(host.gpu_orders.begin(), host.gpu_orders.end(),
                                   [](const GpuOrder& order) { return order.is_mask; });
  if (fact.is_mask && !is_masked && masks >= static_cast<std::ptrdiff_t>(kGpuMasksMax)) {
    return Error{ErrorCode::kConflict, "host " + host.name + " has " + std::to_string(masks) +
                                           " masked GPUs: unmask those that are gone first"};
  }
  return std::nullopt;
}

}  // namespace

void on_fence(Step& step, const entry::Fence& fact) {
  const HostRecord* host = known(step, fact.host);
  if (host == nullptr) {
    return;
  }
  if (std::string why_not = why_not_fenced(*host, fact.are_processes_gone); !why_not.empty()) {
    step.reject(ErrorCode::kConflict, std::move(why_not));
    return;
  }
  std::vector<Token> tokens = step.books.gpus.on(fact.host).tokens;
  if (fact.are_processes_gone) {
    // The order is not about attempts that were decided since the operator looked.
    std::erase_if(tokens, [&](const Token& token) {
      return std::find(fact.tokens.begin(), fact.tokens.end(), token) == fact.tokens.end();
    });
  }
  tell(step, Severity::kWarn, "host_fenced", fact.host,
       {{"by", fact.by.name},
        {"word", fact.are_processes_gone ? "processes_gone" : "off"},
        {"grants", std::to_string(tokens.size())}});
  for (const Token& token : tokens) {
    feed(step, token, fact::Fenced{fact.host});
  }
}

void on_drain(Step& step, const entry::Drain& fact) {
  const HostRecord* host = known(step, fact.host);
  if (host == nullptr) {
    return;
  }
  if (host->verdict == Verdict::kLeft || host->is_removed) {
    step.reject(ErrorCode::kNotFound, "host " + host->name + " has left the cluster");
    return;
  }
  if (fact.why.size() > kDrainWhyBytesMax || !is_line_name(fact.why) ||
      fact.after < Duration::zero() || fact.after > kDrainAfterMax) {
    step.reject(ErrorCode::kInvalid, "the reason is not a single line of at most " +
                                         std::to_string(kDrainWhyBytesMax) +
                                         " bytes, or the deadline is more than a year away");
    return;
  }
  HostDrain drain = host->drain.value_or(
      HostDrain{"", "", step.books.cluster_time, step.unix_ms, false, Duration::zero()});
  drain.by = fact.by.name;
  if (!fact.why.empty()) {
    drain.why = fact.why;
  }
  drain.requeues = fact.requeues;
  drain.requeue_at = fact.requeues ? step.books.cluster_time + fact.after : Duration::zero();
  if (!mutant(SchedulerMutant::kDrainIgnored)) {
    step.books.hosts.drain(fact.host, std::move(drain));
  }
  step.result.hosts_changed.push_back(fact.host);
  step.result.capacity_changed = true;
  tell(step, Severity::kInfo, "host_drained", fact.host,
       {{"by", fact.by.name},
        {"why", fact.why},
        {"grants", std::to_string(step.books.gpus.on(fact.host).tokens.size())}});
}

void on_undrain(Step& step, const entry::Undrain& fact) {
  const HostRecord* host = known(step, fact.host);
  if (host == nullptr || !host->drain.has_value()) {
    return;
  }
  step.books.hosts.drain(fact.host, std::nullopt);
  step.result.hosts_changed.push_back(fact.host);
  step.result.capacity_changed = true;
  tell(step, Severity::kInfo, "host_undrained", fact.host, {{"by", fact.by.name}});
}

void on_remove_host(Step& step, const entry::RemoveHost& fact) {
  const HostRecord* host = known(step, fact.host);
  if (host == nullptr) {
    return;
  }
  if (host->is_reachable()) {
    step.reject(
        ErrorCode::kConflict,
        "host " + host->name + " is alive: run `muster leave` on it, or stop its agent first");
    return;
  }
  const std::vector<Token> tokens = step.books.gpus.on(fact.host).tokens;
  if (!tokens.empty()) {
    const Attempt* attempt = step.books.attempts.find(tokens.front());
    step.reject(ErrorCode::kConflict,
                "host " + host->name + " may still run job " +
                    text_of(attempt == nullptr ? JobId() : attempt->job) +
                    ": if you are sure that it is off, run `muster hosts fence " + host->name +
                    "` first");
    return;
  }
  if (host->is_removed) {
    return;
  }
  step.books.hosts.remove(fact.host);
  step.result.hosts_changed.push_back(fact.host);
  tell(step, Severity::kInfo, "host_removed", fact.host,
       {{"name", host->name}, {"by", fact.by.name}});
}

void on_gpu_order(Step& step, const entry::GpuOrder& fact) {
  const HostRecord* host = known(step, fact.host);
  if (host == nullptr) {
    return;
  }
  if (std::optional<Error> why_not = why_not_ordered(*host, fact)) {
    step.reject(why_not->code, std::move(why_not->text));
    return;
  }
  GpuOrder order{fact.uuid,    fact.is_mask,
                 fact.why,     fact.by.name.substr(0, kGpuOrderByBytesMax),
                 step.unix_ms, {step.books.epochs.counter(), step.index.value()}};
  const std::string at = order.at.text();
  step.books.hosts.order(fact.host, std::move(order));
  step.result.hosts_changed.push_back(fact.host);
  step.result.capacity_changed = true;
  tell(step, Severity::kInfo, fact.is_mask ? "gpu_masked" : "gpu_unmasked", fact.host,
       {{"gpu", fact.uuid}, {"by", fact.by.name}, {"why", fact.why}, {"at", at}});
}

}  // namespace muster::scheduler
