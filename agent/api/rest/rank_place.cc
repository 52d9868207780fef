#include "agent/api/rest/rank_place.h"

namespace muster::agent {
namespace {

const AttemptInfo* attempt_called(const JobDetail& detail, std::uint64_t number) {
  const AttemptInfo* chosen = nullptr;
  for (const AttemptInfo& attempt : detail.attempts) {
    const bool is_later = chosen == nullptr || attempt.number > chosen->number;
    if (number == 0 ? is_later : attempt.number == number) {
      chosen = &attempt;
    }
  }
  return chosen;
}

void take_member(RankPlace& place, const MemberInfo& member, std::uint64_t rank) {
  place.has_host = true;
  place.host = member.host;
  place.host_name = member.host_name;
  std::string state = member.state;
  for (const RankInfo& info : member.ranks) {
    if (info.rank == rank) {
      state = info.detail.empty() ? info.state : info.state + ", " + info.detail;
    }
  }
  place.may_begin = state == "assigned" || state == "ready" || state == "running";
  place.state = std::move(state);
}

}  // namespace

RankPlace rank_place_of(const JobDetail& detail, std::uint64_t rank, std::uint64_t number) {
  RankPlace place;
  const AttemptInfo* attempt = attempt_called(detail, number);
  if (attempt == nullptr) {
    return place;
  }
  place.attempt = attempt->number;
  place.token = attempt->token;
  for (const MemberInfo& member : attempt->members) {
    if (rank >= member.first_rank && rank - member.first_rank < member.ranks.size()) {
      take_member(place, member, rank);
    }
  }
  return place;
}

}  // namespace muster::agent
