#pragma once
// The certificates of HTTPS: what the agent of a host asks a voter for, and the root that people
// trust. All texts of certificates and keys are PEM.

#include <cstdint>
#include <string>
#include <vector>

namespace muster::agent {

/// The wish of an agent for itself. The voter leaves out names that it does not know as its own.
struct CertifyArgs {
  std::string public_key;              ///< On P-256. The secret one never leaves the host.
  std::vector<std::string> dns;        ///< In small letters.
  std::vector<std::string> addresses;  ///< Numeric, without ports.
  bool operator==(const CertifyArgs&) const = default;
};

struct CertifiedInfo {
  std::string certificates;  ///< That of the host first, without the root.
  std::string root;
  std::uint64_t authority = 0;  ///< The number of the cluster authority that they follow from.
  bool operator==(const CertifiedInfo&) const = default;
};

struct HttpRootInfo {
  std::string root;
  std::string fingerprint;  ///< SHA-256 of the certificate: 64 hexadecimal digits, small letters.
  bool operator==(const HttpRootInfo&) const = default;
};

}  // namespace muster::agent
