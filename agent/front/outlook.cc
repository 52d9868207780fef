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

/// Hosts that a text names if many are gone; it counts the others.
constexpr std::size_t kNamedMax = 3;

std::string more_text(const std::vector<Missing>& missing) {
  return missing.size() <= kNamedMax
             ? ""
             : " and " + std::to_string(missing.size() - kNamedMax) + " more";
}

/// "host c has been silent for 12 s, the agent of host d has been down for 3 s"
std::string who_text(const std::vector<Missing>& missing, const crdt::AddressBook& addresses,
                     Instant now) {
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamedMax); ++i) {
    const Missing& each = missing[i];
    const std::string name = addresses.name(each.record->member.host);
    const bool left = each.member->state == membership::MemberState::kLeft;
    text += (text.empty() ? "" : ", ") + std::string(is_refused(each) ? "the agent of " : "") +
            "host " + name;
    const std::string since = seconds_text(std::max(Duration(0), now - each.member->since));
    text += left               ? " left the cluster " + since + " ago"
            : is_refused(each) ? " has been down for " + since
                               : " has been silent for " + since;
  }
  return text + more_text(missing);
}

/// "in about 3m10s"; "at any moment" if it is due.
std::string about_text(Duration left) {
  const std::int64_t seconds = to_ms(left) / 1000;
  if (seconds <= 0) {
    return "at any moment";
  }
  const std::string minutes = seconds < 60 ? "" : std::to_string(seconds / 60) + "m";
  return "in about " + minutes + std::to_string(seconds % 60) + "s";
}

/// Time until the job is queued again if nothing changes. After the patience the other ranks are
/// stopped. If no rank is reachable, the share has to expire first.
Duration requeued_in(const Job& job, const Attempt& attempt, const std::vector<Missing>& missing,
                     bool some_answer, Instant now) {
  const scheduler::SchedulerConfig config;
  Duration left = Duration::max();
  for (const Missing& each : missing) {
    const Duration patience = !some_answer       ? config.condemn_after
                              : is_refused(each) ? config.agent_down_patience
                                                 : job.spec.limits.patience;
    left = std::min(left, each.member->since + patience - now);
  }
  return some_answer ? left + attempt.grace
                     : left + attempt.hold + attempt.grace + config.expire_margin;
}

std::string names_text(const std::vector<Missing>& missing, const crdt::AddressBook& addresses) {
  std::string text;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamedMax); ++i) {
    text += (text.empty() ? "" : ", ") + addresses.name(missing[i].record->member.host);
  }
  return (missing.size() == 1 ? "host " : "hosts ") + text + more_text(missing);
}

/// The fate of the job when its share, or the share of its other ranks, is over.
std::string end_text(const Job& job, const Attempt& attempt) {
  switch (job.order_in_force()) {
    case scheduler::JobOrder::kCancel:
      return "cancelled ";
    case scheduler::JobOrder::kSuspend:
      return "suspended ";
    case scheduler::JobOrder::kRequeue:
    case scheduler::JobOrder::kNone:
      break;
  }
  return attempt.cause == scheduler::Cause::kTimeLimit ? "ended for its time limit "
                                                       : "requeued elsewhere ";
}

/// The outlook of the job of an attempt that was started.
std::string next_text(const Job& job, const Attempt& attempt, const std::vector<Missing>& missing,
                      bool some_answer, const HostViews& hosts) {
  const std::string names = names_text(missing, hosts.addresses);
  if (job.spec.retry.on_lost_host == scheduler::OnLostHost::kWait) {
    return "it waits for " + names + " (on lost host: wait)";
  }
  const bool is_stopping = attempt.state != AttemptState::kStarted;
  if (attempt.keep && !(some_answer && !is_stopping)) {
    return "silence never frees its GPUs there (isolation keep): run `muster hosts fence` once you "
           "are sure that " +
           names + (missing.size() == 1 ? " is off" : " are off");
  }
  const std::string when =
      end_text(job, attempt) +
      about_text(requeued_in(job, attempt, missing, some_answer && !is_stopping, hosts.now));
  std::vector<Missing> may_return = missing;
  std::erase_if(may_return, [](const Missing& each) {
    return each.member->state == membership::MemberState::kLeft;
  });
  return may_return.empty() ? when
                            : when + ", unless " + names_text(may_return, hosts.addresses) +
                                  (may_return.size() == 1 ? " comes" : " come") + " back first";
}

}  // namespace

bool is_missing(const membership::Member* member) {
  return member != nullptr && member->state != membership::MemberState::kAlive;
}

std::string outlook(const Job& job, const Attempt& attempt, const HostViews& hosts) {
  if (attempt.state == AttemptState::kEnded) {
    const bool is_classed = job.life.state != scheduler::JobState::kStopping || !attempt.failed_at;
    return is_classed ? "" : "a rank failed; within 6 s it is known whether a lost host caused it";
  }
  std::vector<Missing> missing;
  bool some_answer = false;
  for (const MemberRecord& record : attempt.members) {
    if (record.end != MemberEnd::kNone) {
      continue;
    }
    const membership::Member* member = hosts.member_of(record.member.host);
    if (is_missing(member)) {
      missing.push_back({&record, member});
    } else {
      some_answer = true;
    }
  }
  if (missing.empty()) {
    return "";
  }
  const std::string who = who_text(missing, hosts.addresses, hosts.now);
  if (attempt.state == AttemptState::kReserved) {
    return who + "; nothing runs yet: it is placed again when its deadline passes";
  }
  return who + "; " + next_text(job, attempt, missing, some_answer, hosts);
}

}  // namespace muster::agent
