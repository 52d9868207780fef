#pragma once
// The reasons why a job waits, as people read them.

#include <string>

#include "agent/api/jobs.h"
#include "cli/kit/text.h"

namespace muster::cli {

/// `headline` is the first line: which job, and why it waits in one sentence. Texts of users and
/// hosts are made printable here.
std::string why_text(const agent::WhyInfo& why, const std::string& headline, const Screen& screen);

}  // namespace muster::cli
