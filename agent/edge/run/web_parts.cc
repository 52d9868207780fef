#include "agent/edge/run/web_parts.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "agent/edge/event_log.h"
#include "agent/edge/run/fresh_secrets.h"
#include "agent/edge/run/socket_links.h"
#include "gossip/edge/boot_clock.h"

namespace muster::agent {
namespace {

constexpr std::size_t kDnsLabelMax = 63;
/// As the socket of the CLI has it.
constexpr std::size_t kLoginConnections = 512;
constexpr std::size_t kConnectionsOfLogin = 64;

std::int64_t unix_now_s() {
  return unix_now_ms() / 1000;
}

std::string kernel_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// A host may have a name that no certificate takes.
bool is_dns_name(const std::string& name) {
  std::size_t label = 0;
  for (const char letter : name) {
    if (letter == '.' && label == 0) {
      return false;
    }
    label = letter == '.' ? 0 : label + 1;
    if (label > kDnsLabelMax) {
      return false;
    }
  }
  return label > 0;
}

/// Of the address 0.0.0.0 or [::].
bool is_any(const gossip::Endpoint& at) {
  const std::string ip = at.ip_text();
  return ip == "0.0.0.0" || ip == "::";
}

Event door_event(const char* name, const std::string& at) {
  return {Severity::kInfo, name, {{"at", at}}};
}

}  // namespace

HostNames web_names(const RunOptions& options, const std::string& host_name) {
  HostNames names{{"localhost"}, {"127.0.0.1", "::1"}};
  for (const std::string& name :
       {options.name, host_name, host_name.substr(0, host_name.find('.'))}) {
    if (is_dns_name(name)) {
      names.dns.push_back(name);
    }
  }
  names.addresses.push_back(options.listen.ip_text());
  if (options.web.https.has_value() && !is_any(*options.web.https)) {
    names.addresses.push_back(options.web.https->ip_text());
  }
  return normalized(std::move(names));
}

std::vector<std::string> browser_names(const HostNames& own, const HostNames& certificate) {
  std::vector<std::string> names = own.dns;
  names.insert(names.end(), own.addresses.begin(), own.addresses.end());
  names.insert(names.end(), certificate.addresses.begin(), certificate.addresses.end());
  for (const std::string& name : certificate.dns) {
    if (!name.starts_with("*.")) {
      names.push_back(name);
      continue;
    }
    for (const std::string& host : own.dns) {
      if (host.find('.') == std::string::npos) {
        names.push_back(host + name.substr(1));
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

WebParts::WebParts(const RunOptions& options, std::string runtime, std::optional<gid_t> group)
    : options_(options), runtime_(std::move(runtime)), group_(group) {}

Status WebParts::prepare() {
  if (!options_.web.https.has_value()) {
    return ok();
  }
  if (const Status loaded = load_certificate(); !loaded) {
    return bears(loaded.error()) ? ok() : loaded;
  }
  if (!options_.web.is_asked_for) {
    return ok();
  }
  const auto tried = serve_https();
  return tried ? ok() : Status(tried.error());
}

Status WebParts::load_certificate() {
  HttpsCertificate::Options own;
  own.site = {options_.web.certificate, options_.web.key};
  own.directory = std::filesystem::absolute(options_.data_dir).string() + "/https";
  own.authority = "of " + options_.name;
  own.names = web_names(options_, kernel_host_name());
  Result<HttpsCertificate> certificate = HttpsCertificate::open(std::move(own), unix_now_s());
  if (!certificate) {
    return certificate.error();
  }
  certificate_.emplace(std::move(*certificate));
  return ok();
}

bool WebParts::bears(const Error& error) const {
  const bool is_of_site = !options_.web.certificate.empty() && !certificate_.has_value();
  if (options_.web.is_asked_for || is_of_site) {
    return false;
  }
  const bool is_taken = error.code == ErrorCode::kConflict;
  log_event({Severity::kWarn,
             is_taken ? "https_port_taken" : "https_off",
             {{"why", error.text},
              {"advice", "set https to an address and port of this host, or to \"off\""}}});
  return true;
}

Result<std::unique_ptr<WebDoor>> WebParts::open(Rng rng) {
  on_socket_ = nullptr;
  on_port_ = nullptr;
  auto door =
      std::make_unique<WebDoor>(std::vector<std::unique_ptr<HttpServer>>(), rest_chance(), rng);
  Status listens = ok();
  if (!socket_.is_open()) {
    listens = socket_.open({options_.data_dir, runtime_, options_.name, geteuid() == 0, group_});
  }
  auto plain = listens ? serve_socket() : Result<std::unique_ptr<HttpServer>>(listens.error());
  if (plain) {
    edition_ = socket_.edition();
    on_socket_ = &door->add(*std::move(plain));
    log_event(door_event("http_socket", socket_.path()));
  } else {
    log_event({Severity::kWarn, "no_http_socket", {{"why", plain.error().text}}});
  }
  if (certificate_.has_value()) {
    auto https = serve_https();
    if (!https && !bears(https.error())) {
      return https.error();
    }
    if (https) {
      on_port_ = &door->add(*std::move(https));
      Event event = door_event("https", on_port_->endpoint().text());
      event.fields.emplace_back("fingerprint", certificate_->facts().fingerprint);
      if (const std::string root = certificate_->root_path(); !root.empty()) {
        event.fields.emplace_back("root", root);
      }
      log_event(event);
    }
  }
  is_stale_ = false;
  return door;
}

Result<std::unique_ptr<HttpServer>> WebParts::serve_socket() const {
  HttpServerOptions options;
  options.unix_socket = socket_.copy();
  options.limits.connections = kLoginConnections;
  options.limits.per_address = kConnectionsOfLogin;
  options.limits.unproven_per_address = kConnectionsOfLogin;
  return HttpServer::start(std::move(options));
}

Result<std::unique_ptr<HttpServer>> WebParts::serve_https() const {
  HttpServerOptions options;
  options.endpoint = options_.web.https;
  options.tls = certificate_->tls();
  options.browser.names =
      browser_names(web_names(options_, kernel_host_name()), certificate_->facts().names);
  return HttpServer::start(std::move(options));
}

void WebParts::turn(Instant now, WebDoor& door) {
  if (now < next_) {
    return;
  }
  next_ = now + kPeriod;
  renew_socket(door);
  if (on_port_ == nullptr && !is_stale_) {
    return;  // Without HTTPS from the start on.
  }
  if (now >= next_certificate_) {
    next_certificate_ = now + kCertificatePeriod;
    renew_https(door);
  }
}

/// A server accepts at the socket that was at the path by its start.
void WebParts::renew_socket(WebDoor& door) {
  if (socket_.renew()) {
    log_event({Severity::kWarn,
               "socket_renewed",
               {{"path", socket_.path()}, {"why", "another process removed it"}}});
  }
  if (!socket_.is_open() || socket_.edition() == edition_) {
    return;
  }
  auto plain = serve_socket();
  if (!plain) {
    return;  // Tried again at the next look.
  }
  if (on_socket_ != nullptr) {
    door.close(*on_socket_);
  }
  on_socket_ = &door.add(*std::move(plain));
  edition_ = socket_.edition();
}

/// The library takes a certificate at its start alone. The port is free once the server has ended;
/// clients of HTTPS dial again.
void WebParts::renew_https(WebDoor& door) {
  if (const std::optional<TlsChange> change = certificate_->look(unix_now_s())) {
    log_event(change->event);
    is_stale_ = is_stale_ || change->is_new;
  }
  if (!is_stale_) {
    return;
  }
  const bool was_open = on_port_ != nullptr;
  if (was_open) {
    options_.web.https = on_port_->endpoint();  // Port 0 was any port.
    door.close(*std::exchange(on_port_, nullptr));
  }
  auto https = serve_https();
  if (https) {
    on_port_ = &door.add(*std::move(https));
    is_stale_ = false;
  } else if (was_open) {
    log_event({Severity::kWarn, "https_off", {{"why", https.error().text}}});
  }
}

}  // namespace muster::agent
