#pragma once
// The classes of a source and how much each holds. Heuristic: templates and macros are not
// expanded, a declaration is read as it stands. Classes in bodies of functions are not seen.

#include <cstddef>
#include <string>
#include <vector>

#include "tests/repository/source_rules.h"

namespace muster::repository {

/// A class or a struct. One that stands in another is a class of its own, and adds nothing to it.
struct ClassSize {
  std::string name;      ///< "Outer::Inner" of a class in a class; no namespaces.
  std::size_t line = 0;  ///< Index.
  int fields = 0;        ///< Declarations of them, of each access; no constants.
  /// Functions do or answer something: constructors, destructors, operators and friends are left
  /// out, overloads count one by one.
  int public_functions = 0;
  int private_functions = 0;  ///< Protected ones, too.
};

/// In the order in which they begin.
std::vector<ClassSize> classes_of(const SourceFile& file);

}  // namespace muster::repository
