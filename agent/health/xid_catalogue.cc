#include "agent/health/xid_catalogue.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace muster::agent {
namespace {

// 45 follows another error and tells only that its channel went; 154 announces what the next look
// reads as the recovery action. 48 and 74 are failures to DCGM's health watch. 144 to 150 mean an
// ignorable or a fatal fault by bits of their text that change with the driver: a look decides.
constexpr std::array<CataloguedXid, kXidsCatalogued> kCatalogue = {{
    {1, XidClass::kTicket, XidAction::kFail, ""},
    {2, XidClass::kTicket, XidAction::kFail, ""},
    {3, XidClass::kTicket, XidAction::kFail, ""},
    {4, XidClass::kTicket, XidAction::kFail, ""},
    {5, XidClass::kTicket, XidAction::kFail, ""},
    {6, XidClass::kTicket, XidAction::kFail, ""},
    {7, XidClass::kTicket, XidAction::kFail, ""},
    {8, XidClass::kAppFault, XidAction::kFailAttempt, "engine idle for too long"},
    {9, XidClass::kTicket, XidAction::kFail, ""},
    {10, XidClass::kTicket, XidAction::kFail, ""},
    {11, XidClass::kAppFault, XidAction::kFailAttempt, "broken command stream"},
    {12, XidClass::kTicket, XidAction::kFail, ""},
    {13, XidClass::kAppFault, XidAction::kFailAttempt, "exception in the compute engine"},
    {14, XidClass::kNoteOnly, XidAction::kCount, ""},
    {15, XidClass::kTicket, XidAction::kFail, ""},
    {16, XidClass::kTicket, XidAction::kFail, ""},
    {17, XidClass::kTicket, XidAction::kFail, ""},
    {18, XidClass::kTicket, XidAction::kFail, ""},
    {19, XidClass::kTicket, XidAction::kFail, ""},
    {20, XidClass::kTicket, XidAction::kFail, ""},
    {21, XidClass::kTicket, XidAction::kFail, ""},
    {22, XidClass::kTicket, XidAction::kFail, ""},
    {23, XidClass::kTicket, XidAction::kFail, ""},
    {24, XidClass::kTicket, XidAction::kFail, ""},
    {25, XidClass::kAppFault, XidAction::kFailAttempt, "illegal command stream"},
    {26, XidClass::kTicket, XidAction::kFail, ""},
    {27, XidClass::kTicket, XidAction::kFail, ""},
    {28, XidClass::kTicket, XidAction::kFail, ""},
    {29, XidClass::kTicket, XidAction::kFail, ""},
    {30, XidClass::kTicket, XidAction::kFail, ""},
    {31, XidClass::kAppFault, XidAction::kFailAttempt, "memory page fault"},
    {32, XidClass::kAppFault, XidAction::kFailAttempt, "corrupt command stream"},
    {33, XidClass::kTicket, XidAction::kFail, ""},
    {34, XidClass::kTicket, XidAction::kFail, ""},
    {35, XidClass::kTicket, XidAction::kFail, ""},
    {36, XidClass::kTicket, XidAction::kFail, ""},
    {37, XidClass::kNoteOnly, XidAction::kCount, "firmware refused a method"},
    {38, XidClass::kNoteOnly, XidAction::kCount, "firmware watchdog"},
    {39, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 0"},
    {40, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 1"},
    {41, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 2"},
    {42, XidClass::kTicket, XidAction::kFail, ""},
    {43, XidClass::kNoteOnly, XidAction::kCount, "channel reset after a fault"},
    {44, XidClass::kNoteOnly, XidAction::kCount, "fault in a context switch"},
    {45, XidClass::kWorkflow, XidAction::kCount, "channel removed after another error"},
    {46, XidClass::kResetGpu, XidAction::kMask, "GPU stopped"},
    {47, XidClass::kTicket, XidAction::kFail, ""},
    {48, XidClass::kWorkflow, XidAction::kMask, "double bit ECC error"},
    {49, XidClass::kTicket, XidAction::kFail, ""},
    {50, XidClass::kTicket, XidAction::kFail, ""},
    {51, XidClass::kTicket, XidAction::kFail, ""},
    {52, XidClass::kTicket, XidAction::kFail, ""},
    {53, XidClass::kTicket, XidAction::kFail, ""},
    {54, XidClass::kTicket, XidAction::kFail, "auxiliary power is not connected"},
    {55, XidClass::kTicket, XidAction::kFail, ""},
    {56, XidClass::kTicket, XidAction::kFail, ""},
    {57, XidClass::kTicket, XidAction::kFail, ""},
    {58, XidClass::kTicket, XidAction::kFail, ""},
    {59, XidClass::kTicket, XidAction::kFail, ""},
    {60, XidClass::kAppFault, XidAction::kFailAttempt, "video processor exception"},
    {61, XidClass::kTicket, XidAction::kFail, ""},
    {62, XidClass::kResetGpu, XidAction::kMask, "power controller halted"},
    {63, XidClass::kNoteOnly, XidAction::kCount, "memory row or page retired"},
    {64, XidClass::kResetGpu, XidAction::kMask, "memory row or page could not be retired"},
    {65, XidClass::kTicket, XidAction::kFail, ""},
    {66, XidClass::kNoteOnly, XidAction::kCount, "illegal register access by the driver"},
    {67, XidClass::kNoteOnly, XidAction::kCount, "register access check failed"},
    {68, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 0"},
    {69, XidClass::kAppFault, XidAction::kFailAttempt, "compute engine class error"},
    {70, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 3"},
    {71, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 4"},
    {72, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 5"},
    {73, XidClass::kTicket, XidAction::kFail, ""},
    {74, XidClass::kWorkflow, XidAction::kMask, "NVLink error"},
    {75, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 6"},
    {76, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 7"},
    {77, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 8"},
    {78, XidClass::kTicket, XidAction::kFail, "virtual GPU does not start"},
    {79, XidClass::kRebootHost, XidAction::kCordon, "off the bus"},
    {80, XidClass::kAppFault, XidAction::kFailAttempt, "checksum of a command stream"},
    {81, XidClass::kTicket, XidAction::kFail, ""},
    {82, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 0"},
    {83, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 1"},
    {84, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 2"},
    {85, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 9"},
    {86, XidClass::kAppFault, XidAction::kFailAttempt, "optical flow 0"},
    {87, XidClass::kTicket, XidAction::kFail, ""},
    {88, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 3"},
    {89, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 4"},
    {90, XidClass::kTicket, XidAction::kFail, ""},
    {91, XidClass::kTicket, XidAction::kFail, ""},
    {92, XidClass::kNoteOnly, XidAction::kCount, "many single bit ECC errors"},
    {93, XidClass::kNoteOnly, XidAction::kCount, "InfoROM wear"},
    {94, XidClass::kAppFault, XidAction::kFailAttempt, "contained memory error"},
    {95, XidClass::kResetGpu, XidAction::kMask, "uncontained memory error"},
    {96, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 5"},
    {97, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 6"},
    {98, XidClass::kAppFault, XidAction::kFailAttempt, "video decoder 7"},
    {99, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 1"},
    {100, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 2"},
    {101, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 3"},
    {102, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 4"},
    {103, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 5"},
    {104, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 6"},
    {105, XidClass::kAppFault, XidAction::kFailAttempt, "JPEG decoder 7"},
    {106, XidClass::kNoteOnly, XidAction::kCount, "test message"},
    {107, XidClass::kNoteOnly, XidAction::kCount, "silent test message"},
    {108, XidClass::kNoteOnly, XidAction::kCount, ""},
    {109, XidClass::kResetGpu, XidAction::kMask, "context switch timed out"},
    {110, XidClass::kResetGpu, XidAction::kMask, "security fault"},
    {111, XidClass::kTicket, XidAction::kFail, ""},
    {112, XidClass::kTicket, XidAction::kFail, ""},
    {113, XidClass::kTicket, XidAction::kFail, ""},
    {114, XidClass::kTicket, XidAction::kFail, ""},
    {115, XidClass::kTicket, XidAction::kFail, ""},
    {116, XidClass::kTicket, XidAction::kFail, ""},
    {117, XidClass::kTicket, XidAction::kFail, ""},
    {118, XidClass::kTicket, XidAction::kFail, ""},
    {119, XidClass::kResetGpu, XidAction::kMask, "GSP does not answer"},
    {120, XidClass::kResetGpu, XidAction::kMask, "GSP error"},
    {121, XidClass::kNoteOnly, XidAction::kCount, "chip-to-chip link error"},
    {122, XidClass::kTicket, XidAction::kFail, ""},
    {123, XidClass::kTicket, XidAction::kFail, ""},
    {124, XidClass::kTicket, XidAction::kFail, ""},
    {125, XidClass::kTicket, XidAction::kFail, ""},
    {126, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 10"},
    {127, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 11"},
    {128, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 12"},
    {129, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 13"},
    {130, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 14"},
    {131, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 15"},
    {132, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 16"},
    {133, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 17"},
    {134, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 18"},
    {135, XidClass::kAppFault, XidAction::kFailAttempt, "copy engine 19"},
    {136, XidClass::kResetGpu, XidAction::kMask, "link training failed"},
    {137, XidClass::kNoteOnly, XidAction::kCount, "NVLink privilege error"},
    {138, XidClass::kTicket, XidAction::kFail, ""},
    {139, XidClass::kAppFault, XidAction::kFailAttempt, "optical flow 1"},
    {140, XidClass::kResetGpu, XidAction::kMask, "ECC error not recovered"},
    {141, XidClass::kNoteOnly, XidAction::kCount, "fast path error"},
    {142, XidClass::kTicket, XidAction::kFail, "video encoder 3"},
    {143, XidClass::kResetGpu, XidAction::kMask, "GPU does not initialise"},
    {144, XidClass::kWorkflow, XidAction::kSuspect, "NVLink: SAW unit"},
    {145, XidClass::kWorkflow, XidAction::kSuspect, "NVLink: RLW unit"},
    {146, XidClass::kWorkflow, XidAction::kSuspect, "NVLink: TLW unit"},
    {147, XidClass::kWorkflow, XidAction::kSuspect, "NVLink: TREX unit"},
    {148, XidClass::kWorkflow, XidAction::kSuspect, "NVLink: control unit"},
    {149, XidClass::kWorkflow, XidAction::kSuspect, "NVLink: network interface"},
    {150, XidClass::kWorkflow, XidAction::kSuspect, "NVLink: MSE unit"},
    {151, XidClass::kRebootHost, XidAction::kCordon, "key rotation failed"},
    {152, XidClass::kNoteOnly, XidAction::kCount, "DLA memory unit"},
    {153, XidClass::kNoteOnly, XidAction::kCount, "DLA timed out"},
    {154, XidClass::kWorkflow, XidAction::kCount, "recovery action changed"},
    {155, XidClass::kResetGpu, XidAction::kMask, "NVLink: error told by software"},
    {156, XidClass::kResetGpu, XidAction::kMask, "resource retired"},
    {157, XidClass::kNoteOnly, XidAction::kCount, "resource could not be retired"},
    {158, XidClass::kResetGpu, XidAction::kMask, "fatal timeout"},
    {159, XidClass::kTicket, XidAction::kFail, "coherent link error"},
    {160, XidClass::kNoteOnly, XidAction::kCount, "channel retired"},
    {161, XidClass::kNoteOnly, XidAction::kCount, "channel could not be retired"},
    {162, XidClass::kUnknown, XidAction::kCount, "power smoothing engaged again"},
    {163, XidClass::kUnknown, XidAction::kCount, "power smoothing disengaged"},
    {164, XidClass::kUnknown, XidAction::kCount, "power smoothing near its end"},
    {165, XidClass::kUnknown, XidAction::kCount, "power smoothing used up"},
    {166, XidClass::kUnknown, XidAction::kCount, "NVLink traffic before encryption"},
    {167, XidClass::kUnknown, XidAction::kCount, "PCIe fatal timeout"},
    {168, XidClass::kUnknown, XidAction::kCount, "less memory than before"},
    {169, XidClass::kUnknown, XidAction::kCount, "security controller halted"},
    {170, XidClass::kUnknown, XidAction::kCount, "NVLink interrupt in confidential mode"},
    {171, XidClass::kUnknown, XidAction::kCount, "uncorrectable DRAM error"},
    {172, XidClass::kUnknown, XidAction::kCount, "uncorrectable SRAM error"},
}};

struct ActionWord {
  XidAction action;
  std::string_view word;
};
constexpr ActionWord kActionWords[] = {
    {XidAction::kCount, "count"},     {XidAction::kFailAttempt, "fail-attempt"},
    {XidAction::kSuspect, "suspect"}, {XidAction::kMask, "mask"},
    {XidAction::kCordon, "cordon"},   {XidAction::kFail, "fail"},
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::uint32_t> xid_code_of(std::string_view text) {
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  return is_whole && code >= 1 && code <= kXidCodeMax ? std::optional(code) : std::nullopt;
}

Error bad_line(std::size_t number, std::string_view why) {
  return {ErrorCode::kInvalid,
          "line " + std::to_string(number) + " of the Xid actions: " + std::string(why) +
              "; write a code from 1 to " + std::to_string(kXidCodeMax) +
              " and count, fail-attempt, suspect, mask, cordon or fail, as in `63 = mask`"};
}

}  // namespace

std::span<const CataloguedXid> xid_catalogue() {
  return kCatalogue;
}

CataloguedXid catalogued_xid(std::uint32_t code) {
  return code >= 1 && code <= kXidsCatalogued
             ? kCatalogue[code - 1]
             : CataloguedXid{code, XidClass::kUnknown, XidAction::kCount, ""};
}

std::string xid_text(std::uint32_t code) {
  const std::string_view name = catalogued_xid(code).name;
  const std::string text = "Xid " + std::to_string(code);
  return name.empty() ? text : text + " (" + std::string(name) + ")";
}

std::string_view xid_action_word(XidAction action) {
  const auto* const found =
      std::find_if(std::begin(kActionWords), std::end(kActionWords),
                   [&](const ActionWord& row) { return row.action == action; });
  CHECK(found != std::end(kActionWords));
  return found->word;
}

std::optional<XidAction> xid_action_of(std::string_view word) {
  const auto* const found = std::find_if(std::begin(kActionWords), std::end(kActionWords),
                                         [&](const ActionWord& row) { return row.word == word; });
  return found == std::end(kActionWords) ? std::nullopt : std::optional(found->action);
}

Result<XidPolicy> XidPolicy::parse(std::string_view text) {
  if (text.size() > kXidOverrideBytesMax) {
    return Error{ErrorCode::kInvalid,
                 "the Xid actions are longer than 64 KiB; write one line a code"};
  }
  XidPolicy policy;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return bad_line(number, "it has no '='");
    }
    const std::optional<std::uint32_t> code = xid_code_of(trimmed(line.substr(0, equals)));
    const std::optional<XidAction> action = xid_action_of(trimmed(line.substr(equals + 1)));
    if (!code.has_value() || !action.has_value()) {
      return bad_line(number, code.has_value() ? "there is no such action" : "that is no code");
    }
    if (!policy.overrides_.emplace(*code, *action).second) {
      return bad_line(number, "code " + std::to_string(*code) + " has an earlier line");
    }
  }
  return policy;
}

XidAction XidPolicy::action(std::uint32_t code) const {
  const auto found = overrides_.find(code);
  return found != overrides_.end() ? found->second : catalogued_xid(code).action;
}

}  // namespace muster::agent
