#include "scheduler/seat/electorate.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace muster::scheduler {
namespace {

class Electorate {
 public:
  Electorate(const ElectorateOptions& options, const ElectorateView& view)
      : options_(options), view_(view) {}

  std::optional<ElectorateStep> step() const {
    if (const ElectorateMember* learner = first(&Electorate::is_bad_learner)) {
      ElectorateStep step = change(view_.now.without(learner->host), "a learner is gone");
      step.failed = learner->host;
      return step;
    }
    const bool is_short = view_.now.voters.size() < wanted() + bad_voters();
    const ElectorateMember* learner = first(&Electorate::is_ready_learner);
    if (learner != nullptr && is_short && view_.now.voters.size() < kVotersMax) {
      return change(view_.now.with_promoted(learner->host), "a learner has caught up");
    }
    if (!view_.is_calm) {
      return std::nullopt;
    }
    const ElectorateMember* bad = first(&Electorate::is_bad_voter);
    const bool is_full = view_.now.voters.size() >= kVotersMax;
    if (bad != nullptr && (view_.now.voters.size() > wanted() || is_full)) {
      return change(
          view_.now.without(bad->host),
          is_full ? "it is gone, and no other host can become a voter" : "its place is taken");
    }
    if (!view_.now.learners.empty()) {
      return is_short ? std::nullopt
                      : std::optional(change(view_.now.without(view_.now.learners.front().host),
                                             "no voter needs to be replaced any more"));
    }
    if (view_.now.voters.size() > wanted()) {
      return change(view_.now.without(most_dispensable()), "a voter came back");
    }
    return is_short ? fill(bad) : std::nullopt;
  }

 private:
  using Is = bool (Electorate::*)(const ElectorateMember&) const;

  std::size_t wanted() const {
    return view_.now.target == 0 ? view_.now.voters.size() : view_.now.target;
  }
  bool is_elsewhere(const ElectorateMember& member) const {
    return member.elsewhere_for.has_value() && *member.elsewhere_for >= options_.other_seat_after;
  }
  bool is_gone(const ElectorateMember& member) const {
    return is_elsewhere(member) || member.has_left || member.silent_for >= options_.replace_after;
  }
  bool is_bad_voter(const ElectorateMember& member) const {
    return member.is_voter && !member.is_leader && is_gone(member);
  }
  bool is_bad_learner(const ElectorateMember& member) const {
    return !member.is_voter && (is_gone(member) || member.stuck_for >= options_.stuck_after);
  }
  bool is_ready_learner(const ElectorateMember& member) const {
    return !member.is_voter && !member.elsewhere_for.has_value() &&
           member.behind <= options_.promote_lag;
  }
  const ElectorateMember* first(Is is) const {
    const auto found =
        std::find_if(view_.members.begin(), view_.members.end(),
                     [&](const ElectorateMember& each) { return (this->*is)(each); });
    return found == view_.members.end() ? nullptr : &*found;
  }
  std::size_t bad_voters() const {
    return static_cast<std::size_t>(
        std::count_if(view_.members.begin(), view_.members.end(),
                      [&](const ElectorateMember& each) { return is_bad_voter(each); }));
  }
  static ElectorateStep change(Configuration next, std::string why) {
    return ElectorateStep{HostId(), HostId(), std::move(next), std::move(why)};
  }
  std::map<std::string, std::size_t> good_voters_by_rack() const {
    std::map<std::string, std::size_t> count;
    for (const ElectorateMember& member : view_.members) {
      count[member.rack] += member.is_voter && !is_bad_voter(member) ? 1U : 0U;
    }
    return count;
  }
  /// Not the leader; in the rack with the most voters; then the highest id.
  HostId most_dispensable() const {
    const std::map<std::string, std::size_t> voters_in = good_voters_by_rack();
    std::pair<std::size_t, HostId> most;
    for (const ElectorateMember& member : view_.members) {
      if (member.is_voter && !member.is_leader) {
        most = std::max(most, std::pair(voters_in.at(member.rack), member.host));
      }
    }
    return most.second;
  }

  /// One place is free, or one voter has to be replaced: add before remove. Without a spare host a
  /// voter on a new disk can only take its own place again.
  std::optional<ElectorateStep> fill(const ElectorateMember* bad) const {
    const ElectorateCandidate* chosen = best_candidate();
    if (chosen == nullptr) {
      if (bad == nullptr || !is_elsewhere(*bad)) {
        return std::nullopt;
      }
      return change(view_.now.without(bad->host), "it lost its disk, and there is no other host");
    }
    if (!chosen->seat.has_value()) {
      return ElectorateStep{chosen->host, HostId(), std::nullopt, "asked to become a voter"};
    }
    return change(view_.now.with_learner({chosen->host, *chosen->seat}), "a place is free");
  }

  /// With the fewest setbacks; in the rack with the fewest good voters; then the lowest id, so that
  /// the choice is the same each time.
  const ElectorateCandidate* best_candidate() const {
    const std::map<std::string, std::size_t> voters_in = good_voters_by_rack();
    const ElectorateCandidate* best = nullptr;
    const auto load = [&](const ElectorateCandidate& candidate) {
      const auto found = voters_in.find(candidate.rack);
      return std::tuple(candidate.setbacks, found == voters_in.end() ? 0 : found->second,
                        candidate.host);
    };
    for (const ElectorateCandidate& candidate : view_.candidates) {
      if (best == nullptr || load(candidate) < load(*best)) {
        best = &candidate;
      }
    }
    return best;
  }

  const ElectorateOptions& options_;
  const ElectorateView& view_;
};

}  // namespace

std::optional<ElectorateStep> next_step(const ElectorateOptions& options,
                                        const ElectorateView& view) {
  return Electorate(options, view).step();
}

}  // namespace muster::scheduler
