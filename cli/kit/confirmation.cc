#include "cli/kit/confirmation.h"

#include "cli/kit/text.h"

namespace muster::cli {

void Confirmation::describe(Options& options) {
  options.flag("-y,--yes", yes_, "Do not ask for confirmation");
}

bool Confirmation::is_agreed(Session& session, const std::string& question) const {
  if (yes_) {
    return true;
  }
  if (!session.world().terminal.ask) {
    return false;
  }
  const auto answer = session.world().terminal.ask(printable(question + " [yes/no] "));
  return answer == "yes" || answer == "y";
}

int Confirmation::refuse(Session& session, const std::string& what) const {
  return session.fail(agent::ResponseStatus::kUsage,
                      what + ": this cannot be undone; use --yes to confirm");
}

}  // namespace muster::cli
