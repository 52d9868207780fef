#include "tests/sim/disk.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "scheduler/raft/codec.h"

namespace muster::sim {
namespace {

constexpr std::uint32_t kRowsLostPerMillion = 300'000;

}  // namespace

Disk::Image& Disk::image(crdt::Environment environment) {
  return images_[static_cast<std::size_t>(environment)];
}

void Disk::apply(Image& image, const crdt::WriteBatch& batch) {
  for (const crdt::Write& write : batch) {
    const auto old = image.sealed.lower_bound(write.key);
    const bool is_known = old != image.sealed.end() && old->first == write.key;
    if (is_known) {
      image.root.remove(old->first, old->second);
    }
    if (write.value.has_value()) {
      std::string sealed = crdt::seal(write.key, *write.value);
      image.root.add(write.key, sealed);
      if (is_known) {
        old->second = std::move(sealed);
      } else {
        image.sealed.emplace_hint(old, write.key, std::move(sealed));
      }
    } else if (is_known) {
      image.sealed.erase(old);
    }
  }
}

void Disk::commit(crdt::Environment environment, const crdt::WriteBatch& batch) {
  Image& target = image(environment);
  if (lies_in_ == environment) {
    Undo undo{{}, target.root};
    for (const crdt::Write& write : batch) {
      const auto old = target.sealed.find(write.key);
      undo.before.emplace(write.key,
                          old == target.sealed.end() ? std::nullopt : std::optional(old->second));
    }
    undo_.push_back(std::move(undo));
  }
  const bool begins_again = std::any_of(batch.begin(), batch.end(), [](const crdt::Write& write) {
    return write.key == scheduler::kSeatKey;
  });
  if (begins_again && !target.sealed.empty()) {
    keep_lost(target.sealed);
  }
  apply(target, batch);
}

/// Several losses may follow each other before a word of the first has arrived.
void Disk::keep_lost(const std::map<std::string, std::string>& log) {
  for (const auto& [key, value] : log) {
    lost_.insert_or_assign(key, value);
  }
}

void Disk::begin_lying(crdt::Environment environment) {
  lies_in_ = environment;
  undo_.clear();
}

void Disk::lose_what_it_lied_about(Rng& rng) {
  if (!lies_in_.has_value()) {
    return;
  }
  Image& target = image(*lies_in_);
  if (*lies_in_ == crdt::Environment::kRaft) {
    keep_lost(target.sealed);
  }
  for (std::uint64_t left = rng.below(undo_.size() + 1); left > 0; --left) {
    for (const auto& [key, value] : undo_.back().before) {
      if (value.has_value()) {
        target.sealed[key] = *value;
      } else {
        target.sealed.erase(key);
      }
    }
    target.root = undo_.back().root;
    undo_.pop_back();
  }
  lies_in_.reset();
  undo_.clear();
}

void Disk::go_back_to(const Disk& image) {
  std::map<std::string, std::string> lost = std::move(lost_);
  const std::map<std::string, std::string> log = sealed(crdt::Environment::kRaft);
  *this = image;
  lost_ = std::move(lost);
  keep_lost(log);
  lies_in_.reset();
  undo_.clear();
}

void Disk::submit(std::uint64_t id, crdt::Environment environment, crdt::WriteBatch batch) {
  if (environment == crdt::Environment::kState) {
    apply(image(environment), batch);  // NOSYNC: in the page cache at once, nobody waits for it.
    return;
  }
  pending_.push_back({id, environment, std::move(batch)});
}

void Disk::complete(std::uint64_t id) {
  while (!pending_.empty()) {
    const Pending done = std::move(pending_.front());
    pending_.pop_front();
    commit(done.environment, done.batch);
    if (done.id == id) {
      return;
    }
  }
}

void Disk::crash(Rng& rng) {
  const std::uint64_t kept = rng.below(pending_.size() + 1);
  for (std::uint64_t i = 0; i < kept; ++i) {
    commit(pending_[i].environment, pending_[i].batch);
  }
  pending_.clear();
}

void Disk::lose_power(Rng& rng) {
  crash(rng);
  lose_what_it_lied_about(rng);
  if (rng.chance(kRowsLostPerMillion)) {
    image(crdt::Environment::kState) = Image();
  }
}

void Disk::clear(crdt::Environment environment, const crdt::WriteBatch& first) {
  CHECK(idle());
  lies_in_.reset();
  undo_.clear();
  keep_lost(image(environment).sealed);
  image(environment) = Image();
  apply(image(environment), first);
}

crdt::Records Disk::read(crdt::Environment environment) const {
  std::map<std::string, std::string> all = sealed(environment);
  const Image& from = images_[static_cast<std::size_t>(environment)];
  if (!all.empty()) {
    all.emplace(crdt::kRootKey, crdt::seal(crdt::kRootKey, from.root.encode()));
  }
  Result<crdt::Records> records = crdt::check_records(all);
  CHECK(records.has_value());
  return std::move(records).value();
}

const std::map<std::string, std::string>& Disk::sealed(crdt::Environment environment) const {
  return images_[static_cast<std::size_t>(environment)].sealed;
}

}  // namespace muster::sim
