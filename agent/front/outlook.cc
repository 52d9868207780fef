#include "agent/front/outlook.h"

#include <algorithm>
#include <vector>

#include "scheduler/leader/scheduler.h"

namespace muster::agent {
namespace {

using scheduler::Attempt;
using scheduler::AttemptState;
using scheduler::Job;
using scheduler::MemberEnd;
using scheduler::MemberRecord;

struct Missing {
  const MemberRecord* record;
  const membership::Member* member;
};

std::string seconds_text(Duration duration) {
  return std::to_string(to_ms(duration) / 1000) + " s";
}

bool is_refused(const Missing& missing) {
  return missing.member->kind == crdt::ClaimKind::kRefused;
}

/// "host c has been silent for 12 s, the agent of host d down for 3 s"
std::string who_text(const std::vector<Missing>& missing, const crdt::AddressBook& addresses,
                     Instant now) {
  std::string text;
  for (const Missing& each : missing) {
    const std::string name = addresses.name(each.record->member.host);
    const bool left = each.member->state == membership::MemberState::kLeft;
    text += (text.empty() ? "" : ", ") + std::string(is_refused(each) ? "the agent of " : "") +
            "host " + name +
            (left               ? " has left for "
             : is_refused(each) ? " has been down for "
                                : " has been silent for ") +
            seconds_text(std::max(Duration(0), now - each.member->since));
  }
  return text;
}

/// Of a running attempt: whether its other ranks are stopped for the missing ones.
std::string stop_text(const Job& job, const std::vector<Missing>& missing, bool some_answer) {
  if (job.spec.on_lost_host == scheduler::OnLostHost::kWait) {
    return "the job waits for it (on lost host: wait)";
  }
  if (!some_answer) {
    return "no rank of it is reachable: it may be running well and is left alone";
  }
  Duration patience = Duration::max();
  for (const Missing& each : missing) {
    patience =
        std::min(patience, is_refused(each) ? scheduler::SchedulerConfig().agent_down_patience
                                            : job.spec.patience);
  }
  return "after " + seconds_text(patience) +
         " without it the other ranks are stopped and the job is queued again";
}

/// Of the GPUs on the missing hosts: what frees them.
std::string free_text(const Attempt& attempt, const std::vector<Missing>& missing) {
  if (attempt.keep) {
    return "its GPUs there are never freed by silence (isolation keep), only by proof that its "
           "ranks are gone";
  }
  const scheduler::SchedulerConfig config;
  const auto condemned = std::count_if(missing.begin(), missing.end(), [](const Missing& each) {
    return each.record->condemned != LogIndex();
  });
  const std::string expire =
      seconds_text(attempt.hold + attempt.grace + config.expire_margin) +
      " later its GPUs there are freed; a word of the host before that pardons it";
  if (condemned > 0) {
    return "its share there is condemned, and " + expire;
  }
  return seconds_text(config.condemn_after) + " after a verdict of silence (" +
         seconds_text(config.agent_down_patience) +
         " of an agent down) its share there is condemned, and " + expire;
}

}  // namespace

bool is_missing(const membership::Member* member) {
  return member != nullptr && member->state != membership::MemberState::kAlive;
}

std::string outlook(const Job& job, const Attempt& attempt, const crdt::AddressBook& addresses,
                    const MemberOf& member_of, Instant now) {
  if (attempt.state == AttemptState::kEnded) {
    return "";
  }
  std::vector<Missing> missing;
  bool some_answer = false;
  for (const MemberRecord& record : attempt.members) {
    if (record.end != MemberEnd::kNone) {
      continue;
    }
    const membership::Member* member = member_of(record.member.host);
    if (is_missing(member)) {
      missing.push_back({&record, member});
    } else {
      some_answer = true;
    }
  }
  if (missing.empty()) {
    return "";
  }
  const std::string who = who_text(missing, addresses, now);
  if (attempt.state == AttemptState::kReserved) {
    return who + "; nothing runs yet: it is placed anew when its deadline passes";
  }
  const std::string stop =
      attempt.state == AttemptState::kStarted ? stop_text(job, missing, some_answer) + "; " : "";
  return who + "; " + stop + free_text(attempt, missing);
}

}  // namespace muster::agent
