#include "cli/kit/confirmation.h"

#include "cli/kit/text.h"

namespace muster::cli {

bool says_yes(Session& session, const std::string& question) {
  if (!session.world().terminal.ask) {
    return false;
  }
  constexpr std::size_t kIndent = 2;
  std::string lines = fitted(printable(question + " [yes/no]") + "\n", kIndent, session.screen());
  lines.back() = ' ';
  const auto answer = session.world().terminal.ask(lines);
  return answer == "yes" || answer == "y";
}

void Confirmation::describe(Options& options) {
  options.flag("-y,--yes", yes_, "Do not ask for confirmation");
}

bool Confirmation::is_agreed(Session& session, const std::string& question) const {
  return yes_ || says_yes(session, question);
}

int Confirmation::refuse(Session& session, const std::string& what) const {
  return session.fail(agent::ResponseStatus::kUsage,
                      what + ": this cannot be undone; use --yes to confirm");
}

}  // namespace muster::cli
