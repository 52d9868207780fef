#pragma once
// FieldLog has the parameters and members that a rule took, and how. Tests compare it with the
// lists of route_fields.h; in service no reader has one.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::agent {

/// How a reader takes a field: by which of its functions.
enum class FieldKind : std::uint8_t {
  kText,
  kChoice,
  kNumber,   ///< Not negative.
  kInteger,  ///< Of 32 bits, with a sign.
  kBoolean,
  kTexts,
  kChoices,
  kNumbers,
  kTextMap,  ///< An object whose names are free.
  kNumberMap,
  kObject,
  kObjects,
  kObjectMap,
};

struct TakenField {
  std::string path;  ///< "limit", "array.runs[0].first"
  FieldKind kind{};
  std::vector<std::string_view> allowed{};  ///< Of a choice, or of choices.
  std::uint64_t min = 0;                    ///< Of a number, or of numbers.
  std::uint64_t max = UINT64_MAX;
};
using FieldLog = std::vector<TakenField>;

/// Adds the field if there is a log.
inline void note(FieldLog* log, TakenField field) {
  if (log != nullptr) {
    log->push_back(std::move(field));
  }
}

}  // namespace muster::agent
