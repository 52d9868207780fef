#pragma once
// A packing rule for fleets with shared GPUs: how much worse a placement leaves its host for the
// requests that are usual. The potential of a host is the GPU time that stays idle once it was
// filled alone with usual requests, over fixed random sequences of them, and in a part the
// fragmentation measure of FGD (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, section
// 4). Integers only; the same counts give the same scores everywhere.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace muster::bench {

inline constexpr std::size_t kGpusMax = 8;
inline constexpr std::uint32_t kWhole = 1000;  ///< Thousandths of a GPU.

struct FillHost {
  std::uint32_t model = 0;
  std::uint32_t cpus = 0;                      ///< Thousandths, free.
  std::array<std::uint16_t, kGpusMax> gpus{};  ///< Thousandths left of each, most first.
  auto operator<=>(const FillHost&) const = default;
  std::uint32_t idle() const;
};

struct FillRequest {
  std::uint32_t cpus = 0;  ///< Thousandths.
  std::uint32_t gpus = 0;
  std::uint32_t share = 0;                   ///< Thousandths of each; below kWhole only of one.
  std::uint64_t models = ~std::uint64_t{0};  ///< Bits of those that will do; all = any.
  auto operator<=>(const FillRequest&) const = default;
  std::uint32_t milli() const { return gpus * share; }
  bool is_typed() const { return models != ~std::uint64_t{0}; }
};

bool fits(const FillHost& host, const FillRequest& request);
/// Precondition: it fits. A share goes to the GPU that is left with least.
FillHost placed(FillHost host, const FillRequest& request);

class FillPotential {
 public:
  explicit FillPotential(std::vector<std::uint64_t> capacity_by_model)
      : capacity_(std::move(capacity_by_model)) {}
  void learn(const FillRequest& request, std::uint64_t count = 1) { counts_[request] += count; }
  /// What was learned until now is what is usual from here on.
  void refresh();
  /// 0 to 100, more is better. Precondition: it fits, and refresh() was called.
  std::uint32_t score(const FillHost& before, const FillRequest& request);

 private:
  struct Hash {
    std::size_t operator()(const FillHost& host) const;
  };
  std::int64_t potential(const FillHost& host);
  std::int64_t left_idle(const FillHost& host) const;
  std::int64_t fragmented(const FillHost& host) const;

  std::vector<std::uint64_t> capacity_;
  std::map<FillRequest, std::uint64_t> counts_;
  std::vector<std::pair<FillRequest, std::uint64_t>> usual_;
  std::uint64_t usual_count_ = 0;
  std::vector<std::vector<FillRequest>> sequences_;
  std::vector<std::int64_t> scarcity_;  ///< By model, millionths.
  std::unordered_map<FillHost, std::int64_t, Hash> known_;
};

}  // namespace muster::bench
