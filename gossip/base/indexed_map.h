#pragma once
// IndexedMap is a std::map with a hash index: a lookup takes O(1), and a walk follows the order of
// the keys. For maps of thousands of elements, where a search of the tree costs a cache miss at
// each level.
//
// Invariant: the index holds the places of all elements and no others.

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "gossip/base/hash_index.h"

namespace muster {

template <class Key, class Value>
class IndexedMap {
 public:
  using Map = std::map<Key, Value>;
  using iterator = typename Map::iterator;
  using const_iterator = typename Map::const_iterator;
  using node_type = typename Map::node_type;

  IndexedMap() = default;
  IndexedMap(Map map) : map_(std::move(map)) {  // NOLINT: it is one, only indexed.
    for (iterator element = map_.begin(); element != map_.end(); ++element) {
      index_.put(hash_of(element->first), element);
    }
  }
  IndexedMap(const IndexedMap& other) : IndexedMap(other.map_) {}
  IndexedMap& operator=(const IndexedMap& other) {
    if (this != &other) {
      *this = IndexedMap(other);
    }
    return *this;
  }
  /// A map that was moved from is empty.
  IndexedMap(IndexedMap&& other) noexcept
      : map_(std::exchange(other.map_, {})), index_(std::exchange(other.index_, {})) {}
  IndexedMap& operator=(IndexedMap&& other) noexcept {
    map_ = std::exchange(other.map_, {});
    index_ = std::exchange(other.index_, {});
    return *this;
  }
  ~IndexedMap() = default;

  const Map& map() const { return map_; }
  std::size_t size() const { return map_.size(); }
  bool empty() const { return map_.empty(); }
  iterator begin() { return map_.begin(); }
  iterator end() { return map_.end(); }
  const_iterator begin() const { return map_.begin(); }
  const_iterator end() const { return map_.end(); }
  iterator lower_bound(const Key& key) { return map_.lower_bound(key); }
  const_iterator lower_bound(const Key& key) const { return map_.lower_bound(key); }

  iterator find(const Key& key) {
    const iterator* known = place_of(key);
    return known == nullptr ? map_.end() : *known;
  }
  const_iterator find(const Key& key) const {
    const iterator* known = place_of(key);
    return known == nullptr ? map_.end() : const_iterator(*known);
  }
  bool contains(const Key& key) const { return place_of(key) != nullptr; }
  std::size_t count(const Key& key) const { return contains(key) ? 1 : 0; }

  /// In O(1) when the key is the highest.
  template <class... Args>
  std::pair<iterator, bool> try_emplace(const Key& key, Args&&... args) {
    if (const iterator* known = place_of(key); known != nullptr) {
      return {*known, false};
    }
    const iterator made = map_.try_emplace(map_.end(), key, std::forward<Args>(args)...);
    index_.put(hash_of(key), made);
    return {made, true};
  }
  Value& operator[](const Key& key) { return try_emplace(key).first->second; }

  iterator erase(iterator element) {
    remove(element->first);
    return map_.erase(element);
  }
  std::size_t erase(const Key& key) {
    const iterator element = find(key);
    if (element == map_.end()) {
      return 0;
    }
    erase(element);
    return 1;
  }
  node_type extract(const Key& key) {
    const iterator element = find(key);
    if (element == map_.end()) {
      return node_type();
    }
    remove(key);
    return map_.extract(element);
  }
  void clear() {
    map_.clear();
    index_.clear();
  }

  bool operator==(const IndexedMap& other) const { return map_ == other.map_; }

 private:
  static std::uint64_t hash_of(const Key& key) { return IndexHash()(key); }
  const iterator* place_of(const Key& key) const {
    return index_.find(hash_of(key), [&](iterator element) { return element->first == key; });
  }
  void remove(const Key& key) {
    index_.remove(hash_of(key), [&](iterator element) { return element->first == key; });
  }

  Map map_;
  HashIndex<iterator> index_;
};

}  // namespace muster
