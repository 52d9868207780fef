#include "scheduler/why/impossible.h"

#include <algorithm>
#include <set>
#include <vector>

namespace muster::scheduler {
namespace {

/// The first few names, for one line.
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

/// The answer if a name of the request exists nowhere in the cluster; "" = all exist.
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

bool is_named(const HostRecord& host, const Request& request) {
  const auto names = [&host](const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(), [&host](const std::string& name) {
      return name == host.name || name == host.id.hex() || name == host.id.short_hex();
    });
  };
  return (request.hosts.empty() || names(request.hosts)) && !names(request.not_hosts);
}

/// The answer if each wanted label and type exists, but no host has all of them.
std::string no_such_host(const State& state, const JobSpec& spec) {
  const Request& request = spec.request;
  const auto is_there = [&](const auto& entry) {
    const HostRecord& host = entry.second;
    return host.verdict != Verdict::kLeft && !host.is_removed && is_named(host, request);
  };
  if (std::none_of(state.hosts().begin(), state.hosts().end(), is_there)) {
    return "--host and --not-host leave no host of the cluster: see `muster hosts`";
  }
  JobSpec kept = spec;
  kept.limits.keep_when_isolated = true;
  const bool lacks_namespaces =
      std::any_of(state.hosts().begin(), state.hosts().end(),
                  [&](const auto& entry) { return is_there(entry) && entry.second.suits(kept); });
  std::vector<std::string> words;
  if (!request.gpu_types.empty()) {
    words.push_back("GPUs of type " + joined(request.gpu_types));
  }
  for (const std::string& label : request.labels) {
    words.push_back("the label " + label);
  }
  for (const std::string& label : request.not_labels) {
    words.push_back("no label " + label);
  }
  if (lacks_namespaces) {
    words.emplace_back("PID namespaces (which all but --isolation keep need)");
  }
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : &word == &words.back() ? " and " : ", ") + word;
  }
  return std::string("no host ") +
         (request.hosts.empty() && request.not_hosts.empty() ? ""
                                                             : "among those that may be used ") +
         "has " + text;
}

std::string counted(std::uint32_t units, const Request& request) {
  const std::string what =
      request.gpus == 0 ? (units == 1 ? "rank" : "ranks") : (units == 1 ? "GPU" : "GPUs");
  return std::to_string(units) + " " + what;
}

/// The largest amount that a host has, and that host.
struct Most {
  std::uint64_t amount = 0;
  std::string host;
};

/// The largest amounts among hosts that suit the job but for their size.
template <class Amount>
Most most_of(const State& state, const JobSpec& spec, Amount amount) {
  Most most;
  for (const auto& [id, host] : state.hosts()) {
    const bool is_gone = host.verdict == Verdict::kLeft || host.is_removed;
    if (!is_gone && host.suits(spec) && is_named(host, spec.request) &&
        (most.host.empty() || amount(host) > most.amount)) {
      most = {amount(host), host.name};
    }
  }
  return most;
}

/// "64G", "23.5G", "512M"
std::string memory_text(std::uint64_t memory_mb) {
  constexpr std::uint64_t kStep = 1024;
  std::uint64_t unit = 1;
  std::size_t letter = 0;
  for (; letter < 2 && memory_mb >= unit * kStep; ++letter) {
    unit *= kStep;
  }
  const std::uint64_t tenths = memory_mb % unit * 10 / unit;
  return std::to_string(memory_mb / unit) + (tenths == 0 ? "" : "." + std::to_string(tenths)) +
         "MGT"[letter];
}

std::string exact_memory_text(std::uint64_t memory_mb) {
  return std::to_string(memory_mb) + "M";
}

