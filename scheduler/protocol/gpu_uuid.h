#pragma once
// The name of a GPU, as its driver or its host's agent gave it. In place, without an allocation:
// members of attempts are copied on every path that grants GPUs.

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gossip/base/check.h"

namespace muster::scheduler {

/// NVIDIA's are 40 bytes, those of slices up to 53. Decoders refuse longer ones.
inline constexpr std::size_t kUuidBytesMax = 63;

class GpuUuid {
 public:
  GpuUuid() = default;
  /// Precondition: at most kUuidBytesMax bytes.
  GpuUuid(std::string_view text) : size_(static_cast<std::uint8_t>(text.size())) {  // NOLINT
    CHECK(text.size() <= kUuidBytesMax);
    std::copy(text.begin(), text.end(), bytes_.begin());
  }
  GpuUuid(const std::string& text) : GpuUuid(std::string_view(text)) {}  // NOLINT: it is a text.
  GpuUuid(const char* text) : GpuUuid(std::string_view(text)) {}         // NOLINT

  std::string_view view() const { return {bytes_.data(), size_}; }
  std::string text() const { return std::string(view()); }
  operator std::string_view() const { return view(); }  // NOLINT
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  friend bool operator==(const GpuUuid& a, const GpuUuid& b) { return a.view() == b.view(); }
  friend bool operator==(const GpuUuid& a, const std::string& b) { return a.view() == b; }
  friend std::strong_ordering operator<=>(const GpuUuid& a, const GpuUuid& b) {
    return a.view() <=> b.view();
  }

 private:
  std::array<char, kUuidBytesMax> bytes_{};
  std::uint8_t size_ = 0;
};

}  // namespace muster::scheduler
