#pragma once
// Manual pages, made of the verbs' own descriptions.

#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs/completion.h"

namespace muster::cli {

/// The meaning of an exit code of the process.
struct ExitCode {
  std::string_view number;
  std::string_view meaning;
};

/// The name of a verb's page: "muster-hosts-drain" for "hosts drain".
std::string manual_name(const std::string& verb);
/// The page of one verb, in the man macros of troff.
std::string manual_page(const VerbWords& verb, const std::vector<ExitCode>& codes);
/// The page of muster itself: every verb and its purpose.
std::string manual_overview(const std::vector<VerbWords>& verbs,
                            const std::vector<ExitCode>& codes);

}  // namespace muster::cli
