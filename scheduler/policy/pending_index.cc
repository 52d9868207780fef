#include "scheduler/policy/pending_index.h"

#include "gossip/base/check.h"
#include "scheduler/placement/capacity.h"

namespace muster::scheduler {

void PendingIndex::rebuild(const State& state) {
  queue_.clear();
  numbers_.clear();
  rings_.clear();
  unused_.clear();
  jobs_.clear();
  heads_.clear();
  blocked_.clear();
  aside_.clear();
  for (const auto& [id, job] : state.jobs()) {
    if (job.is_pending()) {
      on_changed(state, id);
    }
  }
}

PendingIndex::RingNumber PendingIndex::ring_of(const RingKey& key) {
  const auto known = numbers_.find(key);
  if (known != numbers_.end()) {
    return known->second;
  }
  RingNumber number = rings_.size();
  if (unused_.empty()) {
    rings_.emplace_back();
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  rings_[number] = Ring();
  rings_[number].key = &numbers_.emplace(key, number).first->first;
  return number;
}

void PendingIndex::put(RingNumber number, const QueueKey& place) {
  Ring& ring = rings_[number];
  if (!ring.is_aside && !ring.waiting.empty() && place < *ring.waiting.begin()) {
    heads_.erase({*ring.waiting.begin(), number});
  }
  ring.waiting.insert(place);
  if (!ring.is_aside && *ring.waiting.begin() == place) {
    heads_.insert({place, number});
  }
}

void PendingIndex::take(RingNumber number, const QueueKey& place) {
  Ring& ring = rings_[number];
  const bool was_first = *ring.waiting.begin() == place;
  CHECK(ring.waiting.erase(place) == 1);
  if (was_first && !ring.is_aside) {
    heads_.erase({place, number});
    if (!ring.waiting.empty()) {
      heads_.insert({*ring.waiting.begin(), number});
    }
  }
}

/// Forgets the job, and its ring with the last of its jobs.
void PendingIndex::drop(std::map<JobId, Known>::iterator known) {
  const RingNumber number = known->second.ring;
  if (!known->second.is_hidden) {
    take(number, known->second.place);
  }
  queue_.erase(known->second.place);
  jobs_.erase(known);
  Ring& ring = rings_[number];
  if (--ring.jobs == 0) {
    blocked_.erase(number);
    aside_.erase(number);
    numbers_.erase(*ring.key);
    unused_.push_back(number);
  }
}

void PendingIndex::on_changed(const State& state, JobId id) {
  const Job* job = state.job(id);
  const auto known = jobs_.find(id);
  if (job == nullptr || !job->is_pending()) {
    if (known != jobs_.end()) {
      drop(known);
    }
    return;
  }
  const QueueKey place = queue_key_of(*job);
  const RingKey key(shape_of(*job), job->life.left_out.empty() ? JobId() : id);
  if (known != jobs_.end()) {
    if (known->second.place == place && *rings_[known->second.ring].key == key) {
      return;
    }
    const bool was_hidden = known->second.is_hidden;
    drop(known);
    on_changed(state, id);
    if (was_hidden) {
      hide(id);
    }
    return;
  }
  const RingNumber number = ring_of(key);
  ++rings_[number].jobs;
  jobs_.emplace(id, Known{number, place, false});
  queue_.insert(queue_.end(), place);
  put(number, place);
}

std::optional<JobId> PendingIndex::first() const {
  return heads_.empty() ? std::nullopt : std::optional(heads_.begin()->first.job);
}

void PendingIndex::hide(JobId job) {
  Known& known = jobs_.at(job);
  if (!known.is_hidden) {
    known.is_hidden = true;
    take(known.ring, known.place);
  }
}

void PendingIndex::show(JobId job) {
  const auto known = jobs_.find(job);
  if (known != jobs_.end() && known->second.is_hidden) {
    known->second.is_hidden = false;
    put(known->second.ring, known->second.place);
  }
}

void PendingIndex::block(JobId job) {
  blocked_.insert(jobs_.at(job).ring);
}

bool PendingIndex::is_blocked(JobId job) const {
  return blocked_.contains(jobs_.at(job).ring);
}

void PendingIndex::set_aside(JobId job) {
  const RingNumber number = jobs_.at(job).ring;
  Ring& ring = rings_[number];
  if (!ring.is_aside) {
    ring.is_aside = true;
    aside_.insert(number);
    if (!ring.waiting.empty()) {
      heads_.erase({*ring.waiting.begin(), number});
    }
  }
}

void PendingIndex::wake(const HostKind& kind, const HostSpace& space) {
  std::erase_if(blocked_, [&](RingNumber number) {
    const auto& [shape, alone] = *rings_[number].key;
    return preference(shape, kind).has_value() && units_in(shape, kind, space) != 0;
  });
}

void PendingIndex::wake_alone() {
  std::erase_if(blocked_, [&](RingNumber number) { return rings_[number].key->second != JobId(); });
}

/// The ring is no longer aside; the caller takes it out of `aside_`.
void PendingIndex::take_back(RingNumber number) {
  Ring& ring = rings_[number];
  ring.is_aside = false;
  if (!ring.waiting.empty()) {
    heads_.insert({*ring.waiting.begin(), number});
  }
}

void PendingIndex::reopen_alone() {
  std::erase_if(aside_, [&](RingNumber number) {
    const bool is_alone = rings_[number].key->second != JobId();
    if (is_alone) {
      take_back(number);
    }
    return is_alone;
  });
}

void PendingIndex::reopen() {
  blocked_.clear();
  for (const RingNumber number : aside_) {
    take_back(number);
  }
  aside_.clear();
}

void PendingIndex::forget_leader() {
  reopen();
  for (const auto& [job, known] : std::map(jobs_)) {
    show(job);
  }
}

bool PendingIndex::is_right(const State& state) const {
  std::size_t shown = 0;
  for (const auto& [id, known] : jobs_) {
    const Job* job = state.job(id);
    if (job == nullptr || !job->is_pending() || known.place != queue_key_of(*job) ||
        !queue_.contains(known.place) || rings_[known.ring].key->first != shape_of(*job)) {
      return false;
    }
    shown += rings_[known.ring].waiting.contains(known.place) ? 1 : 0;
    if (rings_[known.ring].waiting.contains(known.place) == known.is_hidden) {
      return false;
    }
  }
  std::size_t waiting = 0;
  std::size_t heads = 0;
  for (const auto& [key, number] : numbers_) {
    const Ring& ring = rings_[number];
    waiting += ring.waiting.size();
    const bool has_head = !ring.is_aside && !ring.waiting.empty();
    heads += has_head ? 1 : 0;
    if (has_head && !heads_.contains({*ring.waiting.begin(), number})) {
      return false;
    }
  }
  return jobs_.size() == state.pending() && queue_.size() == jobs_.size() && waiting == shown &&
         heads == heads_.size();
}

}  // namespace muster::scheduler
