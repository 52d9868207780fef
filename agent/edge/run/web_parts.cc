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

std::string own_domain() {
  const std::string name = kernel_host_name();
  const std::size_t dot = name.find('.');
  const HostNames domain = normalized({{dot == std::string::npos ? "" : name.substr(dot + 1)}, {}});
  return domain.dns.empty() ? "" : domain.dns.front();
}

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

gossip::Endpoint https_place(const gossip::Endpoint& listens, const gossip::Endpoint& control) {
  const bool is_everywhere = is_any(listens);
  const bool is_alone = is_everywhere ? listens.is_ipv4() && !control.is_ipv4()
                                      : listens.is_loopback() && !control.is_loopback();
  if (listens.is_none() || is_alone) {
    return {};
  }
  return {is_everywhere ? control.ip : listens.ip, listens.port};
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
  own.names = web_names(options_, kernel_host_name());
  Result<HttpsCertificate> certificate = HttpsCertificate::open(std::move(own));
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
      if (certificate_->has_any()) {
        event.fields.emplace_back("fingerprint", certificate_->facts().fingerprint);
      }
      if (const std::string root = certificate_->root_path(); !root.empty()) {
        event.fields.emplace_back("root", root);
      }
      log_event(event);
    }
  }
  next_wish_ = {};
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
  options.browser.names = names_for_browsers();
  return HttpServer::start(std::move(options));
}

void WebParts::turn(Instant now, WebDoor& door) {
  if (now < next_) {
    return;
  }
  next_ = now + kPeriod;
  renew_socket(door);
  if (on_port_ != nullptr && now >= next_certificate_) {
    next_certificate_ = now + kCertificatePeriod;
    if (const std::optional<TlsChange> change = certificate_->look(unix_now_s())) {
      show(*change);
    }
    look_at_end();
  }
}

std::int64_t WebParts::certificate_ends() const {
  return on_port_ != nullptr && certificate_->has_any() ? certificate_->facts().not_after_unix_s
                                                        : 0;
}

void WebParts::look_at_end() {
  const std::int64_t ends = certificate_ends();
  if (ends != 0 && unix_now_s() >= ends && std::exchange(told_end_, ends) != ends) {
    log_event({Severity::kWarn,
               "https_certificate_ended",
               {{"until", date_text(ends)}, {"why", "clients refuse it: replace it"}}});
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

std::optional<CertifyArgs> WebParts::wish(Instant now, std::uint64_t authority) {
  if (on_port_ == nullptr || now < next_wish_) {
    return std::nullopt;
  }
  next_wish_ = now + (certificate_->has_any() ? kAskAgainPeriod : kAskPeriod);
  Result<std::optional<CertifyArgs>> wish = certificate_->wish(unix_now_s(), authority);
  if (!wish) {
    take({{}, wish.error().text});
    return std::nullopt;
  }
  return *std::move(wish);
}

void WebParts::take(const CertificateAnswer& answer) {
  if (!certificate_.has_value()) {
    return;
  }
  if (const auto change = answer.why_not.empty() ? certificate_->take(answer.certified)
                                                 : certificate_->refuse(answer.why_not)) {
    show(*change);
  }
}

std::vector<std::string> WebParts::names_for_browsers() const {
  return browser_names(web_names(options_, kernel_host_name()), certificate_->facts().names);
}

void WebParts::show(const TlsChange& change) {
  log_event(change.event);
  if (!change.is_new || on_port_ == nullptr) {
    return;
  }
  const Status shown = on_port_->set_tls(certificate_->tls(), names_for_browsers());
  if (!shown) {
    log_event({Severity::kWarn, "https_certificate_refused", {{"reason", shown.error().text}}});
  }
}

}  // namespace muster::agent
