#pragma once
// The attempt and the host that hold the output of a rank, as the description of a job has them.
// Pure.

#include <cstdint>
#include <string>

#include "agent/api/jobs.h"
#include "gossip/base/ids.h"

namespace muster::agent {

struct RankPlace {
  std::uint64_t attempt = 0;  ///< 0 = there is no such attempt.
  Token token{};
  bool has_host = false;  ///< The rest is valid.
  HostId host{};
  std::string host_name{};
  std::string state{};     ///< Of the rank, for people.
  bool may_begin = false;  ///< As far as the log knows, the rank runs, or is still to start.
};

/// `attempt`: 0 = the last one.
RankPlace rank_place_of(const JobDetail& detail, std::uint64_t rank, std::uint64_t attempt);

}  // namespace muster::agent
