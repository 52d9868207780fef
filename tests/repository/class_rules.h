#pragma once
// How much a class may hold: classes are split before they outgrow one noun. The rule is about the
// classes and structs of all sources and headers, in tests and benches as in the product. One that
// is beyond the limits is named in named_classes.h with its reason and its exact numbers. A row is
// raised only with a reason in the commit.

#include <span>
#include <string_view>
#include <vector>

#include "tests/repository/source_rules.h"

namespace muster::repository {

inline constexpr int kFieldsMax = 15;
/// All but nine classes keep it. class_scan.h says what counts as a function.
inline constexpr int kPublicFunctionsMax = 25;
inline constexpr int kPrivateFunctionsMax = 25;

/// A class that may be as large as this, and no larger.
struct NamedClass {
  std::string_view path;
  std::string_view name;  ///< As ClassSize::name.
  int fields;
  int public_functions;
  int private_functions;
  std::string_view reason;
};

/// The rows of named_classes.h.
std::span<const NamedClass> named_classes();

/// A class beyond the limits that is not named, or is larger or smaller than it is named with: the
/// row of a smaller one is lowered, so that it does not grow back.
Violations check_classes(const SourceFile& file,
                         std::span<const NamedClass> named = named_classes());
/// Names of classes that are no more, or keep the limits, or have no reason.
Violations check_named_classes(const std::vector<SourceFile>& files,
                               std::span<const NamedClass> named = named_classes());
/// A class with step() and take_output() is a StateMachine, and some source asserts it. A part of
/// one, which takes more arguments, is not.
Violations check_machines(const std::vector<SourceFile>& files);

}  // namespace muster::repository
