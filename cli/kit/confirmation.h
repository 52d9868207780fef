#pragma once
// The confirmation of orders that cannot be undone, by one rule: -y/--yes confirms; else a person
// at a terminal is asked; without a terminal the order is refused.

#include <string>

#include "cli/kit/options.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// Asks at the terminal, in lines that fit it. False without a terminal, or after any other answer
/// than yes or y. `question` is one line, and ends in its question mark.
bool says_yes(Session& session, const std::string& question);

class Confirmation {
 public:
  /// Adds -y, --yes.
  void describe(Options& options);
  bool is_given() const { return yes_; }
  /// `question` is one line, and ends in its question mark.
  bool is_agreed(Session& session, const std::string& question) const;
  /// Prints that `what` was not done, and how to say that it is meant: the exit code.
  int refuse(Session& session, const std::string& what) const;

 private:
  bool yes_ = false;
};

}  // namespace muster::cli
