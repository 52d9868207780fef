#pragma once
// Who stands behind a request, and whether an agent answers him. A login is whoever may use the
// agent's own socket on its host; another member passes on what a login there asked.

#include <cstdint>
#include <string>

namespace muster::agent {

/// Of the kernel of the agent's host.
struct Login {
  std::uint32_t uid = 0;
  std::string name;  ///< "" = none is known.
};

struct Caller {
  enum class Kind : std::uint8_t {
    kNobody,  ///< From outside: neither a member nor a login here.
    kHost,    ///< A member of the cluster.
    kLogin,   ///< A process on this host.
  };
  Kind kind = Kind::kNobody;
  std::uint32_t uid = 0;  ///< Of a login.
};

/// Why the agent that runs as `own` does not answer, and who may ask; "" when it does. Root is
/// answered, as it could read and do everything without asking.
std::string why_denied(const Caller& caller, const Login& own);

}  // namespace muster::agent
