#pragma once
// A host's key with its certificate, as tests need both at once.

#include <string>
#include <utility>

#include "agent/edge/door/certificates.h"
#include "agent/edge/door/tls_authority.h"

namespace muster::agent {

/// Errors as of sign_host().
inline Result<HttpTls> make_host_certificate(const HttpTls& authority, const HostNames& names,
                                             std::int64_t now_unix_s) {
  Result<std::string> key = make_host_key();
  Result<std::string> public_key = key ? public_key_of(*key) : Result<std::string>(key.error());
  Result<std::string> signed_text = public_key
                                        ? sign_host(authority, *public_key, names, now_unix_s)
                                        : Result<std::string>(public_key.error());
  if (!signed_text) {
    return signed_text.error();
  }
  return HttpTls{*std::move(key), *std::move(signed_text)};
}

/// Each secret has its own authority.
inline HttpTls authority_of_secret(const std::string& secret, const std::string& name = "lab") {
  Result<HttpTls> made = derive_authority(secret, name);
  return made ? *std::move(made) : HttpTls();
}

}  // namespace muster::agent
