// Samples of entries and of a state with jobs that wait for others or for a time.

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

}  // namespace

std::vector<Sample> wait_samples() {
  const scheduler::Eligibility all{
      {{Ending::kOk, JobId(7)}, {Ending::kAny, task_id(JobId(8), 3)}, {Ending::kFail, JobId(9)}},
      2h,
      8h};
  return {logged_sample("submit_waiting", waiting("waiting", all)),
          logged_sample("edit_times", edited_times()),
          {"state/waits", state_that_waits(),
           [](const std::string& bytes) -> std::optional<std::string> {
             const Result<scheduler::State> read = scheduler::State::decode(bytes);
             return read ? std::optional(read->encode()) : std::nullopt;
           }}};
}

}  // namespace muster::compat
