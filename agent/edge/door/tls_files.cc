#include "agent/edge/door/tls_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "agent/edge/door/tls_watch.h"
#include "gossip/edge/file_owner.h"
#include "gossip/ssh/ssh_private_key.h"

namespace muster::agent {
namespace {

constexpr mode_t kModeOfOthers = S_IRWXG | S_IRWXO;

struct OpenedFile {
  explicit OpenedFile(int opened) : fd(opened) {}
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  ~OpenedFile() {
    if (fd >= 0) {
      close(fd);
    }
  }
  int fd;
};

/// A secret that is wiped unless it goes on.
struct HeldSecret {
  HeldSecret() = default;
  HeldSecret(const HeldSecret&) = delete;
  HeldSecret& operator=(const HeldSecret&) = delete;
  ~HeldSecret() { gossip::wipe(text); }
  std::string text;
};

Error unread_file(const std::string& path, int code) {
  const std::string what = "cannot read " + path + " for HTTPS: " + std::strerror(code);
  if (code == ENOENT || code == ENOTDIR) {
    return {ErrorCode::kNotFound, what +
                                      "; put the file there, or take https_cert and https_key "
                                      "out of the configuration"};
  }
  if (code == EACCES || code == EPERM) {
    return {ErrorCode::kDenied, what + "; the agent runs as uid " + std::to_string(geteuid()) +
                                    ": let it read the file (chown) and enter the folders above"};
  }
  return {ErrorCode::kIo, what + "; see the log of the kernel"};
}

/// Of the key. The group counts as others: on many hosts it holds people.
Status check_secret(const std::string& path, const struct stat& facts) {
  if (!gossip::is_of_us(facts)) {
    return Error{ErrorCode::kDenied, path + " belongs to uid " + std::to_string(facts.st_uid) +
                                         ", who can pass for this host; make a new key, owned by "
                                         "root or by uid " +
                                         std::to_string(geteuid()) + " (chown)"};
  }
  if ((facts.st_mode & kModeOfOthers) != 0) {
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", facts.st_mode & 07777U);
    return Error{ErrorCode::kDenied, path + " is open to other users (mode " + mode.data() +
                                         "), and each who read it can pass for this host; run "
                                         "chmod 600 " +
                                         path + ", and make a new key if one did"};
  }
  return ok();
}

Status check_size(const std::string& path, std::size_t size) {
  if (size != 0 && size <= TlsFiles::kBytesMax) {
    return ok();
  }
  return Error{
      ErrorCode::kInvalid,
      path +
          (size == 0 ? " is empty"
                     : " has more than " + std::to_string(TlsFiles::kBytesMax) + " bytes") +
          "; put the key or certificate of HTTPS there, in PEM"};
}

/// Bytes are read into `text` alone, so that a secret leaves no copy elsewhere. 0, or an errno.
int read_up_to(int fd, std::size_t bytes_max, std::string& text) {
  text.resize(bytes_max);
  std::size_t done = 0;
  while (done < bytes_max) {
    const ssize_t count = read(fd, text.data() + done, bytes_max - done);
    if (count < 0 && errno != EINTR) {
      return errno;
    }
    if (count == 0) {
      break;
    }
    done += count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  text.resize(done);
  return 0;
}

/// The usual mistakes, with words that are clearer than those of the library.
Status check_kind(const TlsPaths& paths, const HttpTls& tls) {
  const auto has = [](const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
  };
  if (!has(tls.certificates, "-----BEGIN CERTIFICATE-----")) {
    return Error{ErrorCode::kInvalid, paths.certificates +
                                          " holds no certificate in PEM; give https_cert the file "
                                          "that has BEGIN CERTIFICATE, the own certificate first"};
  }
  if (has(tls.key, "-----BEGIN ENCRYPTED PRIVATE KEY-----") || has(tls.key, "Proc-Type: 4,ENC")) {
    return Error{ErrorCode::kInvalid,
                 paths.key +
                     " is locked with a passphrase, which the agent cannot ask for; write the key "
                     "without it: openssl pkey -in " +
                     paths.key + " -out NEWFILE"};
  }
  if (!has(tls.key, "PRIVATE KEY-----")) {
    return Error{ErrorCode::kInvalid, paths.key +
                                          " holds no private key in PEM; give https_key the file "
                                          "that has BEGIN PRIVATE KEY"};
  }
  return ok();
}

bool holds(const CertificateFacts& facts, std::int64_t now_unix_s) {
  return facts.not_before_unix_s <= now_unix_s && now_unix_s < facts.not_after_unix_s;
}

}  // namespace

TlsFiles::Mark::Mark(const struct stat& facts)
    : device(facts.st_dev),
      inode(facts.st_ino),
      modified_s(facts.st_mtim.tv_sec),
      modified_ns(facts.st_mtim.tv_nsec),
      size(facts.st_size),
      mode(facts.st_mode),
      owner(facts.st_uid) {}

Result<TlsFiles> TlsFiles::open(TlsPaths paths) {
  TlsFiles files(std::move(paths));
  bool is_new = false;
  if (const Status loaded = files.load(std::nullopt, is_new); !loaded.has_value()) {
    return loaded.error();
  }
  return files;
}

TlsFiles::~TlsFiles() {
  gossip::wipe(tls_.key);
}

TlsFiles::Mark TlsFiles::mark_at(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? Mark(facts) : Mark();
}

Result<std::string> TlsFiles::read_file(const std::string& path, bool is_secret, Mark& mark) {
  // A pipe without a writer must not stop the agent. A link is followed: sites have their
  // certificates behind one.
  const OpenedFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat facts {};
  if (file.fd < 0 || fstat(file.fd, &facts) != 0) {
    return unread_file(path, errno);
  }
  if (!S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::kInvalid,
                 path + " is not a regular file; put the key or certificate of HTTPS there"};
  }
  if (const Status secret = is_secret ? check_secret(path, facts) : ok(); !secret.has_value()) {
    return secret.error();
  }
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (const Status fits = check_size(path, size); !fits.has_value()) {
    return fits.error();
  }
  HeldSecret held;
  // A file that grows meanwhile is read again by the next look: its mark is another one by then.
  if (const int code = read_up_to(file.fd, size, held.text); code != 0) {
    return unread_file(path, code);
  }
  if (held.text.empty()) {
    return check_size(path, 0).error();
  }
  mark = Mark(facts);
  return std::move(held.text);
}

Status TlsFiles::load(std::optional<std::int64_t> now_unix_s, bool& is_new) {
  Marks marks;
  const Result<std::string> certificates =
      read_file(paths_.certificates, false, marks.certificates);
  if (!certificates.has_value()) {
    return certificates.error();
  }
  Result<std::string> key = read_file(paths_.key, true, marks.key);
  if (!key.has_value()) {
    return key.error();
  }
  HttpTls tls{*std::move(key), *certificates};
  const auto refused = [&tls](const Error& error) {
    gossip::wipe(tls.key);
    return error;
  };
  if (const Status kind = check_kind(paths_, tls); !kind.has_value()) {
    return refused(kind.error());
  }
  const auto in_files = [this](const Error& error) {
    return Error{error.code, error.text + " (" + paths_.certificates + ", " + paths_.key + ")"};
  };
  if (const Status fits = check_tls(tls); !fits.has_value()) {
    return refused(in_files(fits.error()));
  }
  const Result<CertificateFacts> facts = facts_of(tls.certificates);
  if (!facts.has_value()) {
    return refused(in_files(facts.error()));
  }
  if (now_unix_s.has_value() && holds(facts_, *now_unix_s) && !holds(*facts, *now_unix_s)) {
    return refused({ErrorCode::kInvalid,
                    paths_.certificates + " holds from " + date_text(facts->not_before_unix_s) +
                        " to " + date_text(facts->not_after_unix_s) +
                        ", not now; the one of before, which does, stays: put one there that "
                        "holds, or set the clock of this host"});
  }
  is_new = tls.key != tls_.key || tls.certificates != tls_.certificates;
  std::swap(tls_, tls);
  gossip::wipe(tls.key);
  facts_ = *facts;
  marks_ = marks;
  return ok();
}

std::optional<TlsChange> TlsFiles::refuse(const std::string& reason) {
  if (reason != reason_) {
    reason_ = reason;
    is_reported_ = false;
    return std::nullopt;
  }
  if (std::exchange(is_reported_, true)) {
    return std::nullopt;
  }
  return TlsChange{false, {Severity::kWarn, "https_certificate_refused", {{"reason", reason}}}};
}

std::optional<TlsChange> TlsFiles::look(std::int64_t now_unix_s) {
  if (reason_.empty() && Marks{mark_at(paths_.certificates), mark_at(paths_.key)} == marks_) {
    return std::nullopt;
  }
  bool is_new = false;
  if (const Status loaded = load(now_unix_s, is_new); !loaded.has_value()) {
    return refuse(loaded.error().text);
  }
  reason_.clear();
  const bool was_reported = std::exchange(is_reported_, false);
  if (!is_new && !was_reported) {
    return std::nullopt;
  }
  return TlsChange{
      is_new,
      {Severity::kInfo,
       "https_certificate_taken",
       {{"fingerprint", facts_.fingerprint}, {"until", date_text(facts_.not_after_unix_s)}}}};
}

}  // namespace muster::agent
