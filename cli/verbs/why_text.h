#pragma once
// What a job waits for, as people read it.

#include <string>

#include "agent/api/jobs.h"
#include "cli/kit/text.h"

namespace muster::cli {

/// `headline` is the first line: which job, and why it waits in one sentence. Whatever is not
/// printable in a text of a user or a host is made so here.
std::string why_text(const agent::WhyInfo& why, const std::string& headline, const Screen& screen);

}  // namespace muster::cli
