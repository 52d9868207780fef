#pragma once
// ElectorateKeeper: changes the voters while its host leads. Owned by QuorumSeat. It makes the view
// for next_step() of electorate.h, carries out the steps, and carries an operator's wishes to their
// end. It works like a machine; on a host that does not lead it forgets everything.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossip/base/event.h"
#include "gossip/base/storm_mode.h"
#include "scheduler/leader/inputs.h"
#include "scheduler/protocol/quorum_action.h"
#include "scheduler/raft/raft.h"
#include "scheduler/seat/electorate.h"

namespace muster::scheduler {

/// A host as membership sees it: it lives, or has left for good.
struct SeenHost {
  HostId host;
  std::string rack;
  bool has_left = false;
};

/// The match of a learner, and since when it does not rise.
struct LearnerCourse {
  LogIndex match;
  Instant since;
};

/// EndingVotes: votes that operators want to end. A vote ends once most of the voters that would be
/// left have answered since the order: a voter that died a moment ago looks alive, and without it
/// there would be no majority. Meanwhile, and for a while after, another host is looked for.
class EndingVotes {
 public:
  /// Lower: the replacement may not have caught up by then. Higher: a voter is replaced although
  /// the operator changed their mind.
  static constexpr Duration kReplaceFor = std::chrono::seconds(30);

  struct Order {
    input::ClientOrder order;
    Instant since;
  };

  void add(Instant now, input::ClientOrder order) {
    until_[order.ends_vote_of] = now + kReplaceFor;
    orders.push_back({std::move(order), now});
  }
  /// Another host shall vote instead.
  bool wants_replaced(HostId host, Instant now) const {
    const auto found = until_.find(host);
    return found != until_.end() && now < found->second;
  }

  std::vector<Order> orders;   ///< Not answered yet.
  std::size_t candidates = 0;  ///< Hosts that could take a place at the last look.

 private:
  std::map<HostId, Instant> until_;
};

class ElectorateKeeper {
 public:
  /// Between two looks; a step that waits for a commit is looked at each time.
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  /// A host that was asked for its seat is asked again after this long.
  static constexpr Duration kInviteAgain = std::chrono::seconds(2);
  /// A wish that waits for a host's answer is given up after this long: before the client is.
  static constexpr Duration kAnswerWait = std::chrono::seconds(4);

  struct Done {
    std::uint64_t request = 0;
    ErrorCode code = ErrorCode::kUnknown;  ///< Only if `ok` is false.
    bool ok = false;
    std::string text;
  };
  struct Output {
    std::vector<Raft::Input> inputs;  ///< For Raft, in this order.
    std::vector<Done> done;
    std::vector<input::ClientOrder> spared;  ///< Of end_vote(): once the inputs are taken.
    std::vector<Event> events;
  };

  /// An operator's wish. Answered by Done with this number. A second one at a time is refused.
  void wish(Instant now, const Raft& raft, std::uint64_t request, QuorumAction action, HostId host);
  /// The host of `order` shall have no vote from some entry on, nor be about to get one.
  /// Output::spared has the order once that entry follows, or if there is no vote. Else Done says
  /// why the vote cannot be spared, after kAnswerWait.
  void end_vote(Instant now, const Raft& raft, input::ClientOrder order);
  void seat_heard(const Seat& seat) {
    seats_[seat.host] = seat.id;
    setbacks_.erase(seat.host);
  }
  void storm_changed(StormMode mode) { is_calm_ = mode == StormMode::kNormal; }

  /// Looks for the next step. Precondition: `raft` leads. `hosts` live or have left.
  void look(Instant now, const Raft& raft, const std::vector<SeenHost>& hosts);
  /// Ends wishes that were fulfilled or have failed. Call after each step of Raft, with the inputs
  /// of the last output taken.
  void follow(Instant now, const Raft& raft);
  /// The log of this host is given up, and with it its leadership.
  void leave();
  Instant next_deadline(const Raft& raft) const;
  Output take_output();

 private:
  struct Wish {
    std::uint64_t request = 0;
    QuorumAction action = QuorumAction::kAdd;
    HostId host;
    LogIndex index;  ///< Of the entry that fulfils it; 0 if it is not written yet.
    Instant until;   ///< The end of a wish that needs a host's answer first.
  };

  ElectorateView view(Instant now, const Raft& raft, const std::vector<SeenHost>& hosts);
  void pursue(Instant now, const Raft& raft);
  void follow_ending(Instant now, const Raft& raft);
  void invite(Instant now, HostId host);
  void change(Instant now, const Raft& raft, Configuration next);
  void end_wish(bool ok, ErrorCode code, std::string text);
  void forget();

  bool is_calm_ = true;
  Instant look_at_{};
  std::map<HostId, SeatId> seats_;  ///< Of hosts that are no members, as they answered.
  std::map<HostId, Instant> invited_at_;
  std::map<HostId, Instant> elsewhere_since_;
  std::map<HostId, LearnerCourse> courses_;
  std::map<HostId, std::uint32_t> setbacks_;  ///< Of hosts that are no members.
  EndingVotes ending_;
  std::optional<Wish> wish_;
  Output output_;
};

}  // namespace muster::scheduler
