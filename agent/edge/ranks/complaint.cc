#include "agent/edge/ranks/complaint.h"

#include <cstdio>

namespace muster::agent {

void complain(const std::string& text) {
  std::fprintf(stderr, "supervisor: %s\n", text.c_str());
}

}  // namespace muster::agent
