#include "cli/verbs/never_started.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "cli/kit/text.h"

namespace muster::cli {
namespace {

constexpr std::string_view kNotStarted = "not started";
constexpr std::string_view kNeverRan = "never ran";
/// Ranks that one line names; of more it counts the rest.
constexpr std::size_t kRanksNamed = 8;

std::string text_of_end(const agent::RankInfo& rank) {
  return rank.state + (rank.detail.empty() ? "" : ": " + rank.detail);
}

/// Why ranks that were not even tried never ran: the one that failed to start, else what became of
/// the attempt.
std::string culprit_text(const agent::AttemptInfo& attempt) {
  for (const agent::MemberInfo& member : attempt.members) {
    for (const agent::RankInfo& rank : member.ranks) {
      if (rank.state.starts_with(kNotStarted)) {
        return ": rank " + std::to_string(rank.rank) + " on host " + member.host_name + " was " +
               text_of_end(rank);
      }
    }
  }
  return attempt.cause.empty() ? "" : ": " + in_words(attempt.cause);
}

std::string ranks_text(const std::vector<std::uint64_t>& ranks) {
  std::vector<std::string> named;
  for (std::size_t i = 0; i < ranks.size() && i < kRanksNamed; ++i) {
    named.push_back(std::to_string(ranks[i]));
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(named) +
         (ranks.size() > kRanksNamed
              ? " and " + std::to_string(ranks.size() - kRanksNamed) + " more"
              : "");
}

}  // namespace

int tell_never_started(Session& session, const agent::JobDetail& job, std::uint64_t number,
                       const std::vector<RankOutput>& outputs) {
  const auto attempt =
      std::find_if(job.attempts.begin(), job.attempts.end(),
                   [number](const agent::AttemptInfo& each) { return each.number == number; });
  if (attempt == job.attempts.end()) {
    return 0;
  }
  std::map<std::string, std::vector<std::uint64_t>> ranks_by_reason;
  for (const agent::MemberInfo& member : attempt->members) {
    for (const agent::RankInfo& rank : member.ranks) {
      const bool is_meant = std::any_of(outputs.begin(), outputs.end(), [&](const auto& output) {
        return output.rank() == rank.rank && output.is_empty() && output.exit_code() == 0;
      });
      if (is_meant && rank.state.starts_with(kNotStarted)) {
        ranks_by_reason["on host " + member.host_name + ": " + text_of_end(rank)].push_back(
            rank.rank);
      } else if (is_meant && rank.state == kNeverRan) {
        ranks_by_reason[rank.state + culprit_text(*attempt)].push_back(rank.rank);
      }
    }
  }
  for (const auto& [reason, ranks] : ranks_by_reason) {
    session.fail(agent::ResponseStatus::kFailed,
                 "job " + text_of(job.summary.id) + ", " + ranks_text(ranks) + " " + reason);
  }
  return ranks_by_reason.empty() ? 0 : static_cast<int>(agent::ResponseStatus::kFailed);
}

}  // namespace muster::cli
