#pragma once
// Bytes as letters, for documents that hold only text.

#include <string>
#include <string_view>

namespace muster::agent {

/// RFC 4648, with its padding.
std::string base64(std::string_view bytes);
/// Two digits per byte.
std::string hex(std::string_view bytes);

}  // namespace muster::agent
