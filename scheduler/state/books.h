#pragma once
// The replicated state as books, each with invariants of its own; the invariants between them are
// here. Owned by State. The rules of this room (submission, registration, decision, attempt_facts,
// outcomes, orders, adoption, forgetting) read and change the books and own nothing.
//
// Invariants: a member holds its slots exactly while it is not over; a job has at most one attempt
// that can still complete, JobLife::current, which is live or unclassed. The only clock here is
// `cluster_time`, the sum of the Ticks.

#include <cstdint>
#include <map>
#include <optional>

#include "scheduler/access/directory.h"
#include "scheduler/state/array_book.h"
#include "scheduler/state/attempt_book.h"
#include "scheduler/state/audit_book.h"
#include "scheduler/state/client_keys.h"
#include "scheduler/state/eligibility_book.h"
#include "scheduler/state/epochs.h"
#include "scheduler/state/gpu_book.h"
#include "scheduler/state/guarantee_book.h"
#include "scheduler/state/host_book.h"
#include "scheduler/state/job_book.h"
#include "scheduler/state/popularity.h"
#include "scheduler/state/preemption_book.h"
#include "scheduler/state/queue_book.h"
#include "scheduler/state/roll_book.h"
#include "scheduler/state/share_book.h"
#include "scheduler/state/state_sizes.h"
#include "scheduler/state/usage_book.h"
#include "scheduler/state/waiting_book.h"

namespace muster::scheduler {

struct Books {
  LogIndex applied;
  Duration cluster_time{0};
  Epochs epochs;
  JobBook jobs;
  HostBook hosts;
  AttemptBook attempts;
  ArrayBook arrays;
  GpuBook gpus;  ///< Derived from the attempts.
  ClientKeys keys;
  RollBook roll;
  Directory directory;
  UsageBook usage;
  AuditBook audit;
  Popularity popularity;
  QueueBook queues;
  ShareBook shares;          ///< Means and credits; what is held is derived from the attempts.
  GuaranteeBook guarantees;  ///< Covers; the claims are derived.
  PreemptionBook preemptions;
  WaitingBook waiting;          ///< Derived from jobs and arrays.
  EligibilityBook eligibility;  ///< Derived from jobs and arrays, but for the ends to be told.
  StateSizes sizes;             ///< Derived.
};

/// Derives the other books, after jobs, attempts and keys were read from a snapshot.
void derive(Books& books);
/// The claims of attempts, and of jobs in the place of attempts that give way to them; one that
/// `covers` does not name is guaranteed nowhere. nullopt if they cannot be guaranteed so.
std::optional<GuaranteeBook> guaranteed_by(const Books& books,
                                           const std::map<Token, Cover>& covers);

/// Cheap CHECKs, for every step.
void check_invariants(const Books& books);
/// Everything, in O(state).
void check_everything(const Books& books);

}  // namespace muster::scheduler
