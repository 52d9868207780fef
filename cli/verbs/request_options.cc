#include "cli/verbs/request_options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "cli/kit/agent_verb.h"
#include "cli/kit/duration.h"
#include "cli/kit/size.h"
#include "cli/kit/text.h"
#include "gossip/base/name.h"

namespace muster::cli {
namespace {

using scheduler::Pack;
using scheduler::Request;

constexpr std::uint64_t kGpusMax = scheduler::kGangUnitsMax;
constexpr std::string_view kPerGpu = "/gpu";
constexpr int kMegabyteBits = 20;

Error invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && !text.empty() ? std::optional(number) : std::nullopt;
}

/// "12" or "0.25" in thousandths.
std::optional<std::uint64_t> thousandths(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto ones = whole(text.substr(0, point));
  if (!ones.has_value() || *ones > scheduler::kCpusMax / scheduler::kOneCpu) {
    return std::nullopt;
  }
  std::string part(text.substr(std::min(point + 1, text.size())));
  if (point < text.size() && (part.empty() || part.size() > 3)) {
    return std::nullopt;
  }
  part.resize(3, '0');
  const auto rest = whole(part);
  return rest.has_value() ? std::optional(*ones * scheduler::kOneCpu + *rest) : std::nullopt;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    parts.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Cuts "/gpu" off; whether it was there.
bool take_per_gpu(std::string_view& text) {
  const bool is_per_gpu = text.ends_with(kPerGpu);
  text.remove_suffix(is_per_gpu ? kPerGpu.size() : 0);
  return is_per_gpu;
}

void sort_once(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

void RequestOptions::describe(Options& options) {
  options.value(
      "-g,--gpus", [this](const std::string& text) { return accept_gpus(text); },
      "Number of GPUs, one rank each, at most 4096; 4x8 takes 8 on each of exactly 4 hosts; 0 "
      "takes none and needs --ranks (default 1)",
      "N|HOSTSxN");
  options.number("--ranks", ranks_, "Number of ranks of a job without GPUs, beside --gpus 0");
  options.number("--ranks-per-host", ranks_per_host_,
                 "Number of ranks on each host, with --gpus HOSTSxN or --ranks; 1 starts one "
                 "launcher that sees all GPUs of the job there, 0 one rank per GPU");
  options.value(
      "--cpus",
      [this](const std::string& text) -> Status {
        std::string_view number = text;
        cpus_.is_per_gpu = take_per_gpu(number);
        const auto value = thousandths(number);
        cpus_.is_given = true;
        cpus_.value = value.value_or(0);
        return value.has_value()
                   ? ok()
                   : Status(invalid("'" + text +
                                    "' is not a number of CPUs: write 12, 0.5 or 12/gpu"));
      },
      "CPUs per rank, or per GPU with /gpu: 0.5, 12 or 12/gpu (default each GPU's share of its "
      "host, or 1 per rank without GPUs)",
      "N[/gpu]");
  options.value(
      "--mem", [this](const std::string& text) { return accept_memory(text); },
      "Memory per rank, or per GPU with /gpu: 512M, 64G or 1T/gpu (default as for --cpus)",
      "SIZE[/gpu]");
  options.value(
      "--gpu-type",
      [this](const std::string& text) { return add_names(named_.gpu_types, text, false); },
      "Accept these GPU types, best first, as `muster hosts` shows them; case is ignored (default "
      "any)",
      "T[,T...]");
  options.values(
      "--label", [this](const std::string& text) { return add_names(named_.labels, text, true); },
      "Use only hosts with this label; repeatable", "KEY[=VALUE]");
  options.values(
      "--not-label",
      [this](const std::string& text) { return add_names(named_.not_labels, text, true); },
      "Avoid hosts with this label; repeatable", "KEY[=VALUE]");
  options.values(
      "--require", [this](const std::string& text) { return require(text); },
      "Use only hosts whose kernel holds ranks to this: memory, cpu, pids, devices or mounts; "
      "other hosts watch memory and processes, and let ranks choose their processors",
      "ABILITY[,...]");
  options.values(
      "--host", [this](const std::string& text) { return add_names(named_.hosts, text, false); },
      "Use only these hosts, by name or id; repeatable", "NAME[,NAME...]");
  options.values(
      "--not-host",
      [this](const std::string& text) { return add_names(named_.not_hosts, text, false); },
      "Avoid these hosts, by name or id; repeatable", "NAME[,NAME...]");
  options.value(
      "--pack", [this](const std::string& text) { return accept_pack(text); },
      "Require closeness: island (GPUs that share a switch), host, rack, spine or any; rack@10m "
      "requires it for the first 10 minutes only (default any, as close as possible)",
      "LEVEL[@WAIT]");
}

Status RequestOptions::accept_memory(const std::string& text) {
  std::string_view size = text;
  memory_mb_.is_per_gpu = take_per_gpu(size);
  if (!size.empty() && size.find_first_not_of("0123456789") == std::string_view::npos) {
    const std::string number(size);
    const std::string rest = text.substr(number.size());
    return invalid("'" + text + "' has no unit: write " + number + "G" + rest + ", or " + number +
                   "M" + rest);
  }
  const Result<std::uint64_t> bytes = parse_size(size);
  if (!bytes) {
    return bytes.error();
  }
  if (*bytes != 0 && *bytes >> kMegabyteBits == 0) {
    return invalid("'" + text + "' is less than 1M: write 512M, 4G or 1T");
  }
  memory_mb_.is_given = true;
  memory_mb_.value = *bytes >> kMegabyteBits;
  return ok();
}

Status RequestOptions::accept_gpus(const std::string& text) {
  const std::size_t x = text.find('x');
  const auto first = whole(std::string_view(text).substr(0, x));
  const auto each = x == std::string::npos ? first : whole(std::string_view(text).substr(x + 1));
  if (!first.has_value() || !each.has_value()) {
    return invalid("'" + text +
                   "' is not a number of GPUs: write 16, or 2x8 for 8 on each of 2 hosts");
  }
  if (x != std::string::npos && (*first == 0 || *each == 0)) {
    return invalid("'" + text + "' has no GPUs: write 2x8, or 0 beside --ranks");
  }
  if (*first > kGpusMax || *each > kGpusMax ||
      (x != std::string::npos && *first * *each > kGpusMax)) {
    return invalid("'" + text + "' is more than " + std::to_string(kGpusMax) + " GPUs");
  }
  hosts_ = x == std::string::npos ? 0 : *first;
  gpus_ = *each;
  return ok();
}

Status RequestOptions::accept_pack(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string level = text.substr(0, at);
  named_.pack_wait = Duration(0);
  bool is_known = false;
  for (const Pack pack : {Pack::kAny, Pack::kIsland, Pack::kHost, Pack::kRack, Pack::kSpine}) {
    if (level == scheduler::text_of(pack)) {
      named_.pack = pack;
      is_known = true;
    }
  }
  if (!is_known) {
    return invalid("'" + level + "': write island, host, rack, spine or any");
  }
  if (at == std::string::npos) {
    return ok();
  }
  const Result<Duration> wait = parse_duration(text.substr(at + 1));
  if (!wait) {
    return wait.error();
  }
  if (named_.pack == Pack::kAny || *wait == Duration(0)) {
    return invalid("'" + text + "' has no closeness to wait for: write rack@10m");
  }
  named_.pack_wait = *wait;
  return ok();
}

Status RequestOptions::require(const std::string& text) {
  for (const std::string& part : parts_of(text)) {
    const auto& names = kAbilityNames;
    if (std::find(names.begin(), names.end(), part) == names.end()) {
      return invalid("'" + part +
                     "' is not an ability: write memory, cpu, pids, devices or mounts");
    }
    if (const Status added = add_names(named_.labels, ability_label(part), true); !added) {
      return added;
    }
  }
  return ok();
}

Status RequestOptions::add_names(std::vector<std::string>& names, const std::string& text,
                                 bool are_labels) {
  for (std::string& part : parts_of(text)) {
    if (part.empty() || part.size() > scheduler::kNameBytesMax) {
      return invalid("'" + text + "' has an empty or very long name in it");
    }
    if (are_labels && !is_label(part)) {
      return invalid("'" + part + "' is not a label: write key=value or key");
    }
    if (std::find(names.begin(), names.end(), part) == names.end()) {
      names.push_back(std::move(part));
    }
  }
  return ok();
}

/// An amount of a rank is shared by its GPUs.
Result<std::uint64_t> RequestOptions::per_unit(const Amount& amount, const std::string& option,
                                               bool is_rounded_up) const {
  if (amount.is_per_gpu && gpus_ == 0) {
    return invalid(option + ": a job without GPUs has none to give it to: leave out /gpu");
  }
  const bool is_shared = !amount.is_per_gpu && gpus_ != 0 && ranks_per_host_ != 0;
  if (!is_shared) {
    return amount.value;
  }
  const std::uint64_t all = amount.value * ranks_per_host_;
  return is_rounded_up ? (all + gpus_ - 1) / gpus_ : all / gpus_;
}

Result<Request> RequestOptions::request() const {
  Request request = named_;
  if (gpus_ == 0 && ranks_ == 0) {
    return invalid("--gpus 0 needs --ranks N, the number of ranks");
  }
  if (gpus_ != 0 && ranks_ != 0) {
    return invalid(
        "--ranks: with GPUs there is one rank each: write --gpus 0, or --ranks-per-host");
  }
  if (gpus_ != 0 && ranks_per_host_ != 0 && hosts_ == 0) {
    return invalid("--ranks-per-host needs the number of hosts: write --gpus 2x8");
  }
  if (ranks_ > kGpusMax || ranks_per_host_ > scheduler::kHostUnitsMax) {
    return invalid("--ranks: at most " + std::to_string(kGpusMax) + " are possible, and " +
                   std::to_string(scheduler::kHostUnitsMax) + " a host");
  }
  if (ranks_ != 0 && ranks_per_host_ != 0 && ranks_ % ranks_per_host_ != 0) {
    return invalid("--ranks-per-host: " + std::to_string(ranks_) + " ranks are not a multiple of " +
                   std::to_string(ranks_per_host_));
  }
  request.gpus = static_cast<std::uint32_t>(hosts_ == 0 ? gpus_ : hosts_ * gpus_);
  request.gpus_per_host = static_cast<std::uint32_t>(hosts_ == 0 ? 0 : gpus_);
  request.ranks = static_cast<std::uint32_t>(ranks_);
  request.ranks_per_host = static_cast<std::uint32_t>(ranks_per_host_);
  if (cpus_.is_given) {
    const Result<std::uint64_t> cpus = per_unit(cpus_, "--cpus", false);
    if (!cpus) {
      return cpus.error();
    }
    request.cpus = static_cast<std::uint32_t>(*cpus);
  }
  if (memory_mb_.is_given) {
    const Result<std::uint64_t> memory_mb = per_unit(memory_mb_, "--mem", true);
    if (!memory_mb) {
      return memory_mb.error();
    }
    request.memory_mb = *memory_mb;
  }
  for (auto* names : {&request.labels, &request.not_labels, &request.hosts, &request.not_hosts}) {
    sort_once(*names);
  }
  if (const Status valid = validate(request); !valid) {
    return valid.error();
  }
  return request;
}

std::string format_cpus(std::uint64_t cpus) {
  std::string text = std::to_string(cpus / scheduler::kOneCpu);
  if (const std::uint64_t rest = cpus % scheduler::kOneCpu; rest != 0) {
    std::string digits = std::to_string(scheduler::kOneCpu + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text;
}

std::string format_memory(std::uint64_t memory_mb) {
  return format_size(memory_mb << kMegabyteBits);
}

std::string request_text(const Request& request) {
  if (request.gpus == 0) {
    return "none; " + std::to_string(request.ranks) + (request.ranks == 1 ? " rank" : " ranks") +
           (request.ranks_per_host == 0
                ? ""
                : ", " + std::to_string(request.ranks_per_host) + " a host");
  }
  std::string text =
      std::to_string(request.gpus) +
      (request.gpu_types.empty() ? " of any type" : " x " + join(request.gpu_types, " or "));
  if (request.gpus_per_host != 0) {
    const std::uint32_t hosts = request.gpus / request.gpus_per_host;
    text += ", " + std::to_string(request.gpus_per_host) + " on " +
            (hosts == 1 ? "one host" : "each of " + std::to_string(hosts) + " hosts");
  }
  if (request.ranks_per_host != 0) {
    text += ", " + std::to_string(request.ranks_per_host) +
            (request.ranks_per_host == 1 ? " rank a host" : " ranks a host");
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> request_lines(const Request& request) {
  std::vector<std::pair<std::string, std::string>> lines;
  const std::string unit = request.gpus == 0 ? " a rank" : " a GPU";
  if (request.cpus.has_value()) {
    lines.emplace_back("cpus", format_cpus(*request.cpus) + unit);
  }
  if (request.memory_mb.has_value()) {
    lines.emplace_back("memory", format_memory(*request.memory_mb) + unit);
  }
  if (request.pack != Pack::kAny) {
    lines.emplace_back("pack", std::string(scheduler::text_of(request.pack)) +
                                   (request.pack_wait == Duration(0)
                                        ? ""
                                        : ", for " + format_duration(request.pack_wait)));
  }
  if (!request.labels.empty()) {
    lines.emplace_back("labels", join(request.labels));
  }
  if (!request.not_labels.empty()) {
    lines.emplace_back("not", join(request.not_labels));
  }
  if (!request.hosts.empty()) {
    lines.emplace_back("only on", join(request.hosts));
  }
  if (!request.not_hosts.empty()) {
    lines.emplace_back("not on", join(request.not_hosts));
  }
  return lines;
}

}  // namespace muster::cli
