#pragma once
// Xid codes are the error numbers of the NVIDIA driver. This is NVIDIA's Xid catalogue of 2025-10
// as data, with what Muster does about each code. The classes and their counts are those of section
// 5 of the project's study of GPU health, which counted 172 codes: 48 faults of an application, 21
// to ignore, 14 that ask for a reset. The names are ours.
//
// The rule behind the actions: a program can raise any code of the class kAppFault by a wrong
// address. Therefore no number of those takes a GPU out of use.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gossip/base/result.h"

namespace muster::agent {

inline constexpr std::uint32_t kXidsCatalogued = 172;
/// Higher numbers are not believed to be Xids. The catalogue grew from 161 to 172 in one year.
inline constexpr std::uint32_t kXidCodeMax = 999;
/// Of the text of an override.
inline constexpr std::size_t kXidOverrideBytesMax = 64 * 1024;

enum class XidClass : std::uint8_t {
  kAppFault = 0,    ///< A fault of the program that ran; the GPU is well.
  kResetGpu = 1,    ///< The GPU needs a reset.
  kRebootHost = 2,  ///< The machine needs a reboot.
  kWorkflow = 3,    ///< Says something only together with other codes or with a look at the GPU.
  kNoteOnly = 4,    ///< Worth counting.
  kTicket = 5,      ///< For the vendor: mechanics, firmware, or a code that should not be in use.
  kUnknown = 6,     ///< The catalogue has no advice about it, or does not know it.
};

enum class XidAction : std::uint8_t {
  kCount = 0,        ///< Counted and told; nothing else follows.
  kFailAttempt = 1,  ///< The attempt may fail by it; the GPU stays in use.
  kSuspect = 2,      ///< The GPU is the last choice until a self-test passes.
  kMask = 3,         ///< The GPU is not offered until a reset is done and a self-test passes.
  kCordon = 4,       ///< The host is not offered until it has booted again.
  kFail = 5,         ///< The GPU is not offered until an operator says so.
};

struct CataloguedXid {
  std::uint32_t code = 0;
  XidClass kind = XidClass::kUnknown;
  XidAction action = XidAction::kCount;
  std::string_view name;  ///< "" if the catalogue calls the code unused.
};

/// All codes from 1 to kXidsCatalogued, in order.
std::span<const CataloguedXid> xid_catalogue();
/// The row of a code. A code beyond the catalogue has the class kUnknown and is counted.
CataloguedXid catalogued_xid(std::uint32_t code);
/// "Xid 79 (off the bus)"; "Xid 9" if the code has no name.
std::string xid_text(std::uint32_t code);

/// "count", "fail-attempt", "suspect", "mask", "cordon", "fail".
std::string_view xid_action_word(XidAction action);
std::optional<XidAction> xid_action_of(std::string_view word);

/// The catalogue, with the lines of a site over it.
class XidPolicy {
 public:
  XidPolicy() = default;
  /// Reads one line a code: `63 = mask`. Blank lines and lines that begin with '#' are allowed. The
  /// last word about a code is an error if there was an earlier one. kInvalid names the line.
  static Result<XidPolicy> parse(std::string_view text);

  XidAction action(std::uint32_t code) const;
  /// The codes whose action differs from the catalogue's by the word of the site.
  const std::map<std::uint32_t, XidAction>& overrides() const { return overrides_; }

 private:
  std::map<std::uint32_t, XidAction> overrides_;
};

}  // namespace muster::agent
