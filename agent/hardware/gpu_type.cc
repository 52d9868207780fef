#include "agent/hardware/gpu_type.h"

#include <algorithm>
#include <vector>

#include "gossip/base/name.h"

namespace muster::agent {
namespace {

constexpr std::string_view kTypes[] = {
    "GB300", "GB200", "B300", "B200", "B100", "GH200", "H200", "H100", "H800", "H20",
    "A800",  "A100",  "A40",  "A30",  "A16",  "A10G",  "A10",  "A2",   "L40S", "L40",
    "L20",   "L4",    "L2",   "T4",   "V100", "P100",  "P40",  "P4",   "K80",
};
/// Words of a name that tell no model.
constexpr std::string_view kMakers[] = {"NVIDIA",   "Tesla",  "GeForce", "Quadro",
                                        "Graphics", "Device", "GPU"};

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : name) {
    if (is_letter_or_digit(c)) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) {
    words.push_back(std::move(word));
  }
  return words;
}

/// "80GB"
bool is_size(std::string_view word) {
  return word.size() > 2 && word.ends_with("GB") &&
         std::all_of(word.begin(), word.end() - 2, [](char c) { return c >= '0' && c <= '9'; });
}

template <class List>
bool has(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace

std::string gpu_type_of(std::string_view name) {
  std::string type;
  for (const std::string& word : words_of(name)) {
    if (has(kTypes, word)) {
      return word;
    }
    if (!has(kMakers, word) && !is_size(word)) {
      type += (type.empty() ? "" : "-") + word;
    }
  }
  type.resize(std::min(type.size(), kWordNameBytesMax));
  return is_word_name(type) ? type : "GPU";
}

}  // namespace muster::agent
