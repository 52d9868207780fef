#pragma once
// How much a class may hold: classes are split before they outgrow one noun. A class beyond the
// limits is named in class_rules.cc with its reason, and its numbers may only fall.

#include <map>
#include <string>
#include <vector>

#include "tests/repository/source_rules.h"

namespace muster::repository {

inline constexpr int kFieldsMax = 15;
inline constexpr int kPrivateFunctionsMax = 25;

/// Heuristic: templates and macros are not expanded, a declaration is read as it stands.
struct ClassSize {
  std::string name;
  std::size_t line = 0;  ///< Index.
  int fields = 0;        ///< Those of its private structs among them; no constants.
  int private_functions = 0;
};

/// The classes and structs of a header, nested ones counted into the outermost.
std::vector<ClassSize> classes_of(const SourceFile& file);

/// A class of the product beyond the limits that is not named, or is larger or smaller than it is
/// named with: a smaller one is written down, so that it does not grow back.
Violations check_classes(const SourceFile& file);
/// Names of classes that are no more, or keep the limits.
Violations check_named_classes(const std::vector<SourceFile>& files);
/// A class with step() and take_output() is a StateMachine, and some source asserts it. A part of
/// one, which takes more arguments, is none.
Violations check_machines(const std::vector<SourceFile>& files);

}  // namespace muster::repository
