#include "scheduler/placement/space_classes.h"

#include <xxhash.h>

#include <array>
#include <cstring>

#include "gossip/base/check.h"

namespace muster::scheduler {
namespace {

/// The bytes of a space without padding, for the hash.
std::uint64_t hash_of(const HostSpace& space, std::uint64_t kind) {
  std::array<std::uint64_t, 9> words{};
  static_assert(sizeof space.islands == 16 && sizeof space.shared == 32);
  std::memcpy(words.data(), space.islands.data(), sizeof space.islands);
  std::memcpy(words.data() + 2, space.shared.data(), sizeof space.shared);
  words[6] = space.cpus;
  words[7] = space.memory_mb;
  words[8] = kind;
  return XXH3_64bits(words.data(), sizeof words);
}

}  // namespace

ClassNumber SpaceClasses::enter(const HostSpace& space, std::uint64_t kind_hash,
                                std::uint32_t position) {
  const ClassNumber number = number_of(space, kind_hash);
  SpaceClass& entered = classes_[index_of(number)];
  entered.bits.set(position);
  if (entered.hosts++ == 0) {
    ++live_;
    give_births(number);
  }
  return number;
}

void SpaceClasses::leave(ClassNumber number, std::uint32_t position) {
  SpaceClass& left = classes_[index_of(number)];
  CHECK(left.hosts > 0);
  left.bits.clear(position);
  if (--left.hosts == 0) {
    --live_;
  }
}

ClassNumber SpaceClasses::number_of(const HostSpace& space, std::uint64_t kind_hash) {
  const Content content{hash_of(space, kind_hash), space};
  if (const auto known = numbers_.find(content); known != numbers_.end()) {
    return known->second;
  }
  if (unused_.empty() && numbers_.size() >= 2 * live_ + kEmptyClassesKept) {
    forget_empty();
  }
  ClassNumber number = static_cast<ClassNumber>(classes_.size());
  if (unused_.empty()) {
    classes_.emplace_back();
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  SpaceClass& made = classes_[index_of(number)];
  made.space = space;
  made.hash = content.hash;
  ++made.life;
  numbers_.emplace(content, number);
  return number;
}

void SpaceClasses::forget_empty() {
  for (std::size_t i = classes_.size(); i-- > 0;) {
    SpaceClass& known = classes_[i];
    if (known.hosts == 0) {
      numbers_.erase(Content{known.hash, known.space});
      known.bits = HostBits();
      unused_.push_back(static_cast<ClassNumber>(i));
    }
  }
}

void SpaceClasses::give_births(ClassNumber number) {
  if (births_.size() >= 4 * classes_.size() + kBirthsKept) {
    births_gone_ += births_.size();
    births_.clear();
  }
  births_.push_back(number);
}

std::optional<std::span<const ClassNumber>> SpaceClasses::births_since(std::uint64_t seen) const {
  if (seen < births_gone_) {
    return std::nullopt;
  }
  return std::span(births_).subspan(static_cast<std::size_t>(seen - births_gone_));
}

}  // namespace muster::scheduler
