#pragma once
// The type of a GPU, "H100", as jobs ask for it, from the name that its driver gives it.

#include <string>
#include <string_view>

namespace muster::agent {

/// "H100" for "NVIDIA H100 80GB HBM3". A model that the table does not have gets a word of its own
/// name: "RTX-4090" for "NVIDIA GeForce RTX 4090". Always a word that is_word_name() accepts; "GPU"
/// if the name has no letter or digit.
std::string gpu_type_of(std::string_view name);

}  // namespace muster::agent
