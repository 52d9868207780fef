#include "agent/node/certificate_seeker.h"

#include "agent/api/payload.h"
#include "agent/api/request.h"

namespace muster::agent {

std::optional<CertificateSeeker::Question> CertificateSeeker::ask(const std::vector<HostId>& voters,
                                                                  const CertifyArgs& wish) {
  asked_ = HostId();
  if (voters.empty()) {
    return std::nullopt;
  }
  asked_ = voters[rng_.below(voters.size())];
  nonce_ = Nonce(rng_.next() | 1U);
  Request request;
  request.verb = Verb::kCertify;
  request.arguments = encode_payload(wish);
  return Question{asked_, nonce_, encode(request)};
}

std::optional<CertificateAnswer> CertificateSeeker::on_response(const gossip::Message& message) {
  const gossip::Envelope& envelope = message.envelope();
  if (asked_.is_zero() || envelope.nonce != nonce_ || envelope.from != asked_) {
    return std::nullopt;
  }
  asked_ = HostId();
  const auto response = decode_response(message.body());
  if (response.has_value() && response->status != ResponseStatus::kOk) {
    return CertificateAnswer{{}, response->text};
  }
  auto certified =
      response.has_value() ? decode_payload<CertifiedInfo>(response->payload) : std::nullopt;
  if (!certified.has_value()) {
    return CertificateAnswer{{}, "cannot read the answer of a voter: compare `muster version`"};
  }
  root_ = certified->root;
  return CertificateAnswer{*std::move(certified), ""};
}

}  // namespace muster::agent
