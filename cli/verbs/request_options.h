#pragma once
// The request of a job to the hosts: its options of `muster submit`, and its text for people.

#include <string>
#include <vector>

#include "cli/kit/options.h"
#include "scheduler/protocol/request.h"

namespace muster::cli {

class RequestOptions {
 public:
  void describe(Options& options);
  /// kInvalid says what is wrong with it, and with which option.
  Result<scheduler::Request> request() const;

 private:
  /// An amount and what it is for: each rank, or each GPU.
  struct Amount {
    std::uint64_t value = 0;
    bool is_given = false;
    bool is_per_gpu = false;
  };
  Status accept_gpus(const std::string& text);
  Status accept_memory(const std::string& text);
  Status accept_pack(const std::string& text);
  Status require(const std::string& text);
  Status add_names(std::vector<std::string>& names, const std::string& text, bool are_labels);
  /// CPUs are rounded down, so that those of a whole host fit it; thousandths are lost.
  Result<std::uint64_t> per_unit(const Amount& amount, const std::string& option,
                                 bool is_rounded_up) const;

  std::uint64_t hosts_ = 0;  ///< Of HOSTSxGPUS; 0 = as they fit.
  std::uint64_t gpus_ = 1;   ///< Of each of those hosts, else of all.
  std::uint64_t ranks_ = 0;
  std::uint64_t ranks_per_host_ = 0;
  Amount cpus_;  ///< Thousandths.
  Amount memory_mb_;
  scheduler::Request named_;  ///< Types, labels, hosts and pack.
};

/// "16 GPUs x H100 on 2 hosts of 8", one line.
std::string request_text(const scheduler::Request& request);
/// The rest of the request, a line each, with its name before it: "cpus", "memory", "labels", ...
std::vector<std::pair<std::string, std::string>> request_lines(const scheduler::Request& request);
/// "12", "0.5": CPUs of thousandths.
std::string format_cpus(std::uint64_t thousandths);
/// "1T", "1536M": of MB.
std::string format_memory(std::uint64_t memory_mb);

}  // namespace muster::cli
