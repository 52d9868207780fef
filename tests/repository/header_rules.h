#pragma once
// Each header stands alone: its source includes it first, so that compiling the source proves it.
// A header without a source, or with one that is compiled together with others, is compiled by
// cmake/headers.cmake.

#include <set>
#include <string>

#include "tests/repository/source_rules.h"

namespace muster::repository {

/// A source whose header is among `paths` includes it first. One of the product without a header is
/// a violation, unless it is a program, a verb of the CLI, or one of `kSlices` in header_rules.cc.
Violations check_own_header(const SourceFile& file, const std::set<std::string>& paths);
/// Names in kSlices of which there is no such source, or whose header is there: they must go.
Violations check_slices(const std::set<std::string>& paths);

}  // namespace muster::repository
