#include "scheduler/protocol/preempt.h"

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {

void write(gossip::Encoder& out, const entry::Preempt& fact) {
  out.num(fact.job).u64(fact.attempt).array(fact.members.size());
  for (const Member& member : fact.members) {
    write(out, member);
  }
  write(out, fact.victims);
  out.num(fact.seen).u64(fact.policy);
}

entry::Preempt read_preempt(gossip::Reader& in) {
  entry::Preempt fact;
  fact.job = in.num<JobId>();
  fact.attempt = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  gossip::Reader members = in.array();
  while (members.ok() && members.left() > 0) {
    fact.members.push_back(read_member(members));
  }
  fact.victims = read_tokens(in);
  fact.seen = in.num<LogIndex>();
  fact.policy = static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
  return fact;
}

}  // namespace muster::scheduler
