#include "scheduler/seat/electorate_keeper.h"

#include <algorithm>
#include <set>
#include <utility>

namespace muster::scheduler {
namespace {

/// "" if most voters of `next` answered since then, and Raft would take it.
std::string why_not_without(Instant now, const Raft& raft, const Configuration& next,
                            Instant since) {
  std::string reason = raft.why_not(now, next);
  if (!reason.empty()) {
    return reason;
  }
  std::size_t heard = next.voter(raft.leader()) != nullptr ? 1 : 0;
  for (const MemberLag& each : raft.lag(now)) {
    const bool is_left = next.voter(each.host) != nullptr && each.host != raft.leader();
    heard += is_left && each.has_answered && each.heard_at > since ? 1 : 0;
  }
  return 2 * heard > next.voters.size()
             ? ""
             : "only " + std::to_string(heard) + " of the " + std::to_string(next.voters.size()) +
                   " voters that would be left answer";
}

}  // namespace

void ElectorateKeeper::wish(Instant now, const Raft& raft, std::uint64_t request,
                            QuorumAction action, HostId host) {
  if (wish_.has_value()) {
    output_.done.push_back({request, ErrorCode::kConflict, false,
                            "another change of the quorum is under way: repeat in a moment"});
    return;
  }
  wish_ = Wish{request, action, host, LogIndex(), now + kAnswerWait};
  pursue(now, raft);
}

void ElectorateKeeper::pursue(Instant now, const Raft& raft) {
  const Configuration& current = raft.configuration();
  const bool votes = current.voter(wish_->host) != nullptr;
  switch (wish_->action) {
    case QuorumAction::kTransfer:
      if (wish_->host == raft.leader()) {
        end_wish(true, {}, "it leads already");
      } else if (!wish_->host.is_zero() && !votes) {
        end_wish(false, ErrorCode::kConflict, "that host does not vote, so it cannot lead");
      } else {
        output_.inputs.emplace_back(Raft::Transfer{wish_->host});
      }
      return;
    case QuorumAction::kRemove:
      if (!votes && current.learner(wish_->host) == nullptr) {
        end_wish(true, {}, "it did not vote");
        return;
      } else {
        Configuration next = current.without(wish_->host);
        // One less, with those that are about to vote counted.
        const std::size_t left = next.voters.size() + next.learners.size();
        next.target = std::min(next.target, std::max<std::size_t>(left, 1));
        change(now, raft, std::move(next));
      }
      return;
    case QuorumAction::kAdd:
      if (votes || current.learner(wish_->host) != nullptr) {
        end_wish(true, {}, votes ? "it votes already" : "it is being added already");
      } else if (const auto seat = seats_.find(wish_->host); seat != seats_.end()) {
        Configuration next = current.with_learner({wish_->host, seat->second});
        // One more than were wanted, unless a place stood empty that nobody else is to fill.
        const bool is_free = current.voters.size() + current.learners.size() < current.target;
        next.target = is_free ? current.target : std::min(current.target + 1, kVotersMax);
        change(now, raft, std::move(next));
      } else {
        invite(now, wish_->host);
      }
      return;
  }
}

void ElectorateKeeper::end_vote(Instant now, const Raft& raft, input::ClientOrder order) {
  ending_.add(now, std::move(order));
  follow_ending(now, raft);
}

/// One change of the voters at a time.
void ElectorateKeeper::follow_ending(Instant now, const Raft& raft) {
  const bool leads = raft.role() == Role::kLeader;
  bool is_changed = false;
  std::erase_if(ending_.orders, [&](EndingVotes::Order& each) {
    const HostId host = each.order.ends_vote_of;
    const Configuration& current = raft.configuration();
    const bool is_member = current.voter(host) != nullptr || current.learner(host) != nullptr;
    std::string reason = leads ? "" : "the leadership changed: repeat";
    if (leads && is_member) {
      Configuration next = current.without(host);
      reason = is_changed ? "another vote is being removed first"
                          : why_not_without(now, raft, next, each.since);
      if (reason.empty()) {
        is_changed = true;
        seats_.clear();
        output_.inputs.emplace_back(Raft::Reconfigure{std::move(next)});
      }
    }
    if (reason.empty()) {
      output_.spared.push_back(std::move(each.order));
      return true;
    }
    if (leads && now < each.since + kAnswerWait) {
      return false;
    }
    output_.done.push_back(
        {each.order.request, ErrorCode::kUnavailable, false,
         leads ? "that host votes, and its vote cannot be spared yet: " + reason +
                     (ending_.candidates > 0
                          ? "; another host takes its place now: repeat in a moment"
                          : "; no other host may vote: start the voters that are down, or allow "
                            "another host to vote first (muster hosts set NAME --may-vote yes)")
               : reason});
    return true;
  });
}

void ElectorateKeeper::invite(Instant now, HostId host) {
  const auto asked = invited_at_.find(host);
  if (asked == invited_at_.end() || now - asked->second >= kInviteAgain) {
    invited_at_[host] = now;
    ++setbacks_[host];  // Until it answers.
    output_.inputs.emplace_back(Raft::Invite{host});
  }
}

void ElectorateKeeper::change(Instant now, const Raft& raft, Configuration next) {
  const std::string reason = raft.why_not(now, next);
  if (!reason.empty()) {
    end_wish(false, ErrorCode::kConflict, "the quorum stays as it is: " + reason);
    return;
  }
  wish_->index = raft.last_index().next();
  seats_.clear();  // They may be old: the next candidates are asked again.
  output_.inputs.emplace_back(Raft::Reconfigure{std::move(next)});
}

void ElectorateKeeper::end_wish(bool ok, ErrorCode code, std::string text) {
  output_.done.push_back({wish_->request, code, ok, std::move(text)});
  wish_.reset();
}

void ElectorateKeeper::follow(Instant now, const Raft& raft) {
  follow_ending(now, raft);
  const bool leads = raft.role() == Role::kLeader;
  if (wish_.has_value() && wish_->action == QuorumAction::kTransfer) {
    const bool is_known = !raft.leader().is_zero();
    if (!leads && is_known && !wish_->host.is_zero() && raft.leader() != wish_->host) {
      end_wish(false, ErrorCode::kConflict, "another host leads now: " + raft.leader().short_hex());
    } else if (!leads && is_known) {
      end_wish(true, {}, "");
    } else if (!leads && now >= wish_->until) {
      end_wish(false, ErrorCode::kUnknown, "the leader is not known yet: see `muster quorum`");
    } else if (leads && !raft.is_handing_over()) {
      end_wish(false, ErrorCode::kConflict, "no voter took over in time: the leader stays");
    }
  } else if (wish_.has_value() && wish_->index.value() > 0) {
    if (raft.commit() >= wish_->index) {
      const bool is_add = wish_->action == QuorumAction::kAdd;
      end_wish(true, {}, is_add ? "it gets the log and votes when it has caught up" : "");
    } else if (!leads) {
      end_wish(false, ErrorCode::kUnknown, "the leadership changed meanwhile: see `muster quorum`");
    }
  } else if (wish_.has_value()) {
    if (!leads) {
      end_wish(false, ErrorCode::kUnavailable, "the leadership changed: repeat");
    } else if (seats_.contains(wish_->host)) {
      pursue(now, raft);
    } else if (now >= wish_->until) {
      end_wish(false, ErrorCode::kUnavailable, "that host does not answer: is its agent running?");
    }
  }
  if (!leads) {
    forget();
  }
}

void ElectorateKeeper::forget() {
  seats_.clear();
  invited_at_.clear();
  elsewhere_since_.clear();
  courses_.clear();
  setbacks_.clear();
  ending_ = {};
}

void ElectorateKeeper::leave() {
  if (wish_.has_value()) {
    end_wish(false, ErrorCode::kUnknown, "this host gave up its vote: see `muster quorum`");
  }
  for (const EndingVotes::Order& each : ending_.orders) {
    output_.done.push_back(
        {each.order.request, ErrorCode::kUnavailable, false, "this host gave up its vote: repeat"});
  }
  forget();
  output_.inputs.clear();
}

void ElectorateKeeper::look(Instant now, const Raft& raft, const std::vector<SeenHost>& hosts) {
  look_at_ = now + kPeriod;
  const bool is_busy = raft.configuration_is_open() || raft.is_handing_over() ||
                       (wish_.has_value() && wish_->index.value() > 0);
  if (!raft.leads_with_own_term_applied() || is_busy) {
    return;
  }
  const auto step = next_step({}, view(now, raft, hosts));
  if (!step.has_value()) {
    return;
  }
  if (!step->invite.is_zero()) {
    invite(now, step->invite);
  } else if (raft.why_not(now, *step->next).empty()) {
    output_.events.push_back({Severity::kInfo,
                              "electorate_step",
                              {{"voters", std::to_string(step->next->voters.size())},
                               {"learners", std::to_string(step->next->learners.size())},
                               {"why", step->why}}});
    seats_.clear();
    if (!step->failed.is_zero()) {
      ++setbacks_[step->failed];
    }
    output_.inputs.emplace_back(Raft::Reconfigure{*step->next});
  }
}

ElectorateView ElectorateKeeper::view(Instant now, const Raft& raft,
                                      const std::vector<SeenHost>& hosts) {
  ElectorateView view;
  view.now = raft.configuration();
  view.is_calm = is_calm_;
  std::map<HostId, std::string> racks;
  std::set<HostId> left;
  for (const SeenHost& seen : hosts) {
    racks[seen.host] = seen.rack;
    if (seen.has_left) {
      left.insert(seen.host);
    }
  }
  std::map<HostId, Instant> elsewhere;
  std::map<HostId, LearnerCourse> courses;
  for (const MemberLag& each : raft.lag(now)) {
    ElectorateMember member;
    member.host = each.host;
    member.rack = racks.contains(each.host) ? racks[each.host] : "";
    member.is_voter = each.is_voter;
    member.is_leader = each.host == raft.leader();
    member.behind = each.behind;
    member.silent_for = now - each.heard_at;
    member.has_left = left.contains(each.host) || ending_.wants_replaced(each.host, now);
    if (each.other_seat.has_value()) {
      const auto known = elsewhere_since_.find(each.host);
      elsewhere[each.host] = known == elsewhere_since_.end() ? now : known->second;
      member.elsewhere_for = now - elsewhere[each.host];
    }
    if (!each.is_voter && each.behind > ElectorateOptions().promote_lag) {
      const auto known = courses_.find(each.host);
      const bool is_stuck = known != courses_.end() && known->second.match == each.match;
      courses[each.host] = is_stuck ? known->second : LearnerCourse{each.match, now};
      member.stuck_for = now - courses[each.host].since;
    }
    view.members.push_back(std::move(member));
  }
  elsewhere_since_ = std::move(elsewhere);
  courses_ = std::move(courses);
  for (const SeenHost& seen : hosts) {
    const bool is_member =
        view.now.voter(seen.host) != nullptr || view.now.learner(seen.host) != nullptr;
    if (!is_member && !seen.has_left && !ending_.wants_replaced(seen.host, now)) {
      const auto seat = seats_.find(seen.host);
      view.candidates.push_back({seen.host, seen.rack,
                                 seat == seats_.end() ? std::nullopt : std::optional(seat->second),
                                 setbacks_.contains(seen.host) ? setbacks_[seen.host] : 0});
    }
  }
  ending_.candidates = view.candidates.size();
  return view;
}

Instant ElectorateKeeper::next_deadline(const Raft& raft) const {
  return raft.role() == Role::kLeader ? look_at_ : kNever;
}

ElectorateKeeper::Output ElectorateKeeper::take_output() {
  return std::exchange(output_, {});
}

}  // namespace muster::scheduler
