#include "agent/edge/ranks/exit_evidence.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::agent {
namespace {

using scheduler::RankResult;

/// Why ranks were asked to end is a few words.
constexpr std::size_t kReasonBytes = 4096;
/// The words around the program or the directory in RankResult::detail, and the error's text.
constexpr std::size_t kDetailWordsBytes = 256;

/// As long as the results of these ranks can become.
std::vector<RankResult> longest_results(const LaunchOrder& order) {
  const std::size_t program = order.argv.empty() ? 0 : order.argv.front().size();
  RankResult longest;
  longest.rank = std::numeric_limits<std::uint32_t>::max();
  longest.code = std::numeric_limits<std::int32_t>::min();
  longest.output_bytes = std::numeric_limits<std::uint64_t>::max();
  longest.lost_bytes = longest.surplus_bytes = std::numeric_limits<std::uint64_t>::max();
  longest.detail.resize(std::max(program, order.directory.size()) + kDetailWordsBytes);
  return std::vector<RankResult>(order.ranks.size(), longest);
}

}  // namespace

Status ExitEvidence::reserve(const LaunchOrder& order) {
  const Status mark = signalled_.reserve("signalled", kReasonBytes);
  return mark ? evidence_.reserve("evidence", encode_results(longest_results(order)).size()) : mark;
}

bool ExitEvidence::has_news() {
  return std::exchange(told_count_, results_.size()) != results_.size();
}

Status ExitEvidence::complete(std::vector<RankResult> results) {
  results_ = std::move(results);
  return evidence_.write(encode_results(results_));
}

}  // namespace muster::agent
