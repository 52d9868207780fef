#include "agent/edge/run/https_certificate.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "agent/edge/door/tls_watch.h"
#include "gossip/edge/secret_file.h"
#include "gossip/ssh/ssh_private_key.h"

namespace muster::agent {
namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr char kAuthorityFile[] = "authority.pem";
constexpr char kRootFile[] = "root.pem";
constexpr char kHostFile[] = "host.pem";
constexpr char kHarm[] = "anyone who read it can pass for this host";
/// A root ends no sooner than the certificates that it signs; clients have time to take the next.
constexpr std::int64_t kAuthorityRestS = 180 * kDayS;

bool is_there(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 || errno != ENOENT;
}

/// The key stands before the certificates.
HttpTls tls_in(const std::string& text) {
  const std::size_t split = text.find("-----BEGIN CERTIFICATE-----");
  if (split == std::string::npos) {
    return {text, ""};
  }
  return {text.substr(0, split), text.substr(split)};
}

Status write_tls(const std::string& path, const HttpTls& tls) {
  std::string text = tls.key + (tls.key.ends_with('\n') ? "" : "\n") + tls.certificates;
  const Status written = gossip::write_secret(path, text);
  gossip::wipe(text);
  return written;
}

Result<HttpTls> read_tls(const std::string& path) {
  Result<std::string> text = gossip::read_secret(path, kPemBytesMax, kHarm);
  if (!text) {
    return text.error();
  }
  HttpTls tls = tls_in(*text);
  gossip::wipe(*text);
  return tls;
}

}  // namespace

HttpsCertificate::~HttpsCertificate() {
  gossip::wipe(own_.key);
}

Result<HttpsCertificate> HttpsCertificate::open(Options options, std::int64_t now_unix_s) {
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
  if (const Status loaded = made.load_own(now_unix_s); !loaded) {
    return loaded.error();
  }
  return made;
}

std::string HttpsCertificate::root_path() const {
  return site_.has_value() ? "" : path_of(kRootFile);
}

std::optional<TlsChange> HttpsCertificate::look(std::int64_t now_unix_s) {
  if (site_.has_value()) {
    return site_->look();
  }
  if (!is_due(facts_, options_.names, now_unix_s)) {
    return std::nullopt;
  }
  if (const Status loaded = load_own(now_unix_s); !loaded) {
    if (std::exchange(told_, loaded.error().text) == loaded.error().text) {
      return std::nullopt;
    }
    return TlsChange{false, {Severity::kWarn, "https_certificate_refused", {{"reason", told_}}}};
  }
  told_.clear();
  return TlsChange{
      true,
      {Severity::kInfo,
       "https_certificate_taken",
       {{"fingerprint", facts_.fingerprint}, {"until", date_text(facts_.not_after_unix_s)}}}};
}

Status HttpsCertificate::load_own(std::int64_t now_unix_s) {
  if (mkdir(options_.directory.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo,
                 "cannot make " + options_.directory + " for HTTPS: " + std::strerror(errno)};
  }
  bool is_new = false;
  Result<HttpTls> root = authority(now_unix_s, is_new);
  if (!root) {
    return root.error();
  }
  if (!is_new && take_kept(now_unix_s)) {
    gossip::wipe(root->key);
    return ok();
  }
  Result<HttpTls> host = make_host_certificate(*root, options_.names, now_unix_s);
  gossip::wipe(root->key);
  if (!host) {
    return host.error();
  }
  Result<CertificateFacts> facts = facts_of(host->certificates);
  if (!facts) {
    return facts.error();
  }
  const Status written = write_tls(path_of(kHostFile), *host);
  if (written) {
    std::swap(own_, *host);
    facts_ = *std::move(facts);
  }
  gossip::wipe(host->key);
  return written;
}

Result<HttpTls> HttpsCertificate::authority(std::int64_t now_unix_s, bool& is_new) const {
  const std::string path = path_of(kAuthorityFile);
  Result<HttpTls> root = HttpTls();
  is_new = !is_there(path);
  if (!is_new) {
    root = read_tls(path);
    const Result<CertificateFacts> facts =
        root ? facts_of(root->certificates) : Result<CertificateFacts>(root.error());
    const Status good = facts ? check_tls(*root) : Status(facts.error());
    if (!good) {
      return Error{good.error().code, good.error().text + " (" + path +
                                          "; if it is lost, remove it: the agent makes another "
                                          "one, which clients have to trust again)"};
    }
    is_new = facts->not_after_unix_s - now_unix_s < kAuthorityRestS;
  }
  if (is_new) {
    gossip::wipe(root->key);
    root = make_authority(options_.authority, now_unix_s);
    if (const Status written = root ? write_tls(path, *root) : Status(root.error()); !written) {
      return written.error();
    }
  }
  if (is_new || !is_there(path_of(kRootFile))) {
    if (const Status written = gossip::write_secret(path_of(kRootFile), root->certificates);
        !written) {
      return written.error();
    }
  }
  return root;
}

bool HttpsCertificate::take_kept(std::int64_t now_unix_s) {
  const std::string path = path_of(kHostFile);
  Result<HttpTls> kept = is_there(path) ? read_tls(path) : Result<HttpTls>(HttpTls());
  if (!kept || kept->certificates.empty()) {
    return false;
  }
  Result<CertificateFacts> facts = facts_of(kept->certificates);
  const bool is_good =
      facts && check_tls(*kept).has_value() && !is_due(*facts, options_.names, now_unix_s);
  if (is_good) {
    std::swap(own_, *kept);
    facts_ = *std::move(facts);
  }
  gossip::wipe(kept->key);
  return is_good;
}

}  // namespace muster::agent
