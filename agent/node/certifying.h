#pragma once
// Certificates of HTTPS. A host that has the secret of the cluster authority signs them, its own
// one included; each other host asks such a host on its own link (certificate_seeker.h). Also the
// root certificate that this node knows.
//
// A member gets a certificate for itself alone: for its name, alone and in the domain of the host
// that signs, for its control address, and for those by which each host calls itself. A row is
// its host's own word, so no other domain counts.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "agent/api/certify.h"
#include "agent/api/request.h"
#include "agent/front/asker.h"
#include "agent/node/node_view.h"
#include "agent/step/node_interface.h"
#include "gossip/base/ids.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// How many certificates a node signs for others. Owned by ClientFront.
class CertifyPace {
 public:
  /// Between two for one host. Lower: a host that is out of order takes the others' places.
  static constexpr Duration kPeriod = std::chrono::minutes(1);
  /// In one period, for all hosts. A signature takes about a millisecond.
  static constexpr std::size_t kAtOnce = 600;

  /// True if one may be signed for `host` now; it counts then.
  bool takes(Instant now, HostId host);

 private:
  std::deque<std::pair<Instant, HostId>> signed_;  ///< In the last period, the oldest first.
};

/// The answer to Verb::kCertify.
Response certificate_answer(const NodeView& node, const Request& request, const Asker& asker,
                            CertifyPace& pace);
/// The answer to Verb::kHttpRoot.
Response http_root_answer(const NodeView& node);
/// The certificate of this host, signed by itself; nullopt if it does not have the secret.
std::optional<CertificateAnswer> certified_here(const NodeView& node, const CertifyArgs& wish);

/// The names of `wish` that are those of the member.
CertifyArgs granted(const NodeView& node, HostId host, const CertifyArgs& wish);

}  // namespace muster::agent
