#pragma once
// The description of REST for programs, by OpenAPI 3.1: each route with its parameters, its body,
// its answers and its errors.

#include <string>

namespace muster::agent {

/// The whole document, without a line feed; always the same.
const std::string& openapi_document();

}  // namespace muster::agent
