#pragma once
// CertificateSeeker asks a voter for the certificate of HTTPS of this host, which does not have the
// secret of the cluster authority. Owned by LeaderContact.
//
// Invariant: at most one question is open. Another one takes its place: the edge asks again when no
// answer came.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/step/node_interface.h"
#include "gossip/base/ids.h"
#include "gossip/base/rng.h"
#include "gossip/wire/message.h"

namespace muster::agent {

class CertificateSeeker {
 public:
  struct Question {
    HostId to;
    Nonce nonce;
    std::string body;  ///< Of a MessageType::kRequest.
  };

  /// `root`: the root that this host knew before its start; "" = none.
  CertificateSeeker(std::string root, Rng rng) : root_(std::move(root)), rng_(rng) {}

  /// One of these hosts, another one each time: one that does not answer delays this host alone.
  /// nullopt if there are no hosts.
  std::optional<Question> ask(const std::vector<HostId>& voters, const CertifyArgs& wish);
  /// nullopt if the message does not answer the open question.
  std::optional<CertificateAnswer> on_response(const gossip::Message& message);
  /// "" = this host never had a certificate.
  const std::string& root() const { return root_; }

 private:
  std::string root_;
  Rng rng_;
  HostId asked_;  ///< Zero = no question is open.
  Nonce nonce_{};
};

}  // namespace muster::agent
