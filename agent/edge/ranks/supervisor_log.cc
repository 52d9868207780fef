#include "agent/edge/ranks/supervisor_log.h"

#include <cstdio>

namespace muster::agent {

void log_failure(const std::string& text) {
  std::fprintf(stderr, "supervisor: %s\n", text.c_str());
}

}  // namespace muster::agent
