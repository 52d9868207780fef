#include "cli/kit/ticket_output.h"

namespace muster::cli {

void TicketOutput::describe(Options& options) {
  options.text("-o,--out", path_, "Write the " + what_ + " to this file, readable by you alone",
               "FILE");
  options.flag("--force", force_, "Print the " + what_ + " even if other users can read stdout");
}

std::optional<int> TicketOutput::refusal(Session& session) const {
  if (!path_.empty()) {
    // Looked at first: a ticket whose line nobody has stays open.
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const std::string why = session.world().is_writable(folder)
                                ? session.world().tickets.why_not_replaced(path_)
                                : folder + " is not a directory that you can write to";
    return why.empty() ? std::nullopt
                       : std::optional<int>(session.fail(agent::ResponseStatus::kUsage,
                                                         "cannot write " + path_ + ": " + why +
                                                             ", so no " + what_ + " was made"));
  }
  if (force_) {
    return std::nullopt;
  }
  const std::string why = session.world().tickets.why_stdout_is_open();
  if (why.empty()) {
    return std::nullopt;
  }
  return session.fail(agent::ResponseStatus::kUsage,
                      "stdout is " + why + ", and anyone who reads that line can " + harm_ +
                          ": use --out FILE, which only you can read, or --force");
}

int TicketOutput::put(Session& session, const std::string& line) const {
  if (path_.empty()) {
    session.out() << line << "\n";
    return 0;
  }
  const Status written = session.world().tickets.write(path_, line + "\n");
  return written ? 0
                 : session.fail(agent::ResponseStatus::kFailed,
                                written.error().text + "; the " + what_ + " is lost");
}

}  // namespace muster::cli
