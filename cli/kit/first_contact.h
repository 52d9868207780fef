#pragma once
// The first moments of a member: `init` and `join` return when the next command would be answered,
// or say who has to come first.

#include <string>

#include "cli/kit/options.h"
#include "cli/kit/session.h"

namespace muster::cli {

/// To an agent that was started a moment ago: while nothing listens at its socket, and for the
/// session's timeout at most, it is tried again.
Reply exchange_with_new_agent(Session& session, const agent::Request& request, Duration timeout);

class FirstContact {
 public:
  /// Adds --no-wait.
  void describe(Options& options);

  enum class Is : std::uint8_t {
    kAnswered,  ///< There is a quorum, and it knows this host.
    kAlone,     ///< A founder that waits for others: nothing goes on without them.
    kLate,      ///< Not within the patience.
  };
  struct Outcome {
    Is is = Is::kAnswered;
    std::uint64_t founders_missing = 0;  ///< kAlone.
  };
  bool is_wanted() const { return !no_wait_; }
  /// Precondition: the agent is a member, and answers or is about to. Asks it alone.
  Outcome wait(Session& session) const;

 private:
  bool no_wait_ = false;
};

}  // namespace muster::cli