std::string cpus_text(std::uint64_t cpus) {
  std::string text = std::to_string(cpus / kOneCpu);
  if (cpus % kOneCpu != 0) {
    text += "." + std::to_string(kOneCpu + cpus % kOneCpu).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + (cpus == kOneCpu ? " CPU" : " CPUs");
}

/// Two amounts in words, rounded unless they would look the same.
using AmountText = std::string (*)(std::uint64_t);
struct AmountTexts {
  AmountText rounded;
  AmountText exact;
};

std::uint64_t cpus_of(const HostRecord& host) {
  return std::uint64_t{host.cpus} * kOneCpu;
}

std::uint64_t memory_of(const HostRecord& host) {
  return host.memory_mb;
}

/// A bound that keeps the job from the hosts: one unit's share of CPUs or memory.
struct Excess {
  std::uint64_t wanted = 0;
  std::uint32_t largest = 0;  ///< Units that could ever be held with this bound.
  AmountTexts texts;
  const char* of_what = "";  ///< Behind the amount, where that does not say it.
};

/// `amount`: how much a host has.
template <class Amount>
std::string text_of(const Excess& excess, const State& state, const JobSpec& spec, Amount amount) {
  const Request& request = spec.request;
  const std::uint64_t each = std::max<std::uint32_t>(request.units_per_host(), 1);
  const std::string unit = request.gpus == 0 ? "rank" : "GPU";
  const Most most = most_of(state, spec, [&](const HostRecord& host) -> std::uint64_t {
    return request.gpus != 0 && host.gpus.size() < each ? 0 : amount(host) / each;
  });
  const bool are_alike = excess.wanted != most.amount &&
                         excess.texts.rounded(excess.wanted) == excess.texts.rounded(most.amount);
  const AmountText text = are_alike ? excess.texts.exact : excess.texts.rounded;
  if (excess.wanted > most.amount) {
    return "no host has " + text(excess.wanted) + excess.of_what + " for each " +
           (each == 1 ? unit : "of " + std::to_string(each) + " " + unit + "s") + "; the most is " +
           text(most.amount) + (most.host.empty() ? "" : " (host " + most.host + ")");
  }
  return "the job asks for " + counted(request.units(), request) + " with " + text(excess.wanted) +
         " each, and the hosts could ever hold " + std::to_string(excess.largest) + " of them";
}

/// Why no host of the kind holds the units that each host must hold; "" = a host holds them.
std::string too_many_a_host(const State& state, Capacity& capacity, const JobSpec& spec,
                            const Shape& asked, const std::string& type) {
  Shape one = asked;
  one.per_host = 0;
  one.pack = Pack::kHost;
  const std::uint32_t on_one = asked.per_host == 0 ? 0 : capacity.ever_for(one);
  if (asked.per_host == 0 || on_one == 0 || on_one >= asked.per_host) {
    return "";
  }
  const std::string wanted = std::to_string(asked.per_host) + " ";
  const std::string what = spec.request.gpus == 0 ? "no host has room for " + wanted + "ranks"
                                                  : "no host has " + wanted + type + "GPUs";
  const Most most = most_of(state, spec, [](const HostRecord& host) { return host.gpus.size(); });
  const bool is_of_gpus = spec.request.gpus != 0 && most.amount < asked.per_host;
  return is_of_gpus
             ? what + "; the most is " + std::to_string(most.amount) + " (host " + most.host + ")"
             : what + " and what each takes along; the most is " + std::to_string(on_one);
}

/// The answer if several bounds keep the job from the hosts, and dropping one is not enough: the
/// first bound that is too much by itself, or the capacity if all bounds or no bounds count.
std::string first_of_several(const State& state, Capacity& capacity, const JobSpec& spec,
                             const Shape& asked, const std::string& what) {
  Shape bare = asked;
  bare.pack = Pack::kAny;
  bare.per_host = 0;
  if (bare.cpus.has_value()) {
    bare.cpus = 0;
  }
  if (bare.memory_mb.has_value()) {
    bare.memory_mb = 0;
  }
  const std::uint32_t most = capacity.ever_for(bare);
  if (most < asked.units) {
    return what + ", and the largest that could ever run has " + counted(most, spec.request);
  }
  const auto largest_with = [&](auto bound) {
    Shape shape = bare;
    shape.*bound = asked.*bound;
    return capacity.ever_for(shape);
  };
  if (const std::uint32_t with = largest_with(&Shape::cpus); with < asked.units) {
    return text_of(Excess{*asked.cpus, with, {cpus_text, cpus_text}}, state, spec, cpus_of);
  }
  if (const std::uint32_t with = largest_with(&Shape::memory_mb); with < asked.units) {
    return text_of(Excess{*asked.memory_mb, with, {memory_text, exact_memory_text}, " of memory"},
                   state, spec, memory_of);
  }
  return what + " with all that each takes along, and the largest that could ever run has " +
         counted(capacity.ever_for(asked), spec.request);
}

/// "; no host has a rack (muster agent --rack)", if none names the place that the job asks for.
std::string nameless_text(const State& state, Pack pack) {
  const auto is_nameless = [pack](const auto& entry) {
    const HostTraits& traits = entry.second.traits;
    return (pack == Pack::kRack ? traits.rack : traits.spine).empty();
  };
  const std::string name(text_of(pack));
  return (pack == Pack::kRack || pack == Pack::kSpine) &&
                 std::all_of(state.hosts().begin(), state.hosts().end(), is_nameless)
             ? "; no host has a " + name + " (muster agent --" + name + ")"
             : "";
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
  const auto holds = [&](const Shape& shape) { return capacity.ever_for(shape) >= asked.units; };
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
           counted(largest, request) + "; --pack " + wider + " would be possible" +
           nameless_text(state, asked.pack);
  }
  if (loose = asked, loose.cpus = 0; asked.cpus.has_value() && holds(loose)) {
    return text_of(Excess{*asked.cpus, largest, {cpus_text, cpus_text}}, state, spec, cpus_of);
  }
  if (loose = asked, loose.memory_mb = 0; asked.memory_mb.has_value() && holds(loose)) {
    return text_of(
        Excess{*asked.memory_mb, largest, {memory_text, exact_memory_text}, " of memory"}, state,
        spec, memory_of);
  }
  if (std::string many = too_many_a_host(state, capacity, spec, asked, type); !many.empty()) {
    return many;
  }
  if (most_of(state, spec, [](const HostRecord& host) { return host.gpus.size(); }).host.empty()) {
    return no_such_host(state, spec);
  }
  loose = asked;
  loose.takes_bare_hosts = true;
  return holds(loose)
             ? what + ", and the largest that could ever run has " + counted(largest, request) +
                   "; hosts without PID namespaces take only --isolation keep"
             : first_of_several(state, capacity, spec, asked, what);
}

}  // namespace muster::scheduler
