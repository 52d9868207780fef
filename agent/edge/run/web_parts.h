#pragma once
// WebParts makes the door of HTTP from the settings of an agent, and keeps it open: it makes the
// unix socket again that another process removed, says when HTTPS needs a certificate of the
// cluster's authority, and shows a new one. It outlives the event loops of one process. Owned by
// run_agent(); used by its thread.
//
// The door has up to two servers: plain HTTP on a unix socket, whose clients are logins, and HTTPS,
// whose clients show access tokens. An address that nobody asked for is a convenience: an agent
// goes on without it and says so (`https_port_taken`, `https_off`).

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/edge/door/http_server.h"
#include "agent/edge/run/http_socket.h"
#include "agent/edge/run/https_certificate.h"
#include "agent/edge/run/run_agent.h"
#include "agent/edge/run/web_door.h"
#include "agent/step/node_interface.h"
#include "gossip/base/result.h"
#include "gossip/base/rng.h"
#include "gossip/base/time.h"

namespace muster::agent {

/// The names of this host, without those of a certificate: BrowserRules and the host's own
/// certificate have them. `host_name`: as the kernel says it, with its domain or without.
HostNames web_names(const RunOptions& options, const std::string& host_name);
/// The domain of this host in small letters, as the kernel says it: "example.com"; "" = it has
/// none.
std::string own_domain();
/// The names by which a browser may ask a door that shows this certificate. A name "*.DOMAIN" of it
/// stands for the short names of this host there.
std::vector<std::string> browser_names(const HostNames& own, const HostNames& certificate);

/// Where other hosts reach HTTPS that listens there, if they reach the agent at `control`; none if
/// they cannot.
gossip::Endpoint https_place(const gossip::Endpoint& listens, const gossip::Endpoint& control);

class WebParts {
 public:
  /// Between two looks at the unix socket, and at the certificate.
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  static constexpr Duration kCertificatePeriod = std::chrono::seconds(5);
  /// Between two questions for a certificate, as long as it has no certificate, and behind that.
  /// With a longer first one HTTPS begins later on a host that joined.
  static constexpr Duration kAskPeriod = std::chrono::seconds(2);
  static constexpr Duration kAskAgainPeriod = std::chrono::seconds(90);

  /// `runtime`: as runtime_directory(). `group`: of the socket for all logins.
  WebParts(const RunOptions& options, std::string runtime, std::optional<gid_t> group);

  /// Once, before the agent waits for its cluster: loads the certificate, if there is one, and
  /// tries an address that was asked for. kConflict: the port is taken. kInvalid, kNotFound,
  /// kDenied, kIo: an address or a file cannot be used; the text says what to do.
  Status prepare();
  /// A door for one life of the agent. Errors as of prepare().
  Result<std::unique_ptr<WebDoor>> open(Rng rng);
  /// Where the door of open() listens for HTTPS, with its real port; none if it does not.
  gossip::Endpoint https() const {
    return on_port_ == nullptr ? gossip::Endpoint() : on_port_->endpoint();
  }
  /// Call in every turn of the loop, with the door that open() gave last.
  void turn(Instant now, WebDoor& door);
  /// The wish of this host to a voter now, where this cluster authority rules; nullopt: nothing.
  std::optional<CertifyArgs> wish(Instant now, std::uint64_t authority);
  /// The answer: HTTPS shows the certificate from the next handshake on.
  void take(const CertificateAnswer& answer);
  /// Of the certificate that HTTPS shows, in seconds since 1970 began; 0 = it shows none.
  std::int64_t certificate_ends() const;
  /// The root certificate of the kept one; "" = none.
  std::string http_root() const { return certificate_.has_value() ? certificate_->root() : ""; }

 private:
  Status load_certificate();
  Result<std::unique_ptr<HttpServer>> serve_socket() const;
  Result<std::unique_ptr<HttpServer>> serve_https() const;
  /// Logs an error that the agent goes on with; false if it is one of the start.
  bool bears(const Error& error) const;
  void renew_socket(WebDoor& door);
  std::vector<std::string> names_for_browsers() const;
  /// Logs once that the certificate has ended.
  void look_at_end();
  /// Logs it, and shows the certificate if it is new.
  void show(const TlsChange& change);

  RunOptions options_;
  std::string runtime_;
  std::optional<gid_t> group_;
  HttpSocket socket_;
  std::optional<HttpsCertificate> certificate_{};  ///< nullopt = no HTTPS.
  HttpServer* on_socket_ = nullptr;                ///< Owned by the door.
  HttpServer* on_port_ = nullptr;                  ///< Owned by the door.
  std::uint64_t edition_ = 0;                      ///< Of the socket that on_socket_ serves.
  Instant next_{};
  Instant next_certificate_{};
  Instant next_wish_{};
  std::int64_t told_end_ = 0;  ///< The end of a certificate that was told.
};

}  // namespace muster::agent
