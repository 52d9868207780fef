#pragma once
// The names of directories in DATA/grants: Token::text(), read back.

#include <optional>
#include <string_view>

#include "gossip/base/ids.h"

namespace muster::agent {

/// Null when it is the name of no token.
std::optional<Token> token_named(std::string_view name);

}  // namespace muster::agent
