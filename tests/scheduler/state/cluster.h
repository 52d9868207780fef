#pragma once
// Domain verbs for tests of the scheduler: hosts, jobs and log entries in one line each.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/state/state.h"

namespace muster::scheduler::testing {

inline HostId host_id(std::uint64_t number) {
  std::array<std::uint8_t, HostId::kSizeBytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>(number >> (8 * (7 - i)));
  }
  bytes[15] = 1;
  return HostId(bytes);
}

inline AgentStart pair_of(std::uint64_t generation, std::uint64_t start_id = 7) {
  return AgentStart{Generation(generation), StartId(start_id * 1000 + generation)};
}

inline std::string uuid_of(std::uint64_t host, std::uint32_t gpu) {
  return "GPU-" + std::to_string(host) + "-" + std::to_string(gpu);
}

inline std::vector<std::string> uuids_of(std::uint64_t host, std::uint32_t count) {
  std::vector<std::string> uuids;
  for (std::uint32_t i = 0; i < count; ++i) {
    uuids.push_back(uuid_of(host, i));
  }
  return uuids;
}

inline entry::Register registration(std::uint64_t host, std::uint32_t gpus,
                                    std::uint64_t generation = 1,
                                    const std::string& type = "H100") {
  entry::Register fact;
  fact.host = host_id(host);
  fact.start = pair_of(generation);
  fact.boot_id = "boot-1";
  fact.name = "host" + std::to_string(host);
  fact.gpu_type = type;
  fact.gpus = uuids_of(host, gpus);
  return fact;
}

inline JobSpec spec_of(std::uint32_t gpus) {
  JobSpec spec;
  spec.name = "job";
  spec.request.gpus = gpus;
  spec.command.argv = {"train"};
  return spec;
}

inline entry::Submit submission(const std::string& key, std::uint32_t gpus) {
  return entry::Submit{key, spec_of(gpus), "alice"};
}

/// Every rank of the member ended the same way.
inline std::vector<RankResult> results_of(const Member& member, std::int32_t code,
                                          bool signalled_by_us = false) {
  std::vector<RankResult> results;
  for (std::uint32_t i = 0; i < member.gpus.size(); ++i) {
    RankResult result;
    result.rank = member.first_rank + i;
    result.code = code;
    result.signalled_by_us = signalled_by_us;
    results.push_back(result);
  }
  return results;
}

inline Member member_of(std::uint64_t host, std::uint32_t first_gpu, std::uint32_t count,
                        std::uint32_t first_rank = 0, std::uint64_t generation = 1) {
  Member member;
  member.host = host_id(host);
  member.start = pair_of(generation);
  member.first_rank = first_rank;
  for (std::uint32_t i = 0; i < count; ++i) {
    member.gpus.push_back(GpuSlot{uuid_of(host, first_gpu + i), 0});
  }
  return member;
}

/// A State and its log: each apply() is the next index.
class Log {
 public:
  ApplyResult apply(const Entry& entry) {
    index_ = index_.next();
    ApplyResult result = state.apply(index_, entry);
    state.check_everything();
    return result;
  }
  JobId submit(std::uint32_t gpus) {
    return apply(submission("key" + std::to_string(index_.value()), gpus)).job;
  }
  /// The token of a gang of these members, whatever placement would say.
  Token decide(JobId job, std::vector<Member> members) {
    entry::Decide fact;
    fact.job = job;
    fact.attempt = state.job(job)->life.attempts + 1;
    fact.members = std::move(members);
    fact.hold = std::chrono::minutes(2);
    fact.grace = std::chrono::seconds(10);
    fact.deadline = std::chrono::seconds(10);
    return apply(fact).rejected.empty() ? Token{state.epoch(), index_.value()} : Token();
  }
  void ready(const Token& token) {
    for (const MemberRecord& record : std::vector(state.attempt(token)->members)) {
      apply(entry::Ready{token, record.member.host, record.member.start, {}});
    }
  }
  /// Decide, every Ready, Start.
  Token run(JobId job, const std::vector<Member>& members) {
    const Token token = decide(job, members);
    ready(token);
    apply(entry::Start{token});
    return token;
  }
  ApplyResult finish(const Token& token, const Member& member, std::int32_t code,
                     bool signalled_by_us = false) {
    return apply(entry::Finish{token, member.host, member.start,
                               results_of(member, code, signalled_by_us), true});
  }
  ApplyResult observe(std::uint64_t host, Verdict verdict) {
    entry::Observe fact;
    fact.host = host_id(host);
    fact.verdict = verdict;
    return apply(fact);
  }
  LogIndex index() const { return index_; }

  State state;

 private:
  LogIndex index_;
};

}  // namespace muster::scheduler::testing
