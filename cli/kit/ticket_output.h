#pragma once
// Writes the line of a ticket or an access token to stdout, or to a file that its owner alone can
// read. A user who can read the line can use it, so it is not written where others can read it.

#include <string>
#include <utility>

#include "cli/kit/options.h"
#include "cli/kit/session.h"

namespace muster::cli {

class TicketOutput {
 public:
  /// `what` is written; `harm` is what others can do with it, for people.
  explicit TicketOutput(std::string what = "ticket", std::string harm = "join")
      : what_(std::move(what)), harm_(std::move(harm)) {}

  /// Adds --out and --force.
  void describe(Options& options);
  /// Call before it is made. nullopt if it may be made; else the exit code, and the
  /// reason was printed.
  std::optional<int> refusal(Session& session) const;
  /// Prints the line, or writes it to its file: 0, or the exit code of a failure that was printed.
  int put(Session& session, const std::string& line) const;
  /// "" = stdout.
  const std::string& path() const { return path_; }

 private:
  std::string what_;
  std::string harm_;
  std::string path_;
  bool force_ = false;
};

}  // namespace muster::cli
