#include "agent/edge/run/https_certificate.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "agent/edge/door/tls_watch.h"
#include "gossip/edge/secret_file.h"
#include "gossip/ssh/ssh_private_key.h"

namespace muster::agent {
namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr char kRootFile[] = "root.pem";
constexpr char kHostFile[] = "host.pem";
constexpr char kHarm[] = "anyone who read it can pass for this host";
/// The line is "muster-https AUTHORITY NAMES", in front of the first PEM text.
constexpr std::string_view kLineBegin = "muster-https ";
constexpr std::string_view kCertificateBegin = "-----BEGIN CERTIFICATE-----";

/// In one form; no name has a blank in it.
std::string text_of(const HostNames& names) {
  std::string text;
  for (const auto* list : {&names.dns, &names.addresses}) {
    for (const std::string& name : *list) {
      text += (text.empty() ? "" : ",") + name;
    }
  }
  return text;
}

/// Takes the first line off.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

HttpsCertificate::~HttpsCertificate() {
  gossip::wipe(own_.key);
  gossip::wipe(next_key_);
}

Result<HttpsCertificate> HttpsCertificate::open(Options options) {
  HttpsCertificate made(std::move(options));
  if (const TlsPaths& site = made.options_.site; !site.certificates.empty()) {
    Result<TlsFiles> files = TlsFiles::open(site);
    if (!files) {
      return files.error();
    }
    made.site_.emplace(std::move(*files));
    return made;
  }
  made.options_.names = normalized(std::move(made.options_.names));
  const std::string& directory = made.options_.directory;
  if (mkdir(directory.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo,
                 "cannot make " + directory + " for HTTPS: " + std::strerror(errno)};
  }
  made.take_kept();
  return made;
}

std::string HttpsCertificate::root_path() const {
  return site_.has_value() ? "" : path_of(kRootFile);
}

std::optional<TlsChange> HttpsCertificate::look(std::int64_t now_unix_s) {
  return site_.has_value() ? site_->look(now_unix_s) : std::nullopt;
}

Result<std::optional<CertifyArgs>> HttpsCertificate::wish(std::int64_t now_unix_s,
                                                          std::uint64_t authority) {
  // The voter that signed may know of a later authority than this host does yet.
  const bool is_wanted = origin_.authority >= authority && origin_.asked == text_of(options_.names);
  const bool is_good =
      site_.has_value() || (has_any() && is_wanted && !is_due(facts_, facts_.names, now_unix_s));
  if (is_good) {
    return std::optional<CertifyArgs>();
  }
  if (next_key_.empty()) {
    Result<std::string> key = make_host_key();
    if (!key) {
      return key.error();
    }
    next_key_ = *std::move(key);
  }
  Result<std::string> public_key = public_key_of(next_key_);
  if (!public_key) {
    return public_key.error();
  }
  return std::optional(
      CertifyArgs{*std::move(public_key), options_.names.dns, options_.names.addresses});
}

std::optional<TlsChange> HttpsCertificate::take(const CertifiedInfo& certified) {
  if (site_.has_value() || next_key_.empty()) {
    return std::nullopt;
  }
  HttpTls tls{next_key_, certified.certificates};
  Result<CertificateFacts> facts = facts_of(tls.certificates);
  const Origin origin{certified.authority, text_of(options_.names)};
  Status good = facts ? check_tls(tls) : Status(facts.error());
  if (good) {
    good = keep(certified, tls, origin);
  }
  if (!good) {
    gossip::wipe(tls.key);
    return refuse(good.error().text);
  }
  gossip::wipe(own_.key);
  own_ = std::move(tls);
  facts_ = *std::move(facts);
  origin_ = origin;
  root_ = certified.root;
  gossip::wipe(next_key_);
  next_key_.clear();
  told_.clear();
  return TlsChange{
      true,
      {Severity::kInfo,
       "https_certificate_taken",
       {{"fingerprint", facts_.fingerprint}, {"until", date_text(facts_.not_after_unix_s)}}}};
}

std::optional<TlsChange> HttpsCertificate::refuse(const std::string& why) {
  if (std::exchange(told_, why) == why) {
    return std::nullopt;
  }
  return TlsChange{false, {Severity::kWarn, "https_certificate_refused", {{"reason", why}}}};
}

void HttpsCertificate::take_kept() {
  Result<std::string> kept = gossip::read_secret(path_of(kHostFile), kPemBytesMax, kHarm);
  if (!kept) {
    return;
  }
  std::string_view text = *kept;
  Origin origin;
  if (text.starts_with(kLineBegin)) {
    std::string_view line = take_line(text);
    line.remove_prefix(kLineBegin.size());
    const char* const end = line.data() + line.size();
    const char* const rest = std::from_chars(line.data(), end, origin.authority).ptr;
    origin.asked = rest == end ? "" : std::string(rest + 1, end);
  }
  const std::size_t split = std::min(text.find(kCertificateBegin), text.size());
  HttpTls tls{std::string(text.substr(0, split)), std::string(text.substr(split))};
  gossip::wipe(*kept);
  Result<CertificateFacts> facts = facts_of(tls.certificates);
  if (facts && check_tls(tls).has_value()) {
    std::swap(own_, tls);
    facts_ = *std::move(facts);
    origin_ = origin;
    Result<std::string> root = gossip::read_secret(path_of(kRootFile), kPemBytesMax, kHarm);
    root_ = root ? *std::move(root) : "";
  }
  gossip::wipe(tls.key);
}

/// The root is there before a certificate that needs it.
Status HttpsCertificate::keep(const CertifiedInfo& certified, const HttpTls& tls,
                              const Origin& origin) const {
  if (const Status written = gossip::write_secret(path_of(kRootFile), certified.root); !written) {
    return written;
  }
  std::string text = std::string(kLineBegin) + std::to_string(origin.authority) + " " +
                     origin.asked + "\n" + tls.key + (tls.key.ends_with('\n') ? "" : "\n") +
                     tls.certificates;
  const Status written = gossip::write_secret(path_of(kHostFile), text);
  gossip::wipe(text);
  return written;
}

}  // namespace muster::agent
