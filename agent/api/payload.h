#pragma once
// The bytes of what a request asks with and what a response tells: one array a struct, its fields
// in order, with append-only trailing elements.

#include <optional>
#include <string>

namespace muster::agent {

/// Any struct of this room that Verb names as arguments or as what comes back.
template <class T>
std::string encode_payload(const T& value);

/// Nothing when the bytes do not fit; newer trailing elements are ignored.
template <class T>
std::optional<T> decode_payload(std::string bytes);

}  // namespace muster::agent
