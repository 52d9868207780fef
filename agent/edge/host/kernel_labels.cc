#include "agent/edge/host/kernel_labels.h"

#include <sys/utsname.h>

namespace muster::agent {

std::vector<std::string> kernel_labels() {
  utsname facts{};
  if (uname(&facts) != 0) {
    return {};
  }
  const std::string release(facts.release);
  const std::size_t minor = release.find('.');
  const std::size_t end =
      minor == std::string::npos ? minor : release.find_first_not_of("0123456789", minor + 1);
  return {"arch=" + std::string(facts.machine), "kernel=" + release.substr(0, end)};
}

}  // namespace muster::agent
