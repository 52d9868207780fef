// Samples of entries and of states with jobs that wait: for others, for a time, or for attempts
// that give way to them.

#include <chrono>

#include "scheduler/state/state.h"
#include "tests/compat/samples.h"

namespace muster::compat {
namespace {

using namespace std::chrono_literals;  // NOLINT: literals only.
using scheduler::Ending;
namespace entry = scheduler::entry;

constexpr std::int64_t kUnixMs = 1'700'000'000'123;

entry::Submit waiting(const std::string& key, const scheduler::Eligibility& eligibility) {
  entry::Submit fact;
  fact.key = key;
  fact.by = {"bob@host-one", "bob"};
  fact.spec.name = "train";
  fact.spec.user = "bob";
  fact.spec.request.gpus = 2;
  fact.spec.command.argv = {"train"};
  fact.spec.eligibility = eligibility;
  return fact;
}

entry::Edit edited_times() {
  entry::Edit fact;
  fact.job = JobId(4);
  fact.by = {"bob"};
  fact.keeps_priority = true;
  fact.begin = 0s;
  fact.deadline = 8h;
  return fact;
}

Sample logged_sample(const std::string& name, const scheduler::Entry& value) {
  return {"entry/" + name, scheduler::encode(value, kUnixMs),
          [](const std::string& bytes) -> std::optional<std::string> {
            const Result<scheduler::LoggedEntry> read = scheduler::decode_entry(bytes);
            return read ? std::optional(scheduler::encode(read->entry, read->unix_ms))
                        : std::nullopt;
          }};
}

/// A job, and a job and an array that wait for it.
std::string state_that_waits() {
  const scheduler::Eligibility eligibility{{{Ending::kOk, JobId(1)}}, 2h, 8h};
  scheduler::State state;
  state.apply(LogIndex(1), waiting("first", {}), kUnixMs);
  state.apply(LogIndex(2), waiting("later", eligibility), kUnixMs);
  entry::Submit array = waiting("array", eligibility);
  array.spec.array = scheduler::ArrayRange{0, 3, 0};
  state.apply(LogIndex(3), array, kUnixMs);
  return state.encode();
}

constexpr HostId kHostThere;
const AgentStart kStartThere{Generation(2), StartId(3)};

scheduler::Member member() {
  scheduler::Member all;
  all.host = kHostThere;
  all.start = kStartThere;
  all.gpus = {{"GPU-a", 0}, {"GPU-b", 0}};
  return all;
}

entry::Preempt preempting(JobId job, const Token& victim) {
  entry::Preempt fact;
  fact.job = job;
  fact.members = {member()};
  fact.victims = {victim};
  fact.seen = LogIndex(300);
  return fact;
}

/// A job runs on GPUs that the queue of the second one is guaranteed, and gives way to it.
std::string state_with_preemption() {
  scheduler::State state;
  entry::Register host;
  host.host = kHostThere;
  host.start = kStartThere;
  host.name = "host-one";
  host.gpu_type = "H100";
  host.gpus = {"GPU-a", "GPU-b"};
  state.apply(LogIndex(1), host, kUnixMs);
  entry::SetQueues queues;
  queues.tree.nodes.resize(2);
  queues.tree.nodes[0].path = "nlp";
  queues.tree.nodes[0].guaranteed = {{"h100", 2}};
  queues.tree.nodes[1].path = "spare";
  state.apply(LogIndex(2), queues, kUnixMs);
  entry::Submit lent = waiting("lent", {});
  lent.spec.queue = "spare";
  state.apply(LogIndex(3), lent, kUnixMs);
  entry::Decide decision;
  decision.job = JobId(1);
  decision.members = {member()};
  decision.grace = 10s;
  state.apply(LogIndex(4), decision, kUnixMs);
  const Token token{1, 4};
  state.apply(LogIndex(5), entry::Ready{token, kHostThere, kStartThere, {}}, kUnixMs);
  state.apply(LogIndex(6), entry::Start{token}, kUnixMs);
  state.apply(LogIndex(7), entry::Tick{10min}, kUnixMs);
  entry::Submit owed = waiting("owed", {});
  owed.spec.queue = "nlp";
  state.apply(LogIndex(8), owed, kUnixMs);
  state.apply(LogIndex(9), preempting(JobId(2), token), kUnixMs);
  return state.preemptions().all().empty() ? "" : state.encode();
}

Sample state_sample(const std::string& name, const std::string& bytes) {
  return {"state/" + name, bytes, [](const std::string& given) -> std::optional<std::string> {
            const Result<scheduler::State> read = scheduler::State::decode(given);
            return read ? std::optional(read->encode()) : std::nullopt;
          }};
}

}  // namespace

std::vector<Sample> wait_samples() {
  const scheduler::Eligibility all{
      {{Ending::kOk, JobId(7)}, {Ending::kAny, task_id(JobId(8), 3)}, {Ending::kFail, JobId(9)}},
      2h,
      8h};
  return {logged_sample("submit_waiting", waiting("waiting", all)),
          logged_sample("edit_times", edited_times()),
          logged_sample("preempt", preempting(JobId(7), {1, 300})),
          state_sample("waits", state_that_waits()),
          state_sample("preempts", state_with_preemption())};
}

}  // namespace muster::compat
