#pragma once
// Reads the name of a directory in DATA/grants, which is Token::text(), back.

#include <optional>
#include <string_view>

#include "gossip/base/ids.h"

namespace muster::agent {

/// nullopt if `name` is not the name of a token.
std::optional<Token> token_named(std::string_view name);

}  // namespace muster::agent
