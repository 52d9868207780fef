#include "cli/verbs/dropped_output.h"

#include <array>

namespace muster::cli {
namespace {

/// Ranks that are named one by one; --json has all.
constexpr std::size_t kRanksShown = 8;

}  // namespace

std::string about_size(std::uint64_t bytes) {
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  static constexpr std::uint64_t kStep = 1024;
  static constexpr std::uint64_t kTenths = 10;
  if (bytes < kStep) {
    return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  }
  std::uint64_t unit_bytes = kStep;
  std::size_t unit = 0;
  for (; bytes / unit_bytes >= kStep && unit + 1 < kUnits.size(); ++unit) {
    unit_bytes *= kStep;
  }
  const std::uint64_t whole = bytes / unit_bytes;
  const std::uint64_t tenths = bytes % unit_bytes * kTenths / unit_bytes;
  return std::to_string(whole) + (whole < kTenths ? "." + std::to_string(tenths) : "") + " " +
         kUnits[unit];
}

std::string dropped_text(const agent::RankInfo& rank, const std::string& host) {
  std::string text;
  if (rank.lost_bytes > 0) {
    text = "wrote " + about_size(rank.lost_bytes) + " more than the disk of host " + host + " took";
  }
  if (rank.surplus_bytes > 0) {
    text += (text.empty() ? "wrote " : ", and ") + about_size(rank.surplus_bytes) +
            " beyond the limit of a rank";
  }
  return text;
}

std::string dropped_lines(const agent::AttemptInfo& attempt) {
  std::string lines;
  std::size_t count = 0;
  for (const agent::MemberInfo& member : attempt.members) {
    for (const agent::RankInfo& rank : member.ranks) {
      const std::string text = dropped_text(rank, member.host_name);
      if (!text.empty() && ++count <= kRanksShown) {
        lines += "rank " + std::to_string(rank.rank) + " " + text + "\n";
      }
    }
  }
  return count <= kRanksShown
             ? lines
             : lines + "output of " + std::to_string(count - kRanksShown) + " more is missing\n";
}

int tell_dropped(Session& session, const agent::AttemptInfo& attempt, std::uint64_t rank) {
  for (const agent::MemberInfo& member : attempt.members) {
    for (const agent::RankInfo& info : member.ranks) {
      const std::string text =
          info.rank == rank ? dropped_text(info, member.host_name) : std::string();
      if (!text.empty()) {
        session.note("rank " + std::to_string(rank) + " " + text + ": that output is missing");
        return static_cast<int>(agent::ResponseStatus::kFailed);
      }
    }
  }
  return 0;
}

}  // namespace muster::cli
