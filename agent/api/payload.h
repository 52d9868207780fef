#pragma once
// The encoding of the arguments of a request and of the payload of a response: one array per
// struct, its fields in order. New fields are appended at the end.

#include <optional>
#include <string>

#include "gossip/wire/wire.h"

namespace muster::agent {

/// Encodes a struct of this room that Verb names as arguments or as the answer.
template <class T>
std::string encode_payload(const T& value);

/// nullopt if the bytes do not encode a T. Trailing elements of newer versions are ignored.
template <class T>
std::optional<T> decode_payload(std::string bytes);

/// The same of the body of a message.
template <class T>
std::optional<T> read_payload(gossip::Reader body);

}  // namespace muster::agent
