#pragma once
// A manual page as a terminal shows it: of the few macros that manual.cc writes.

#include <string>
#include <string_view>

#include "cli/kit/text.h"

namespace muster::cli {

std::string manual_text(std::string_view troff, const Screen& screen);

}  // namespace muster::cli
