#include "scheduler/placement/impossible.h"

#include <algorithm>
#include <set>
#include <vector>

namespace muster::scheduler {
namespace {

/// The first few, for one line.
std::string listed(const std::set<std::string>& names) {
  constexpr std::size_t kListedMax = 8;
  std::string text = names.empty() ? "none" : "";
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (named == kListedMax) {
      return text + " and " + std::to_string(names.size() - named) + " more";
    }
    text += (named++ == 0 ? "" : ", ") + name;
  }
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

/// A name of the request that nothing in the cluster bears.
std::string unknown_name(const State& state, const Capacity& capacity, const Request& request) {
  const std::set<std::string> types = state.host_lists().gpu_types();
  const bool has_type =
      request.gpu_types.empty() ||
      std::any_of(types.begin(), types.end(), [&](const std::string& type) {
        return std::any_of(request.gpu_types.begin(), request.gpu_types.end(),
                           [&](const std::string& each) { return folded(each) == folded(type); });
      });
  if (!has_type) {
    return "no host has GPUs of type " + joined(request.gpu_types) +
           "; there are: " + listed(types);
  }
  const std::set<std::string> labels = state.host_lists().labels();
  for (const std::string& label : request.labels) {
    if (!labels.contains(label)) {
      return "no host has the label " + label + "; there are: " + listed(labels);
    }
  }
  for (const auto* names : {&request.hosts, &request.not_hosts}) {
    for (const std::string& name : *names) {
      if (!capacity.knows_host(name)) {
        return "no host is called " + name + ": see `muster hosts`";
      }
    }
  }
  return "";
}

std::string counted(std::uint32_t units, const Request& request) {
  const std::string what =
      request.gpus == 0 ? (units == 1 ? "rank" : "ranks") : (units == 1 ? "GPU" : "GPUs");
  return std::to_string(units) + " " + what;
}

}  // namespace

std::string why_impossible(const State& state, Capacity& capacity, const JobSpec& spec) {
  const Request& request = spec.request;
  const Shape asked = relaxed_shape_of(spec);
  const std::uint32_t largest = capacity.ever_for(asked);
  if (largest >= asked.units || state.hosts().empty()) {
    return "";
  }
  if (std::string unknown = unknown_name(state, capacity, request); !unknown.empty()) {
    return unknown;
  }
  const std::string type = request.gpu_types.empty() ? "" : joined(request.gpu_types) + " ";
  const std::string what = "the job asks for " + std::to_string(asked.units) + " " +
                           (request.gpus == 0 ? "ranks" : type + "GPUs");
  const auto holds = [&](Shape shape) { return capacity.ever_for(shape) >= asked.units; };
  Shape loose = asked;
  if (loose.pack = Pack::kAny; asked.pack != Pack::kAny && holds(loose)) {
    std::string wider;
    for (const Pack pack : {Pack::kHost, Pack::kRack, Pack::kSpine, Pack::kAny}) {
      Shape shape = asked;
      shape.pack = pack;
      const bool is_wider = pack == Pack::kAny || (pack > asked.pack && asked.pack != Pack::kAny);
      if (wider.empty() && is_wider && holds(shape)) {
        wider = std::string(text_of(pack));
      }
    }
    return what + " in one " + std::string(text_of(asked.pack)) + ", and the largest has " +
           counted(largest, request) + "; --pack " + wider + " would be possible";
  }
  if (loose = asked, loose.per_host = 0; asked.per_host != 0 && capacity.ever_for(loose) != 0) {
    loose.pack = Pack::kHost;
    const std::uint32_t on_one = capacity.ever_for(loose);
    if (on_one < asked.per_host) {
      return "the job asks for " + counted(asked.per_host, request) +
             " of a host, and the largest has " + std::to_string(on_one) + " for it";
    }
  }
  if (loose = asked, loose.cpus = 0; asked.cpus.has_value() && holds(loose)) {
    return what + " with so many CPUs each, and the largest that could ever run so has " +
           counted(largest, request);
  }
  if (loose = asked, loose.memory_mb = 0; asked.memory_mb.has_value() && holds(loose)) {
    return what + " with so much memory each, and the largest that could ever run so has " +
           counted(largest, request);
  }
  loose = asked;
  loose.takes_bare_hosts = true;
  return what + ", and the largest that could ever run has " + counted(largest, request) +
         (holds(loose) ? "; hosts without PID namespaces take only --isolation keep" : "");
}

}  // namespace muster::scheduler
