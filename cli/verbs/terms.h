#pragma once
// The words of Muster that no other scheduler has, or has in another sense, each in a sentence.

#include <span>
#include <string_view>

namespace muster::cli {

struct Term {
  std::string_view word;
  std::string_view meaning;
};

/// Words of the cluster, then words of jobs; most stand behind the words that explain them.
std::span<const Term> terms();

}  // namespace muster::cli
