#pragma once
// DerivedSigner is the HttpSigner of an agent: see agent/edge/door/tls_authority.h. It keeps the
// authority that it derived last. Used by the thread of the loop.

#include <string>
#include <utility>

#include "agent/edge/door/http_options.h"
#include "agent/step/http_signer.h"

namespace muster::agent {

class DerivedSigner final : public HttpSigner {
 public:
  /// `domain`: as domain() says it.
  explicit DerivedSigner(std::string domain) : domain_(std::move(domain)) {}
  /// Wipes the keys.
  ~DerivedSigner() override;
  DerivedSigner(const DerivedSigner&) = delete;
  DerivedSigner& operator=(const DerivedSigner&) = delete;

  Result<std::string> root(const Authority& authority) const override;
  Result<std::string> certify(const Authority& authority, const CertifyArgs& wish,
                              std::int64_t now_unix_s) const override;
  std::string domain() const override { return domain_; }
  std::string fingerprint(const std::string& pem) const override;

 private:
  Status derive(const Authority& authority) const;

  std::string domain_;
  mutable Authority from_{};  ///< Of tls_; no secret = none yet.
  mutable HttpTls tls_{};
};

}  // namespace muster::agent
