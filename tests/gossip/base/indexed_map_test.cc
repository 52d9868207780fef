// Tests of IndexedMap: after any changes it equals a std::map with the same changes. Tests of
// HashIndex: it finds all elements that were put and not removed, even if all hashes collide.

#include "gossip/base/indexed_map.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gossip/base/rng.h"

namespace muster {
namespace {

TEST(IndexedMap, SaysWhatAMapSays) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    std::map<JobId, int> plain;
    IndexedMap<JobId, int> indexed;
    for (int step = 0; step < 400; ++step) {
      const JobId key(rng.below(64));
      switch (rng.below(6)) {
        case 0:
        case 1:
          EXPECT_EQ(indexed.try_emplace(key, step).second, plain.try_emplace(key, step).second);
          break;
        case 2:
          indexed[key] = plain[key] = step;
          break;
        case 3:
          EXPECT_EQ(indexed.erase(key), plain.erase(key));
          break;
        case 4:
          EXPECT_EQ(indexed.extract(key).empty(), plain.extract(key).empty());
          break;
        default: {
          const auto found = plain.find(key);
          const auto same = indexed.find(key);
          ASSERT_EQ(same == indexed.end(), found == plain.end());
          EXPECT_TRUE(found == plain.end() || *found == *same);
        }
      }
      ASSERT_EQ(indexed.map(), plain);
      ASSERT_EQ(indexed.contains(key), plain.contains(key));
    }
  }
}

TEST(IndexedMap, ACopyHasAnIndexOfItsOwn) {
  IndexedMap<std::string, int> first;
  first["a"] = 1;
  IndexedMap<std::string, int> second = first;
  second["a"] = 2;
  second["b"] = 3;
  EXPECT_EQ(first.find("a")->second, 1);
  EXPECT_FALSE(first.contains("b"));
  first = std::move(second);
  EXPECT_EQ(first.find("b")->second, 3);
  EXPECT_TRUE(second.empty());
  EXPECT_FALSE(second.contains("a")) << "what was moved from is empty";
}

TEST(HashIndex, FindsThroughCollisions) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    HashIndex<int> index;
    std::set<int> known;
    for (int step = 0; step < 300; ++step) {
      const int element = static_cast<int>(rng.below(40));
      const std::uint64_t its = static_cast<std::uint64_t>(element % 5) << 1;
      const auto is_it = [&](int other) { return other == element; };
      if (known.contains(element)) {
        index.remove(its, is_it);
        known.erase(element);
      } else {
        index.put(its, element);
        known.insert(element);
      }
      EXPECT_EQ(index.find(its | std::uint64_t{1} << 40, is_it), nullptr) << "of no such hash";
      for (int other = 0; other < 40; ++other) {
        const int* found = index.find(static_cast<std::uint64_t>(other % 5) << 1,
                                      [&](int element_of) { return element_of == other; });
        ASSERT_EQ(found != nullptr, known.contains(other));
      }
      ASSERT_EQ(index.size(), known.size());
    }
  }
}

}  // namespace
}  // namespace muster
