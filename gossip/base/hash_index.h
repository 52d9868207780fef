#pragma once
// HashIndex finds an element in O(1) by the hash of its key. The owner of the index keeps the keys
// and tells elements of one hash apart. It is an open table with linear probing (Knuth, TAOCP 3,
// 6.4, algorithms L and R). No caller walks it, so no result depends on its order. Keys come from
// members of the cluster: the hash is no defence against an attacker that makes keys collide.
//
// Invariant: at most half of the table is used.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"

namespace muster {

/// The hash of a key, for HashIndex alone: never logged, never sent.
struct IndexHash {
  static constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // 2^64 by the golden ratio

  static std::uint64_t mixed(std::uint64_t value) {
    value *= kFactor;
    return value ^ (value >> 32);
  }
  template <class Tag>
  std::uint64_t operator()(const Strong<Tag>& id) const {
    return mixed(id.value());
  }
  template <class Tag>
  std::uint64_t operator()(const Id128<Tag>& id) const {
    return mixed(id.prefix());  // Random bytes, or a key's hash.
  }
  std::uint64_t operator()(const Token& token) const {
    return mixed(token.index ^ mixed(token.epoch));
  }
  std::uint64_t operator()(std::string_view text) const {
    return mixed(std::hash<std::string_view>()(text));
  }
  template <class Key>
  requires requires(const Key& key) { key.index_hash(); }
  std::uint64_t operator()(const Key& key) const { return key.index_hash(); }
  template <class First, class Second>
  std::uint64_t operator()(const std::pair<First, Second>& key) const {
    return mixed((*this)(key.first) ^ std::rotl((*this)(key.second), 17));
  }
};

template <class Element>
class HashIndex {
 public:
  std::size_t size() const { return size_; }
  void clear() { *this = HashIndex(); }

  /// Null if no element of that hash satisfies `is_it`.
  template <class Predicate>
  const Element* find(std::uint64_t hash, Predicate is_it) const {
    const std::size_t at = place_of(hash | 1U, is_it);
    return at == kNowhere ? nullptr : &places_[at].element;
  }
  /// Precondition: the element is not in the index.
  void put(std::uint64_t hash, Element element) {
    if (++size_ * 2 > places_.size()) {
      grow();
    }
    seat({hash | 1U, std::move(element)});
  }
  /// No effect if there is no such element. Later elements move up, so that no search ends early.
  template <class Predicate>
  void remove(std::uint64_t hash, Predicate is_it) {
    std::size_t free = place_of(hash | 1U, is_it);
    if (free == kNowhere) {
      return;
    }
    --size_;
    const std::size_t mask = places_.size() - 1;
    for (std::size_t at = next(free); places_[at].hash != 0; at = next(at)) {
      const std::size_t wanted = home(places_[at].hash);
      if (((at - wanted) & mask) >= ((at - free) & mask)) {
        places_[free] = std::move(places_[at]);
        free = at;
      }
    }
    places_[free] = Place();
  }

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;
  static constexpr std::size_t kFirstPlaces = 16;

  struct Place {
    std::uint64_t hash = 0;  ///< Odd; 0 = it is free.
    Element element{};
  };

  std::size_t home(std::uint64_t hash) const { return (hash >> 1) & (places_.size() - 1); }
  std::size_t next(std::size_t at) const { return (at + 1) & (places_.size() - 1); }

  template <class Predicate>
  std::size_t place_of(std::uint64_t hash, Predicate is_it) const {
    if (places_.empty()) {
      return kNowhere;
    }
    for (std::size_t at = home(hash); places_[at].hash != 0; at = next(at)) {
      if (places_[at].hash == hash && is_it(places_[at].element)) {
        return at;
      }
    }
    return kNowhere;
  }

  void seat(Place place) {
    std::size_t at = home(place.hash);
    while (places_[at].hash != 0) {
      at = next(at);
    }
    places_[at] = std::move(place);
  }

  void grow() {
    std::vector<Place> before(places_.empty() ? kFirstPlaces : places_.size() * 2);
    before.swap(places_);
    for (Place& place : before) {
      if (place.hash != 0) {
        seat(std::move(place));
      }
    }
  }

  std::vector<Place> places_;  ///< Their number is 0 or a power of two.
  std::size_t size_ = 0;
};

}  // namespace muster
