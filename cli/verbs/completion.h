#pragma once
// Completion scripts of shells for `muster`, made of the verbs' own descriptions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/kit/options.h"

namespace muster::cli {

/// A verb as its help describes it.
struct VerbWords {
  std::string_view group;  ///< The heading of the overview that it stands under: "Hosts".
  std::string name;        ///< "jobs", "hosts drain"
  std::string usage;       ///< "JOB... [OPTIONS]"
  std::string purpose;
  std::vector<std::string> options;  ///< "--all", "-a"
  std::vector<HelpEntry> entries;    ///< Options and arguments, in the order of the help.
  std::string example;
  std::string answered_by;  ///< A sentence; "" = no node is asked.
};

/// The script for "bash", "zsh" or "fish"; nullopt for another shell. The script asks the node for
/// job ids and host names when they are wanted.
std::optional<std::string> completion_script(const std::string& shell,
                                             const std::vector<VerbWords>& verbs);

}  // namespace muster::cli
