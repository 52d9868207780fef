#pragma once
// Documents of every kind, full and empty ones, as the writers of agent/api/json make them.

#include <string>
#include <string_view>
#include <vector>

namespace muster::agent::rest_testing {

struct DocumentSample {
  std::string_view schema;
  std::string json;
};
std::vector<DocumentSample> document_samples();

}  // namespace muster::agent::rest_testing
