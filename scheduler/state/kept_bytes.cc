#include "scheduler/state/kept_bytes.h"

#include "scheduler/protocol/codec.h"

namespace muster::scheduler {
namespace {

// Lengths, ids, times and numbers as encoded (snapshot.cc), rounded up. That of a job includes its
// reason and the tokens of its attempts, that of a rank its result.
constexpr std::size_t kJobBytes = 580;
constexpr std::size_t kTextBytes = 3;
constexpr std::size_t kAttemptBytes = 150;
constexpr std::size_t kMemberBytes = 149;
constexpr std::size_t kRankBytes = 76 + kDetailBytesMax;
constexpr std::size_t kTransitionBytes = 45;
constexpr std::size_t kKeyBytes = 28;
constexpr std::size_t kRunBytes = 16;  ///< One of the runs of an array.

}  // namespace

std::size_t kept_bytes_of_job(const JobSpec& spec, const std::string& key, const std::string& by) {
  std::size_t bytes = kJobBytes + key.size() + by.size() + spec.name.size() + spec.user.size() +
                      spec.command.directory.size() + spec.queue.size();
  const Request& request = spec.request;
  for (const auto* names : {&request.gpu_types, &request.labels, &request.not_labels,
                            &request.hosts, &request.not_hosts}) {
    for (const std::string& name : *names) {
      bytes += kTextBytes + name.size();
    }
  }
  bytes += spec.array.has_value() ? kRunBytes * spec.array->runs.size() : 0;
  for (const std::string& text : spec.command.argv) {
    bytes += kTextBytes + text.size();
  }
  for (const std::string& text : spec.command.environment) {
    bytes += kTextBytes + text.size();
  }
  return bytes;
}

std::size_t kept_bytes(const Attempt& attempt) {
  const AttemptShare& share = attempt.share;
  std::size_t bytes = kAttemptBytes + share.queue.size() + share.user.size() + share.pool.size();
  for (const MemberRecord& record : attempt.members) {
    bytes += kMemberBytes + kRankBytes * record.member.rank_count();
    for (const GpuSlot& gpu : record.member.gpus) {
      bytes += kTextBytes + gpu.uuid.size();
    }
  }
  return bytes;
}

std::size_t kept_bytes(const Transition& step) {
  return kTransitionBytes + step.cause.size();
}

std::size_t kept_bytes_of_history(const Job& job) {
  std::size_t bytes = 0;
  for (const Transition& step : job.history.transitions) {
    bytes += kept_bytes(step);
  }
  return bytes;
}

std::size_t kept_bytes_of_key(const std::string& key) {
  return kKeyBytes + key.size();
}

}  // namespace muster::scheduler
