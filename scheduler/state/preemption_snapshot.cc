#include "scheduler/state/preemption_snapshot.h"

#include <set>

#include "scheduler/protocol/codec.h"
#include "scheduler/protocol/preempt.h"

namespace muster::scheduler {

void write_preemption(gossip::Encoder& out, const Preemption& preemption, Cover cover) {
  out.num(preemption.job).token(preemption.token).array(preemption.members.size());
  for (const Member& member : preemption.members) {
    write(out, member);
  }
  write(out, std::vector<Token>(preemption.victims.begin(), preemption.victims.end()));
  out.array(3)
      .text(preemption.share.queue)
      .text(preemption.share.user)
      .text(preemption.share.pool)
      .u64(preemption.charge)
      .u64(static_cast<std::uint64_t>(preemption.tier))
      .duration(preemption.at)
      .duration(preemption.until)
      .u64(cover.by_pool)
      .u64(cover.by_all_gpus);
}

Preemption read_preemption(gossip::Reader& in, Cover& cover) {
  Preemption preemption;
  preemption.job = in.num<JobId>();
  preemption.token = in.token();
  gossip::Reader members = in.array();
  while (members.ok() && members.left() > 0) {
    preemption.members.push_back(read_member(members));
  }
  for (const Token& victim : read_tokens(in)) {
    preemption.victims.insert(victim);
  }
  gossip::Reader share = in.array();
  preemption.share.queue = share.text();
  preemption.share.user = share.text();
  preemption.share.pool = share.text();
  preemption.charge = in.u64();
  preemption.tier = static_cast<Tier>(in.u64_at_most(static_cast<std::uint64_t>(kTierLast)));
  preemption.at = in.duration();
  preemption.until = in.duration();
  cover.by_pool = static_cast<std::uint8_t>(in.u64_at_most(UINT8_MAX));
  cover.by_all_gpus = static_cast<std::uint8_t>(in.u64_at_most(UINT8_MAX));
  return preemption;
}

bool are_sound(const Books& books, const std::vector<Preemption>& preemptions) {
  std::set<JobId> jobs;
  std::set<Token> tokens;
  std::set<Token> victims;
  for (const Preemption& preemption : preemptions) {
    const Job* const job = books.jobs.find(preemption.job);
    std::set<HostId> hosts;
    for (const Member& member : preemption.members) {
      hosts.insert(member.host);
    }
    if (job == nullptr || !job->is_pending() || !jobs.insert(preemption.job).second ||
        hosts.size() != preemption.members.size() || preemption.charge == 0 ||
        books.attempts.find(preemption.token) != nullptr ||
        !tokens.insert(preemption.token).second) {
      return false;
    }
    for (const Token& victim : preemption.victims) {
      if (!books.attempts.is_live(victim) || !victims.insert(victim).second) {
        return false;
      }
    }
  }
  return preemptions.size() <= kPreemptionsMax;
}

}  // namespace muster::scheduler
