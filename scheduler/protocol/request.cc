#include "scheduler/protocol/request.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "gossip/base/name.h"

namespace muster::scheduler {
namespace {

Error invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

Status check_counts(const Request& request) {
  const std::uint32_t units = request.units();
  if (units == 0 || units > kGangUnitsMax) {
    return invalid("a job has 1 to " + std::to_string(kGangUnitsMax) + " GPUs, or as many ranks");
  }
  if (request.gpus != 0 && request.ranks != 0) {
    return invalid("ranks are counted by GPUs, or by ranks for each host");
  }
  if (request.units_per_host() > kHostUnitsMax || request.ranks_per_host > kHostUnitsMax) {
    return invalid("a host has at most " + std::to_string(kHostUnitsMax) + " GPUs or ranks of it");
  }
  if (request.units_per_host() != 0 && units % request.units_per_host() != 0) {
    return invalid(std::to_string(units) + " is not a multiple of " +
                   std::to_string(request.units_per_host()) + " for each host");
  }
  if (request.gpus != 0 && request.ranks_per_host != 0 && request.gpus_per_host == 0) {
    return invalid("ranks for each host need GPUs for each host");
  }
  if (request.gpus != 0 && request.ranks_per_host != 0 &&
      std::uint64_t{units / request.gpus_per_host} * request.ranks_per_host > kGangUnitsMax) {
    return invalid("more than " + std::to_string(kGangUnitsMax) + " ranks");
  }
  if (request.pack == Pack::kHost && request.units_per_host() != 0 &&
      units != request.units_per_host()) {
    return invalid("one host was asked for, and several");
  }
  return ok();
}

Status check_names(const std::vector<std::string>& names, std::string_view what) {
  if (names.size() > kNamedMax) {
    return invalid("more than " + std::to_string(kNamedMax) + " " + std::string(what) + "s");
  }
  const bool is_long = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.empty() || name.size() > kNameBytesMax;
  });
  return is_long ? Status(invalid("one of the " + std::string(what) + "s is empty or longer than " +
                                  std::to_string(kNameBytesMax) + " bytes"))
                 : ok();
}

/// A label may be any line of text, as a kernel gives it; the other names are words.
Status check_names(const Request& request) {
  for (const auto& [names, what] :
       {std::pair(&request.gpu_types, "GPU type"), std::pair(&request.labels, "label"),
        std::pair(&request.not_labels, "label"), std::pair(&request.hosts, "host"),
        std::pair(&request.not_hosts, "host")}) {
    if (const Status status = check_names(*names, what); !status) {
      return status;
    }
    const bool are_labels = names == &request.labels || names == &request.not_labels;
    for (const std::string& name : *names) {
      const Status status = are_labels ? check_line_name(name, what) : check_word_name(name, what);
      if (!status) {
        return status;
      }
    }
  }
  return ok();
}

}  // namespace

std::string_view text_of(Pack pack) {
  static constexpr std::array<std::string_view, 5> kTexts = {"any", "island", "host", "rack",
                                                             "spine"};
  return kTexts[static_cast<std::size_t>(pack)];
}

Status validate(const Request& request) {
  if (const Status status = check_counts(request); !status) {
    return status;
  }
  if (request.cpus.value_or(0) > kCpusMax || request.memory_mb.value_or(0) > kMemoryMbMax) {
    return invalid("no host has so many CPUs or so much memory");
  }
  if (const Status status = check_names(request); !status) {
    return status;
  }
  for (const auto* names :
       {&request.labels, &request.not_labels, &request.hosts, &request.not_hosts}) {
    if (std::adjacent_find(names->begin(), names->end(), std::greater_equal<>()) != names->end()) {
      return invalid("labels and hosts are named in order, each once");
    }
  }
  return ok();
}

std::string folded(std::string_view type) {
  std::string text(type);
  for (char& c : text) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

}  // namespace muster::scheduler
