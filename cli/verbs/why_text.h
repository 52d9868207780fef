#pragma once
// What a job waits for, as people read it.

#include <string>

#include "agent/api/jobs.h"

namespace muster::cli {

/// `headline`: the first line, with what is no text of ours made printable here.
std::string why_text(const agent::WhyInfo& why, const std::string& headline);

}  // namespace muster::cli
